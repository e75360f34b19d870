/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario is text that people write: no mistake in it may crash, and energy may never fall. */
#include "../../../sim/model/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(const struct sim_scenario *s, const struct sim_gpu *g)
{
    static const int64_t times[] = {
        0, 1, 99999, 1000000, 60000000, INT64_C(86400000000), INT64_C(31536000000000)
    };
    int64_t last = 0;
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        int64_t e = sim_true_energy_uj(g, times[i]);
        if (e < last)
            abort();
        last = e;
        for (enum sim_channel c = 0; c < SIM_CHANNEL_COUNT; c++)
            (void) sim_mean(g, c, times[i], 166667);
        (void) sim_sensor(s, g, times[i]);
        (void) sim_energy_counter_uj(s, g, times[i]);
        (void) sim_temperature_mc(g, times[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(sim_scenario) struct sim_scenario *s = NULL;
    struct err e = { 0 };
    if (sim_parse("fuzz", (struct str){ (const char *) data, n }, &s, &e) < 0) {
        if (!e.text[0])
            abort();
        return 0;
    }
    for (uint32_t i = 0; i < s->gpus_n; i += 7)
        look(s, &s->gpus[i]);
    return 0;
}
