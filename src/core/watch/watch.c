/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of a standstill, and the stages that they reach. */
#include "core/watch/watch-priv.h"

#include <stdlib.h>
#include <string.h>

#define PPM INT64_C(1000000)
#define SECOND_US INT64_C(1000000)
#define DT_MOST_US (10 * SECOND_US) /* a watcher that was stopped has seen nothing meanwhile */
#define JUDGE_AGAIN_US (10 * SECOND_US)
#define PERMILLE 1000

struct watch *watch_new(const struct watch_rules *rules, const struct watch_job *job)
{
    struct watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->ranks = calloc(MAX(job->n, 1u), sizeof(*w->ranks));
    if (!w->ranks) {
        free(w);
        return NULL;
    }
    w->rules = rules;
    w->n = job->n;
    w->world = job->world;
    w->wrote_us = -1;
    w->verdict.whole_job = job->world && job->n >= job->world;
    w->verdict.startup = true;
    for (uint32_t i = 0; i < job->n; i++)
        levels_start(rules, &job->ranks[i], &w->ranks[i]);
    return w;
}

void watch_set_levels(struct watch *w, uint32_t at, const struct watch_rank *about)
{
    if (at < w->n && w->ranks[at].held_mw < 0)
        levels_start(w->rules, about, &w->ranks[at]);
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    free(w->ranks);
    free(w);
}

const struct watch_verdict *watch_verdict(const struct watch *w)
{
    return &w->verdict;
}

void watch_pauses(const struct watch *w, int64_t ret_us[STALL_COUNT])
{
    memcpy(ret_us, w->longest_us, sizeof(w->longest_us));
}

void watch_set_pauses(struct watch *w, const int64_t us[STALL_COUNT])
{
    memcpy(w->longest_us, us, sizeof(w->longest_us));
}

/* ---- the clocks ---- */

/* A clock runs at least its own time, and longer than this job's longest pause of the kind. */
static int64_t stretched(const struct watch *w, enum stall stall, int64_t least_us,
                         uint32_t factor_permille)
{
    int64_t us = w->longest_us[stall] * factor_permille / PERMILLE;
    us = MIN(us, w->rules->clock_most_us);
    return MAX(us, least_us);
}

static int64_t ppm_of(int64_t dt_us, int64_t clock_us)
{
    return (dt_us * PPM + clock_us - 1) / clock_us; /* so that nine ninths are one */
}

static void advance(struct watch *w, enum stall stall, int64_t dt_us)
{
    const struct watch_rules *k = w->rules;
    struct stall_clock c = k->clock[stall];
    int64_t alert = w->worked ? c.alert_us : c.startup_us;
    int64_t suspect = w->worked ? c.suspect_us : c.startup_us / 2;
    w->run_us[stall] += dt_us;
    if (alert > 0) {
        alert = stretched(w, stall, alert, k->alert_factor_permille);
        w->alert_ppm += ppm_of(dt_us, alert);
    }
    if (suspect > 0)
        w->suspect_ppm += ppm_of(dt_us, stretched(w, stall, suspect, k->suspect_factor_permille));
    /* Acting wants one look that stays, for all of its time. */
    if (c.act_us > 0 && w->worked && w->verdict.whole_job && !w->ranks_gone)
        w->act_ppm += ppm_of(dt_us, stretched(w, stall, c.act_us, k->act_factor_permille));
    else
        w->act_ppm = 0;
}

static enum watch_stage reached(const struct watch *w)
{
    if (w->alert_ppm >= PPM && w->act_ppm >= PPM)
        return STAGE_ACT;
    if (w->alert_ppm >= PPM)
        return STAGE_ALERT;
    return w->suspect_ppm >= PPM || w->alert_ppm >= PPM ? STAGE_SUSPECT : STAGE_NONE;
}

static void forget_standstill(struct watch *w)
{
    for (int i = 0; i < STALL_COUNT; i++)
        w->longest_us[i] = MAX(w->longest_us[i], w->run_us[i]);
    memset(w->run_us, 0, sizeof(w->run_us));
    w->suspect_ppm = w->alert_ppm = w->act_ppm = 0;
    w->glances_n = 0;
}

/* ---- what stands ---- */

static void settle(struct watch *w, enum job_verdict verdict, enum watch_stage stage)
{
    w->verdict.verdict = verdict;
    w->verdict.stage = stage;
    w->verdict.decided_us = w->now_us;
}

static bool set_plain(struct watch *w, enum job_verdict verdict, enum watch_kind kind)
{
    struct watch_verdict *v = &w->verdict;
    bool news = v->verdict != verdict || v->kind != kind || v->stage != STAGE_NONE;
    v->kind = kind;
    v->candidates = v->wants = v->culprits_n = v->culprits_more = 0;
    v->proof = NULL;
    v->detail[0] = '\0';
    if (news)
        settle(w, verdict, STAGE_NONE);
    return news;
}

