/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU read once: a single batch of fields, then the few things that have no field. */
#include "source/nvml/nvml-priv.h"

#include "base/units.h"
#include "sys/clock.h"

enum { BATCH_MAX = 24 + 2 * NVML_LINKS_MAX };

static const struct {
    enum metric metric;
    enum nvml_depth depth;
} batch_metrics[] = {
    { METRIC_POWER_INSTANT_MW, NVML_TICK },       { METRIC_POWER_AVERAGE_MW, NVML_TICK },
    { METRIC_POWER_LIMIT_MW, NVML_TICK },         { METRIC_ENERGY_UJ, NVML_TICK },
    { METRIC_THROTTLE_POWER_NS, NVML_TICK },      { METRIC_PCIE_TX_BYTES, NVML_TICK },
    { METRIC_PCIE_RX_BYTES, NVML_TICK },          { METRIC_NVLINK_TX_BYTES, NVML_TICK },
    { METRIC_NVLINK_RX_BYTES, NVML_TICK },        { METRIC_TEMP_MEM_MC, NVML_SLOW },
    { METRIC_POWER_LIMIT_DEFAULT_MW, NVML_RARE }, { METRIC_POWER_LIMIT_MAX_MW, NVML_RARE },
    { METRIC_REMAP_PENDING, NVML_RARE },          { METRIC_REMAP_FAILURE, NVML_RARE },
    { METRIC_RECOVERY_ACTION, NVML_RARE },        { METRIC_SMOOTHING_ENABLED, NVML_RARE },
};

struct batch {
    struct nvml_field fields[BATCH_MAX];
    const struct nvml_field_row *rows[BATCH_MAX]; /* NULL: one link's bytes */
    int n;
};

static bool is_whole_device(int code)
{
    return code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED || code == NVML_GPU_NOT_FOUND ||
           nvml_code_is_reload(code);
}

static void worse(struct nvml_reading *r, int code)
{
    if (is_whole_device(code))
        r->worst = code;
}

void nvml_add_status(struct nvml_reading *r, enum metric m, enum obs_status status)
{
    if (r->n < SAMPLE_MAX)
        r->obs[r->n++] = (struct obs){ .metric = m, .status = status };
}

void nvml_add(struct nvml_reading *r, enum metric m, int code, int64_t value)
{
    worse(r, code);
    nvml_add_status(r, m, nvml_obs_status(code));
    if (code == NVML_OK && r->n)
        r->obs[r->n - 1].value = value;
}

static bool is_nvlink(enum metric m)
{
    return m == METRIC_NVLINK_TX_BYTES || m == METRIC_NVLINK_RX_BYTES;
}

static void batch_put(struct batch *b, uint32_t id, uint32_t scope,
                      const struct nvml_field_row *row)
{
    if (b->n == BATCH_MAX)
        return;
    b->fields[b->n] = (struct nvml_field){ .id = id, .scope = scope, .code = NVML_NOT_SUPPORTED };
    b->rows[b->n++] = row;
}

static void batch_put_links(struct batch *b, uint64_t links)
{
    for (uint32_t i = 0; i < NVML_LINKS_MAX; i++) {
        if (!(links >> i & 1))
            continue;
        batch_put(b, NVML_FIELD_LINK_TX, i, NULL);
        batch_put(b, NVML_FIELD_LINK_RX, i, NULL);
    }
}

static void batch_fill(const struct nvml_source *s, const struct nvml_gpu *g, enum nvml_depth depth,
                       struct batch *b)
{
    for (size_t i = 0; i < ARRAY_SIZE(batch_metrics); i++) {
        enum metric m = batch_metrics[i].metric;
        if (batch_metrics[i].depth > depth || (g->links && is_nvlink(m)))
            continue;
        const struct nvml_field_row *row = nvml_field_find(m, &s->driver);
        if (row)
            batch_put(b, row->id, row->scope, row);
    }
    batch_put_links(b, g->links);
}

/* The sum is told only when every link answered: a sum over fewer would look like a reset. */
static void add_link_sum(const struct batch *b, uint32_t id, enum metric m, struct nvml_reading *r)
{
    int64_t sum = 0, one;
    for (int i = 0; i < b->n; i++) {
        const struct nvml_field *f = &b->fields[i];
        if (b->rows[i] || f->id != id)
            continue;
        if (f->code != NVML_OK) {
            nvml_add(r, m, f->code, 0);
            return;
        }
        if (!nvml_field_value(f, 1, &one) || __builtin_add_overflow(sum, one, &sum)) {
            nvml_add_status(r, m, OBS_ABSENT);
            return;
        }
    }
    nvml_add(r, m, NVML_OK, sum);
}

