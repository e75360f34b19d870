/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a board: power levels by state, limit, sensor, peak rates. Values come from
 * data/boards/ (read by tables/); each has its source and grade there. Unknown stays unknown. */
#ifndef WATTGATE_CORE_BOARD_BOARD_H
#define WATTGATE_CORE_BOARD_BOARD_H

#include "core/telemetry/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Grades of facts/power: measured series, one screen, text, constant; none when not known. */
enum grade {
    GRADE_NONE = 0,
    GRADE_CONSTANT,
    GRADE_TEXT,
    GRADE_SCREEN,
    GRADE_MEASURED,
    GRADE_COUNT
};

struct anchor_range {
    int64_t lo_mw, hi_mw; /* lowest and highest level seen over units and hosts */
    enum grade grade;     /* GRADE_NONE: not known, lo and hi mean nothing */
};

/* Which kind of reading the plain power query of this chip gives. */
enum power_kind { POWER_KIND_UNKNOWN = 0, POWER_KIND_INSTANT, POWER_KIND_AVERAGE };

struct board {
    char name[32];     /* "b300-sxm", the file's name */
    char match[8][64]; /* product names, a trailing * matches the rest */
    struct anchor_range anchor[ANCHOR_COUNT];
    int64_t limit_mw; /* usual default limit; 0 unknown. Never a decision */
    enum power_kind draw_kind;
    int32_t sensor_update_us, sensor_window_us; /* 0 unknown */
    int64_t peak_bf16_gflops;                   /* dense; 0 unknown */
    bool low_power_compute; /* full load is known to stay below half the range (MI355X) */
};

struct board_set {
    const struct board *boards;
    size_t n;
};

/* The board whose pattern matches the product name best (longest pattern), or NULL. Case and a
 * leading "NVIDIA " or "AMD " do not matter. */
const struct board *board_find(const struct board_set *set, struct str product);

#endif
