/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/field.h"

#include "base/parse.h"
#include "base/units.h"

#include <errno.h>

/* The names of nvidia-smi --query-gpu first, then those of common recorders. */
static const struct field fields[] = {
    { "timestamp", FIELD_TIME },
    { "time", FIELD_TIME },
    { "ts", FIELD_TIME },
    { "datetime", FIELD_TIME },
    { "time_relative_s", FIELD_TIME_RELATIVE },
    { "elapsed_s", FIELD_TIME_RELATIVE },
    { "uuid", FIELD_UUID },
    { "gpu_uuid", FIELD_UUID },
    { "index", FIELD_INDEX },
    { "gpu_index", FIELD_INDEX },
    { "gpu_id", FIELD_INDEX },
    { "gpu", FIELD_INDEX },
    { "pci.bus_id", FIELD_BUS },
    { "gpu_bus_id", FIELD_BUS },
    { "pci_bus_id", FIELD_BUS },
    { "name", FIELD_NAME },
    { "gpu_name", FIELD_NAME },
    { "driver_version", FIELD_DRIVER },

    { "power.draw", FIELD_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "power.draw.instant", FIELD_METRIC, METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W },
    { "power.draw.average", FIELD_METRIC, METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W },
    { "power_w", FIELD_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "power_draw_w", FIELD_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "power_draw", FIELD_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "gpu_power_w", FIELD_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "enforced.power.limit", FIELD_METRIC, METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W },
    { "power.limit", FIELD_METRIC, METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "power_limit_w", FIELD_METRIC, METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "gpu_power_limit", FIELD_METRIC, METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "power.default_limit", FIELD_METRIC, METRIC_POWER_LIMIT_DEFAULT_MW, QUANTITY_POWER_W },
    { "power.max_limit", FIELD_METRIC, METRIC_POWER_LIMIT_MAX_MW, QUANTITY_POWER_W },
    { "total_energy_consumption", FIELD_METRIC, METRIC_ENERGY_UJ, QUANTITY_ENERGY_MJ },

    { "utilization.gpu", FIELD_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "utilization.memory", FIELD_METRIC, METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "gpu_util_pct", FIELD_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "gpu_utilization", FIELD_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "gpu_usage", FIELD_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "util_pct", FIELD_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "memory_util_pct", FIELD_METRIC, METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "mem_util_pct", FIELD_METRIC, METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT },

    { "clocks.current.sm", FIELD_METRIC, METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "clocks.sm", FIELD_METRIC, METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "sm_clock_mhz", FIELD_METRIC, METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "sm_mhz", FIELD_METRIC, METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "clocks.current.memory", FIELD_METRIC, METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ },
    { "clocks.mem", FIELD_METRIC, METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ },
    { "mem_clock_mhz", FIELD_METRIC, METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ },
    { "clocks.max.sm", FIELD_METRIC, METRIC_CLOCK_SM_MAX_MHZ, QUANTITY_CLOCK_MHZ },

    { "memory.used", FIELD_METRIC, METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB },
    { "memory_used_mb", FIELD_METRIC, METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB },
    { "mem_used_mb", FIELD_METRIC, METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB },
    { "gpu_mem_used", FIELD_METRIC, METRIC_MEM_USED_BYTES, QUANTITY_MEM_BYTES },
    { "memory.total", FIELD_METRIC, METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB },
    { "memory_total_mb", FIELD_METRIC, METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB },
    { "mem_total_mb", FIELD_METRIC, METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB },
    { "gpu_mem_total", FIELD_METRIC, METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_BYTES },

    { "temperature.gpu", FIELD_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "temperature.memory", FIELD_METRIC, METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C },
    { "temperature_c", FIELD_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "gpu_temp_c", FIELD_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "gpu_temperature", FIELD_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "mem_temp_c", FIELD_METRIC, METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C },

    { "pstate", FIELD_METRIC, METRIC_PSTATE, QUANTITY_PSTATE },
    { "clocks_throttle_reasons.active", FIELD_METRIC, METRIC_THROTTLE_REASONS, QUANTITY_BITS },
    { "clocks_event_reasons.active", FIELD_METRIC, METRIC_THROTTLE_REASONS, QUANTITY_BITS },
    { "clocks_event_reasons_counters.sw_power_cap", FIELD_METRIC, METRIC_THROTTLE_POWER_NS,
      QUANTITY_TIME_NS },
    { "ecc.errors.uncorrected.aggregate.total", FIELD_METRIC, METRIC_ECC_UNCORRECTED,
      QUANTITY_COUNT_OF },
    { "gpu_uncorrected_ecc", FIELD_METRIC, METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "mig.mode.current", FIELD_METRIC, METRIC_MIG_ENABLED, QUANTITY_YES },
};

