/* SPDX-License-Identifier: Apache-2.0 */
#include "source/nvml/nvml-fields.h"

#include "base/units.h"

#include <math.h>

#define STAMP_LATE_US (INT64_C(3600) * US_PER_S)
#define STAMP_EARLY_US (INT64_C(5) * US_PER_S)

/* Versions are those whose header (CUDA 12.2 = 535, 12.4 = 550, 12.8 = 570, 12.9 = 575, 13.0 = 580)
 * first has the number. 13.0 came with 580.65 and its update, which moved 251-273 back, with
 * 580.82: releases between the two are not asked, since nobody says which numbers they have. */
const struct nvml_field_row nvml_field_rows[] = {
    { METRIC_POWER_INSTANT_MW, 186, 0, 1, { 535, 0 }, { 0, 0 } },
    { METRIC_POWER_AVERAGE_MW, 185, 0, 1, { 535, 0 }, { 0, 0 } },
    { METRIC_POWER_LIMIT_MW, 190, 0, 1, { 535, 0 }, { 0, 0 } },
    { METRIC_POWER_LIMIT_DEFAULT_MW, 189, 0, 1, { 535, 0 }, { 0, 0 } },
    { METRIC_POWER_LIMIT_MAX_MW, 188, 0, 1, { 535, 0 }, { 0, 0 } },
    { METRIC_ENERGY_UJ, 83, 0, UJ_PER_MJ, { 0, 0 }, { 0, 0 } },
    { METRIC_TEMP_MEM_MC, 82, 0, 1000, { 0, 0 }, { 0, 0 } },
    { METRIC_PCIE_TX_BYTES, 197, 0, 1, { 550, 0 }, { 0, 0 } },
    { METRIC_PCIE_RX_BYTES, 198, 0, 1, { 550, 0 }, { 0, 0 } },
    { METRIC_NVLINK_TX_BYTES, 138, NVML_ID_NONE, 1024, { 450, 0 }, { 0, 0 } },
    { METRIC_NVLINK_RX_BYTES, 139, NVML_ID_NONE, 1024, { 450, 0 }, { 0, 0 } },
    { METRIC_THROTTLE_POWER_NS, 74, 0, 1, { 0, 0 }, { 0, 0 } },
    { METRIC_REMAP_PENDING, 144, 0, 1, { 450, 0 }, { 0, 0 } },
    { METRIC_REMAP_FAILURE, 145, 0, 1, { 450, 0 }, { 0, 0 } },
    { METRIC_RECOVERY_ACTION, 230, 0, 1, { 570, 0 }, { 0, 0 } },
    { METRIC_SMOOTHING_ENABLED, 251, 0, 1, { 570, 0 }, { 575, 0 } },
    { METRIC_SMOOTHING_ENABLED, 256, 0, 1, { 575, 0 }, { 580, 66 } },
    { METRIC_SMOOTHING_ENABLED, 251, 0, 1, { 580, 82 }, { 0, 0 } },
};
const size_t nvml_field_rows_n = ARRAY_SIZE(nvml_field_rows);

static bool is_before(const struct nvml_driver *d, uint32_t major, uint32_t minor)
{
    return d->major < major || (d->major == major && d->minor < minor);
}

const struct nvml_field_row *nvml_field_find(enum metric m, const struct nvml_driver *driver)
{
    for (size_t i = 0; i < nvml_field_rows_n; i++) {
        const struct nvml_field_row *row = &nvml_field_rows[i];
        if (row->metric != m || is_before(driver, row->from.major, row->from.minor))
            continue;
        if (!row->before.major || is_before(driver, row->before.major, row->before.minor))
            return row;
    }
    return NULL;
}

static bool from_unsigned(uint64_t v, uint64_t none, int64_t *ret)
{
    if (v == none || v > INT64_MAX)
        return false;
    *ret = (int64_t) v;
    return true;
}

static bool from_double(double v, int64_t *ret)
{
    if (!isfinite(v) || v < -9e15 || v > 9e15)
        return false;
    *ret = llround(v);
    return true;
}

bool nvml_field_value(const struct nvml_field *f, int64_t scale, int64_t *ret)
{
    int64_t v = 0;
    bool ok = false;
    switch (f->type) {
    case NVML_DOUBLE:
        return from_double(f->value.f64 * (double) scale, ret);
    case NVML_UINT:
        ok = from_unsigned(f->value.u32, UINT32_MAX, &v);
        break;
    case NVML_ULONG:
    case NVML_ULONGLONG:
        ok = from_unsigned(f->value.u64, UINT64_MAX, &v);
        break;
    case NVML_SLONGLONG:
        v = f->value.i64;
        ok = true;
        break;
    case NVML_SINT:
        v = f->value.i32;
        ok = true;
        break;
    case NVML_USHORT:
        v = f->value.u16;
        ok = true;
        break;
    default: /* a type that came after this was written */
        break;
    }
    int64_t scaled;
    if (!ok || __builtin_mul_overflow(v, scale, &scaled))
        return false;
    *ret = scaled;
    return true;
}

void nvml_field_obs(const struct nvml_field *f, const struct nvml_field_row *row, int64_t wall_us,
                    struct obs *ret)
{
    *ret = (struct obs){ .metric = row->metric, .status = nvml_obs_status(f->code) };
    if (f->code != NVML_OK)
        return;
    if (!nvml_field_value(f, row->scale, &ret->value)) {
        ret->status = OBS_ABSENT;
        return;
    }
    if (f->timestamp_us >= wall_us - STAMP_LATE_US && f->timestamp_us <= wall_us + STAMP_EARLY_US)
        ret->device_us = f->timestamp_us;
}
