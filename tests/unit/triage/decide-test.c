/* SPDX-License-Identifier: Apache-2.0 */
#include "core/triage/triage-priv.h"
#include "tables/tables.h"
#include "tap.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

static unsigned bits(uint32_t candidates)
{
    return (unsigned) __builtin_popcount(candidates);
}

/* Every combination of every signal. */
static void total(void)
{
    uint64_t n = 0, bad = 0;
    bool used[64] = { false };
    for (unsigned power = 0; power < 4; power++)
        for (unsigned util = 0; util < 4; util++)
            for (unsigned flat = 0; flat < 3; flat++)
                for (unsigned rest = 0; rest < 3 * 4 * 3 * 3 * 3 * 5 * 3 * 8; rest++) {
                    unsigned k = rest;
                    struct signals s = { .power = power, .util = util, .flat = flat };
                    s.mem = k % 3, k /= 3;
                    s.link = k % 4, k /= 4;
                    s.owner = k % 3, k /= 3;
                    s.sm = k % 3, k /= 3;
                    s.near = k % 3, k /= 3;
                    s.host = k % 5, k /= 5;
                    s.still = k % 3, k /= 3;
                    s.working = k & 1;
                    s.may_compute = k & 2;
                    s.smoothing = k & 4;
                    struct verdict v = decide(&s);
                    bool unresolved = v.state == STATE_UNRESOLVED;
                    bool one_look = flat == FLAT_UNKNOWN || s.still == STILL_SHORT;
                    bool ok = v.state < STATE_COUNT && v.rule &&
                              (unresolved ? bits(v.candidates) >= 2 : v.candidates == 0) &&
                              !(v.state == STATE_DEADLOCK && one_look) &&
                              !(v.state == STATE_DEADLOCK && power != CLASS_LOW) &&
                              !(v.state == STATE_DEADLOCK && s.host == HOST_WRITING) &&
                              !(v.state == STATE_IDLE && s.owner == AMOUNT_SOME) &&
                              !(power == CLASS_HIGH && v.state != STATE_COMPUTE);
                    bad += !ok;
                    n++;
                    for (size_t i = 0; decide_rule(i); i++)
                        used[i] = used[i] || strcmp(decide_rule(i), v.rule) == 0;
                }
    tap_note("%llu combinations", (unsigned long long) n);
    CHECK_EQ(bad, 0);
    for (size_t i = 0; decide_rule(i); i++)
        if (!used[i]) {
            tap_note("row %s never matches", decide_rule(i));
            CHECK(false);
        }
}

