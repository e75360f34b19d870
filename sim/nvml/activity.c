/* SPDX-License-Identifier: Apache-2.0 */
/* Utilisation, clocks, temperatures, memory, traffic. */
#include "state.h"

#include "base/units.h"

#include <string.h>

#define UTIL_STEP_US (US_PER_S / 6)

struct utilization {
    unsigned gpu, memory;
};

API(nvmlDeviceGetUtilizationRates, const struct nvml_device *d, struct utilization *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (c.g->mig)
        return NVML_NOT_SUPPORTED; /* no such number exists while the GPU is divided */
    int64_t at_us = c.t_us / UTIL_STEP_US * UTIL_STEP_US;
    ret->gpu = permille_to_percent(sim_mean(c.g, SIM_UTIL_PERMILLE, at_us, UTIL_STEP_US));
    ret->memory = permille_to_percent(sim_mean(c.g, SIM_MEM_UTIL_PERMILLE, at_us, UTIL_STEP_US));
    return NVML_SUCCESS;
}

static int codec_utilization(const char *name, const struct nvml_device *d, unsigned *util,
                             unsigned *period_us)
{
    struct call c;
    int r = call_device(&c, name, d, 0);
    if (r || !util || !period_us)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (c.g->mig)
        return NVML_NOT_SUPPORTED;
    *util = 0;
    *period_us = 167000;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetEncoderUtilization, const struct nvml_device *d, unsigned *util, unsigned *us)
{
    return codec_utilization(__func__, d, util, us);
}

API(nvmlDeviceGetDecoderUtilization, const struct nvml_device *d, unsigned *util, unsigned *us)
{
    return codec_utilization(__func__, d, util, us);
}

/* Clock types: 0 graphics, 1 SM, 2 memory, 3 video. */
static int clock_now(const char *name, const struct nvml_device *d, unsigned type, bool highest,
                     unsigned *ret)
{
    struct call c;
    int r = call_device(&c, name, d, CALL_NO_VGPU);
    if (r || !ret || type > 3)
        return r ? r : NVML_INVALID_ARGUMENT;
    unsigned sm_mhz = highest ? (unsigned) c.g->board->sm_clock_mhz : c.phase->sm_clock_mhz;
    if (type == 2)
        *ret = (unsigned) c.g->board->memory_clock_mhz;
    else
        *ret = type == 3 ? sm_mhz * 3 / 4 : sm_mhz;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetClockInfo, const struct nvml_device *d, unsigned type, unsigned *ret)
{
    return clock_now(__func__, d, type, false, ret);
}

API(nvmlDeviceGetMaxClockInfo, const struct nvml_device *d, unsigned type, unsigned *ret)
{
    return clock_now(__func__, d, type, true, ret);
}

/* Clock ids: 0 current, 1 and 2 application targets, 3 the most that customers get. */
API(nvmlDeviceGetClock, const struct nvml_device *d, unsigned type, unsigned id, unsigned *ret)
{
    return clock_now(__func__, d, type, id != 0, ret);
}

API(nvmlDeviceGetMaxCustomerBoostClock, const struct nvml_device *d, unsigned type, unsigned *ret)
{
    return clock_now(__func__, d, type, true, ret);
}

API(nvmlDeviceGetApplicationsClock, const struct nvml_device *d, unsigned type, unsigned *ret)
{
    return clock_now(__func__, d, type, true, ret);
}

API(nvmlDeviceGetDefaultApplicationsClock, const struct nvml_device *d, unsigned type,
    unsigned *ret)
{
    return clock_now(__func__, d, type, true, ret);
}

static int performance_state(const char *name, const struct nvml_device *d, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, name, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    bool drops = c.g->arch == SIM_ARCH_AMPERE || c.g->arch == SIM_ARCH_ADA;
    *ret = c.phase->kind == SIM_IDLE && drops ? 8 : 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetPerformanceState, const struct nvml_device *d, unsigned *ret)
{
    return performance_state(__func__, d, ret);
}

API(nvmlDeviceGetPowerState, const struct nvml_device *d, unsigned *ret)
{
    return performance_state(__func__, d, ret);
}

/* Bits: 1 idle, 4 held down by the power limit. */
static int reasons(const char *name, const struct nvml_device *d, bool now, unsigned long long *ret)
{
    struct call c;
    int r = call_device(&c, name, d, CALL_NO_VGPU);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = 0x1ff;
    if (now)
        *ret = (c.phase->kind == SIM_IDLE ? 1u : 0) | (c.phase->high[SIM_CAPPED_PERMILLE] ? 4u : 0);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetCurrentClocksThrottleReasons, const struct nvml_device *d, unsigned long long *ret)
{
    return reasons(__func__, d, true, ret);
}

API(nvmlDeviceGetCurrentClocksEventReasons, const struct nvml_device *d, unsigned long long *ret)
{
    return reasons(__func__, d, true, ret);
}

