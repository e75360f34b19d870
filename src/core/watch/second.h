/* SPDX-License-Identifier: Apache-2.0 */
/* What a watcher sees of a job in one second: the input of every verdict. Live telemetry, a
 * replayed recording, the node-summaries of other nodes and the simulated jobs all become this. It
 * holds readings only: nothing here says what they mean. */
#ifndef WATTGATE_CORE_WATCH_SECOND_H
#define WATTGATE_CORE_WATCH_SECOND_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_RANKS_MAX 16384u

/* Which readings of a rank this second holds; one that is not there is not known, never zero. */
enum watch_signal {
    WATCH_POWER = 1 << 0,
    WATCH_UTIL = 1 << 1,
    WATCH_MEM = 1 << 2,     /* memory controller utilisation */
    WATCH_LINK = 1 << 3,    /* NVLink and PCIe bytes of the GPU */
    WATCH_STATE = 1 << 4,   /* kernel state of the rank's process */
    WATCH_CPU = 1 << 5,     /* CPU time of the rank's process, all threads */
    WATCH_HELPERS = 1 << 6, /* CPU time and state of its descendants (data loaders) */
    WATCH_READ = 1 << 7,    /* bytes fetched from storage by rank and descendants */
    WATCH_WRITE = 1 << 8,   /* bytes sent to storage by rank and descendants */
    WATCH_SAVED = 1 << 9,   /* growth of files that the rank has open for writing, logs left out */
    WATCH_SOCKET = 1 << 10, /* TCP and RDMA bytes of the rank */
    WATCH_STACK = 1 << 11,  /* where its main thread is; fetched when asked for, then repeated */
    WATCH_LAUNCHES = 1 << 12, /* collectives launched so far, over all communicators */
};

/* The innermost frames that mean something. */
enum watch_stack {
    STACK_UNKNOWN = 0,
    STACK_COLLECTIVE, /* waits for the device, or inside a collective */
    STACK_DATA,       /* waits for the next batch */
    STACK_SAVE,       /* writes or gathers a checkpoint */
    STACK_EXTERNAL,   /* waits for something outside the job: a store, a server, a socket */
    STACK_COMPILE,    /* compiles, loads modules or weights, collects garbage */
    STACK_OTHER,
    STACK_COUNT
};

/* How the rank's GPU answered in this second. Readings that are not `known` while it is GPU_ANSWERS
 * are a gap of the sensor. */
enum watch_gpu {
    GPU_ANSWERS = 0,
    GPU_TIMED_OUT, /* the driver does not come back with them */
    GPU_LOST,      /* the driver says that the device is gone */
    GPU_NONE,      /* the rank has none, or none is known */
};

/* One rank in one second. Rates are per second of `job_second.dt_us`. */
struct rank_second {
    uint32_t known;   /* WATCH_ bits */
    int32_t power_mw; /* board power; mean or instant as the source gives it */
    uint16_t util_permille, mem_permille;
    uint32_t link_kib; /* KiB/s, as all below; UINT32_MAX and more are UINT32_MAX */
    uint32_t read_kib, write_kib, saved_kib, socket_kib;
    uint16_t cpu_permille;     /* of one core; may exceed 1000 */
    uint16_t helpers_permille; /* of one core, summed over descendants */
    uint16_t helpers_waiting;  /* descendants in state D */
    char state;                /* R S D T Z of /proc/PID/stat, or X: it ended */
    uint8_t stack;             /* enum watch_stack */
    uint8_t gpu;               /* enum watch_gpu */
    bool debugged;             /* a tracer is attached, or it is stopped (T, t) */
    uint8_t exit_code; /* of a rank that ended, where WATCH_STATE and state X; 255 not known */
    int64_t launches;  /* -1 not known */
};

/* One second of the job. */
struct job_second {
    int64_t mono_us;
    int64_t dt_us; /* since the second before; a watcher that was stopped sees a long one */
    uint32_t n;    /* ranks seen by this watcher */
    const struct rank_second *ranks;
    uint32_t ranks_gone; /* of the job, on nodes whose summaries stopped coming */
    int64_t step;        /* latest step that a log line told, -1 none yet */
    bool log_grew;       /* any log of the job, whatever it said */
};

/* What stays true of a rank through an attempt. Levels are mW, -1 not known. */
struct watch_rank {
    int32_t rank; /* global; -1 not known */
    int32_t pid;
    char host[64], device[64]; /* UUID, or "index:N"; "" without a GPU */
    int64_t bare_mw, held_mw, limit_mw;
    bool table; /* the levels are a board table's, not this unit's own */
};

struct watch_job {
    char name[128];                 /* scheduler id, run id or command; "" not known */
    uint32_t attempt;               /* restarts before this one */
    uint32_t world;                 /* ranks of the whole job; 0 not known */
    uint32_t n;                     /* ranks that this watcher sees: those of `ranks` */
    const struct watch_rank *ranks; /* borrowed */
};

#endif
