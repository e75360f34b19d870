/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/defs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct str str_from(const char *text)
{
    return (struct str){ text, text ? strlen(text) : 0 };
}

struct str str_sub(struct str s, size_t from, size_t to)
{
    to = MIN(to, s.n);
    from = MIN(from, to);
    return (struct str){ s.p ? s.p + from : NULL, to - from };
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

bool str_is_nocase(struct str a, const char *text)
{
    return a.n == strlen(text) && (a.n == 0 || strncasecmp(a.p, text, a.n) == 0);
}

bool str_starts(struct str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

bool str_starts_nocase(struct str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || strncasecmp(a.p, prefix, n) == 0);
}

bool str_ends(struct str a, const char *suffix)
{
    size_t n = strlen(suffix);
    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, suffix, n) == 0);
}

ptrdiff_t str_find(struct str a, const char *needle)
{
    if (a.n == 0)
        return *needle ? -1 : 0;
    const char *hit = memmem(a.p, a.n, needle, strlen(needle));
    return hit ? hit - a.p : -1;
}

ptrdiff_t str_find_char(struct str a, char c)
{
    const char *hit = a.n ? memchr(a.p, c, a.n) : NULL;
    return hit ? hit - a.p : -1;
}

bool str_contains_nocase(struct str a, const char *needle)
{
    size_t n = strlen(needle);
    for (size_t i = 0; i + n <= a.n; i++)
        if (strncasecmp(a.p + i, needle, n) == 0)
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str a)
{
    while (a.n && is_blank(a.p[0])) {
        a.p++;
        a.n--;
    }
    while (a.n && is_blank(a.p[a.n - 1]))
        a.n--;
    return a;
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    if (!rest->p)
        return false;
    ptrdiff_t at = str_find_char(*rest, sep);
    if (at < 0) {
        *ret_part = *rest;
        *rest = (struct str){ NULL, 0 };
        return true;
    }
    *ret_part = str_sub(*rest, 0, (size_t) at);
    *rest = str_sub(*rest, (size_t) at + 1, rest->n);
    return true;
}

bool str_word(struct str *rest, struct str *ret_word)
{
    size_t from = 0;
    while (from < rest->n && is_blank(rest->p[from]))
        from++;
    size_t to = from;
    while (to < rest->n && !is_blank(rest->p[to]))
        to++;
    if (to == from)
        return false;
    *ret_word = str_sub(*rest, from, to);
    *rest = str_sub(*rest, to, rest->n);
    return true;
}

char *str_copy(char *buf, size_t cap, struct str s)
{
    size_t n = MIN(s.n, cap - 1);
    if (n)
        memcpy(buf, s.p, n);
    buf[n] = '\0';
    return buf;
}

char *str_copy_words(char *buf, size_t cap, struct str s)
{
    static const char more[] = " ...";
    if (s.n < cap || cap <= sizeof(more))
        return str_copy(buf, cap, s);
    size_t n = cap - sizeof(more);
    while (n > 0 && s.p[n] != ' ')
        n--;
    if (!n) /* one long word */
        n = cap - sizeof(more);
    while (n > 0 && ((unsigned char) s.p[n] & 0xc0) == 0x80)
        n--; /* not within a character */
    memcpy(buf, s.p, n);
    memcpy(buf + n, more, sizeof(more));
    return buf;
}

char *str_dup(struct str s)
{
    char *copy = malloc(s.n + 1);
    return copy ? str_copy(copy, s.n + 1, s) : NULL;
}

void str_plain(char *text)
{
    for (char *c = text; *c; c++) {
        bool c1 = (unsigned char) c[0] == 0xc2 && ((unsigned char) c[1] & 0xe0) == 0x80;
        if ((unsigned char) *c < 0x20 || *c == 0x7f || c1)
            *c = '?';
    }
}
