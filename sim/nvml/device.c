/* SPDX-License-Identifier: Apache-2.0 */
/* What a device is: numbers that do not change while it runs. */
#include "state.h"

#include <string.h>

uint32_t permille_to_percent(int64_t permille)
{
    return (uint32_t) CLAMP((permille + 5) / 10, 0, 100);
}

uint32_t link_count(const struct call *c)
{
    return c->s->personality == SIM_DATACENTER ? (uint32_t) c->g->board->nvlinks : 0;
}

typedef unsigned (*number_fn)(const struct call *c);

static int give_number(const char *name, const struct nvml_device *d, int flags, unsigned *ret,
                       number_fn value)
{
    struct call c;
    int r = call_device(&c, name, d, flags);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = value(&c);
    return NVML_SUCCESS;
}

/* One function that gives one number. */
#define NUMBER(name, flags, value)                                                                 \
    static unsigned value_of_##name(const struct call *c);                                         \
    API(name, const struct nvml_device *d, unsigned *ret)                                          \
    {                                                                                              \
        return give_number(#name, d, flags, ret, value_of_##name);                                 \
    }                                                                                              \
    static unsigned value_of_##name(const struct call *c)                                          \
    {                                                                                              \
        (void) c;                                                                                  \
        return (unsigned) (value);                                                                 \
    }

NUMBER(nvmlDeviceGetIndex, CALL_MIG,
       c->device->mig >= 0 ? (uint32_t) c->device->mig
                           : sim_index_of_slot(c->s, c->device->slot, c->t_us))
NUMBER(nvmlDeviceGetMinorNumber, CALL_MIG, c->device->slot)
NUMBER(nvmlDeviceGetModuleId, 0, c->device->slot % 8 + 1)
NUMBER(nvmlDeviceGetBoardId, 0, c->device->slot << 8)
NUMBER(nvmlDeviceGetMultiGpuBoard, 0, 0)
NUMBER(nvmlDeviceGetArchitecture, CALL_MIG, sim_arch_info(c->g->arch)->nvml_arch)
NUMBER(nvmlDeviceGetPersistenceMode, 0, 1)
NUMBER(nvmlDeviceGetComputeMode, CALL_MIG, 0)
NUMBER(nvmlDeviceGetDisplayMode, 0, 0)
NUMBER(nvmlDeviceGetDisplayActive, 0, 0)
NUMBER(nvmlDeviceGetVirtualizationMode, 0, c->s->personality == SIM_VGPU ? 2 : 0)
NUMBER(nvmlDeviceGetNumGpuCores, 0, 132 * 128)
NUMBER(nvmlDeviceGetMemoryBusWidth, 0, 5120)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, CALL_NO_VGPU, c->g->arch >= SIM_ARCH_HOPPER ? 5 : 4)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, CALL_NO_VGPU, c->g->arch >= SIM_ARCH_HOPPER ? 5 : 4)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, CALL_NO_VGPU, c->g->arch >= SIM_ARCH_HOPPER ? 5 : 4)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, CALL_NO_VGPU, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, CALL_NO_VGPU, 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, CALL_NO_VGPU, 0)
NUMBER(nvmlDeviceGetPowerManagementMode, CALL_NO_VGPU, 1)
NUMBER(nvmlDeviceGetPowerSource, CALL_NO_VGPU, 0)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, CALL_NO_VGPU, c->g->board->limit_w * 1000)
NUMBER(nvmlDeviceGetNumFans, 0, c->g->board->fan)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, 0,
       c->g->arch == SIM_ARCH_GA100 || c->g->arch >= SIM_ARCH_HOPPER ? SIM_MIG_MAX : 0)
NUMBER(nvmlDeviceGetIrqNum, 0, 120 + c->device->slot)

API(nvmlDeviceGetBrand, const struct nvml_device *d, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = 14; /* NVIDIA */
    if (c.s->personality == SIM_GEFORCE || strstr(c.g->product, "GeForce"))
        *ret = 5;
    else if (strncmp(c.g->product, "Tesla", 5) == 0)
        *ret = 2;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetCudaComputeCapability, const struct nvml_device *d, int *major, int *minor)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !major || !minor)
        return r ? r : NVML_INVALID_ARGUMENT;
    *major = (int) sim_arch_info(c.g->arch)->major;
    *minor = (int) sim_arch_info(c.g->arch)->minor;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetTopologyCommonAncestor, const struct nvml_device *a, const struct nvml_device *b,
    unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, a, 0);
    if (!r)
        r = call_device(&c, __func__, b, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = a->slot / 4 == b->slot / 4 ? 40 : 50; /* same processor socket, or not */
    return NVML_SUCCESS;
}

/* MIG. */

uint64_t mig_memory_bytes(const struct sim_gpu *g)
{
    return (uint64_t) g->memory_bytes / 8;
}

API(nvmlDeviceGetMigMode, const struct nvml_device *d, unsigned *current, unsigned *pending)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (!r && c.g->arch != SIM_ARCH_GA100 && c.g->arch < SIM_ARCH_HOPPER)
        r = NVML_NOT_SUPPORTED;
    if (r || !current || !pending)
        return r ? r : NVML_INVALID_ARGUMENT;
    *current = *pending = c.g->mig > 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetMigDeviceHandleByIndex, const struct nvml_device *d, unsigned index,
    const struct nvml_device **ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (index >= c.g->mig)
        return NVML_NOT_FOUND;
    *ret = state_handle(d->slot, (int32_t) index);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, const struct nvml_device *d,
    const struct nvml_device **ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret || d->mig < 0)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = state_handle(d->slot, -1);
    return NVML_SUCCESS;
}

API(nvmlDeviceIsMigDeviceHandle, const struct nvml_device *d, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = d->mig >= 0;
    return NVML_SUCCESS;
}

static int mig_number(const char *name, const struct nvml_device *d, unsigned add, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, name, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (d->mig < 0)
        return NVML_NOT_FOUND;
    *ret = add ? (unsigned) d->mig + add : 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuInstanceId, const struct nvml_device *d, unsigned *ret)
{
    return mig_number(__func__, d, 7, ret);
}

API(nvmlDeviceGetComputeInstanceId, const struct nvml_device *d, unsigned *ret)
{
    return mig_number(__func__, d, 0, ret);
}

struct attributes {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
    unsigned gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

API(nvmlDeviceGetAttributes_v2, const struct nvml_device *d, struct attributes *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (d->mig < 0)
        return NVML_NOT_SUPPORTED;
    *ret = (struct attributes){ .multiprocessors = 16,
                                .copy_engines = 1,
                                .gpu_slices = 1,
                                .compute_slices = 1,
                                .memory_mib = mig_memory_bytes(c.g) >> 20 };
    return NVML_SUCCESS;
}
