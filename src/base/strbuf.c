/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *strbuf_room(struct strbuf *b, size_t n)
{
    if (b->error)
        return NULL;
    if (n >= SIZE_MAX / 2 - b->n) {
        b->error = -ENOMEM;
        return NULL;
    }
    size_t need = b->n + n + 1;
    if (need > b->cap) {
        size_t cap = MAX(b->cap * 2, MAX(need, (size_t) 64));
        char *p = realloc(b->p, cap);
        if (!p) {
            b->error = -ENOMEM;
            return NULL;
        }
        b->p = p;
        b->cap = cap;
    }
    return b->p + b->n;
}

void strbuf_took(struct strbuf *b, size_t n)
{
    b->n += n;
    b->p[b->n] = '\0';
}

void strbuf_add(struct strbuf *b, struct str s)
{
    char *at = strbuf_room(b, s.n);
    if (!at)
        return;
    if (s.n)
        memcpy(at, s.p, s.n);
    strbuf_took(b, s.n);
}

void strbuf_addz(struct strbuf *b, const char *text)
{
    strbuf_add(b, str_from(text));
}

void strbuf_addc(struct strbuf *b, char c)
{
    strbuf_add(b, (struct str){ &c, 1 });
}

void strbuf_addn(struct strbuf *b, char c, size_t times)
{
    char *at = strbuf_room(b, times);
    if (!at)
        return;
    memset(at, c, times);
    strbuf_took(b, times);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *at = n < 0 ? NULL : strbuf_room(b, (size_t) n);
    if (!at) {
        b->error = -ENOMEM;
        return;
    }
    va_start(args, fmt);
    vsnprintf(at, (size_t) n + 1, fmt, args);
    va_end(args);
    strbuf_took(b, (size_t) n);
}

void strbuf_add_i64(struct strbuf *b, int64_t value)
{
    char text[24];
    size_t at = sizeof(text);
    uint64_t rest = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    do {
        text[--at] = (char) ('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        text[--at] = '-';
    strbuf_add(b, (struct str){ text + at, sizeof(text) - at });
}

/* part * pow / unit, rounded half up, without overflow in between. */
static uint64_t scale_part(uint64_t part, uint64_t pow, uint64_t unit)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t) (((wide) part * pow + unit / 2) / unit);
}

void strbuf_add_scaled(struct strbuf *b, int64_t value, int64_t scale, unsigned digits)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    uint64_t unit = (uint64_t) scale;
    uint64_t whole = rest / unit, part = rest % unit;
    uint64_t pow = 1;
    for (unsigned i = 0; i < digits; i++)
        pow *= 10;
    uint64_t frac = scale_part(part, pow, unit);
    if (frac == pow) {
        whole++;
        frac = 0;
    }
    if (value < 0 && (whole || frac))
        strbuf_addc(b, '-');
    strbuf_addf(b, "%llu", (unsigned long long) whole);
    if (digits)
        strbuf_addf(b, ".%0*llu", (int) digits, (unsigned long long) frac);
}

void strbuf_drop(struct strbuf *b, size_t n)
{
    n = MIN(n, b->n);
    if (!n)
        return;
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = '\0';
}

void strbuf_clear(struct strbuf *b)
{
    b->n = 0;
    b->error = 0;
    if (b->p)
        b->p[0] = '\0';
}

struct str strbuf_str(const struct strbuf *b)
{
    return (struct str){ strbuf_text(b), b->n };
}

const char *strbuf_text(const struct strbuf *b)
{
    return b->p ? b->p : "";
}

int strbuf_finish(struct strbuf *b, char **ret_text)
{
    strbuf_add(b, (struct str){ NULL, 0 }); /* an empty buffer gives "", not NULL */
    if (b->error)
        return b->error;
    *ret_text = b->p;
    *b = (struct strbuf) STRBUF_INIT;
    return 0;
}

void strbuf_done(struct strbuf *b)
{
    free(b->p);
    *b = (struct strbuf) STRBUF_INIT;
}
