/* SPDX-License-Identifier: Apache-2.0 */
/* 2,000 random simulated units, an hour each: how often is a named state wrong? A simulation of
 * ours, not field data. Seconds within one window of a true change are not scored: a median over
 * a window cannot be right there. */
#include "tables/tables.h"
#include "tap.h"
#include "units.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TUNED 500 /* seeds 1..500 were looked at while thresholds were set */
#define UNITS 2000
#define GRACE_S 12

/* What each second was called, filled in when episodes close. */
struct run {
    enum state said[UNIT_SECONDS + 2];
    enum truth truth[UNIT_SECONDS + 2];
    bool scored[UNIT_SECONDS + 2];
};

static void on_episode(void *arg, const struct episode *e)
{
    struct run *run = arg;
    for (int64_t s = e->start_us / US_PER_S; s * US_PER_S < e->end_us && s <= UNIT_SECONDS; s++)
        run->said[s] = e->state;
}

/* Named states that are right for a truth. */
static bool right(enum truth t, enum state s)
{
    static const uint32_t ok[TRUTH_COUNT] = {
        [TRUTH_IDLE] = CANDIDATE(STATE_IDLE),
        [TRUTH_HELD] = CANDIDATE(STATE_HELD),
        [TRUTH_LOAD] = CANDIDATE(STATE_STARVED) | CANDIDATE(STATE_HELD),
        [TRUTH_WORK] = CANDIDATE(STATE_COMPUTE),
        [TRUTH_COMM] = CANDIDATE(STATE_COMMUNICATION),
        [TRUTH_STARVED] = CANDIDATE(STATE_STARVED),
        [TRUTH_UNDERFED] = CANDIDATE(STATE_UNDERFED),
        [TRUTH_OFFLOAD] = CANDIDATE(STATE_UNDERFED) | CANDIDATE(STATE_COMMUNICATION),
        [TRUTH_CHECKPOINT] = CANDIDATE(STATE_CHECKPOINT),
        [TRUTH_PAUSE] = 0,
        [TRUTH_DEADLOCK] = CANDIDATE(STATE_DEADLOCK),
    };
    return ok[t] & CANDIDATE(s);
}

static void feed(struct triage *t, const struct record *r)
{
    struct err e;
    if (triage_feed(t, r, &e) < 0) {
        tap_note("%s", e.text);
        CHECK(false);
    }
}

static void feed_start(struct triage *t, const struct unit *u)
{
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .interval_us = US_PER_S };
    feed(t, &r);
    r = (struct record){ .kind = RECORD_ENTITY };
    r.u.entity = (struct entity){ .id = 0,
                                  .kind = ENTITY_GPU,
                                  .parent = ENTITY_NONE,
                                  .key = STR("GPU-x"),
                                  .name = str_from(u->name) };
    feed(t, &r);
    for (uint32_t id = 1; id <= 2 && u->sees_host; id++) {
        r.u.entity = (struct entity){ .id = id,
                                      .kind = ENTITY_PROCESS,
                                      .parent = id - 1,
                                      .index = (int32_t) (100 + id),
                                      .key = STR("pid") };
        feed(t, &r);
    }
}

static void feed_sample(struct triage *t, uint32_t id, const struct obs *obs, uint32_t n,
                        int64_t at_us)
{
    struct record r = { .kind = RECORD_SAMPLE, .mono_us = at_us };
    r.u.sample = (struct sample){ id, n, obs };
    feed(t, &r);
}

static void live(const struct tables *tables, uint64_t seed, struct run *run, struct unit *u)
{
    const struct triage_sink sink = { on_episode, NULL, run };
    struct err e;
    memset(run, 0, sizeof(*run));
    AUTO(triage) struct triage *t = triage_new(&tables->triage, &tables->boards, &sink);
    unit_draw(u, seed);
    feed_start(t, u);
    for (int64_t s = 1; s <= UNIT_SECONDS; s++) {
        struct obs obs[16];
        struct record tick = { .kind = RECORD_TICK, .mono_us = s * US_PER_S };
        uint32_t n = unit_second(u, obs, &run->truth[s]);
        feed_sample(t, 0, obs, n, tick.mono_us);
        if (u->sees_host) {
            feed_sample(t, 1, obs, unit_owner(u, obs), tick.mono_us);
            feed_sample(t, 2, obs, unit_loader(u, obs), tick.mono_us);
        }
        feed(t, &tick);
    }
    CHECK_EQ(triage_finish(t, &e), 0);
    for (int64_t s = 1; s <= UNIT_SECONDS; s++) {
        run->scored[s] = true;
        for (int64_t k = MAX(s - GRACE_S, 1); k <= MIN(s + GRACE_S, UNIT_SECONDS); k++)
            run->scored[s] = run->scored[s] && run->truth[k] == run->truth[s];
    }
}

