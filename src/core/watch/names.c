/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch/watch.h"

static const char *const job_verdict_names[VERDICT_COUNT] = { "healthy", "slow", "hang", "finished",
                                                              "blind" };
static const char *const stage_names[STAGE_COUNT] = { "none", "suspect", "alert", "act" };

static const char *const kind_names[KIND_COUNT] = {
    [KIND_NONE] = "none",
    [KIND_STARTUP] = "startup",
    [KIND_EPOCH_END_MISMATCH] = "epoch_end_mismatch",
    [KIND_RANK_MISSING] = "rank_missing",
    [KIND_RANK_DEAD] = "rank_dead",
    [KIND_RANK_IN_IO] = "rank_in_io",
    [KIND_SYMMETRIC] = "symmetric",
    [KIND_DRIVER_STUCK] = "driver_stuck",
    [KIND_GPU_LOST] = "gpu_lost",
    [KIND_STARVED] = "starved",
    [KIND_STORAGE] = "storage",
    [KIND_UNRESOLVED] = "unresolved",
    [KIND_COMPILE] = "compile",
    [KIND_CHECKPOINT] = "checkpoint",
    [KIND_PAUSE] = "pause",
};

static const char *const stall_names[STALL_COUNT] = {
    [STALL_NONE] = "none",
    [STALL_DEAD] = "dead",
    [STALL_MISMATCH] = "mismatch",
    [STALL_SYMMETRIC] = "symmetric",
    [STALL_GPU] = "gpu",
    [STALL_WRITE] = "write",
    [STALL_SOCKET_SAVE] = "socket_save",
    [STALL_SOCKET_DATA] = "socket_data",
    [STALL_SOCKET_OUTSIDE] = "socket_outside",
    [STALL_SOCKET] = "socket",
    [STALL_CPU] = "cpu",
    [STALL_LOADERS] = "loaders",
    [STALL_AFTER_WRITE] = "after_write",
    [STALL_DISK] = "disk",
    [STALL_STACK_DATA] = "stack_data",
    [STALL_STACK_SAVE] = "stack_save",
    [STALL_STACK_OUTSIDE] = "stack_outside",
    [STALL_STACK_OTHER] = "stack_other",
    [STALL_SOME_SILENT] = "some_silent",
    [STALL_ALL_SILENT] = "all_silent",
};

const char *job_verdict_name(enum job_verdict v)
{
    return (unsigned) v < VERDICT_COUNT ? job_verdict_names[v] : "?";
}

const char *watch_stage_name(enum watch_stage s)
{
    return (unsigned) s < STAGE_COUNT ? stage_names[s] : "?";
}

const char *watch_kind_name(enum watch_kind k)
{
    return (unsigned) k < KIND_COUNT ? kind_names[k] : "?";
}

const char *stall_name(enum stall s)
{
    return (unsigned) s < STALL_COUNT ? stall_names[s] : "?";
}

bool stall_from_name(struct str name, enum stall *ret)
{
    for (unsigned i = 0; i < STALL_COUNT; i++)
        if (str_is(name, stall_names[i])) {
            *ret = (enum stall) i;
            return true;
        }
    return false;
}
