/* SPDX-License-Identifier: Apache-2.0 */
/* Of a standstill: which kind, through whom, and why. */
#include "core/watch/watch-priv.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define ENDED_WELL 0
#define EXIT_NOT_KNOWN 255

static void PRINTF_LIKE(3, 4) accuse(struct watch_verdict *v, uint32_t at, const char *fmt, ...)
{
    if (v->culprits_n == WATCH_CULPRITS_MAX) {
        v->culprits_more++;
        return;
    }
    struct watch_culprit *c = &v->culprits[v->culprits_n++];
    va_list args;
    va_start(args, fmt);
    c->at = at;
    vsnprintf(c->why, sizeof(c->why), fmt, args);
    va_end(args);
}

static void name(struct watch_verdict *v, enum watch_kind kind)
{
    v->kind = kind;
    v->candidates = 0;
}

static void name_one_of(struct watch_verdict *v, uint32_t candidates)
{
    v->kind = KIND_UNRESOLVED;
    v->candidates = candidates;
}

static uint32_t accuse_flag(struct watch *w, uint16_t flag, const char *why)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->ranks[i].flags & flag) {
            accuse(&w->verdict, i, "%s", why);
            n++;
        }
    return n;
}

static void judge_gpu(struct watch *w)
{
    if (accuse_flag(w, RANK_LOST, "the driver says that its GPU is lost")) {
        name(&w->verdict, KIND_GPU_LOST);
        return;
    }
    accuse_flag(w, RANK_TIMED_OUT, "the driver does not answer about its GPU");
    name(&w->verdict, KIND_DRIVER_STUCK);
}

/* A rank that ended well before the others had fewer steps; one that failed is dead. Whose status
 * nobody saw may be either. */
static void judge_dead(struct watch *w)
{
    struct watch_verdict *v = &w->verdict;
    bool failed = false, unknown = false;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rank_state *r = &w->ranks[i];
        if (!(r->flags & RANK_DEAD))
            continue;
        unknown = unknown || r->exit_code == EXIT_NOT_KNOWN;
        failed = failed || (r->exit_code != ENDED_WELL && r->exit_code != EXIT_NOT_KNOWN);
        if (r->exit_code == EXIT_NOT_KNOWN)
            accuse(v, i, "its process ended, the others wait for it");
        else
            accuse(v, i, "its process ended with status %u, the others wait for it", r->exit_code);
    }
    v->proof = "a process that ended never comes to the collective";
    if (failed)
        name(v, KIND_RANK_DEAD);
    else if (unknown)
        name_one_of(v, KIND_BIT(KIND_RANK_DEAD) | KIND_BIT(KIND_EPOCH_END_MISMATCH));
    else
        name(v, KIND_EPOCH_END_MISMATCH);
}

/* The most frequent count is where the job is; who has fewer never arrived there. */
static int64_t usual_launches(const struct watch *w)
{
    int64_t best = -1;
    uint32_t best_n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t n = 0;
        for (uint32_t j = 0; j < w->n; j++)
            n += w->ranks[j].launches == w->ranks[i].launches;
        if (n > best_n || (n == best_n && w->ranks[i].launches > best)) {
            best = w->ranks[i].launches;
            best_n = n;
        }
    }
    return best;
}

static void judge_mismatch(struct watch *w)
{
    int64_t usual = usual_launches(w);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->ranks[i].launches != usual && w->ranks[i].launches >= 0)
            accuse(&w->verdict, i, "has launched %" PRId64 " collectives, most others %" PRId64,
                   w->ranks[i].launches, usual);
    w->verdict.proof = "ranks wait in different collectives, their counts stand still";
    name(&w->verdict, KIND_EPOCH_END_MISMATCH);
}

static void judge_symmetric(struct watch *w)
{
    bool differ;
    if (!w->verdict.whole_job)
        name_one_of(&w->verdict, KIND_BIT(KIND_SYMMETRIC) | KIND_BIT(KIND_RANK_MISSING));
    else if (look_launches(w, &differ) && !differ)
        name(&w->verdict, KIND_SYMMETRIC);
    else
        name_one_of(&w->verdict, KIND_BIT(KIND_SYMMETRIC) | KIND_BIT(KIND_EPOCH_END_MISMATCH));
}

static bool holds_others_up(const struct rank_state *r)
{
    return !(r->flags & (RANK_SPINS | RANK_DEAD)) && r->has_gpu;
}

