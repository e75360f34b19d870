/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes of this node belong to a job, and which of them are its ranks. */
#ifndef WATTGATE_JOBS_DISCOVER_H
#define WATTGATE_JOBS_DISCOVER_H

#include "base/err.h"
#include "core/job/job.h"

#include <stddef.h>

/* One of them is set. */
struct job_selector {
    int32_t pid;         /* this process and its descendants; 0: not by pid */
    const char *command; /* command lines that hold this text */
    const char *slurm;   /* SLURM_JOB_ID */
    const char *cgroup;  /* a path that ends in this, as /proc/PID/cgroup shows it */
};

struct job_member {
    int32_t pid;
    uint64_t start_ticks;
    struct job_env env;
    char command[64]; /* comm */
};

#define JOB_MEMBERS_MAX 1024

/* What was found. Plain data: it crosses a pipe. */
struct job_found {
    uint32_t n; /* ranks, in the order of their numbers */
    struct job_member ranks[JOB_MEMBERS_MAX];
    uint32_t processes; /* of the job, ranks among them */
    uint32_t denied;    /* whose environment may not be read */
    bool more;          /* ranks that did not fit */
};

/* Reads /proc below the root. A rank is a process whose environment gives it a number, and whose
 * parent does not have the same: loader processes inherit it. Reading an environment may block (a
 * process that hangs in the kernel holds its own memory's lock): do it in a worker. -ESRCH when the
 * selector meets nobody. */
int job_discover(const char *sysroot, const struct job_selector *which, struct job_found *ret,
                 struct err *err) MUST_CHECK;

#endif
