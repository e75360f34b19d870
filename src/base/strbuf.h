/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string that remembers its first failure: append without checking, check once. */
#ifndef WATTGATE_BASE_STRBUF_H
#define WATTGATE_BASE_STRBUF_H

#include "base/defs.h"
#include "base/str.h"

#include <stdint.h>

struct strbuf {
    char *p;    /* always terminated once something was appended */
    size_t n;   /* bytes used, without the terminator */
    size_t cap; /* bytes allocated */
    int error;  /* 0 or -ENOMEM */
};

#define STRBUF_INIT                                                                                \
    {                                                                                              \
        NULL, 0, 0, 0                                                                              \
    }

void strbuf_add(struct strbuf *b, struct str s);
void strbuf_addz(struct strbuf *b, const char *text);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addn(struct strbuf *b, char c, size_t times);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_add_i64(struct strbuf *b, int64_t value); /* decimal; the fast path of writers */
/* value / scale as an exact decimal with `digits` places, rounded half away from zero. */
void strbuf_add_scaled(struct strbuf *b, int64_t value, int64_t scale, unsigned digits);
/* Room for at least n more bytes; the place to write to, or NULL. Follow with strbuf_took(). */
char *strbuf_room(struct strbuf *b, size_t n);
void strbuf_took(struct strbuf *b, size_t n);
/* Drops the first n bytes. */
void strbuf_drop(struct strbuf *b, size_t n);
void strbuf_clear(struct strbuf *b); /* empties, keeps memory, forgets a failure */
/* The contents; empty when nothing was appended. */
struct str strbuf_str(const struct strbuf *b);
const char *strbuf_text(const struct strbuf *b); /* terminated; "" when empty */
/* Gives the text away and leaves the buffer empty; -ENOMEM if any append failed. */
int strbuf_finish(struct strbuf *b, char **ret_text) MUST_CHECK;
void strbuf_done(struct strbuf *b);
DEFINE_AUTO_VALUE(strbuf)

#endif