static void batch_read(struct nvml_source *s, struct nvml_gpu *g, struct batch *b,
                       struct nvml_reading *r)
{
    int code = NVML_FUNCTION_NOT_FOUND;
    if (s->api.field_values && b->n)
        code = s->api.field_values(g->device, b->n, b->fields);
    /* Whoever asks a handle of a driver that is gone is told "invalid argument". */
    if (code == NVML_INVALID_ARGUMENT && g->fields_work)
        r->worst = NVML_GPU_NOT_FOUND;
    worse(r, code);
    g->fields_work |= code == NVML_OK;
    for (int i = 0; i < b->n; i++) {
        struct nvml_field *f = &b->fields[i];
        if (code != NVML_OK)
            f->code = r->worst ? r->worst : code;
        if (!b->rows[i])
            continue;
        worse(r, f->code);
        if (f->code == NVML_OK && f->latency_us > r->latency_us)
            r->latency_us = f->latency_us;
        if (r->n < SAMPLE_MAX)
            nvml_field_obs(f, b->rows[i], r->wall_us, &r->obs[r->n++]);
    }
    if (g->links) {
        add_link_sum(b, NVML_FIELD_LINK_TX, METRIC_NVLINK_TX_BYTES, r);
        add_link_sum(b, NVML_FIELD_LINK_RX, METRIC_NVLINK_RX_BYTES, r);
    }
}

static struct obs *find_obs(struct nvml_reading *r, enum metric m)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->obs[i].metric == m)
            return &r->obs[i];
    return NULL;
}

/* True when the field gave no value and the plain call should be asked; what it gives replaces
 * what the field said. */
static bool wants(struct nvml_reading *r, enum metric m, struct obs **ret)
{
    struct obs *o = find_obs(r, m);
    if (!o && r->n < SAMPLE_MAX) {
        o = &r->obs[r->n++];
        *o = (struct obs){ .metric = m, .status = OBS_UNSUPPORTED };
    }
    *ret = o;
    return o && o->status != OBS_VALUE && !r->worst;
}

static void take(struct nvml_reading *r, struct obs *o, int code, int64_t value)
{
    worse(r, code);
    if (code == NVML_OK)
        *o = (struct obs){ .metric = o->metric, .status = OBS_VALUE, .value = value };
    else if (o->status == OBS_UNSUPPORTED)
        o->status = nvml_obs_status(code);
}

static void power_by_call(struct nvml_source *s, struct nvml_gpu *g, struct nvml_reading *r)
{
    struct obs *instant, *average;
    unsigned mw = 0;
    bool none = wants(r, METRIC_POWER_INSTANT_MW, &instant);
    none &= wants(r, METRIC_POWER_AVERAGE_MW, &average);
    if (!none || !s->api.power_usage)
        return;
    int code = s->api.power_usage(g->device, &mw);
    nvml_add(r, METRIC_POWER_DRAW_MW, code, mw);
}

static void limits_by_call(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                           struct nvml_reading *r)
{
    const struct nvml_api *api = &s->api;
    struct obs *o;
    unsigned mw = 0, min_mw = 0;
    unsigned long long mj = 0;
    if (wants(r, METRIC_POWER_LIMIT_MW, &o) && api->power_limit) {
        int code = api->power_limit(g->device, &mw);
        take(r, o, code, mw);
    }
    if (wants(r, METRIC_ENERGY_UJ, &o) && api->energy) {
        int code = api->energy(g->device, &mj);
        take(r, o, code, mj <= INT64_MAX / UJ_PER_MJ ? (int64_t) mj * UJ_PER_MJ : 0);
    }
    if (depth < NVML_RARE)
        return;
    if (wants(r, METRIC_POWER_LIMIT_DEFAULT_MW, &o) && api->power_limit_default) {
        int code = api->power_limit_default(g->device, &mw);
        take(r, o, code, mw);
    }
    if (wants(r, METRIC_POWER_LIMIT_MAX_MW, &o) && api->power_limit_range) {
        int code = api->power_limit_range(g->device, &min_mw, &mw);
        take(r, o, code, mw);
    }
}

