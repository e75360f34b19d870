/* SPDX-License-Identifier: Apache-2.0 */
/* Times as recorders spell them. */
#ifndef WATTGATE_TRACE_STAMP_H
#define WATTGATE_TRACE_STAMP_H

#include "base/defs.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define STAMP_MAX_MS INT64_C(7258118400000) /* the year 2200 */

struct stamp {
    int64_t wall_us; /* since 1970; as UTC when the text states no zone */
    bool zone;       /* the text states its zone, or counts from 1970 */
};

/* "2025/12/16 22:03:49.123", ISO 8601, "Tue Dec 16 22:03:49 2025", "20251216 22:03:49", or seconds,
 * milliseconds, microseconds or nanoseconds since 1970. -EINVAL for anything else, and for years
 * before 1990 and after 2199: no GPU was sampled then. */
int stamp_parse(struct str text, struct stamp *ret) MUST_CHECK;

#endif
