/* SPDX-License-Identifier: Apache-2.0 */
/* Records as a wide CSV and as JSON lines, for people and their tools. Neither replays. */
#include "base/jsonw.h"
#include "base/units.h"
#include "trace/writer-priv.h"

#include <time.h>

/* The columns, in a stable order; each heading carries its unit. */
static const enum metric columns[] = {
    METRIC_POWER_INSTANT_MW,     METRIC_POWER_AVERAGE_MW,   METRIC_POWER_DRAW_MW,
    METRIC_POWER_LIMIT_MW,       METRIC_ENERGY_UJ,          METRIC_UTIL_GPU_PERMILLE,
    METRIC_UTIL_MEM_PERMILLE,    METRIC_SM_ACTIVE_PERMILLE, METRIC_TENSOR_ACTIVE_PERMILLE,
    METRIC_DRAM_ACTIVE_PERMILLE, METRIC_CLOCK_SM_MHZ,       METRIC_CLOCK_MEM_MHZ,
    METRIC_MEM_USED_BYTES,       METRIC_TEMP_GPU_MC,        METRIC_PCIE_TX_BPS,
    METRIC_PCIE_RX_BPS,          METRIC_NVLINK_TX_BPS,      METRIC_NVLINK_RX_BPS,
    METRIC_THROTTLE_REASONS,     METRIC_PROCESS_COUNT,      METRIC_XID,
    METRIC_NODE_POWER_MW,
};

void writer_csv_heading(struct strbuf *out)
{
    strbuf_addz(out, "time,time_us,device,index,name");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_addf(out, ",%s", metric_info(columns[i])->name);
    strbuf_addc(out, '\n');
}

static void csv_text(struct strbuf *out, struct str s)
{
    bool quote =
        str_find_char(s, ',') >= 0 || str_find_char(s, '"') >= 0 || str_find_char(s, '\n') >= 0;
    if (quote)
        strbuf_addc(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            strbuf_addc(out, '"');
        strbuf_addc(out, s.p[i]);
    }
    if (quote)
        strbuf_addc(out, '"');
}

/* Wall time; false when the stream has no clock. */
static bool wall_us(const struct trace_writer *w, int64_t mono_us, int64_t *ret)
{
    return w->header.clock != CLOCK_NONE &&
           !__builtin_add_overflow(mono_us, w->wall_offset_us, ret);
}

static void csv_time(const struct trace_writer *w, int64_t mono_us, struct strbuf *out)
{
    int64_t wall;
    struct tm tm;
    char text[32];
    if (!wall_us(w, mono_us, &wall)) {
        strbuf_addz(out, ",");
        return;
    }
    time_t s = (time_t) (wall / US_PER_S);
    if (gmtime_r(&s, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
        strbuf_addf(out, "%s.%06lldZ", text, (long long) (wall % US_PER_S));
    strbuf_addc(out, ',');
    strbuf_add_i64(out, wall);
}

void writer_csv(const struct trace_writer *w, const struct record *r, struct strbuf *out)
{
    const struct entity *e = r->kind == RECORD_SAMPLE ? writer_entity(w, r->u.sample.entity) : NULL;
    if (!e || (e->kind != ENTITY_GPU && e->kind != ENTITY_NODE))
        return;
    csv_time(w, r->mono_us, out);
    strbuf_addc(out, ',');
    csv_text(out, e->key);
    strbuf_addf(out, ",%d,", e->index);
    csv_text(out, e->name);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        int64_t value;
        strbuf_addc(out, ',');
        if (sample_get(&r->u.sample, columns[i], &value))
            strbuf_add_i64(out, value);
    }
    strbuf_addc(out, '\n');
}

static void json_observations(struct jsonw *j, const struct sample *s)
{
    bool odd = false;
    jsonw_object(j, "values");
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->obs[i].status == OBS_VALUE)
            jsonw_i64(j, metric_info(s->obs[i].metric)->name, s->obs[i].value);
        else
            odd = true;
    }
    jsonw_object_end(j);
    if (!odd)
        return;
    jsonw_object(j, "missing");
    for (uint32_t i = 0; i < s->n; i++)
        if (s->obs[i].status != OBS_VALUE)
            jsonw_text(j, metric_info(s->obs[i].metric)->name, obs_status_name(s->obs[i].status));
    jsonw_object_end(j);
}

void writer_jsonl(const struct trace_writer *w, const struct record *r, struct strbuf *out)
{
    const struct entity *e = r->kind == RECORD_SAMPLE ? writer_entity(w, r->u.sample.entity) : NULL;
    int64_t wall;
    struct jsonw j;
    if (!e)
        return;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.observation/1");
    if (wall_us(w, r->mono_us, &wall))
        jsonw_i64(&j, "time_us", wall);
    else
        jsonw_null(&j, "time_us");
    jsonw_text(&j, "kind", entity_kind_name(e->kind));
    jsonw_str(&j, "device", e->key);
    if (e->index >= 0)
        jsonw_i64(&j, "index", e->index);
    if (e->name.n)
        jsonw_str(&j, "name", e->name);
    json_observations(&j, &r->u.sample);
    jsonw_end(&j);
}
