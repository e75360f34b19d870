/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char cut_mark[] = "[...]";

/* Appends to text[at..]; a result that does not fit ends in the mark. */
static size_t append(char *text, size_t cap, size_t at, const char *fmt, va_list args)
    PRINTF_LIKE(4, 0);

static size_t append(char *text, size_t cap, size_t at, const char *fmt, va_list args)
{
    int n = vsnprintf(text + at, cap - at, fmt, args);
    if (n < 0)
        return at;
    if ((size_t) n < cap - at)
        return at + (size_t) n;
    memcpy(text + cap - sizeof(cut_mark), cut_mark, sizeof(cut_mark));
    return cap - 1;
}

static size_t append_fmt(char *text, size_t cap, size_t at, const char *fmt, ...) PRINTF_LIKE(4, 5);

static size_t append_fmt(char *text, size_t cap, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    at = append(text, cap, at, fmt, args);
    va_end(args);
    return at;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    if (!e)
        return code;
    va_list args;
    va_start(args, fmt);
    append(e->text, sizeof(e->text), 0, fmt, args);
    va_end(args);
    e->code = code;
    return code;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
    if (!e)
        return -errnum;
    va_list args;
    va_start(args, fmt);
    size_t at = append(e->text, sizeof(e->text), 0, fmt, args);
    va_end(args);
    append_fmt(e->text, sizeof(e->text), at, ": %s", strerror(errnum));
    e->code = -errnum;
    return -errnum;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -EIO;
    char old[sizeof(e->text)];
    memcpy(old, e->text, sizeof(old));
    va_list args;
    va_start(args, fmt);
    size_t at = append(e->text, sizeof(e->text), 0, fmt, args);
    va_end(args);
    append_fmt(e->text, sizeof(e->text), at, ": %s", old);
    return e->code;
}
