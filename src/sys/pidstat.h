/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat as numbers. Pure: no file is opened here. Outputs are written only on success. */
#ifndef WATTGATE_SYS_PIDSTAT_H
#define WATTGATE_SYS_PIDSTAT_H

#include "base/defs.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The kernel shows CPU time in 1/100 s to user space on every architecture that runs GPUs. */
#define US_PER_KERNEL_TICK INT64_C(10000)

/* /proc/PID/stat. */
struct pid_stat {
    int32_t pid, ppid;
    struct str comm; /* may hold blanks and brackets */
    char state;
    uint64_t flags, start_ticks;
    int64_t cpu_us, threads;
};
int pid_stat_parse(struct str text, struct pid_stat *ret) MUST_CHECK;
/* A thread of the kernel: it opens no files and has no children that do. */
bool pid_stat_is_kernel(const struct pid_stat *s);

#endif
