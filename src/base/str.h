/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed run of bytes, not terminated. Parsers work on these. */
#ifndef WATTGATE_BASE_STR_H
#define WATTGATE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct str {
    const char *p; /* may be NULL when n is 0 */
    size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
/* For "%.*s". */
#define STR_ARG(s) (int) (s).n, (s).p ? (s).p : ""

struct str str_from(const char *text); /* NULL gives an empty str */
struct str str_sub(struct str s, size_t from, size_t to);
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *text);
bool str_is_nocase(struct str a, const char *text); /* ASCII case only */
bool str_starts(struct str a, const char *prefix);
bool str_starts_nocase(struct str a, const char *prefix);
bool str_ends(struct str a, const char *suffix);
/* Offset of the first occurrence, or -1. */
ptrdiff_t str_find(struct str a, const char *needle);
ptrdiff_t str_find_char(struct str a, char c);
bool str_contains_nocase(struct str a, const char *needle);
/* Without leading and trailing blanks, tabs, CR and LF. */
struct str str_trim(struct str a);
/* Takes the part before the next `sep` off the front of *rest into *ret_part; false when *rest was
 * used up (an empty last part is given once). Start with *rest.p not NULL. */
bool str_split(struct str *rest, char sep, struct str *ret_part);
/* Takes the next run of non-blanks off the front; false when none is left. */
bool str_word(struct str *rest, struct str *ret_word);
/* What a terminal would obey becomes '?', in place: texts of inputs are printed. */
void str_plain(char *text);
/* Copies into buf, cut to cap - 1 bytes, always terminated; returns buf. */
char *str_copy(char *buf, size_t cap, struct str s);
/* The same for sentences: what does not fit is cut behind a word and ends in "...". */
char *str_copy_words(char *buf, size_t cap, struct str s);
/* A malloc'ed, terminated copy; NULL when memory is out. */
char *str_dup(struct str s);

#endif
