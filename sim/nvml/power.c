/* SPDX-License-Identifier: Apache-2.0 */
/* Watts and joules. */
#include "state.h"

#include "base/units.h"

#include <string.h>

/* What the plain query means depends on the chip: the average where there is one. */
int64_t power_draw_mw(const struct call *c)
{
    struct sensor_reading r = sim_sensor(c->s, c->g, c->t_us);
    return r.average_mw >= 0 ? r.average_mw : r.instant_mw;
}

static int give_mw(const char *name, const struct nvml_device *d, unsigned *ret,
                   int64_t (*value_mw)(const struct call *c))
{
    struct call c;
    int r = call_device(&c, name, d, CALL_NO_VGPU);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = (unsigned) value_mw(&c);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetPowerUsage, const struct nvml_device *d, unsigned *ret)
{
    return give_mw(__func__, d, ret, power_draw_mw);
}

static int64_t limit_mw(const struct call *c)
{
    return c->phase->limit_mw;
}

API(nvmlDeviceGetEnforcedPowerLimit, const struct nvml_device *d, unsigned *ret)
{
    return give_mw(__func__, d, ret, limit_mw);
}

API(nvmlDeviceGetPowerManagementLimit, const struct nvml_device *d, unsigned *ret)
{
    return give_mw(__func__, d, ret, limit_mw);
}

API(nvmlDeviceGetPowerManagementLimitConstraints, const struct nvml_device *d, unsigned *lo,
    unsigned *hi)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !lo || !hi)
        return r ? r : NVML_INVALID_ARGUMENT;
    *lo = (unsigned) (c.g->board->limit_min_w * MW_PER_W);
    *hi = (unsigned) (c.g->board->limit_max_w * MW_PER_W);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetTotalEnergyConsumption, const struct nvml_device *d, unsigned long long *ret_mj)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !ret_mj)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret_mj = (unsigned long long) (sim_energy_counter_uj(c.s, c.g, c.t_us) / UJ_PER_MJ);
    return NVML_SUCCESS;
}

union value {
    double d;
    unsigned u;
    unsigned long long ull;
};

struct ring_sample {
    unsigned long long wall_us;
    union value value;
};

#define RING 120

static int64_t ring_value(const struct call *c, unsigned type, int64_t at_us, int64_t step_us)
{
    if (type == 0)
        return sim_sensor(c->s, c->g, at_us).instant_mw;
    enum sim_channel ch = type == 1 ? SIM_UTIL_PERMILLE : SIM_MEM_UTIL_PERMILLE;
    return permille_to_percent(sim_mean(c->g, ch, at_us, step_us));
}

/* Types: 0 power, 1 GPU and 2 memory utilisation. Without a buffer it tells the size of one. */
API(nvmlDeviceGetSamples, const struct nvml_device *d, unsigned type,
    unsigned long long last_seen_us, unsigned *value_type, unsigned *count, struct ring_sample *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !count || !value_type)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (type > 2 || (type > 0 && c.g->mig))
        return NVML_NOT_SUPPORTED;
    *value_type = 1;
    if (!ret) {
        *count = RING;
        return NVML_SUCCESS;
    }
    int64_t step_us = type == 0 ? c.g->sensor.update_us : US_PER_S / 6;
    int64_t phase_us = type == 0 ? c.g->sensor.phase_us : 0;
    int64_t newest = (c.t_us - phase_us) / step_us;
    int64_t from = MAX(newest - MIN(RING, (int64_t) *count) + 1, 1);
    unsigned n = 0;
    for (int64_t k = from; k <= newest; k++) {
        int64_t at_us = k * step_us + phase_us;
        unsigned long long wall_us = (unsigned long long) wall_from_sim_us(at_us);
        if (wall_us <= last_seen_us)
            continue;
        ret[n].wall_us = wall_us;
        ret[n].value.ull = 0;
        ret[n++].value.u = (unsigned) ring_value(&c, type, at_us, step_us);
    }
    *count = n;
    return n ? NVML_SUCCESS : NVML_NOT_FOUND;
}

struct violation {
    unsigned long long reference_us, violation_ns;
};

/* Policy 0 is power; the others never hold this board down. */
API(nvmlDeviceGetViolationStatus, const struct nvml_device *d, unsigned policy,
    struct violation *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    ret->reference_us = (unsigned long long) wall_from_sim_us(c.t_us);
    ret->violation_ns =
        policy ? 0 : (unsigned long long) sim_integral(c.g, SIM_CAPPED_PERMILLE, c.t_us);
    return NVML_SUCCESS; /* permille * us is ns */
}
