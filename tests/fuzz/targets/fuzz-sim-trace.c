/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that is replayed comes from anywhere. */
#include "../../../sim/model/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(sim_scenario) struct sim_scenario *s = NULL;
    struct err e = { 0 };
    if (sim_parse_trace("fuzz", (struct str){ (const char *) data, n }, &s, &e) < 0) {
        if (!e.text[0])
            abort();
        return 0;
    }
    for (uint32_t i = 0; i < s->gpus_n; i++) {
        (void) sim_sensor(s, &s->gpus[i], 5000000);
        if (sim_true_energy_uj(&s->gpus[i], 60000000) < sim_true_energy_uj(&s->gpus[i], 1000000))
            abort();
    }
    return 0;
}