static void judge_disk(struct watch *w, const struct glance *g)
{
    if (g->disk * 2 > g->n_gpu) { /* not this rank's trouble: the storage's */
        name(&w->verdict, KIND_STORAGE);
        return;
    }
    accuse_flag(w, RANK_DISK, "sleeps in the kernel in an uninterruptible wait");
    name(&w->verdict, KIND_RANK_IN_IO);
}

/* What a rank that others wait for does, and which kind of hang that is. */
static const struct {
    const char *words;
    enum watch_kind kind;
} by_stack[STACK_COUNT] = {
    [STACK_UNKNOWN] = { "does nothing", KIND_RANK_MISSING },
    [STACK_COLLECTIVE] = { "waits inside a collective that the others are not in",
                           KIND_EPOCH_END_MISMATCH },
    [STACK_DATA] = { "waits for its next batch", KIND_STARVED },
    [STACK_SAVE] = { "is inside a save", KIND_RANK_MISSING },
    [STACK_EXTERNAL] = { "waits for something outside the job", KIND_RANK_MISSING },
    [STACK_COMPILE] = { "compiles or loads", KIND_RANK_MISSING },
    [STACK_OTHER] = { "is in host code", KIND_RANK_MISSING },
};

/* Some ranks hold the others up. */
static void judge_some(struct watch *w)
{
    enum watch_kind kind = KIND_NONE;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rank_state *r = &w->ranks[i];
        if (!holds_others_up(r))
            continue;
        enum watch_kind own = r->flags & RANK_DISK ? KIND_RANK_IN_IO : by_stack[r->stack].kind;
        accuse(&w->verdict, i, "%s while others spin", by_stack[r->stack].words);
        kind = kind == KIND_NONE || kind == own ? own : KIND_RANK_MISSING;
    }
    name(&w->verdict, kind);
}

/* All are silent: what they wait for is told by stacks and loaders, or not at all. */
static void judge_all(struct watch *w)
{
    uint32_t data = 0, outside = 0, waiting = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        data += w->ranks[i].stack == STACK_DATA;
        outside += w->ranks[i].stack == STACK_EXTERNAL;
        waiting += w->ranks[i].helpers_waiting > 0;
    }
    if (waiting)
        name(&w->verdict, KIND_STORAGE);
    else if (data)
        name(&w->verdict, KIND_STARVED);
    else if (outside)
        name(&w->verdict, KIND_RANK_MISSING);
    else
        name_one_of(&w->verdict,
                    KIND_BIT(KIND_STARVED) | KIND_BIT(KIND_STORAGE) | KIND_BIT(KIND_RANK_MISSING));
}

static uint32_t wants(const struct watch *w)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->ranks[i].flags & RANK_DEAD)
            continue;
        if (w->ranks[i].stack == STACK_UNKNOWN)
            missing |= WATCH_STACK;
        if (!w->ranks[i].seen_launches)
            missing |= WATCH_LAUNCHES;
    }
    return missing;
}

void judge(struct watch *w, enum stall stall)
{
    struct watch_verdict *v = &w->verdict;
    const struct glance *g = &w->glances[w->glance_at];
    v->culprits_n = v->culprits_more = 0;
    v->proof = NULL;
    v->wants = wants(w);
    if (stall == STALL_GPU)
        judge_gpu(w);
    else if (w->ranks_gone)
        name(v, KIND_RANK_MISSING);
    else if (stall == STALL_DEAD)
        judge_dead(w);
    else if (stall == STALL_MISMATCH)
        judge_mismatch(w);
    else if (stall == STALL_SYMMETRIC)
        judge_symmetric(w);
    else if (stall == STALL_DISK)
        judge_disk(w, g);
    else if (g->spins)
        judge_some(w);
    else
        judge_all(w);
    if (v->startup && !v->culprits_n && v->kind != KIND_SYMMETRIC)
        name(v, KIND_STARTUP);
    snprintf(v->detail, sizeof(v->detail),
             "%" PRIu32 " of %" PRIu32 " GPUs still, %" PRIu32 " spin, %" PRIu32 " silent, %" PRIu32
             " ranks ended%s; nothing moved for %" PRId64 " s",
             g->still, g->n_gpu, g->spins, g->silent, g->dead,
             w->ranks_gone ? ", nodes fell silent" : "", (w->now_us - w->moved_us) / US_PER_S);
}
