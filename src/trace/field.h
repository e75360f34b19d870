/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and keys of CSV and JSON-lines recordings, in every spelling that is met, and rows that
 * are made of them. */
#ifndef WATTGATE_TRACE_FIELD_H
#define WATTGATE_TRACE_FIELD_H

#include "trace/feed.h"
#include "trace/quantity.h"

enum field_role {
    FIELD_IGNORED = 0,
    FIELD_METRIC,
    FIELD_TIME,
    FIELD_TIME_RELATIVE, /* seconds since the recording began */
    FIELD_UUID,
    FIELD_INDEX,
    FIELD_BUS,
    FIELD_NAME,
    FIELD_DRIVER,
};

struct field {
    const char *name;
    enum field_role role;
    enum metric metric;
    enum quantity quantity;
    bool fallback; /* only where no better column states the metric */
};

/* By a name such as "power.draw [W]", case does not matter; *ret_unit is what the brackets say.
 * NULL for a column that is not known. */
const struct field *field_find(struct str name, struct str *ret_unit);
bool field_is_power(const struct field *f); /* a power that the board draws */

/* One line about one GPU; its strings are borrowed. */
struct gpu_row {
    struct str uuid, bus, name, driver;
    int32_t index; /* or -1 */
    bool has_time, has_relative;
    struct stamp stamp;
    int64_t relative_us;
    struct obs_list obs;
};

void gpu_row_init(struct gpu_row *r);
/* 0, or negative when the text makes no sense there (an empty one is no fault). */
int gpu_row_set(struct gpu_row *r, const struct field *f, struct str unit,
                struct str text) MUST_CHECK;
/* Feeds time, GPU and sample; nothing when the row holds no observation. */
void gpu_row_feed(const struct gpu_row *r, struct feed *f, uint64_t line);

#endif