/* What a standstill is called before it is suspect. */
static const enum watch_kind benign_kind[STALL_COUNT] = {
    [STALL_NONE] = KIND_NONE,
    [STALL_DEAD] = KIND_PAUSE,
    [STALL_MISMATCH] = KIND_PAUSE,
    [STALL_SYMMETRIC] = KIND_PAUSE,
    [STALL_GPU] = KIND_PAUSE,
    [STALL_WRITE] = KIND_CHECKPOINT,
    [STALL_SOCKET_SAVE] = KIND_CHECKPOINT,
    [STALL_SOCKET_DATA] = KIND_PAUSE,
    [STALL_SOCKET_OUTSIDE] = KIND_PAUSE,
    [STALL_SOCKET] = KIND_PAUSE,
    [STALL_CPU] = KIND_COMPILE,
    [STALL_LOADERS] = KIND_PAUSE,
    [STALL_AFTER_WRITE] = KIND_CHECKPOINT,
    [STALL_DISK] = KIND_PAUSE,
    [STALL_STACK_DATA] = KIND_PAUSE,
    [STALL_STACK_SAVE] = KIND_CHECKPOINT,
    [STALL_STACK_OUTSIDE] = KIND_PAUSE,
    [STALL_STACK_OTHER] = KIND_PAUSE,
    [STALL_SOME_SILENT] = KIND_PAUSE,
    [STALL_ALL_SILENT] = KIND_PAUSE,
};

static uint32_t evidence(const struct watch *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; i++)
        n += (w->ranks[i].stack != STACK_UNKNOWN ? 1u : 0u) + (w->ranks[i].seen_launches ? 1u : 0u);
    return n;
}

static bool set_hang(struct watch *w, enum stall stall, enum watch_stage stage)
{
    struct watch_verdict *v = &w->verdict;
    enum watch_kind kind = v->kind;
    uint32_t candidates = v->candidates, known = evidence(w);
    bool raised = stage > v->stage;
    if (!raised && known == w->evidence && w->now_us - w->judged_us < JUDGE_AGAIN_US)
        return false;
    judge(w, stall);
    w->judged_us = w->now_us;
    w->evidence = known;
    stage = MAX(stage, v->stage);
    if (!raised && kind == v->kind && candidates == v->candidates)
        return false;
    settle(w, stage >= STAGE_ALERT ? VERDICT_HANG : VERDICT_HEALTHY, stage);
    return true;
}

/* ---- one second ---- */

static bool take_movement(struct watch *w)
{
    forget_standstill(w);
    w->moved_us = w->now_us;
    w->verdict.since_us = w->now_us;
    w->verdict.stall = STALL_NONE;
    return set_plain(w, VERDICT_HEALTHY, w->worked ? KIND_NONE : KIND_STARTUP);
}

static bool take_blindness(struct watch *w, int64_t dt_us)
{
    w->blind_us += dt_us;
    if (w->blind_us < w->rules->blind_us || w->verdict.stage >= STAGE_ALERT)
        return false;
    return set_plain(w, VERDICT_BLIND, KIND_NONE);
}

static bool take_standstill(struct watch *w, const struct glance *g, int64_t dt_us)
{
    w->glance_at = w->glances_n ? (w->glance_at + 1) % GLANCES : 0;
    w->glances[w->glance_at] = *g;
    w->glances_n = MIN(w->glances_n + 1, (uint32_t) GLANCES);
    enum stall stall = look_stall(w);
    w->verdict.stall = stall;
    if (stall == STALL_WRITE && w->run_us[STALL_WRITE] < w->rules->clock[STALL_WRITE].alert_us / 2)
        w->suspect_ppm = w->alert_ppm = w->act_ppm = 0;
    advance(w, stall, dt_us);
    enum watch_stage stage = reached(w);
    if (stage > STAGE_NONE || w->verdict.stage > STAGE_NONE)
        return set_hang(w, stall, stage);
    return set_plain(w, VERDICT_HEALTHY, w->worked ? benign_kind[stall] : KIND_STARTUP);
}

static bool take_end(struct watch *w)
{
    forget_standstill(w);
    return set_plain(w, VERDICT_FINISHED, KIND_NONE);
}

static struct glance look(struct watch *w, const struct job_second *s, int64_t dt_us)
{
    for (uint32_t i = 0; i < w->n; i++) {
        struct rank_state *r = &w->ranks[i];
        look_rank(w->rules, &s->ranks[i], w->now_us, dt_us, r);
        levels_learn(w->rules, &s->ranks[i], r);
        w->worked = w->worked || r->moved_us >= w->rules->worked_us;
    }
    w->verdict.startup = !w->worked;
    w->ranks_gone = s->ranks_gone;
    struct glance g = look_job(w->ranks, w->n);
    if (g.any & RANK_WRITES)
        w->wrote_us = w->now_us;
    return g;
}

bool watch_feed(struct watch *w, const struct job_second *s)
{
    if (s->n != w->n || (w->timed && s->mono_us < w->now_us)) {
        w->ignored++;
        return false;
    }
    int64_t dt_us = CLAMP(s->dt_us, 0, DT_MOST_US);
    bool first = !w->timed;
    w->now_us = s->mono_us;
    w->timed = true;
    if (first)
        w->moved_us = w->verdict.since_us = w->now_us;
    struct glance g = look(w, s, dt_us);
    if (w->n && g.dead == w->n)
        return take_end(w);
    if (g.any & RANK_MOVES) {
        w->blind_us = 0;
        return take_movement(w);
    }
    if (g.any & RANK_STOPPED)
        return false; /* somebody looks at it: the clocks stand */
    if (g.blind * 2 > g.n_gpu || !g.n_gpu)
        return take_blindness(w, dt_us);
    w->blind_us = 0;
    return take_standstill(w, &g, dt_us);
}
