/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on made-up seconds: what must be caught, when, as what, through whom; and what must
 * not. Eight ranks on eight boards, held at 120 W, limit 700 W. */
#include "core/watch/watch.h"

#include "base/units.h"
#include "tables/tables.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define RANKS 8

struct rig {
    struct tables tables;
    struct watch *watch;
    struct watch_rank about[RANKS];
    struct rank_second ranks[RANKS];
    int64_t now_us;
    int64_t alert_s, suspect_s, act_s; /* seconds after mark(); -1 not reached */
    int64_t mark_us;
};

typedef void fill_fn(struct rank_second *r);

static const uint32_t seen = WATCH_POWER | WATCH_UTIL | WATCH_MEM | WATCH_LINK | WATCH_STATE |
                             WATCH_CPU | WATCH_HELPERS | WATCH_READ | WATCH_WRITE;

static void gpu(struct rank_second *r, int32_t mw, uint16_t util, uint16_t mem, uint32_t link)
{
    *r = (struct rank_second){ .known = seen, .state = 'S', .exit_code = 255, .launches = -1 };
    r->power_mw = mw;
    r->util_permille = util;
    r->mem_permille = mem;
    r->link_kib = link;
}

static void work(struct rank_second *r)
{
    gpu(r, 620000, 990, 400, 900000);
}
static void spin(struct rank_second *r)
{
    gpu(r, 135000, 1000, 0, 100);
    r->cpu_permille = 1000;
    r->state = 'R';
}
static void held(struct rank_second *r)
{
    gpu(r, 121000, 0, 0, 0);
}
static void writing(struct rank_second *r)
{
    held(r);
    r->write_kib = 400000;
}
static void computing(struct rank_second *r)
{
    held(r);
    r->cpu_permille = 1000;
}
static void in_disk(struct rank_second *r)
{
    held(r);
    r->state = 'D';
}
static void in_data(struct rank_second *r)
{
    held(r);
    r->known |= WATCH_STACK;
    r->stack = STACK_DATA;
}
static void ended_well(struct rank_second *r)
{
    held(r);
    r->state = 'X';
    r->exit_code = 0;
}
static void crashed(struct rank_second *r)
{
    ended_well(r);
    r->exit_code = 139;
}
static void stuck(struct rank_second *r)
{
    held(r);
    r->known &= ~(uint32_t) (WATCH_POWER | WATCH_UTIL | WATCH_MEM | WATCH_LINK);
    r->gpu = GPU_TIMED_OUT;
}
static void lost(struct rank_second *r)
{
    stuck(r);
    r->gpu = GPU_LOST;
}
static void blind(struct rank_second *r)
{
    stuck(r);
    r->gpu = GPU_ANSWERS;
}
static void debugged(struct rank_second *r)
{
    held(r);
    r->debugged = true;
    r->state = 't';
}
static void spin_few(struct rank_second *r) /* launched less than the others */
{
    spin(r);
    r->known |= WATCH_LAUNCHES;
    r->launches = 998;
}
static void spin_many(struct rank_second *r)
{
    spin(r);
    r->known |= WATCH_LAUNCHES;
    r->launches = 1000;
}

static void start(struct rig *g)
{
    struct err e;
    *g = (struct rig){ .alert_s = -1, .suspect_s = -1, .act_s = -1 };
    CHECK_EQ(tables_load(NULL, &g->tables, &e), 0);
    for (int i = 0; i < RANKS; i++) {
        g->about[i] = (struct watch_rank){
            .rank = i, .pid = 100 + i, .bare_mw = 70000, .held_mw = 120000, .limit_mw = 700000
        };
        snprintf(g->about[i].device, sizeof(g->about[i].device), "index:%d", i);
    }
    const struct watch_job job = { .world = RANKS, .n = RANKS, .ranks = g->about };
    g->watch = watch_new(&g->tables.watch, &job);
    CHECK(g->watch != NULL);
}

static void stop(struct rig *g)
{
    watch_free(g->watch);
    tables_done(&g->tables);
}

/* All ranks alike. */
static void all(struct rig *g, fill_fn *fill)
{
    for (int i = 0; i < RANKS; i++)
        fill(&g->ranks[i]);
}

static void mark(struct rig *g)
{
    g->mark_us = g->now_us;
    g->alert_s = g->suspect_s = g->act_s = -1;
}

static void run(struct rig *g, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        g->now_us += US_PER_S;
        const struct job_second s = {
            .mono_us = g->now_us, .dt_us = US_PER_S, .n = RANKS, .ranks = g->ranks, .step = -1
        };
        watch_feed(g->watch, &s);
        int64_t at = (g->now_us - g->mark_us) / US_PER_S;
        enum watch_stage stage = watch_verdict(g->watch)->stage;
        if (stage >= STAGE_SUSPECT && g->suspect_s < 0)
            g->suspect_s = at;
        if (stage >= STAGE_ALERT && g->alert_s < 0)
            g->alert_s = at;
        if (stage == STAGE_ACT && g->act_s < 0)
            g->act_s = at;
    }
}

