/* SPDX-License-Identifier: Apache-2.0 */
/* The binary file gpu_metrics of the amdgpu driver: a header (size, format, content revision) and
 * a structure whose layout belongs to exactly that revision. One row describes each; a revision or
 * size without a row is refused, since revisions insert fields in the middle. */
#ifndef WATTGATE_SOURCE_AMDGPU_GPU_METRICS_H
#define WATTGATE_SOURCE_AMDGPU_GPU_METRICS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum gm_field {
    GM_TEMP_EDGE_MC = 0,
    GM_TEMP_HOTSPOT_MC,
    GM_TEMP_MEM_MC,
    GM_TEMP_GFX_MC, /* APUs */
    GM_GFX_PERMILLE,
    GM_MEM_PERMILLE,
    GM_POWER_AVERAGE_MW,
    GM_POWER_CURRENT_MW,
    GM_ENERGY_TICKS,  /* of 2^-16 J, raw */
    GM_CLOCK_GFX_MHZ, /* the fastest of the dies */
    GM_CLOCK_MEM_MHZ,
    GM_THROTTLE_ASIC, /* bits whose meaning depends on the chip: only 0 says something */
    GM_THROTTLE_BITS, /* the same for all chips */
    /* Time spent limited by each cause, in a unit that the driver does not state: only growth
     * says something. */
    GM_LIMIT_PROCHOT,
    GM_LIMIT_POWER,
    GM_LIMIT_TEMP,
    GM_LIMIT_TEMP_VR,
    GM_LIMIT_TEMP_MEM,
    GM_LINK_READ_BYTES, /* XGMI, all links */
    GM_LINK_WRITE_BYTES,
    GM_COUNT
};

struct gpu_metrics {
    uint8_t format, content;
    bool energy_is_32bit; /* the counter wraps every 65 kJ */
    bool have[GM_COUNT];  /* false: all ones in the file, or not in this revision */
    int64_t value[GM_COUNT];
};

#define GPU_METRICS_BYTES_MAX 4096 /* sysfs gives at most a page */

/* -EINVAL for a truncated file or a size that does not belong to the revision, -ENOTSUP for a
 * revision without a row. */
int gpu_metrics_decode(const uint8_t *bytes, size_t n, struct gpu_metrics *ret,
                       struct err *err) MUST_CHECK;
/* Ticks of 2^-16 J (15.2587890625 uJ) as microjoules, rounded down; false when it overflows. */
bool gpu_metrics_energy_uj(int64_t ticks, int64_t *ret_uj);
/* The clock event reason bits of METRIC_THROTTLE_REASONS for GM_THROTTLE_BITS. */
int64_t gpu_metrics_reasons(uint64_t bits);
/* The same from what grew since the last reading; 0: not limited in between. */
int64_t gpu_metrics_reasons_since(const struct gpu_metrics *last, const struct gpu_metrics *now);
/* The size that belongs to a revision, for tests and tools; 0 when there is no such row. */
size_t gpu_metrics_size(uint8_t format, uint8_t content);

#endif