const struct field *field_find(struct str name, struct str *ret_unit)
{
    struct str s = str_trim(name), unit = { "", 0 };
    ptrdiff_t open = str_find_char(s, '[');
    if (open > 0 && s.p[s.n - 1] == ']') {
        unit = str_trim(str_sub(s, (size_t) open + 1, s.n - 1));
        s = str_trim(str_sub(s, 0, (size_t) open));
    }
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (str_is_nocase(s, fields[i].name)) {
            *ret_unit = unit;
            return &fields[i];
        }
    return NULL;
}

bool field_is_power(const struct field *f)
{
    return f && (f->metric == METRIC_POWER_DRAW_MW || f->metric == METRIC_POWER_INSTANT_MW ||
                 f->metric == METRIC_POWER_AVERAGE_MW);
}

void gpu_row_init(struct gpu_row *r)
{
    *r = (struct gpu_row){ .index = -1 };
}

static int set_metric(struct gpu_row *r, const struct field *f, struct str unit, struct str text)
{
    struct obs o = { 0 };
    int failed = quantity_parse(f->quantity, unit, text, &o);
    if (failed == -ENODATA)
        return 0;
    if (failed < 0)
        return failed;
    obs_list_add(&r->obs, f->metric, &o, !f->fallback);
    return 0;
}

/* An index that is no number names the GPU all the same. */
static int set_index(struct gpu_row *r, struct str text)
{
    uint32_t index;
    if (parse_u32(text, &index) == 0 && index < ENTITY_MAX)
        r->index = (int32_t) index;
    else if (!r->uuid.n && text.n <= 128)
        r->uuid = text;
    else
        return -EINVAL;
    return 0;
}

int gpu_row_set(struct gpu_row *r, const struct field *f, struct str unit, struct str text)
{
    struct str s = str_trim(text);
    enum obs_status status;
    int failed;
    if (!s.n)
        return 0;
    if (f->role == FIELD_METRIC)
        return set_metric(r, f, unit, s);
    if (status_from_words(s, &status))
        return f->role == FIELD_TIME ? -EINVAL : 0;
    switch (f->role) {
    case FIELD_TIME:
        failed = stamp_parse(s, &r->stamp);
        r->has_time = r->has_time || failed == 0;
        return failed;
    case FIELD_TIME_RELATIVE:
        failed = parse_scaled(s, US_PER_S, &r->relative_us);
        r->has_relative = failed == 0 && r->relative_us >= 0 && r->relative_us < INT64_MAX / 4;
        return r->has_relative ? 0 : -EINVAL;
    case FIELD_UUID:
        r->uuid = s;
        break;
    case FIELD_INDEX:
        return set_index(r, s);
    case FIELD_BUS:
        r->bus = s;
        break;
    case FIELD_NAME:
        r->name = s;
        break;
    case FIELD_DRIVER:
        r->driver = s;
        break;
    case FIELD_IGNORED:
    case FIELD_METRIC:
        break;
    }
    return 0;
}

void gpu_row_feed(const struct gpu_row *r, struct feed *f, uint64_t line)
{
    if (!r->obs.n)
        return;
    if (r->has_time)
        feed_at(f, r->stamp, line);
    else if (r->has_relative)
        feed_at_relative(f, r->relative_us, line);
    uint32_t id = feed_gpu(f, r->uuid, r->index, r->name, r->driver, r->bus);
    feed_sample(f, id, r->obs.obs, r->obs.n);
}