/* One of them differs from the rest for so many seconds, after five minutes of work. */
static const struct hang {
    const char *name;
    fill_fn *rest, *odd; /* odd: of rank 3, NULL: none */
    int alert_by_s;
    enum watch_kind kind;
    uint32_t candidates;
    bool proven, acts;
} hangs[] = {
    { "crashed", spin, crashed, 9, KIND_RANK_DEAD, 0, true, true },
    { "ended before the others", spin, ended_well, 9, KIND_EPOCH_END_MISMATCH, 0, true, true },
    { "launched less", spin_many, spin_few, 15, KIND_EPOCH_END_MISMATCH, 0, true, true },
    { "all alike, counts equal", spin_many, NULL, 12, KIND_SYMMETRIC, 0, false, true },
    { "all alike, nothing more known", spin, NULL, 12, KIND_UNRESOLVED,
      KIND_BIT(KIND_SYMMETRIC) | KIND_BIT(KIND_EPOCH_END_MISMATCH), false, true },
    { "in an uninterruptible wait", spin, in_disk, 30, KIND_RANK_IN_IO, 0, false, false },
    { "waits for data", spin, in_data, 42, KIND_STARVED, 0, false, false },
    { "held", spin, held, 24, KIND_RANK_MISSING, 0, false, false },
    { "driver stuck", spin, stuck, 12, KIND_DRIVER_STUCK, 0, false, false },
    { "gpu lost", spin, lost, 12, KIND_GPU_LOST, 0, false, false },
    { "all starved", in_data, NULL, 42, KIND_STARVED, 0, false, false },
    { "all in storage", in_disk, NULL, 30, KIND_STORAGE, 0, false, false },
};

static void catches(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(hangs); i++) {
        const struct hang *h = &hangs[i];
        struct rig g;
        start(&g);
        all(&g, work);
        run(&g, 300);
        mark(&g);
        all(&g, h->rest);
        if (h->odd)
            h->odd(&g.ranks[3]);
        run(&g, 400);
        const struct watch_verdict *v = watch_verdict(g.watch);
        tap_note("%s: suspect %d s, alert %d s, act %d s, %s: %s", h->name, (int) g.suspect_s,
                 (int) g.alert_s, (int) g.act_s, watch_kind_name(v->kind), v->detail);
        CHECK(g.alert_s > 0 && g.alert_s <= h->alert_by_s);
        CHECK(g.suspect_s > 0 && g.suspect_s <= g.alert_s);
        CHECK_EQ(v->verdict, VERDICT_HANG);
        CHECK_EQ(v->kind, h->kind);
        CHECK_EQ(v->candidates, h->candidates);
        CHECK_EQ(v->culprits_n, h->odd ? 1 : 0);
        if (h->odd)
            CHECK_EQ(v->culprits[0].at, 3);
        CHECK_EQ(v->proof != NULL, h->proven);
        CHECK_EQ(g.act_s > 0, h->acts);
        CHECK_EQ(v->since_us, g.mark_us);
        all(&g, work);
        run(&g, 2);
        CHECK_EQ(watch_verdict(g.watch)->verdict, VERDICT_HEALTHY);
        CHECK_EQ(watch_verdict(g.watch)->culprits_n, 0);
        stop(&g);
    }
}

/* What a healthy job does for so long, and nobody is alerted. */
static const struct pause {
    const char *name;
    fill_fn *rest, *odd;
    int seconds;
} pauses[] = {
    { "a save of 25 minutes by one rank", spin, writing, 1500 },
    { "a compile of 170 s behind spinning peers", spin, computing, 170 },
    { "a debugger for an hour", spin, debugged, 3600 },
    { "a pipeline wait: half spin, others work", spin, work, 3600 },
    { "a gap of all sensors", blind, NULL, 600 },
    { "10 s of a silent rank", spin, held, 10 },
};

static void stays_quiet(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        const struct pause *p = &pauses[i];
        struct rig g;
        start(&g);
        all(&g, work);
        run(&g, 300);
        mark(&g);
        all(&g, p->rest);
        if (p->odd)
            p->odd(&g.ranks[3]);
        run(&g, p->seconds);
        tap_note("%s: %s", p->name, watch_kind_name(watch_verdict(g.watch)->kind));
        CHECK_EQ(g.alert_s, -1);
        CHECK_EQ(g.act_s, -1);
        stop(&g);
    }
}

/* A write gap of 20 s inside a save, again and again. */
static void save_with_gaps(void)
{
    struct rig g;
    start(&g);
    all(&g, work);
    run(&g, 300);
    mark(&g);
    for (int i = 0; i < 30; i++) {
        all(&g, spin);
        writing(&g.ranks[0]);
        run(&g, 10);
        held(&g.ranks[0]);
        run(&g, 20);
    }
    CHECK_EQ(g.alert_s, -1);
    stop(&g);
}

