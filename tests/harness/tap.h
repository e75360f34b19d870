/* SPDX-License-Identifier: Apache-2.0 */
/* Test programs speak TAP: a table of named cases, a process and an alarm for each. */
#ifndef WATTGATE_TESTS_TAP_H
#define WATTGATE_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap_case {
    const char *name;
    void (*run)(void);
};

/* Runs every case in a process of its own (TAP_NO_FORK=1: in this one; TAP_ONLY=name: that one)
 * with an alarm of TAP_TIMEOUT seconds (120). Returns the program's exit status. */
int tap_run(const struct tap_case *cases, size_t n);

/* Ends the case as skipped, with the reason; it is counted and never a pass. */
void tap_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* $WATTGATE_SOURCE/path, where the source tree lies (set by tools/run-tests); static buffer. */
const char *tap_source_path(const char *path);
/* The folder of real inputs, or NULL where it is absent: skip then. */
const char *tap_corpus(void);

void tap_check(bool ok, const char *file, int line, const char *expr);
void tap_check_i64(int64_t got, int64_t want, const char *file, int line, const char *expr);
void tap_check_text(const char *got, const char *want, const char *file, int line,
                    const char *expr);
void tap_check_has(const char *text, const char *part, const char *file, int line,
                   const char *expr);

#define CHECK(expr) tap_check(expr, __FILE__, __LINE__, #expr)
#define CHECK_EQ(got, want)                                                                        \
    tap_check_i64((int64_t) (got), (int64_t) (want), __FILE__, __LINE__, #got)
#define CHECK_TEXT(got, want) tap_check_text(got, want, __FILE__, __LINE__, #got)
#define CHECK_HAS(text, part) tap_check_has(text, part, __FILE__, __LINE__, #text)

#define TAP_MAIN(cases)                                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        return tap_run(cases, sizeof(cases) / sizeof((cases)[0]));                                 \
    }

#endif
