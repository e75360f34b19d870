/* SPDX-License-Identifier: Apache-2.0 */
#include "core/board/sensor.h"

const struct sensor_spec sensor_volta = {
    .update_us = 20000, .window_us = 10000, .average_us = 0, .energy_update_us = 20000
};
const struct sensor_spec sensor_ga100 = {
    .update_us = 100000, .window_us = 25000, .average_us = 0, .energy_update_us = 20000
};
const struct sensor_spec sensor_modern = {
    .update_us = 100000, .window_us = 25000, .average_us = 1000000, .energy_update_us = 20000
};

static int64_t mean_mw(energy_fn energy, const void *arg, int64_t from_us, int64_t to_us)
{
    if (from_us < 0)
        from_us = 0;
    if (to_us <= from_us)
        to_us = from_us + 1;
    int64_t uj = energy(arg, to_us) - energy(arg, from_us);
    return uj * 1000 / (to_us - from_us);
}

/* The last multiple of step (shifted by phase) at or before t; 0 before the first. */
static int64_t grid_before(int64_t t_us, int64_t step_us, int64_t phase_us)
{
    int64_t since = t_us - phase_us;
    return since < 0 ? 0 : since / step_us * step_us + phase_us;
}

struct sensor_reading sensor_read(const struct sensor_spec *spec, energy_fn energy, const void *arg,
                                  int64_t t_us)
{
    int64_t at = grid_before(t_us, spec->update_us, spec->phase_us);
    struct sensor_reading r = { .updated_us = at, .average_mw = -1 };
    r.instant_mw = mean_mw(energy, arg, at - spec->window_us, at);
    if (spec->average_us)
        r.average_mw = mean_mw(energy, arg, at - spec->average_us, at);
    r.energy_uj = energy(arg, grid_before(t_us, spec->energy_update_us, 0));
    return r;
}
