/* SPDX-License-Identifier: Apache-2.0 */
/* An error is a code and a sentence. */
#ifndef WATTGATE_BASE_ERR_H
#define WATTGATE_BASE_ERR_H

#include "base/defs.h"

/* `code` is a negative errno value. `text` says what failed, where (file, line, device, rank) and
 * what to do next, without a final newline. A text too long to fit ends in "[...]". */
struct err {
    int code;
    char text[512];
};

/* Fills `e` unless it is NULL; returns `code`, so that failing is one statement. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for a failed system call: appends ": " and the text of `errnum`; returns -errnum. */
int err_sys(struct err *e, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "text: " before what `e` already says; returns e->code (or -EIO if `e` is NULL). */
int err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
