/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up streams, for what findings say of them. */
#include "core/triage/triage.h"

#include "base/units.h"
#include "tables/tables.h"
#include "tap.h"

#define POWER_MW 400000

struct seen {
    unsigned of[FINDING_COUNT];
};

static void on_finding(void *arg, const struct finding *f)
{
    struct seen *s = arg;
    s->of[f->kind]++;
}

static void feed(struct triage *t, const struct record *r)
{
    struct err e;
    CHECK_EQ(triage_feed(t, r, &e), 0);
}

static void begin(struct triage *t)
{
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .interval_us = US_PER_S };
    feed(t, &r);
    r = (struct record){ .kind = RECORD_ENTITY };
    r.u.entity = (struct entity){
        .kind = ENTITY_GPU, .parent = ENTITY_NONE, .key = STR("GPU-1"), .name = STR("NVIDIA H200")
    };
    feed(t, &r);
}

static void second(struct triage *t, int64_t at_s, int64_t counter_j)
{
    const struct obs obs[] = {
        { .metric = METRIC_POWER_AVERAGE_MW, .value = POWER_MW + at_s % 7 * 1000 },
        { .metric = METRIC_ENERGY_UJ, .value = counter_j * UJ_PER_J },
        { .metric = METRIC_POWER_LIMIT_MW, .value = 700000 },
    };
    struct record r = { .kind = RECORD_SAMPLE, .mono_us = at_s * US_PER_S };
    r.u.sample = (struct sample){ 0, ARRAY_SIZE(obs), obs };
    feed(t, &r);
    r = (struct record){ .kind = RECORD_TICK, .mono_us = at_s * US_PER_S };
    feed(t, &r);
}

/* Ten minutes, an hour without samples in which the counter goes on, ten minutes. */
static struct seen with_hole(int64_t watts_of_counter)
{
    AUTO(tables) struct tables tables = { 0 };
    struct seen seen = { { 0 } };
    struct err e;
    const struct triage_sink sink = { .finding = on_finding, .arg = &seen };
    CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    AUTO(triage) struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    begin(t);
    for (int64_t s = 1; s <= 4800; s++)
        if (s <= 600 || s > 4200)
            second(t, s, s * watts_of_counter);
    CHECK_EQ(triage_finish(t, &e), 0);
    return seen;
}

static void hole_in_energy(void)
{
    CHECK_EQ(with_hole(403).of[FINDING_CLOCKS_DISAGREE], 0);
    CHECK_EQ(with_hole(806).of[FINDING_CLOCKS_DISAGREE], 1); /* it can be found */
}

/* Instances are told of on their board, once each, and get no state. */
static void mig_instances(void)
{
    AUTO(tables) struct tables tables = { 0 };
    struct err e;
    const struct triage_sink sink = { 0 };
    CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    AUTO(triage) struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    begin(t);
    static const struct {
        const char *key;
        int32_t index;
    } rows[] = { { "MIG-a", 0 }, { "MIG-b", 1 }, { "MIG-a", 0 }, { "7", -1 }, { "MIG-c", -1 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct record r = { .kind = RECORD_ENTITY };
        r.u.entity = (struct entity){ .id = i + 1,
                                      .kind = ENTITY_MIG,
                                      .parent = 0,
                                      .index = rows[i].index,
                                      .key = str_from(rows[i].key) };
        feed(t, &r);
    }
    for (int64_t s = 1; s <= 20; s++)
        second(t, s, s * 403);
    CHECK_EQ(triage_finish(t, &e), 0);
    CHECK_EQ(triage_devices(t), 1);
    CHECK_EQ(triage_device(t, 0)->mig_instances, 3);
}

static const struct tap_case cases[] = {
    { "a hole in the stream is no quarrel of counter and power", hole_in_energy },
    { "MIG instances are told of on their board", mig_instances },
};
TAP_MAIN(cases)
