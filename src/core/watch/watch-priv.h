/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the watch share. */
#ifndef WATTGATE_CORE_WATCH_WATCH_PRIV_H
#define WATTGATE_CORE_WATCH_WATCH_PRIV_H

#include "core/watch/watch.h"

/* What one rank does in one second. */
enum rank_flag {
    RANK_MOVES = 1 << 0,   /* its GPU works or moves bytes */
    RANK_STILL = 1 << 1,   /* low watts and no bytes, as far as can be seen */
    RANK_SPINS = 1 << 2,   /* still, at full utilisation */
    RANK_SILENT = 1 << 3,  /* still, at none */
    RANK_BLIND = 1 << 4,   /* nothing about its GPU could be read */
    RANK_DEAD = 1 << 5,    /* its process ended */
    RANK_DISK = 1 << 6,    /* its process sleeps in the kernel, in an uninterruptible wait */
    RANK_CPU = 1 << 7,     /* it computes on the host, its GPU does not spin */
    RANK_LOADERS = 1 << 8, /* its descendants compute */
    RANK_WRITES = 1 << 9,
    RANK_SOCKET = 1 << 10,
    RANK_STOPPED = 1 << 11, /* a debugger or SIGSTOP holds it */
    RANK_TIMED_OUT = 1 << 12,
    RANK_LOST = 1 << 13,
};

struct rank_state {
    /* levels.c */
    int32_t held_mw, range_mw; /* -1 and 0: not known */
    int32_t moving_mw;         /* the low end of what it draws while it moves; -1 not seen */
    int32_t low_mw;            /* at or below is low; -1: watts decide nothing */
    int32_t held_seconds;      /* behind held_mw, where it was learned here */
    /* look.c */
    uint16_t flags;
    uint8_t stack, exit_code;
    uint8_t gap_s; /* seconds since the GPU's last readings */
    bool has_gpu, seen_launches;
    int64_t moved_us; /* time of movement so far, all in all */
    int64_t launches, launches_since_us;
    uint16_t helpers_waiting;
};

/* The job in one second. */
struct glance {
    uint32_t any;   /* flags that some rank has */
    uint32_t every; /* flags that every rank with a living GPU process has */
    uint32_t n_gpu, still, spins, silent, blind, dead, disk;
};

#define GLANCES 4

struct watch {
    const struct watch_rules *rules;
    struct watch_verdict verdict;
    uint32_t n, world;
    struct rank_state *ranks;
    struct glance glances[GLANCES]; /* a ring: of this standstill only */
    uint32_t glances_n, glance_at;
    int64_t now_us;
    bool timed, worked;
    int64_t moved_us; /* the last movement */
    int64_t wrote_us; /* the last written bytes; -1 none */
    int64_t blind_us; /* readings are missing for so long */
    uint32_t ranks_gone;
    uint32_t ignored;
    /* The standstill's clocks, in millionths. */
    int64_t suspect_ppm, alert_ppm, act_ppm;
    int64_t run_us[STALL_COUNT];     /* of this standstill */
    int64_t longest_us[STALL_COUNT]; /* of those that ended by themselves */
    int64_t judged_us;               /* kind and culprits were told then */
    uint32_t evidence;               /* ranks whose stack or launches were known then */
};

/* levels.c */
void levels_start(const struct watch_rules *k, const struct watch_rank *about,
                  struct rank_state *r);
/* After a second whose flags are known: the rank's own levels. */
void levels_learn(const struct watch_rules *k, const struct rank_second *s, struct rank_state *r);

/* look.c */
/* True when the second holds watts that a board can draw. */
bool look_watts(const struct rank_second *s);
void look_rank(const struct watch_rules *k, const struct rank_second *s, int64_t now_us,
               int64_t dt_us, struct rank_state *r);
struct glance look_job(const struct rank_state *ranks, uint32_t n);
/* The row of the clocks under which this second of a standstill counts. */
enum stall look_stall(const struct watch *w);
/* Launch counts are known of every rank that lives, stand still, and differ (or are equal). */
bool look_launches(const struct watch *w, bool *ret_differ);

/* judge.c: kind, candidates, culprits, detail, proof of what stands still now. */
void judge(struct watch *w, enum stall stall);

#endif