/* size waiver: rows of examples */
static void rows(void)
{
    static const struct {
        struct signals s;
        enum state want;
        const char *rule;
    } cases[] = {
        { { .power = CLASS_HIGH, .util = UTIL_ZERO }, STATE_COMPUTE, "high.compute" },
        { { .power = CLASS_LOW, .util = UTIL_ZERO, .owner = AMOUNT_NONE },
          STATE_IDLE,
          "none.owner" },
        { { .power = CLASS_NONE, .util = UTIL_ZERO, .owner = AMOUNT_NONE },
          STATE_IDLE,
          "none.owner" },
        { { .power = CLASS_LOW, .util = UTIL_BUSY, .owner = AMOUNT_NONE },
          STATE_IDLE,
          "low.ghost" },
        { { .power = CLASS_LOW, .util = UTIL_ZERO, .owner = AMOUNT_SOME }, STATE_HELD, "low.held" },
        { { .power = CLASS_LOW,
            .util = UTIL_BUSY,
            .flat = FLAT_YES,
            .mem = AMOUNT_NONE,
            .owner = AMOUNT_SOME },
          STATE_UNRESOLVED,
          "low.stalled" },
        { { .power = CLASS_LOW,
            .util = UTIL_BUSY,
            .flat = FLAT_YES,
            .mem = AMOUNT_NONE,
            .owner = AMOUNT_SOME,
            .host = HOST_STILL,
            .still = STILL_LONG },
          STATE_DEADLOCK,
          "low.still" },
        { { .power = CLASS_LOW,
            .util = UTIL_BUSY,
            .flat = FLAT_YES,
            .mem = AMOUNT_NONE,
            .owner = AMOUNT_SOME,
            .still = STILL_LONG },
          STATE_UNRESOLVED,
          "low.stalled" }, /* nothing seen of the owner: a save may go on */
        { { .power = CLASS_LOW,
            .util = UTIL_BUSY,
            .flat = FLAT_YES,
            .mem = AMOUNT_NONE,
            .owner = AMOUNT_SOME,
            .host = HOST_WRITING,
            .still = STILL_BLIND_LONG },
          STATE_CHECKPOINT,
          "low.writing" },
        { { .power = CLASS_LOW,
            .util = UTIL_BUSY,
            .flat = FLAT_YES,
            .mem = AMOUNT_NONE,
            .owner = AMOUNT_SOME,
            .host = HOST_BLOCKED,
            .still = STILL_BLIND_LONG },
          STATE_UNRESOLVED,
          "low.stalled" },
        { { .power = CLASS_LOW, .util = UTIL_BUSY, .flat = FLAT_YES },
          STATE_UNRESOLVED,
          "low.busy" },
        { { .power = CLASS_MID, .util = UTIL_BUSY, .link = AMOUNT_MUCH, .sm = AMOUNT_NONE },
          STATE_COMMUNICATION,
          "mid.traffic" },
        { { .power = CLASS_MID, .util = UTIL_BETWEEN, .link = AMOUNT_NONE, .host = HOST_LOADING },
          STATE_STARVED,
          "mid.starved" },
        { { .power = CLASS_MID, .util = UTIL_BUSY, .sm = AMOUNT_SOME },
          STATE_UNDERFED,
          "mid.work" },
        { { .power = CLASS_MID, .util = UTIL_BUSY, .sm = AMOUNT_SOME, .may_compute = true },
          STATE_UNRESOLVED,
          "mid.work" },
        { { .power = CLASS_MID, .util = UTIL_BUSY }, STATE_UNRESOLVED, "mid.slow" },
        { { .power = CLASS_NONE, .util = UTIL_BUSY, .owner = AMOUNT_SOME, .working = true },
          STATE_UNRESOLVED,
          "none.working" },
        { { .power = CLASS_NONE, .util = UTIL_BUSY }, STATE_UNKNOWN, "none.nothing" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct verdict v = decide(&cases[i].s);
        CHECK_TEXT(v.rule, cases[i].rule);
        CHECK_EQ(v.state, cases[i].want);
    }
}

/* Every rule that evidence can name stands in data/rules/triage.yaml, with words. */
static void rules_are_documented(void)
{
    const char *name;
    struct str content = { NULL, 0 };
    for (size_t i = 0; tables_builtin(i, &name, &content); i++)
        if (strcmp(name, "rules/triage.yaml") == 0)
            break;
    CHECK(content.n > 0);
    for (size_t i = 0; decide_rule(i); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n  %s: \"", decide_rule(i));
        if (str_find(content, line) < 0) {
            tap_note("%s", decide_rule(i));
            CHECK(false);
        }
    }
}

struct log {
    struct strbuf text;
};

static void log_episode(void *arg, const struct episode *e)
{
    struct log *log = arg;
    strbuf_addf(&log->text, "%u %lld-%lld %s %x %d %lld %s;", e->device, (long long) e->start_us,
                (long long) e->end_us, state_name(e->state), e->candidates, (int) e->confidence,
                (long long) e->power_mw, e->evidence[0].detail);
}

static void log_finding(void *arg, const struct finding *f)
{
    struct log *log = arg;
    strbuf_addf(&log->text, "! %s %s;", finding_name(f->kind), f->evidence.detail);
}

struct bench {
    struct tables tables;
    struct log log;
    struct triage *t;
};

static void bench_open(struct bench *b, const char *product)
{
    struct err e;
    const struct triage_sink sink = { log_episode, log_finding, &b->log };
    *b = (struct bench){ 0 };
    CHECK_EQ(tables_load(NULL, &b->tables, &e), 0);
    b->t = triage_new(&b->tables.triage, &b->tables.boards, &sink);
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .interval_us = US_PER_S };
    CHECK_EQ(triage_feed(b->t, &r, &e), 0);
    r = (struct record){ .kind = RECORD_ENTITY };
    r.u.entity = (struct entity){
        .kind = ENTITY_GPU, .parent = ENTITY_NONE, .key = STR("GPU-a"), .name = str_from(product)
    };
    CHECK_EQ(triage_feed(b->t, &r, &e), 0);
}

