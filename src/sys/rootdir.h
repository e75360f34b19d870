/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel files read below a root directory: the real root, or a captured tree. */
#ifndef WATTGATE_SYS_ROOTDIR_H
#define WATTGATE_SYS_ROOTDIR_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* Opens the root; the descriptor is the caller's. */
int rootdir_open(const char *path, int *ret_fd, struct err *err) MUST_CHECK;
/* Reads a whole file (path without a leading slash) into buf, at most cap - 1 bytes, terminated.
 * *ret_text is trimmed. -ENOENT, -EACCES, -EIO ..., -EMSGSIZE when it does not fit. */
int rootdir_read(int root_fd, char *buf, size_t cap, struct str *ret_text, struct err *err,
                 const char *fmt, ...) PRINTF_LIKE(6, 7);
int rootdir_read_i64(int root_fd, int64_t *ret, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