API(nvmlDeviceGetSupportedClocksThrottleReasons, const struct nvml_device *d,
    unsigned long long *ret)
{
    return reasons(__func__, d, false, ret);
}

API(nvmlDeviceGetSupportedClocksEventReasons, const struct nvml_device *d, unsigned long long *ret)
{
    return reasons(__func__, d, false, ret);
}

API(nvmlDeviceGetTemperature, const struct nvml_device *d, unsigned sensor, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !ret || sensor != 0)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = (unsigned) (sim_temperature_mc(c.g, c.t_us) / 1000);
    return NVML_SUCCESS;
}

struct temperature_v1 {
    unsigned version, sensor;
    int celsius;
};

API(nvmlDeviceGetTemperatureV, const struct nvml_device *d, struct temperature_v1 *io)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !io || io->sensor != 0)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (io->version != (sizeof(*io) | 1u << 24))
        return NVML_VERSION_MISMATCH;
    io->celsius = (int) (sim_temperature_mc(c.g, c.t_us) / 1000);
    return NVML_SUCCESS;
}

/* Thresholds: 0 shutdown, 1 slowdown, 2 memory, 3 GPU. */
API(nvmlDeviceGetTemperatureThreshold, const struct nvml_device *d, unsigned type, unsigned *ret)
{
    static const unsigned celsius[] = { 92, 87, 95, 85 };
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (type >= ARRAY_SIZE(celsius))
        return NVML_NOT_SUPPORTED;
    *ret = celsius[type];
    return NVML_SUCCESS;
}

struct margin_v1 {
    unsigned version;
    int celsius;
};

API(nvmlDeviceGetMarginTemperature, const struct nvml_device *d, struct margin_v1 *io)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !io)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (!sim_arch_info(c.g->arch)->tlimit)
        return NVML_NOT_SUPPORTED;
    io->celsius = 85 - (int) (sim_temperature_mc(c.g, c.t_us) / 1000);
    return NVML_SUCCESS;
}

static int fan_speed(const char *name, const struct nvml_device *d, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, name, d, CALL_NO_VGPU);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (!c.g->board->fan)
        return NVML_NOT_SUPPORTED; /* the chassis cools it */
    *ret = (unsigned) CLAMP(sim_temperature_mc(c.g, c.t_us) / 1000 - 10, 0, 100);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetFanSpeed, const struct nvml_device *d, unsigned *ret)
{
    return fan_speed(__func__, d, ret);
}

API(nvmlDeviceGetFanSpeed_v2, const struct nvml_device *d, unsigned fan, unsigned *ret)
{
    return fan ? NVML_INVALID_ARGUMENT : fan_speed(__func__, d, ret);
}

/* Counter 0: sent by the GPU, 1: received; KB/s over the last 20 ms. */
API(nvmlDeviceGetPcieThroughput, const struct nvml_device *d, unsigned counter, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU);
    if (r || !ret || counter > 1)
        return r ? r : NVML_INVALID_ARGUMENT;
    enum sim_channel ch = counter ? SIM_PCIE_RX_BPS : SIM_PCIE_TX_BPS;
    *ret = (unsigned) (sim_mean(c.g, ch, c.t_us, 20 * US_PER_MS) / 1000);
    return NVML_SUCCESS;
}

#define RESERVED_BYTES (UINT64_C(600) << 20)

uint64_t used_memory_bytes(const struct call *c)
{
    uint64_t total = (uint64_t) c->g->memory_bytes;
    uint64_t used = (uint64_t) c->phase->memory_bytes;
    if (c->device->mig >= 0)
        return used / MAX(c->g->mig, 1u);
    return MIN(used, total - MIN(total, RESERVED_BYTES));
}

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

/* The first version counts what the driver keeps for itself as used. */
API(nvmlDeviceGetMemoryInfo, const struct nvml_device *d, struct memory *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    ret->total = d->mig >= 0 ? mig_memory_bytes(c.g) : (uint64_t) c.g->memory_bytes;
    ret->used = MIN(used_memory_bytes(&c) + RESERVED_BYTES, ret->total);
    ret->free = ret->total - ret->used;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetMemoryInfo_v2, const struct nvml_device *d, struct memory_v2 *io)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !io)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (io->version != (sizeof(*io) | 2u << 24))
        return NVML_VERSION_MISMATCH;
    io->total = d->mig >= 0 ? mig_memory_bytes(c.g) : (uint64_t) c.g->memory_bytes;
    io->reserved = MIN(RESERVED_BYTES, io->total);
    io->used = MIN(used_memory_bytes(&c), io->total - io->reserved);
    io->free = io->total - io->reserved - io->used;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetBAR1MemoryInfo, const struct nvml_device *d, struct memory *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    /* Total, free, used, in this order. */
    *ret = (struct memory){ 131072ull << 20, 131069ull << 20, 3ull << 20 };
    return NVML_SUCCESS;
}
