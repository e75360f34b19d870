/* SPDX-License-Identifier: Apache-2.0 */
/* Driver libraries loaded at run time and bound from a table. */
#ifndef WATTGATE_SYS_DL_H
#define WATTGATE_SYS_DL_H

#include "base/err.h"

#include <stdbool.h>

#define DL_NAMES_MAX 3

/* One function pointer of the caller's struct. The first of `names` that the library has is taken:
 * put the newest first, and only names whose prototype and layouts are the same. */
struct dl_sym {
    size_t offset;
    bool required;
    const char *names[DL_NAMES_MAX];
};

/* `path` with a slash is a file; without, the loader searches. -ENOENT when it is not to be had. */
int dl_open(const char *path, void **ret_lib, struct err *err) MUST_CHECK;
/* Fills the pointers of `api`; what is missing becomes NULL. -ENOSYS names the first missing symbol
 * that is required; `api` is then untouched. */
int dl_bind(void *lib, const struct dl_sym *syms, size_t n, void *api, struct err *err) MUST_CHECK;
void dl_close(void *lib); /* NULL is allowed */

#endif