static void bench_close(struct bench *b)
{
    triage_free(b->t);
    tables_done(&b->tables);
    strbuf_done(&b->log.text);
}

static void bench_second(struct bench *b, int64_t s, int64_t mw, int64_t util, int64_t mem,
                         int64_t owners)
{
    struct err e;
    struct obs obs[] = { { .metric = METRIC_POWER_AVERAGE_MW, .value = mw },
                         { .metric = METRIC_POWER_LIMIT_MW, .value = 700000 },
                         { .metric = METRIC_UTIL_GPU_PERMILLE, .value = util },
                         { .metric = METRIC_UTIL_MEM_PERMILLE, .value = mem },
                         { .metric = METRIC_PROCESS_COUNT, .value = owners } };
    struct record r = { .kind = RECORD_SAMPLE, .mono_us = s * US_PER_S };
    r.u.sample = (struct sample){ 0, ARRAY_SIZE(obs), obs };
    CHECK_EQ(triage_feed(b->t, &r, &e), 0);
    r = (struct record){ .kind = RECORD_TICK, .mono_us = s * US_PER_S };
    CHECK_EQ(triage_feed(b->t, &r, &e), 0);
}

static void one_sample_never_says_deadlock(void)
{
    struct bench b;
    struct err e;
    bench_open(&b, "NVIDIA H100 80GB HBM3");
    bench_second(&b, 1, 115000, 1000, 0, 1);
    const struct triage_device *d = triage_device(b.t, 0);
    CHECK_EQ(d->state, STATE_UNRESOLVED);
    CHECK_EQ(d->candidates,
             CANDIDATE(STATE_CHECKPOINT) | CANDIDATE(STATE_DEADLOCK) | CANDIDATE_WAIT);
    CHECK_EQ(triage_finish(b.t, &e), 0);
    CHECK_HAS(strbuf_text(&b.log.text), "unresolved");
    bench_close(&b);
}

static void a_stall_is_named_when_it_is_long(void)
{
    struct bench b;
    bench_open(&b, "NVIDIA H100 80GB HBM3");
    for (int64_t s = 1; s <= 300; s++)
        bench_second(&b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_COMPUTE);
    for (int64_t s = 301; s <= 301 + 1700; s++)
        bench_second(&b, s, 115000, 1000, 0, 1);
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_UNRESOLVED);
    for (int64_t s = 2002; s <= 2002 + 200; s++)
        bench_second(&b, s, 115000, 1000, 0, 1);
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_DEADLOCK);
    bench_second(&b, 2203, 115000, 1000, 90, 1); /* memory moves: it lives */
    for (int64_t s = 2204; s <= 2220; s++)
        bench_second(&b, s, 115000, 1000, 90, 1);
    CHECK(triage_device(b.t, 0)->state != STATE_DEADLOCK);
    bench_close(&b);
}