static void read_utilization(struct nvml_source *s, struct nvml_gpu *g, struct nvml_reading *r)
{
    struct nvml_utilization u = { 0 };
    int code = s->api.utilization ? s->api.utilization(g->device, &u) : NVML_FUNCTION_NOT_FOUND;
    nvml_add(r, METRIC_UTIL_GPU_PERMILLE, code, (int64_t) u.gpu_percent * 10);
    nvml_add(r, METRIC_UTIL_MEM_PERMILLE, code, (int64_t) u.memory_percent * 10);
}

static void add_call(struct nvml_reading *r, enum metric m, struct nvml_device *d,
                     int (*call)(struct nvml_device *, unsigned, unsigned *), unsigned which,
                     int64_t scale)
{
    unsigned v = 0;
    int code = call ? call(d, which, &v) : NVML_FUNCTION_NOT_FOUND;
    nvml_add(r, m, code, (int64_t) v * scale);
}

void nvml_read_memory(struct nvml_source *s, struct nvml_device *d, bool total,
                      struct nvml_reading *r)
{
    struct nvml_memory_v2 v2 = { .version = NVML_VERSION(v2, 2) };
    struct nvml_memory v1 = { 0 };
    int code = NVML_FUNCTION_NOT_FOUND;
    if (s->api.memory_v2)
        code = s->api.memory_v2(d, &v2);
    if (code == NVML_OK)
        v1 = (struct nvml_memory){ .total = v2.total, .used = v2.used };
    else if (s->api.memory && !is_whole_device(code))
        code = s->api.memory(d, &v1);
    nvml_add(r, METRIC_MEM_USED_BYTES, code, (int64_t) (v1.used & INT64_MAX));
    if (total)
        nvml_add(r, METRIC_MEM_TOTAL_BYTES, code, (int64_t) (v1.total & INT64_MAX));
}

static void read_calls(struct nvml_source *s, struct nvml_gpu *g, struct nvml_reading *r)
{
    const struct nvml_api *api = &s->api;
    unsigned pstate = NVML_PSTATE_UNKNOWN;
    unsigned long long reasons = 0;
    read_utilization(s, g, r);
    add_call(r, METRIC_CLOCK_SM_MHZ, g->device, api->clock, NVML_CLOCK_SM, 1);
    add_call(r, METRIC_CLOCK_MEM_MHZ, g->device, api->clock, NVML_CLOCK_MEM, 1);
    add_call(r, METRIC_TEMP_GPU_MC, g->device, api->temperature, NVML_TEMPERATURE_GPU, 1000);
    int code = api->pstate ? api->pstate(g->device, &pstate) : NVML_FUNCTION_NOT_FOUND;
    nvml_add(r, METRIC_PSTATE,
             code == NVML_OK && pstate >= NVML_PSTATE_UNKNOWN ? NVML_NO_DATA : code, pstate);
    code = api->event_reasons ? api->event_reasons(g->device, &reasons) : NVML_FUNCTION_NOT_FOUND;
    nvml_add(r, METRIC_THROTTLE_REASONS, code, (int64_t) (reasons & INT64_MAX));
}

static int read_fabric(struct nvml_source *s, struct nvml_gpu *g, int64_t *ret_unhealthy)
{
    struct nvml_fabric_v3 v3 = { .version = NVML_VERSION(v3, 3) };
    struct nvml_fabric_v2 v2 = { .version = NVML_VERSION(v2, 2) };
    if (!s->api.fabric)
        return NVML_FUNCTION_NOT_FOUND;
    int code = s->api.fabric(g->device, &v3);
    if (code == NVML_ARGUMENT_VERSION || code == NVML_INVALID_ARGUMENT) {
        code = s->api.fabric(g->device, &v2);
        v3.state = v2.state;
        v3.status = v2.status;
        v3.health_mask = v2.health_mask;
    }
    if (code != NVML_OK)
        return code;
    if (v3.state != NVML_FABRIC_COMPLETED)
        return v3.state ? NVML_NOT_READY : NVML_NOT_SUPPORTED;
    /* Two-bit fields of the mask at 0 (degraded bandwidth) and 4 (unhealthy route): 1 is true. */
    *ret_unhealthy = v3.health_summary == NVML_FABRIC_SUMMARY_UNHEALTHY || v3.status != NVML_OK ||
                     (v3.health_mask & 3) == 1 || (v3.health_mask >> 4 & 3) == 1;
    return NVML_OK;
}

