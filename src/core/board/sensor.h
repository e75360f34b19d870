/* SPDX-License-Identifier: Apache-2.0 */
/* The sensor model: from one true-power function, given as its integral, everything that a board
 * reports about its power. A pure function of time, so that many processes agree.
 *
 * Source of the constants: facts on part-time power measurement (arXiv 2312.02741) and the
 * published traces behind it: A100 and H100 look at 25 ms in every 100 ms; Ampere except GA100 and
 * everything newer report a 1 s boxcar average beside it. */
#ifndef WATTGATE_CORE_BOARD_SENSOR_H
#define WATTGATE_CORE_BOARD_SENSOR_H

#include <stdint.h>

/* True energy in microjoules from time 0 to t_us (t_us >= 0). Never decreases. */
typedef int64_t (*energy_fn)(const void *arg, int64_t t_us);

struct sensor_spec {
    int32_t update_us;        /* a new reading appears at multiples of this */
    int32_t window_us;        /* an instant reading averages this long before the update */
    int32_t average_us;       /* the boxcar of the average reading; 0: there is none */
    int32_t energy_update_us; /* the energy counter moves at multiples of this */
    int32_t phase_us;         /* shift of the update grid, differs between units */
};

extern const struct sensor_spec sensor_volta, sensor_ga100, sensor_modern;

struct sensor_reading {
    int64_t updated_us; /* time of the update that the reading belongs to */
    int64_t instant_mw;
    int64_t average_mw; /* -1 when the spec has no average */
    int64_t energy_uj;  /* counter from 0 */
};

/* What the board reports when asked at t_us. */
struct sensor_reading sensor_read(const struct sensor_spec *spec, energy_fn energy, const void *arg,
                                  int64_t t_us);

#endif
