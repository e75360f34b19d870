/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/gpu_metrics.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu_metrics m;
    struct err err = { 0 };
    int64_t uj;
    if (gpu_metrics_decode(data, size, &m, &err) < 0) {
        if (!err.text[0])
            abort(); /* refused without a reason */
        return 0;
    }
    for (unsigned f = 0; f < GM_COUNT; f++)
        if (m.value[f] < 0 || (!m.have[f] && m.value[f] != 0))
            abort();
    (void) gpu_metrics_energy_uj(m.value[GM_ENERGY_TICKS], &uj);
    (void) gpu_metrics_reasons((uint64_t) m.value[GM_THROTTLE_BITS]);
    (void) gpu_metrics_reasons_since(&m, &m);
    return 0;
}
