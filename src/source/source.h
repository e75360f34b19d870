/* SPDX-License-Identifier: Apache-2.0 */
/* Live telemetry in: one interface over driver libraries and kernel files. */
#ifndef WATTGATE_SOURCE_SOURCE_H
#define WATTGATE_SOURCE_SOURCE_H

#include "base/err.h"
#include "core/telemetry/queue.h"

struct source;
struct worker_pulse; /* sys/worker.h */

#define GPU_SET_MAX 256 /* GPUs of one node, by index; an NVLink domain has 72 */

/* GPUs by index. */
struct gpu_set {
    uint64_t bits[GPU_SET_MAX / 64];
};

static inline bool gpu_set_has(const struct gpu_set *s, int64_t index)
{
    return index >= 0 && index < GPU_SET_MAX && (s->bits[index / 64] >> (index % 64) & 1);
}

/* An index outside the set is not added. */
static inline void gpu_set_add(struct gpu_set *s, int64_t index)
{
    if (index >= 0 && index < GPU_SET_MAX)
        s->bits[index / 64] |= UINT64_C(1) << (index % 64);
}

struct source_env {
    const char *sysroot;      /* "/" or a captured tree: everything read from /proc and /sys */
    const char *nvml_library; /* NULL: libnvidia-ml.so.1 by the loader's search */
    struct gpu_set skip_gpus; /* do not touch these (a worker hung on them) */
    int64_t interval_us;      /* spacing of polls; slower metrics are read every so many */
    const int32_t *pids; /* processes that are watched whether or not they hold a GPU; borrowed */
    uint32_t n_pids;
    /* Where to say, by worker_touch(), which GPU is about to be touched; NULL: nobody looks. */
    struct worker_pulse *pulse;
};

/* What a source can do here, for `wattgate doctor`. Strings are static or inside the struct. */
enum ability { ABILITY_NO, ABILITY_YES, ABILITY_PARTLY };

struct capability {
    char id[32]; /* "nvml.power_instant", "host.mountstats" */
    enum ability ability;
    char why[160];    /* what was tried and what came back; "" when plainly yes */
    char remedy[160]; /* how to get it; "" when there is nothing to do */
};

struct capability_list {
    struct capability *items; /* malloc'ed */
    size_t n, cap;
};

void capability_add(struct capability_list *list, const char *id, enum ability ability,
                    const char *why, const char *remedy);
void capability_list_done(struct capability_list *list);

/* `open` finds its devices and fails with -ENODEV (and the reason) where it has nothing to read.
 * `poll` appends RECORD_ENTITY for what is new, RECORD_GONE for what went away, and one or more
 * RECORD_SAMPLEs, but neither header nor tick. A device that cannot be read gives a sample whose
 * observations say why; only a source that is no use any more returns an error. Any call may block
 * in the driver: run() of sys/worker.h is where they belong. `about` describes abilities and must
 * work without a successful open. */
struct source_ops {
    const char *name;
    int (*open)(const struct source_env *env, struct source **ret, struct err *err);
    int (*poll)(struct source *src, int64_t mono_us, struct record_queue *out, struct err *err);
    void (*close)(struct source *src); /* NULL is allowed */
    void (*about)(const struct source_env *env, struct capability_list *out);
};

/* Embedded first in every source's private struct. Entity ids are local to the source; the caller
 * maps them into the stream. */
struct source {
    const struct source_ops *ops;
};

extern const struct source_ops *const source_table[]; /* ends with NULL */

#endif
