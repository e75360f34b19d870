/* SPDX-License-Identifier: Apache-2.0 */
/* Does this job make progress, and if not, since when, in which way, and through whom? Pure: one
 * second after the other goes in, a verdict stands. docs/dev/watch.md tells the rule in words. */
#ifndef WATTGATE_CORE_WATCH_WATCH_H
#define WATTGATE_CORE_WATCH_WATCH_H

#include "base/err.h"
#include "core/watch/second.h"

enum job_verdict {
    VERDICT_HEALTHY = 0,
    VERDICT_SLOW,
    VERDICT_HANG,
    VERDICT_FINISHED,
    VERDICT_BLIND, /* nothing that decides could be read for long */
    VERDICT_COUNT
};

enum watch_stage { STAGE_NONE = 0, STAGE_SUSPECT, STAGE_ALERT, STAGE_ACT, STAGE_COUNT };

enum watch_kind {
    KIND_NONE = 0,
    KIND_STARTUP,
    KIND_EPOCH_END_MISMATCH, /* ranks wait in, or left, different collectives */
    KIND_RANK_MISSING,       /* ranks do not come to where the others wait */
    KIND_RANK_DEAD,
    KIND_RANK_IN_IO, /* a rank hangs in a read or write of the kernel */
    KIND_SYMMETRIC,  /* all wait alike */
    KIND_DRIVER_STUCK,
    KIND_GPU_LOST,
    KIND_STARVED,
    KIND_STORAGE,
    KIND_UNRESOLVED, /* one of the candidates */
    KIND_COMPILE,    /* benign from here */
    KIND_CHECKPOINT,
    KIND_PAUSE,
    KIND_COUNT
};
#define KIND_BIT(kind) (UINT32_C(1) << (kind))

/* What a standstill looks like: each look has clocks of its own, in data/rules/watch.yaml. */
enum stall {
    STALL_NONE = 0,
    STALL_DEAD,           /* a rank ended while others spin */
    STALL_MISMATCH,       /* launch counts differ and stand, nobody is under way to the others */
    STALL_SYMMETRIC,      /* all spin, as far as can be seen */
    STALL_GPU,            /* a GPU does not answer or is lost */
    STALL_WRITE,          /* bytes go to storage, or files of a checkpoint grow */
    STALL_SOCKET_SAVE,    /* socket bytes, by stack in a save */
    STALL_SOCKET_DATA,    /* by stack waiting for data */
    STALL_SOCKET_OUTSIDE, /* by stack waiting for something outside */
    STALL_SOCKET,         /* no stack tells why */
    STALL_CPU,            /* a rank computes on the host */
    STALL_LOADERS,        /* loader processes work */
    STALL_AFTER_WRITE,    /* silent behind written bytes */
    STALL_DISK,           /* a rank in state D */
    STALL_STACK_DATA,     /* silent, by stack waiting for data */
    STALL_STACK_SAVE,
    STALL_STACK_OUTSIDE,
    STALL_STACK_OTHER,
    STALL_SOME_SILENT, /* few ranks silent, the others spin */
    STALL_ALL_SILENT,
    STALL_COUNT
};

/* How long a look must last, in us; 0: never by this look. */
struct stall_clock {
    int64_t suspect_us, alert_us, act_us;
    int64_t startup_us; /* alert, while no rank has worked yet */
};

/* Thresholds of data/rules/watch.yaml; see there for each one's reason. */
struct watch_rules {
    struct stall_clock clock[STALL_COUNT];
    uint32_t low_least_permille, low_most_permille; /* of the range, over the held level */
    uint32_t low_share_permille; /* of the way from the held to the lowest moving level */
    uint32_t quiet_mem_permille;
    int64_t quiet_link_bps;
    uint32_t spin_util_permille, silent_util_permille;
    uint32_t busy_cpu_permille, busy_helpers_permille;
    int64_t busy_write_bps, busy_socket_bps;
    int64_t worked_us;      /* movement after which a rank counts as working */
    int64_t after_write_us; /* silence is "after a write" for so long */
    int64_t blind_us;       /* without readings: blind */
    uint32_t alert_factor_permille, suspect_factor_permille,
        act_factor_permille; /* x longest pause */
    int64_t clock_most_us;   /* cap of what a learned pause can stretch a clock to */
};

#define WATCH_CULPRITS_MAX 32

struct watch_culprit {
    uint32_t at; /* index into the job's ranks */
    char why[96];
};

struct watch_verdict {
    enum job_verdict verdict;
    enum watch_kind kind;
    uint32_t candidates; /* KIND_BITs; 0 unless kind is UNRESOLVED */
    enum watch_stage stage;
    enum stall stall;                   /* the look that the clock ran under last */
    bool whole_job;                     /* scope: this watcher sees all ranks of the job */
    bool startup;                       /* no rank has worked yet */
    int64_t since_us;                   /* the last movement; of the stream */
    int64_t decided_us;                 /* when verdict, kind or stage became what they are */
    uint32_t wants;                     /* WATCH_ bits that would settle it */
    uint32_t culprits_n, culprits_more; /* more: those that did not fit */
    struct watch_culprit culprits[WATCH_CULPRITS_MAX];
    char detail[160];  /* the numbers compared */
    const char *proof; /* why it cannot recover; NULL: not proven */
};

struct watch;

/* `rules` is borrowed; of `job` what is needed is copied. NULL when memory is out. */
struct watch *watch_new(const struct watch_rules *rules, const struct watch_job *job);
void watch_free(struct watch *w);
/* What became known of a rank's board since; what was learned of it here is kept. */
void watch_set_levels(struct watch *w, uint32_t at, const struct watch_rank *about);
/* Takes the next second: true when verdict, kind or stage changed. A second with another number of
 * ranks than the job has, or earlier than the last, is ignored and counted. */
bool watch_feed(struct watch *w, const struct job_second *s);
/* Borrowed, valid until the next call. */
const struct watch_verdict *watch_verdict(const struct watch *w);
/* The longest benign run of each look so far, and giving it back after a restart of the watcher or
 * in the next attempt; us. */
void watch_pauses(const struct watch *w, int64_t ret_us[STALL_COUNT]);
void watch_set_pauses(struct watch *w, const int64_t us[STALL_COUNT]);

const char *job_verdict_name(enum job_verdict v);
const char *watch_stage_name(enum watch_stage s);
const char *watch_kind_name(enum watch_kind k);
const char *stall_name(enum stall s);
bool stall_from_name(struct str name, enum stall *ret);

DEFINE_AUTO_PTR(watch)

#endif