static void read_rare(struct nvml_source *s, struct nvml_gpu *g, struct nvml_reading *r)
{
    const struct nvml_api *api = &s->api;
    unsigned long long ecc = 0;
    unsigned now = 0, later = 0, rows[4] = { 0 };
    int64_t unhealthy = 0;
    struct obs *pending, *failure;
    add_call(r, METRIC_CLOCK_SM_MAX_MHZ, g->device, api->clock_max, NVML_CLOCK_SM, 1);
    int code = NVML_FUNCTION_NOT_FOUND;
    if (api->ecc_total)
        code = api->ecc_total(g->device, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, &ecc);
    nvml_add(r, METRIC_ECC_UNCORRECTED, code, (int64_t) (ecc & INT64_MAX));
    bool ask = wants(r, METRIC_REMAP_PENDING, &pending);
    ask &= wants(r, METRIC_REMAP_FAILURE, &failure);
    if (ask && api->remapped_rows) {
        code = api->remapped_rows(g->device, &rows[0], &rows[1], &rows[2], &rows[3]);
        take(r, pending, code, rows[2]);
        take(r, failure, code, rows[3]);
    }
    code = api->mig_mode ? api->mig_mode(g->device, &now, &later) : NVML_FUNCTION_NOT_FOUND;
    g->is_mig = code == NVML_OK && now == 1;
    nvml_add(r, METRIC_MIG_ENABLED, code, now);
    code = read_fabric(s, g, &unhealthy);
    nvml_add(r, METRIC_FABRIC_UNHEALTHY, code, unhealthy);
}

/* What this driver has no field for is said once in every round, like any other answer. */
static void add_fieldless(const struct nvml_source *s, const struct nvml_gpu *g,
                          enum nvml_depth depth, struct nvml_reading *r)
{
    for (size_t i = 0; i < ARRAY_SIZE(batch_metrics); i++) {
        enum metric m = batch_metrics[i].metric;
        if (batch_metrics[i].depth <= depth && !nvml_field_find(m, &s->driver) &&
            !(g->links && is_nvlink(m)))
            nvml_add_status(r, m, OBS_UNSUPPORTED);
    }
}

/* A device that is gone is asked nothing more: each further call may hang. */
static void add_gone(struct nvml_reading *r, enum nvml_depth depth)
{
    static const enum metric called[] = { METRIC_UTIL_GPU_PERMILLE, METRIC_UTIL_MEM_PERMILLE,
                                          METRIC_CLOCK_SM_MHZ,      METRIC_MEM_USED_BYTES,
                                          METRIC_THROTTLE_REASONS,  METRIC_PROCESS_COUNT };
    for (size_t i = 0; i < ARRAY_SIZE(called); i++)
        if (called[i] != METRIC_PROCESS_COUNT || depth >= NVML_SLOW)
            nvml_add_status(r, called[i], nvml_obs_status(r->worst));
}

void nvml_read_gpu(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                   struct nvml_reading *r)
{
    struct batch b;
    b.n = 0;
    batch_fill(s, g, depth, &b);
    batch_read(s, g, &b, r);
    add_fieldless(s, g, depth, r);
    power_by_call(s, g, r);
    limits_by_call(s, g, depth, r);
    if (r->worst) {
        add_gone(r, depth);
        return;
    }
    read_calls(s, g, r);
    nvml_read_memory(s, g->device, depth >= NVML_RARE, r);
    if (depth >= NVML_RARE)
        read_rare(s, g, r);
    if (r->latency_us >= 0)
        nvml_add(r, METRIC_QUERY_LATENCY_US, NVML_OK, r->latency_us);
}

void nvml_probe_gpu(struct nvml_source *s, struct nvml_gpu *g)
{
    struct batch b;
    b.n = 0;
    g->links = 0;
    g->fields_work = false;
    if (!s->api.field_values || s->driver.major < 570)
        return;
    const struct nvml_field_row *sum = nvml_field_find(METRIC_NVLINK_TX_BYTES, &s->driver);
    if (sum)
        batch_put(&b, sum->id, sum->scope, sum);
    batch_put_links(&b, (UINT64_C(1) << NVML_LINKS_MAX) - 1);
    if (s->api.field_values(g->device, b.n, b.fields) != NVML_OK)
        return;
    if (sum && b.fields[0].code == NVML_OK)
        return; /* the driver adds up by itself */
    for (int i = 0; i < b.n; i++)
        if (!b.rows[i] && b.fields[i].id == NVML_FIELD_LINK_TX && b.fields[i].code == NVML_OK)
            g->links |= UINT64_C(1) << b.fields[i].scope;
}