static void a_start_under_load_learns_no_idle(void)
{
    struct bench b;
    bench_open(&b, "NVIDIA H100 80GB HBM3");
    for (int64_t s = 1; s <= 600; s++)
        bench_second(&b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
    const struct triage_device *d = triage_device(b.t, 0);
    CHECK_EQ(d->anchor_from[ANCHOR_BARE], CALIBRATION_TABLE);
    CHECK_EQ(d->calibration, CALIBRATION_TABLE);
    for (int64_t s = 601; s <= 700; s++)
        bench_second(&b, s, 99000, 0, 0, 0);
    CHECK_EQ(d->anchor_from[ANCHOR_BARE], CALIBRATION_LEARNED);
    CHECK_EQ(d->anchor_mw[ANCHOR_BARE], 99000);
    bench_close(&b);
}

/* The first GPU works for a minute and is silent then; with a second one that goes on. */
static void fall_silent(struct bench *b, bool second_goes_on)
{
    struct err e;
    struct record r = { .kind = RECORD_ENTITY };
    bench_open(b, "NVIDIA H100 80GB HBM3");
    r.u.entity = (struct entity){ .id = 1,
                                  .kind = ENTITY_GPU,
                                  .parent = ENTITY_NONE,
                                  .index = 1,
                                  .key = STR("GPU-b"),
                                  .name = STR("NVIDIA H100 80GB HBM3") };
    CHECK_EQ(triage_feed(b->t, &r, &e), 0);
    for (int64_t s = 1; s <= 80; s++) {
        struct obs watts = { .metric = METRIC_POWER_AVERAGE_MW, .value = 600000 + s % 7 * 5000 };
        r = (struct record){ .kind = RECORD_SAMPLE, .mono_us = s * US_PER_S };
        r.u.sample = (struct sample){ 1, 1, &watts };
        if (s <= 60 || second_goes_on)
            CHECK_EQ(triage_feed(b->t, &r, &e), 0);
        if (s <= 60)
            bench_second(b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
        r = (struct record){ .kind = RECORD_TICK, .mono_us = s * US_PER_S };
        CHECK_EQ(triage_feed(b->t, &r, &e), 0);
    }
}

static void silence_is_a_gap_or_a_loss(void)
{
    struct bench b;
    struct err e;
    fall_silent(&b, true);
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_LOST);
    CHECK_EQ(triage_device(b.t, 1)->state, STATE_COMPUTE);
    CHECK_HAS(strbuf_text(&b.log.text), "! device_lost");
    bench_close(&b);
    fall_silent(&b, false); /* the driver answers nobody: that is no death of all */
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_UNKNOWN);
    CHECK_EQ(triage_device(b.t, 1)->state, STATE_UNKNOWN);
    CHECK(!strstr(strbuf_text(&b.log.text), "lost"));
    for (int64_t s = 81; s <= 100; s++)
        bench_second(&b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_COMPUTE);
    bench_close(&b);
    bench_open(&b, "NVIDIA H100 80GB HBM3");
    for (int64_t s = 1; s <= 60; s++)
        bench_second(&b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
    for (int64_t s = 1000; s <= 1060; s++) /* the recorder was away: nobody died */
        bench_second(&b, s, 600000 + s % 7 * 5000, 1000, 400, 1);
    CHECK_EQ(triage_finish(b.t, &e), 0);
    CHECK(!strstr(strbuf_text(&b.log.text), "lost"));
    CHECK(triage_device(b.t, 0)->us_by_state[STATE_COMPUTE] <= 121 * US_PER_S);
    bench_close(&b);
}

static void a_frozen_sensor_names_nothing(void)
{
    struct bench b;
    struct err e;
    bench_open(&b, "NVIDIA A100-SXM4-40GB");
    for (int64_t s = 1; s <= 300; s++) {
        struct obs obs[] = { { .metric = METRIC_POWER_DRAW_MW, .value = 46190 },
                             { .metric = METRIC_TEMP_GPU_MC, .value = 32000 + s * 100 } };
        struct record r = { .kind = RECORD_SAMPLE, .mono_us = s * US_PER_S };
        r.u.sample = (struct sample){ 0, ARRAY_SIZE(obs), obs };
        CHECK_EQ(triage_feed(b.t, &r, &e), 0);
    }
    CHECK_EQ(triage_device(b.t, 0)->state, STATE_UNKNOWN);
    CHECK_HAS(strbuf_text(&b.log.text), "stuck_sensor");
    bench_close(&b);
}

static void the_same_records_give_the_same_log(void)
{
    struct bench a, b;
    struct bench *both[] = { &a, &b };
    for (size_t i = 0; i < 2; i++) {
        struct err e;
        bench_open(both[i], "NVIDIA H100 80GB HBM3");
        for (int64_t s = 1; s <= 3000; s++)
            bench_second(both[i], s, (s / 200 % 2 ? 600000 : 112000) + s * 7919 % 9000, 1000,
                         s / 200 % 2 ? 400 : 3, 1);
        CHECK_EQ(triage_finish(both[i]->t, &e), 0);
    }
    CHECK(strbuf_str(&a.log.text).n > 200);
    CHECK_TEXT(strbuf_text(&a.log.text), strbuf_text(&b.log.text));
    bench_close(&a);
    bench_close(&b);
}

static const struct tap_case cases[] = {
    { "the rule is total", total },
    { "rows", rows },
    { "rules are documented", rules_are_documented },
    { "one sample never says deadlock", one_sample_never_says_deadlock },
    { "a stall is named when it is long", a_stall_is_named_when_it_is_long },
    { "a start under load learns no idle", a_start_under_load_learns_no_idle },
    { "silence is a gap or a loss", silence_is_a_gap_or_a_loss },
    { "a frozen sensor names nothing", a_frozen_sensor_names_nothing },
    { "the same records give the same log", the_same_records_give_the_same_log },
};
TAP_MAIN(cases)
