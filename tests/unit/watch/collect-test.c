/* SPDX-License-Identifier: Apache-2.0 */
/* From records to seconds: who belongs to whom, and what counts as read. */
#include "base/units.h"
#include "core/watch/collect.h"
#include "tap.h"

#include <string.h>

/* Two ranks: process 100 on the GPU that is asked for by number, process 200 on one that only the
 * driver's process list tells. */
static const struct watch_rank about[] = { { .rank = 0, .pid = 100, .device = "index:5" },
                                           { .rank = 1, .pid = 200 } };
enum { GPU5, GPU6, PROC100, PROC200, LOADER, LISTED, STRANGER };

static int64_t now_us;

static int give(struct collect *c, const struct record *r)
{
    struct err e;
    struct record copy = *r;
    copy.mono_us = now_us;
    return collect_take(c, &copy, &e);
}

static void entity(struct collect *c, uint32_t id, enum entity_kind kind, uint32_t parent,
                   int32_t index, const char *key)
{
    struct record r = { .kind = RECORD_ENTITY };
    r.u.entity = (struct entity){
        .id = id, .kind = kind, .parent = parent, .index = index, .key = str_from(key)
    };
    CHECK_EQ(give(c, &r), 0);
}

static void sample(struct collect *c, uint32_t id, const struct obs *obs, uint32_t n)
{
    struct record r = { .kind = RECORD_SAMPLE };
    r.u.sample = (struct sample){ id, n, obs };
    CHECK_EQ(give(c, &r), 0);
}

static const struct rank_second *tick(struct collect *c)
{
    const struct record r = { .kind = RECORD_TICK };
    CHECK_EQ(give(c, &r), 1);
    now_us += US_PER_S;
    return collect_second(c)->ranks;
}

static void gpu(struct collect *c, uint32_t id, int64_t mw, int64_t nvlink)
{
    const struct obs obs[] = { { .metric = METRIC_POWER_AVERAGE_MW, .value = mw },
                               { .metric = METRIC_UTIL_GPU_PERMILLE, .value = 1000 },
                               { .metric = METRIC_UTIL_MEM_PERMILLE, .value = 0 },
                               { .metric = METRIC_NVLINK_TX_BYTES, .value = nvlink } };
    sample(c, id, obs, 4);
}

static void process(struct collect *c, uint32_t id, char state, int64_t cpu_us, int64_t written)
{
    const struct obs obs[] = { { .metric = METRIC_PROC_STATE, .value = state },
                               { .metric = METRIC_PROC_CPU_US, .value = cpu_us },
                               { .metric = METRIC_PROC_WRITE_BYTES, .value = written } };
    sample(c, id, obs, 3);
}

static struct collect *begin(void)
{
    const struct watch_job job = { .n = 2, .ranks = about };
    struct collect *c = collect_new(&job);
    CHECK(c != NULL);
    now_us = 10 * US_PER_S;
    entity(c, GPU5, ENTITY_GPU, ENTITY_NONE, 5, "GPU-5");
    entity(c, GPU6, ENTITY_GPU, ENTITY_NONE, 6, "GPU-6");
    entity(c, PROC100, ENTITY_PROCESS, ENTITY_NONE, 100, "pid:100@1");
    entity(c, PROC200, ENTITY_PROCESS, ENTITY_NONE, 200, "pid:200@1");
    entity(c, LOADER, ENTITY_PROCESS, PROC200, 201, "pid:201@2");
    entity(c, LISTED, ENTITY_PROCESS, GPU6, 200, "pid:200");
    entity(c, STRANGER, ENTITY_PROCESS, ENTITY_NONE, 300, "pid:300@1");
    return c;
}

static void readings(void)
{
    AUTO(collect) struct collect *c = begin();
    CHECK_TEXT(collect_device(c, 0), "GPU-5");
    gpu(c, GPU5, 500000, 0);
    gpu(c, GPU6, 130000, 0);
    process(c, PROC100, 'R', 0, 0);
    process(c, PROC200, 'S', 0, 0);
    process(c, LOADER, 'D', 0, 0);
    process(c, STRANGER, 'R', 0, 0);
    const struct rank_second *r = tick(c);
    CHECK_EQ(r[0].power_mw, 500000);
    CHECK_EQ(r[1].power_mw, 130000);
    CHECK_EQ(r[0].known & WATCH_LINK, 0); /* one reading of a counter is no rate */
    CHECK_EQ(r[0].known & WATCH_WRITE, 0);
    CHECK_EQ(r[1].helpers_waiting, 1);
    gpu(c, GPU5, 510000, 1 << 30);
    process(c, PROC100, 'R', 700000, 4 << 20);
    process(c, PROC200, 'S', 100000, 1 << 20);
    process(c, LOADER, 'R', 400000, 2 << 20);
    process(c, STRANGER, 'R', 900000, 9 << 20);
    r = tick(c);
    CHECK_EQ(collect_second(c)->dt_us, US_PER_S);
    CHECK(r[0].known & WATCH_LINK);
    CHECK_EQ(r[0].link_kib, 1 << 20);
    CHECK_EQ(r[0].cpu_permille, 700);
    CHECK_EQ(r[0].write_kib, 4096);
    CHECK_EQ(r[0].helpers_permille, 0);
    CHECK_EQ(r[1].known & WATCH_POWER, 0); /* it gave none in this second */
    CHECK_EQ(r[1].gpu, GPU_ANSWERS);
    CHECK_EQ(r[1].cpu_permille, 100);
    CHECK_EQ(r[1].helpers_permille, 400);
    CHECK_EQ(r[1].write_kib, 3072); /* its own and the loader's */
}

static void ends(void)
{
    AUTO(collect) struct collect *c = begin();
    const struct obs stuck = { .metric = METRIC_POWER_AVERAGE_MW, .status = OBS_TIMED_OUT };
    sample(c, GPU5, &stuck, 1);
    process(c, PROC100, 't', 0, 0);
    const struct rank_second *r = tick(c);
    CHECK_EQ(r[0].gpu, GPU_TIMED_OUT);
    CHECK_EQ(r[0].known & WATCH_POWER, 0);
    CHECK(r[0].debugged);
    struct record gone = { .kind = RECORD_GONE };
    gone.u.gone = PROC200;
    CHECK_EQ(give(c, &gone), 0);
    r = tick(c);
    CHECK_EQ(r[1].state, 'X');
    CHECK_EQ(r[1].exit_code, 255); /* nobody saw it */
    CHECK_EQ(tick(c)[1].state, 'X');
    gone.u.gone = GPU5;
    CHECK_EQ(give(c, &gone), 0);
    CHECK_EQ(tick(c)[0].gpu, GPU_LOST);
}

/* Power of two kinds: the first that was seen is used, the other never in its place. */
static void kinds_of_power(void)
{
    AUTO(collect) struct collect *c = begin();
    const struct obs both[] = { { .metric = METRIC_POWER_AVERAGE_MW, .value = 1000 },
                                { .metric = METRIC_POWER_INSTANT_MW, .value = 2000 } };
    sample(c, GPU5, both, 2);
    CHECK_EQ(tick(c)[0].power_mw, 2000);
    sample(c, GPU5, both, 1);
    CHECK_EQ(tick(c)[0].known & WATCH_POWER, 0);
}

static const struct tap_case cases[] = {
    { "readings go to their rank", readings },
    { "what ends, stops or hangs is told", ends },
    { "kinds of power are never mixed", kinds_of_power },
};
TAP_MAIN(cases)
