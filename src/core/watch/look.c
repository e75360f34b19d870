/* SPDX-License-Identifier: Apache-2.0 */
/* From readings to what a rank, and the job, does in a second. */
#include "core/watch/watch-priv.h"

#define GAP_MOST_S 10 /* a sensor's gap this long keeps what was seen before it */
#define LAUNCHES_STAND_US INT64_C(3000000)

static bool has(const struct rank_second *s, uint32_t signal)
{
    return (s->known & signal) == signal;
}

#define POWER_MOST_MW 100000000 /* 100 kW: no board */

bool look_watts(const struct rank_second *s)
{
    return has(s, WATCH_POWER) && s->power_mw >= 0 && s->power_mw <= POWER_MOST_MW;
}

static bool at_least_bps(uint32_t kib, int64_t bps)
{
    return (int64_t) kib * 1024 >= bps;
}

/* RANK_MOVES, RANK_STILL or RANK_BLIND: any byte or any watt that a wait does not take is movement;
 * stillness needs a reading that could have shown some. */
static uint16_t gpu_flags(const struct watch_rules *k, const struct rank_second *s,
                          const struct rank_state *r)
{
    bool mem = has(s, WATCH_MEM), link = has(s, WATCH_LINK);
    bool watts = look_watts(s) && r->low_mw >= 0;
    if ((mem && s->mem_permille > k->quiet_mem_permille) ||
        (link && at_least_bps(s->link_kib, k->quiet_link_bps)) ||
        (watts && s->power_mw > r->low_mw))
        return RANK_MOVES;
    if (!watts && !mem)
        return RANK_BLIND;
    uint16_t flags = RANK_STILL;
    if (has(s, WATCH_UTIL) && s->util_permille >= k->spin_util_permille)
        flags |= RANK_SPINS;
    if (has(s, WATCH_UTIL) && s->util_permille <= k->silent_util_permille)
        flags |= RANK_SILENT;
    return flags;
}

static uint16_t host_flags(const struct watch_rules *k, const struct rank_second *s, bool spins)
{
    uint16_t flags = 0;
    if (has(s, WATCH_STATE)) {
        flags |= s->state == 'X' || s->state == 'Z' ? RANK_DEAD : 0;
        flags |= s->state == 'D' ? RANK_DISK : 0;
    }
    if (s->debugged)
        flags |= RANK_STOPPED;
    /* A rank that waits for its GPU polls: its CPU says nothing then. */
    if (has(s, WATCH_CPU) && !spins && s->cpu_permille >= k->busy_cpu_permille)
        flags |= RANK_CPU;
    if (has(s, WATCH_HELPERS) && s->helpers_permille >= k->busy_helpers_permille)
        flags |= RANK_LOADERS;
    if ((has(s, WATCH_WRITE) && at_least_bps(s->write_kib, k->busy_write_bps)) ||
        (has(s, WATCH_SAVED) && at_least_bps(s->saved_kib, k->busy_write_bps)))
        flags |= RANK_WRITES;
    if (has(s, WATCH_SOCKET) && at_least_bps(s->socket_kib, k->busy_socket_bps))
        flags |= RANK_SOCKET;
    return flags;
}

static void take_launches(const struct rank_second *s, int64_t now_us, struct rank_state *r)
{
    if (!has(s, WATCH_LAUNCHES) || s->launches < 0)
        return;
    if (!r->seen_launches || s->launches != r->launches)
        r->launches_since_us = now_us;
    r->launches = s->launches;
    r->seen_launches = true;
}

void look_rank(const struct watch_rules *k, const struct rank_second *s, int64_t now_us,
               int64_t dt_us, struct rank_state *r)
{
    uint16_t gpu = RANK_BLIND;
    r->has_gpu = s->gpu != GPU_NONE;
    if (s->gpu == GPU_TIMED_OUT)
        gpu = RANK_TIMED_OUT;
    else if (s->gpu == GPU_LOST)
        gpu = RANK_LOST;
    else if (r->has_gpu)
        gpu = gpu_flags(k, s, r);
    if (gpu != RANK_BLIND)
        r->gap_s = 0;
    else if (r->has_gpu && r->gap_s < GAP_MOST_S) {
        r->gap_s++;
        gpu = r->flags & (RANK_STILL | RANK_SPINS | RANK_SILENT | RANK_BLIND);
        gpu = gpu ? gpu : RANK_BLIND;
    }
    r->flags = gpu | host_flags(k, s, gpu & RANK_SPINS);
    r->stack = has(s, WATCH_STACK) && s->stack < STACK_COUNT ? s->stack : STACK_UNKNOWN;
    r->helpers_waiting = has(s, WATCH_HELPERS) ? s->helpers_waiting : 0;
    if (r->flags & RANK_DEAD)
        r->exit_code = s->exit_code;
    if (r->flags & RANK_MOVES)
        r->moved_us += dt_us;
    take_launches(s, now_us, r);
}

