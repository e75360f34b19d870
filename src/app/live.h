/* SPDX-License-Identifier: Apache-2.0 */
/* Live telemetry as one stream of records. Every source runs in a worker process of its own; this
 * side never calls a driver. A worker that misses its deadline is reported, left alone (it may be
 * unkillable), and replaced at most once, without the GPU that it hung on. */
#ifndef WATTGATE_APP_LIVE_H
#define WATTGATE_APP_LIVE_H

#include "base/err.h"
#include "core/telemetry/record.h"

struct live;

struct live_options {
    int64_t interval_us; /* spacing of ticks, at least 100 ms; each is jittered by up to a tenth */
    int64_t deadline_us; /* a worker silent for longer than this is stuck; 0: 3 s */
    const char *sysroot; /* NULL: "/" */
    const char *nvml_library; /* NULL: the loader's search */
    const int32_t *pids;      /* processes to watch whether or not they hold a GPU; copied */
    uint32_t n_pids;
    const char *const *only; /* names of sources wanted, NULL-terminated; NULL: all */
};

/* Starts the workers. -ENODEV with every source's reason when none finds anything to read. */
int live_open(const struct live_options *options, struct live **ret, struct err *err) MUST_CHECK;
/* Waits for the next record: 1 and the record, borrowed until the next call; 0 after live_stop().
 * Entity ids are those of the stream. Ticks come on time, whatever the workers do; a device whose
 * worker is stuck has a sample with OBS_TIMED_OUT, and a note with the worker's wchan. */
int live_next(struct live *l, const struct record **ret, struct err *err) MUST_CHECK;
/* Some source has not said yet which devices it finds. */
bool live_is_opening(const struct live *l);
/* May be called from a signal handler. */
void live_stop(struct live *l);
void live_close(struct live *l);
static inline UNUSED void live_auto(struct live **l)
{
    live_close(*l);
}

#endif