/* A pause that ended by itself makes the next of its kind, up to three times as long, no alert; and
 * no other kind any slower. */
static void learns_pauses(void)
{
    struct rig g;
    start(&g);
    all(&g, work);
    run(&g, 300);
    all(&g, spin);
    held(&g.ranks[3]);
    run(&g, 60); /* this one alerts */
    all(&g, work);
    run(&g, 60);
    mark(&g);
    all(&g, spin);
    held(&g.ranks[3]);
    run(&g, 170);
    CHECK_EQ(g.alert_s, -1);
    run(&g, 60);
    CHECK(g.alert_s > 170);
    all(&g, work);
    run(&g, 60);
    mark(&g);
    all(&g, spin);
    crashed(&g.ranks[3]);
    run(&g, 20);
    CHECK(g.alert_s > 0 && g.alert_s <= 9);
    stop(&g);
}

static void before_step_one(void)
{
    struct rig g;
    start(&g);
    all(&g, held);
    run(&g, 1200); /* loading for 20 minutes is no hang */
    CHECK_EQ(g.alert_s, -1);
    CHECK_EQ(watch_verdict(g.watch)->kind, KIND_STARTUP);
    mark(&g);
    all(&g, spin);
    run(&g, 100);
    CHECK(g.alert_s > 0 && g.alert_s <= 60);
    CHECK(watch_verdict(g.watch)->startup);
    stop(&g);
}

/* A board whose table is 15 % off: the held level is learned at start-up. */
static void table_off(void)
{
    static const int percent[] = { 85, 115 };
    for (size_t k = 0; k < ARRAY_SIZE(percent); k++) {
        struct rig g;
        start(&g);
        watch_free(g.watch);
        for (int i = 0; i < RANKS; i++)
            g.about[i].held_mw = 120000 * percent[k] / 100;
        const struct watch_job job = { .world = RANKS, .n = RANKS, .ranks = g.about };
        g.watch = watch_new(&g.tables.watch, &job);
        all(&g, held);
        run(&g, 30);
        all(&g, work);
        run(&g, 300);
        mark(&g);
        all(&g, spin);
        run(&g, 30);
        CHECK(g.alert_s > 0 && g.alert_s <= 12);
        stop(&g);
    }
}

static void node_scope(void)
{
    struct rig g;
    start(&g);
    watch_free(g.watch);
    const struct watch_job job = { .world = 2 * RANKS, .n = RANKS, .ranks = g.about };
    g.watch = watch_new(&g.tables.watch, &job);
    all(&g, work);
    run(&g, 300);
    mark(&g);
    all(&g, spin_many);
    run(&g, 600);
    const struct watch_verdict *v = watch_verdict(g.watch);
    CHECK(!v->whole_job);
    CHECK_EQ(v->kind, KIND_UNRESOLVED); /* never symmetric: half of the job is not seen */
    CHECK_EQ(v->verdict, VERDICT_HANG);
    CHECK_EQ(g.act_s, -1);
    stop(&g);
}

static void ends(void)
{
    struct rig g;
    start(&g);
    all(&g, work);
    run(&g, 300);
    mark(&g);
    all(&g, held);
    for (int i = 0; i < RANKS; i++) { /* they leave one after the other, nobody spins */
        ended_well(&g.ranks[i]);
        run(&g, 2);
    }
    CHECK_EQ(g.alert_s, -1);
    CHECK_EQ(watch_verdict(g.watch)->verdict, VERDICT_FINISHED);
    stop(&g);
}

static void odd_seconds(void)
{
    struct rig g;
    start(&g);
    all(&g, work);
    run(&g, 30);
    const struct job_second fewer = { .mono_us = g.now_us + 1, .n = 3, .ranks = g.ranks };
    CHECK(!watch_feed(g.watch, &fewer));
    const struct job_second back = { .mono_us = 5, .n = RANKS, .ranks = g.ranks };
    CHECK(!watch_feed(g.watch, &back));
    /* A watcher that was stopped for an hour has not seen an hour of standstill. */
    all(&g, spin);
    const struct job_second late = { .mono_us = g.now_us + 3600 * US_PER_S,
                                     .dt_us = 3600 * US_PER_S,
                                     .n = RANKS,
                                     .ranks = g.ranks };
    watch_feed(g.watch, &late);
    CHECK(watch_verdict(g.watch)->stage < STAGE_ALERT);
    stop(&g);
}

static const struct tap_case cases[] = {
    { "each hang is caught in time, named, and its rank with it", catches },
    { "healthy pauses raise no alert", stays_quiet },
    { "a save with gaps raises no alert", save_with_gaps },
    { "a pause stretches the clock of its kind alone", learns_pauses },
    { "before the first step", before_step_one },
    { "a table that is off by 15 %", table_off },
    { "half of the job is seen", node_scope },
    { "the end of the job", ends },
    { "seconds that are not in order", odd_seconds },
};
TAP_MAIN(cases)
