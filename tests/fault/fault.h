/* SPDX-License-Identifier: Apache-2.0 */
/* Fault sweep: something is done again and again, and in the n-th run the n-th call of malloc,
 * calloc, realloc, strdup, strndup, read, write or openat fails, until a run meets no fault. After
 * each fault the run must have failed with a negative code and a sentence, and must have given
 * back all memory and descriptors. Link with fault_link_args of meson.build. */
#ifndef WATTGATE_TESTS_FAULT_H
#define WATTGATE_TESTS_FAULT_H

#include "base/err.h"

#include <stdbool.h>

enum fault_set {
    FAULT_MEMORY = 1 << 0, /* allocations give NULL, errno ENOMEM */
    FAULT_READ = 1 << 1,   /* read gives -1, EIO */
    FAULT_WRITE = 1 << 2,  /* write gives -1, ENOSPC */
    FAULT_OPEN = 1 << 3,   /* openat gives -1, EMFILE */
    /* A run that meets a fault may succeed all the same: it could do without. Its result is then
     * checked by the run itself, which returns a positive number when it is wrong. */
    FAULT_MAY_SURVIVE = 1 << 8,
    /* The entry point reports by its code alone. */
    FAULT_NO_TEXT = 1 << 9,
    /* It also frees what a library allocated, where no call is counted. */
    FAULT_FOREIGN_BLOCKS = 1 << 10,
};

struct fault_entry {
    const char *name;
    unsigned set; /* enum fault_set bits */
    /* Does the work and undoes it. 0 when all went well, the negative code of the failure, or a
     * positive line number (FAULT_WRONG) when a result is wrong. */
    int (*run)(struct err *err);
};

#define FAULT_WRONG (__LINE__)

/* Sweeps one entry; complains through tap_check. */
void fault_sweep(const struct fault_entry *entry);

#endif
