/* SPDX-License-Identifier: Apache-2.0 */
/* Small language helpers that every layer uses. */
#ifndef WATTGATE_BASE_DEFS_H
#define WATTGATE_BASE_DEFS_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, lo, hi) MIN(MAX(x, lo), hi)
#define CONTAINER_OF(ptr, type, member) ((type *) (void *) ((char *) (ptr) -offsetof(type, member)))

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))

/* Scope owns: `AUTO(strbuf) struct strbuf b` runs strbuf_auto(&b) when b leaves its scope. */
#define AUTO(name) __attribute__((cleanup(name##_auto)))

/* Defines NAME_auto for a pointer to struct NAME that is freed by NAME_free(). */
#define DEFINE_AUTO_PTR(name)                                                                      \
    static inline UNUSED void name##_auto(struct name **p)                                         \
    {                                                                                              \
        name##_free(*p);                                                                           \
    }

/* Defines NAME_auto for a struct NAME whose contents are freed by NAME_done(). */
#define DEFINE_AUTO_VALUE(name)                                                                    \
    static inline UNUSED void name##_auto(struct name *p)                                          \
    {                                                                                              \
        name##_done(p);                                                                            \
    }

/* Hands the pointer over: gives its value and leaves NULL behind. */
#define TAKE(p)                                                                                    \
    (__extension__({                                                                               \
        __typeof__(&(p)) take_at = &(p);                                                           \
        __typeof__(p) take_value = *take_at;                                                       \
        *take_at = NULL;                                                                           \
        take_value;                                                                                \
    }))

#endif