struct glance look_job(const struct rank_state *ranks, uint32_t n)
{
    struct glance g = { .every = UINT32_MAX };
    for (uint32_t i = 0; i < n; i++) {
        const struct rank_state *r = &ranks[i];
        g.any |= r->flags;
        if (r->flags & RANK_DEAD) {
            g.dead++;
            continue;
        }
        if (!r->has_gpu)
            continue;
        g.n_gpu++;
        g.every &= r->flags;
        g.still += !!(r->flags & RANK_STILL);
        g.spins += !!(r->flags & RANK_SPINS);
        g.silent += !!(r->flags & RANK_SILENT);
        g.blind += !!(r->flags & RANK_BLIND);
        g.disk += !!(r->flags & RANK_DISK);
    }
    if (!g.n_gpu)
        g.every = 0;
    return g;
}

bool look_launches(const struct watch *w, bool *ret_differ)
{
    int64_t first = -1;
    uint32_t known = 0;
    *ret_differ = false;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rank_state *r = &w->ranks[i];
        if (r->flags & RANK_DEAD)
            continue;
        if (!r->seen_launches || w->now_us - r->launches_since_us < LAUNCHES_STAND_US)
            return false;
        *ret_differ = *ret_differ || (first >= 0 && r->launches != first);
        first = r->launches;
        known++;
    }
    return known > 1;
}

/* Of the latest glances: in how many some rank shows the flag. */
static uint32_t seconds_with(const struct watch *w, uint32_t flag)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->glances_n; i++)
        n += (w->glances[i].any & flag) != 0;
    return n;
}

static bool all_spin(const struct watch *w)
{
    for (uint32_t i = 0; i < w->glances_n; i++)
        if (!(w->glances[i].every & RANK_SPINS) || w->glances[i].dead)
            return false;
    return true;
}

/* Counts that differ prove nothing while a rank may be on its way to the others. All wait, or the
 * ranks that do not spin wait inside a collective, by their stack. */
static bool mismatch_proven(const struct watch *w)
{
    bool differ;
    if (!look_launches(w, &differ) || !differ)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rank_state *r = &w->ranks[i];
        if (!(r->flags & (RANK_DEAD | RANK_SPINS)) && r->stack != STACK_COLLECTIVE)
            return false;
    }
    return true;
}

/* The stack of those that hold the others up: of the silent ranks, of all when none spins. */
static enum watch_stack holding_stack(const struct watch *w)
{
    enum watch_stack found = STACK_UNKNOWN;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rank_state *r = &w->ranks[i];
        if ((r->flags & (RANK_DEAD | RANK_SPINS)) || r->stack == STACK_UNKNOWN)
            continue;
        if (found == STACK_UNKNOWN || found == STACK_COLLECTIVE)
            found = (enum watch_stack) r->stack;
    }
    return found;
}

/* The look of a standstill by the stack of those that hold the others up: with socket bytes, and
 * without any. */
static const struct {
    enum stall socket, silent;
} by_stack[STACK_COUNT] = {
    [STACK_UNKNOWN] = { STALL_SOCKET, STALL_NONE },
    [STACK_COLLECTIVE] = { STALL_SOCKET, STALL_NONE },
    [STACK_DATA] = { STALL_SOCKET_DATA, STALL_STACK_DATA },
    [STACK_SAVE] = { STALL_SOCKET_SAVE, STALL_STACK_SAVE },
    [STACK_EXTERNAL] = { STALL_SOCKET_OUTSIDE, STALL_STACK_OUTSIDE },
    [STACK_COMPILE] = { STALL_SOCKET, STALL_STACK_OTHER },
    [STACK_OTHER] = { STALL_SOCKET, STALL_STACK_OTHER },
};

enum stall look_stall(const struct watch *w)
{
    const struct glance *g = &w->glances[w->glance_at];
    uint32_t half = (w->glances_n + 1) / 2;
    bool host_busy = seconds_with(w, RANK_CPU) >= half || seconds_with(w, RANK_WRITES);
    if (g->any & (RANK_TIMED_OUT | RANK_LOST))
        return STALL_GPU;
    if (g->dead && g->spins && !host_busy)
        return STALL_DEAD;
    if (mismatch_proven(w))
        return STALL_MISMATCH;
    if (all_spin(w))
        return STALL_SYMMETRIC;
    if (seconds_with(w, RANK_WRITES))
        return STALL_WRITE;
    enum watch_stack stack = holding_stack(w);
    if (seconds_with(w, RANK_SOCKET))
        return by_stack[stack].socket;
    if (host_busy)
        return STALL_CPU;
    if (seconds_with(w, RANK_LOADERS) >= half)
        return STALL_LOADERS;
    if (w->wrote_us >= 0 && w->now_us - w->wrote_us < w->rules->after_write_us)
        return STALL_AFTER_WRITE;
    if (seconds_with(w, RANK_DISK) >= half)
        return STALL_DISK;
    if (by_stack[stack].silent != STALL_NONE)
        return by_stack[stack].silent;
    return g->spins ? STALL_SOME_SILENT : STALL_ALL_SILENT;
}
