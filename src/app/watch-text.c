/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch-text.h"

#include "base/jsonw.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define HOUR_US (3600 * US_PER_S)

static uint32_t gpus(const struct verdict_context *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->job->n; i++)
        n += collect_device(c->collect, i)[0] != '\0';
    return n;
}

static void add_wall(int64_t wall_us, struct strbuf *out)
{
    time_t seconds = (time_t) (wall_us / US_PER_S);
    struct tm tm;
    char text[32];
    if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
        strbuf_addz(out, text);
}

static void add_candidates(uint32_t candidates, struct strbuf *out)
{
    const char *between = "";
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (candidates & KIND_BIT(k)) {
            strbuf_addf(out, "%s%s", between, watch_kind_name((enum watch_kind) k));
            between = "|";
        }
}

static void add_culprits(const struct verdict_context *c, const struct watch_verdict *v,
                         struct strbuf *out)
{
    for (uint32_t i = 0; i < v->culprits_n; i++) {
        const struct watch_rank *r = &c->job->ranks[v->culprits[i].at];
        const char *device = collect_device(c->collect, v->culprits[i].at);
        strbuf_addf(out, "  rank %" PRId32 " (%s, process %" PRId32 ", %s): %s\n", r->rank, r->host,
                    r->pid, device[0] ? device : "no GPU known", v->culprits[i].why);
    }
    if (v->culprits_more)
        strbuf_addf(out, "  and %" PRIu32 " more\n", v->culprits_more);
}

void verdict_text(const struct verdict_context *c, const struct watch_verdict *v,
                  struct strbuf *out)
{
    add_wall(v->decided_us + c->wall_offset_us, out);
    strbuf_addf(out, "  %s", job_verdict_name(v->verdict));
    if (v->kind == KIND_UNRESOLVED) {
        strbuf_addz(out, " (");
        add_candidates(v->candidates, out);
        strbuf_addc(out, ')');
    } else if (v->kind != KIND_NONE) {
        strbuf_addf(out, " (%s)", watch_kind_name(v->kind));
    }
    if (v->stage != STAGE_NONE)
        strbuf_addf(out, ", %s", watch_stage_name(v->stage));
    if (v->detail[0])
        strbuf_addf(out, ": %s [%s]", v->detail, stall_name(v->stall));
    strbuf_addc(out, '\n');
    if (v->stage == STAGE_NONE)
        return;
    add_culprits(c, v, out);
    if (v->proof)
        strbuf_addf(out, "  it will not recover: %s\n", v->proof);
    if (!v->whole_job)
        strbuf_addz(out, "  scope: this node; other nodes of the job are not seen\n");
}

static void add_culprits_json(const struct verdict_context *c, const struct watch_verdict *v,
                              struct jsonw *j)
{
    jsonw_array(j, "culprits");
    for (uint32_t i = 0; i < v->culprits_n; i++) {
        const struct watch_rank *r = &c->job->ranks[v->culprits[i].at];
        const char *device = collect_device(c->collect, v->culprits[i].at);
        jsonw_object(j, NULL);
        jsonw_i64(j, "rank", r->rank);
        jsonw_text(j, "host", r->host);
        jsonw_i64(j, "pid", r->pid);
        jsonw_text(j, "device", device[0] ? device : NULL);
        jsonw_text(j, "why", v->culprits[i].why);
        jsonw_object_end(j);
    }
    jsonw_array_end(j);
}

/* GPU-hours that stand still now; what was lost since a checkpoint is not known yet. */
static void add_hours(const struct verdict_context *c, const struct watch_verdict *v,
                      struct jsonw *j)
{
    int64_t n = gpus(c), still_us = v->stage == STAGE_NONE ? 0 : c->now_us - v->since_us;
    jsonw_object(j, "gpu_hours");
    jsonw_scaled(j, "lost_so_far", n * MAX(still_us, 0), HOUR_US, 3);
    jsonw_null(j, "since_checkpoint");
    jsonw_i64(j, "at_risk_per_hour", n);
    jsonw_object_end(j);
}

void verdict_json(const struct verdict_context *c, const struct watch_verdict *v,
                  struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.verdict/1");
    jsonw_text(&j, "job", c->job->name[0] ? c->job->name : NULL);
    jsonw_i64(&j, "attempt", c->job->attempt);
    jsonw_text(&j, "scope", v->whole_job ? "job" : "node");
    jsonw_text(&j, "verdict", job_verdict_name(v->verdict));
    jsonw_text(&j, "kind", v->kind == KIND_NONE ? NULL : watch_kind_name(v->kind));
    jsonw_array(&j, "candidates");
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (v->candidates & KIND_BIT(k))
            jsonw_text(&j, NULL, watch_kind_name((enum watch_kind) k));
    jsonw_array_end(&j);
    jsonw_text(&j, "stage", v->stage == STAGE_NONE ? NULL : watch_stage_name(v->stage));
    jsonw_i64(&j, "since_us", v->since_us + c->wall_offset_us);
    jsonw_i64(&j, "decided_us", v->decided_us + c->wall_offset_us);
    add_culprits_json(c, v, &j);
    jsonw_text(&j, "positive_proof", v->proof);
    jsonw_text(&j, "rule", v->stage == STAGE_NONE ? NULL : stall_name(v->stall));
    jsonw_text(&j, "detail", v->detail[0] ? v->detail : NULL);
    jsonw_null(&j, "evidence_dir");
    add_hours(c, v, &j);
    jsonw_end(&j);
}
