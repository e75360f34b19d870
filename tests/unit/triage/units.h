/* SPDX-License-Identifier: Apache-2.0 */
/* Random GPU units and the lives of jobs on them, drawn without regard to the board tables: units
 * differ by up to 15 % from any published level, spinning overlaps holding a context, some boards
 * have no row, some signals cannot be read. The truth of every second is kept. */
#ifndef WATTGATE_TESTS_UNITS_H
#define WATTGATE_TESTS_UNITS_H

#include "core/telemetry/record.h"

enum truth {
    TRUTH_IDLE,
    TRUTH_HELD,
    TRUTH_LOAD, /* reading data into the GPU's memory */
    TRUTH_WORK,
    TRUTH_COMM,
    TRUTH_STARVED,
    TRUTH_UNDERFED,
    TRUTH_OFFLOAD,    /* healthy work at hang-level watts, bytes moving */
    TRUTH_CHECKPOINT, /* waiting while bytes are written */
    TRUTH_PAUSE,      /* a healthy wait, spinning, nothing moves */
    TRUTH_DEADLOCK,
    TRUTH_COUNT
};

#define UNIT_SECONDS 3600

struct unit {
    uint64_t rng;
    const char *name; /* product, may have no row */
    int64_t limit_mw, default_mw, bare_mw, held_mw, spin_mw, work_mw;
    int64_t floor_mw; /* power smoothing keeps watts up; 0 none */
    bool sees_util, sees_mem, sees_link, sees_sm, sees_owner, sees_host, sees_limit;
    bool average; /* power is the 1 s average, else an instant reading */
    bool hangs;
    enum truth now;
    int64_t left_s;         /* of the phase */
    int64_t since_change_s; /* for scoring */
    int64_t floor_until_s;
    int64_t second;
    int64_t wrote_bytes, read_bytes, cpu_us, loader_us;
    int64_t level_mw; /* of the phase */
    int64_t last_mw;  /* for the average */
};

void unit_draw(struct unit *u, uint64_t seed);
/* The next second: its observations of the GPU (at most 16), and the truth. */
uint32_t unit_second(struct unit *u, struct obs obs[16], enum truth *ret);
/* What the host shows of the owner (entity 1) and its loader (entity 2). */
uint32_t unit_owner(const struct unit *u, struct obs obs[8]);
uint32_t unit_loader(const struct unit *u, struct obs obs[8]);
const char *truth_name(enum truth t);

#endif