struct score {
    uint64_t seconds[TRUTH_COUNT][STATE_COUNT];
    uint64_t scored, named, wrong, deadlock_of_healthy, deadlock_found, hangs;
};

static void count(struct score *sc, const struct run *run)
{
    bool healthy_called_dead = false, hung = false, found = false;
    for (int64_t s = 1; s <= UNIT_SECONDS; s++) {
        enum state said = run->said[s];
        enum truth t = run->truth[s];
        /* this one is counted everywhere, changes or not */
        healthy_called_dead =
            healthy_called_dead || (said == STATE_DEADLOCK && t != TRUTH_DEADLOCK);
        hung = hung || t == TRUTH_DEADLOCK;
        found = found || (said == STATE_DEADLOCK && t == TRUTH_DEADLOCK);
        if (!run->scored[s])
            continue;
        bool named = said != STATE_UNKNOWN && said != STATE_UNRESOLVED;
        sc->seconds[t][said]++;
        sc->scored++;
        sc->named += named;
        sc->wrong += named && !right(t, said);
    }
    sc->deadlock_of_healthy += healthy_called_dead;
    sc->hangs += hung;
    sc->deadlock_found += found;
}

static void print(const struct score *sc)
{
    char line[400];
    int n = snprintf(line, sizeof(line), "%-9s", "truth");
    for (unsigned s = 0; s < STATE_COUNT; s++)
        n += snprintf(line + n, sizeof(line) - (size_t) n, " %8.8s", state_name((enum state) s));
    tap_note("%s", line);
    for (unsigned t = 0; t < TRUTH_COUNT; t++) {
        n = snprintf(line, sizeof(line), "%-9s", truth_name((enum truth) t));
        for (unsigned s = 0; s < STATE_COUNT; s++)
            n += snprintf(line + n, sizeof(line) - (size_t) n, " %8" PRIu64, sc->seconds[t][s]);
        tap_note("%s", line);
    }
    tap_note("%" PRIu64 " seconds scored, %.1f %% named, named and wrong %.3f %% of time",
             sc->scored, 100.0 * (double) sc->named / (double) sc->scored,
             100.0 * (double) sc->wrong / (double) sc->scored);
    tap_note("deadlock said of a healthy GPU: %" PRIu64 " units; %" PRIu64 " of %" PRIu64
             " hung units named within the hour",
             sc->deadlock_of_healthy, sc->deadlock_found, sc->hangs);
}

static void score_units(uint64_t from, uint64_t to)
{
    AUTO(tables) struct tables tables = { 0 };
    struct err e = { 0 };
    struct run *run = malloc(sizeof(*run));
    struct score sc = { 0 };
    struct unit u;
    CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    if (e.code)
        tap_note("%s", e.text);
    for (uint64_t seed = from; run && !e.code && seed < to; seed++) {
        live(&tables, seed, run, &u);
        count(&sc, run);
    }
    free(run);
    print(&sc);
    CHECK(sc.scored > (to - from) * UNIT_SECONDS / 3);
    CHECK(sc.wrong * 1000 <= sc.scored * 5);
    CHECK_EQ(sc.deadlock_of_healthy, 0);
    CHECK(sc.named * 2 > sc.scored); /* a tool that names nothing is never wrong */
}

static void tuned_seeds(void)
{
    score_units(1, TUNED + 1);
}

static void fresh_seeds(void)
{
    score_units(TUNED + 1, TUNED + 1 + UNITS);
}

static const struct tap_case cases[] = {
    { "500 units on seeds that thresholds were tuned on", tuned_seeds },
    { "2,000 units on fresh seeds", fresh_seeds },
};
TAP_MAIN(cases)
