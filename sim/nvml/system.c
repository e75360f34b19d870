/* SPDX-License-Identifier: Apache-2.0 */
/* Start and stop, versions, error texts, and from numbers and names to handles. */
#include "state.h"

#include "base/parse.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Copies a text out; a buffer that is too small is an error of its own. */
static int give_text(char *buf, unsigned cap, const char *text)
{
    size_t n = strlen(text) + 1;
    if (!buf)
        return NVML_INVALID_ARGUMENT;
    if (cap < n)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(buf, text, n);
    return NVML_SUCCESS;
}

API(nvmlInit_v2, void)
{
    return state_init(__func__);
}

API(nvmlInit, void)
{
    return state_init(__func__);
}

API(nvmlInitWithFlags, unsigned flags)
{
    (void) flags;
    return state_init(__func__);
}

API(nvmlShutdown, void)
{
    return state_shutdown(__func__);
}

static const struct {
    int code;
    const char *text;
} error_texts[] = {
    { 0, "Success" },
    { 1, "Uninitialized" },
    { 2, "Invalid Argument" },
    { 3, "Not Supported" },
    { 4, "Insufficient Permissions" },
    { 5, "Already Initialized" },
    { 6, "Not Found" },
    { 7, "Insufficient Size" },
    { 8, "Insufficient External Power" },
    { 9, "Driver Not Loaded" },
    { 10, "Timeout" },
    { 11, "Interrupt Request Issue" },
    { 12, "NVML Shared Library Not Found" },
    { 13, "Function Not Found" },
    { 14, "Corrupted infoROM" },
    { 15, "GPU is lost" },
    { 16, "GPU requires reset" },
    { 17, "GPU access blocked by the operating system" },
    { 18, "Driver/library version mismatch" },
    { 19, "In use by another client" },
    { 20, "Insufficient Memory" },
    { 21, "No data" },
    { 25, "Argument version mismatch" },
    { 27, "Not ready" },
    { 28, "GPU not found" },
};

__attribute__((visibility("default"))) const char *nvmlErrorString(int code);
__attribute__((visibility("default"))) const char *nvmlErrorString(int code)
{
    for (size_t i = 0; i < ARRAY_SIZE(error_texts); i++)
        if (error_texts[i].code == code)
            return error_texts[i].text;
    return "Unknown Error";
}

API(nvmlSystemGetDriverVersion, char *buf, unsigned cap)
{
    struct call c;
    int r = call_system(&c, __func__);
    return r ? r : give_text(buf, cap, c.s->driver);
}

API(nvmlSystemGetNVMLVersion, char *buf, unsigned cap)
{
    struct call c;
    char text[48];
    int r = call_system(&c, __func__);
    if (r)
        return r;
    (void) snprintf(text, sizeof(text), "%u.%s", c.s->cuda / 1000, c.s->driver);
    return give_text(buf, cap, text);
}

static int cuda_version(const char *name, int *ret)
{
    struct call c;
    int r = call_system(&c, name);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = (int) c.s->cuda;
    return NVML_SUCCESS;
}

API(nvmlSystemGetCudaDriverVersion, int *ret)
{
    return cuda_version(__func__, ret);
}

API(nvmlSystemGetCudaDriverVersion_v2, int *ret)
{
    return cuda_version(__func__, ret);
}

struct driver_branch {
    unsigned version;
    char branch[80];
};

API(nvmlSystemGetDriverBranch, struct driver_branch *info, unsigned cap)
{
    struct call c;
    char text[24];
    int r = call_system(&c, __func__);
    if (r || !info)
        return r ? r : NVML_INVALID_ARGUMENT;
    (void) snprintf(text, sizeof(text), "r%u_00", c.s->driver_number / 1000);
    return give_text(info->branch, MIN(cap, (unsigned) sizeof(info->branch)), text);
}

API(nvmlSystemGetProcessName, unsigned pid, char *buf, unsigned cap)
{
    struct call c;
    char path[48], name[256];
    int r = call_system(&c, __func__);
    if (r)
        return r;
    (void) snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    ssize_t n = readlink(path, name, sizeof(name) - 1);
    if (n <= 0)
        return NVML_NOT_FOUND;
    name[n] = '\0';
    return give_text(buf, cap, name);
}

static int device_count(const char *name, unsigned *ret)
{
    struct call c;
    int r = call_system(&c, name);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = c.s->gpus_n;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetCount, unsigned *ret)
{
    return device_count(__func__, ret);
}

API(nvmlDeviceGetCount_v2, unsigned *ret)
{
    return device_count(__func__, ret);
}

static int by_index(const char *name, unsigned index, const struct nvml_device **ret)
{
    struct call c;
    int r = call_system(&c, name);
    if (r)
        return r;
    if (!ret || index >= c.s->gpus_n)
        return NVML_INVALID_ARGUMENT;
    *ret = state_handle(sim_slot_of_index(c.s, index, c.t_us), -1);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetHandleByIndex, unsigned index, const struct nvml_device **ret)
{
    return by_index(__func__, index, ret);
}

API(nvmlDeviceGetHandleByIndex_v2, unsigned index, const struct nvml_device **ret)
{
    return by_index(__func__, index, ret);
}

API(nvmlDeviceGetHandleBySerial, const char *serial, const struct nvml_device **ret)
{
    struct call c;
    int r = call_system(&c, __func__);
    if (r)
        return r;
    for (uint32_t i = 0; serial && ret && i < c.s->gpus_n; i++)
        if (strcmp(serial, c.s->gpus[i].serial) == 0) {
            *ret = state_handle(i, -1);
            return NVML_SUCCESS;
        }
    return serial && ret ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

/* "MIG-" and the GPU's UUID with the instance in its first digit pair. */
static void device_uuid(const struct sim_gpu *g, int32_t mig, char *buf, size_t cap)
{
    if (mig < 0)
        (void) snprintf(buf, cap, "%s", g->uuid);
    else
        (void) snprintf(buf, cap, "MIG-%02x%s", (unsigned) mig + 0xa0, g->uuid + 6);
}

static int by_uuid(const char *name, const char *uuid, const struct nvml_device **ret)
{
    struct call c;
    char text[64];
    int r = call_system(&c, name);
    if (r)
        return r;
    for (uint32_t i = 0; uuid && ret && i < c.s->gpus_n; i++)
        for (int32_t m = -1; m < (int32_t) c.s->gpus[i].mig; m++) {
            device_uuid(&c.s->gpus[i], m, text, sizeof(text));
            if (strcmp(uuid, text) == 0) {
                *ret = state_handle(i, m);
                return NVML_SUCCESS;
            }
        }
    return uuid && ret ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

API(nvmlDeviceGetHandleByUUID, const char *uuid, const struct nvml_device **ret)
{
    return by_uuid(__func__, uuid, ret);
}

struct uuid_arg {
    unsigned version, type; /* type 1: text, 2: bytes */
    char text[41];
};

API(nvmlDeviceGetHandleByUUIDV, const struct uuid_arg *arg, const struct nvml_device **ret)
{
    return by_uuid(__func__, arg && arg->type == 1 ? arg->text : NULL, ret);
}

API(nvmlDeviceGetUUID, const struct nvml_device *d, char *buf, unsigned cap)
{
    struct call c;
    char text[64];
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r)
        return r;
    device_uuid(c.g, d->mig, text, sizeof(text));
    return give_text(buf, cap, text);
}

API(nvmlDeviceGetName, const struct nvml_device *d, char *buf, unsigned cap)
{
    struct call c;
    char text[128];
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r)
        return r;
    if (d->mig < 0)
        return give_text(buf, cap, c.g->product);
    (void) snprintf(text, sizeof(text), "%s MIG 1g.%ugb", c.g->product,
                    (unsigned) ((mig_memory_bytes(c.g) + (1u << 30) - 1) >> 30));
    return give_text(buf, cap, text);
}

API(nvmlDeviceGetSerial, const struct nvml_device *d, char *buf, unsigned cap)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    return r ? r : give_text(buf, cap, c.g->serial);
}

API(nvmlDeviceGetVbiosVersion, const struct nvml_device *d, char *buf, unsigned cap)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    return r ? r : give_text(buf, cap, "96.00.99.00.01");
}

API(nvmlDeviceGetBoardPartNumber, const struct nvml_device *d, char *buf, unsigned cap)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    return r ? r : give_text(buf, cap, "692-SIMUL-0001-000");
}

/* A unit's place on the bus never changes, only its index does. */
static unsigned pci_bus(uint32_t slot)
{
    return 0x0f + 0x1c * (slot % 8);
}

/* The domain has eight digits in newer versions, four in older ones. */
static void pci_text(uint32_t slot, size_t digits, char *buf, size_t cap)
{
    char text[32];
    (void) snprintf(text, sizeof(text), "%08X:%02X:00.0", slot / 8, pci_bus(slot));
    str_copy(buf, cap, str_from(text + 8 - digits));
}

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32]; /* the older versions have four reserved numbers here */
};

static int pci_info(const char *name, const struct nvml_device *d, struct pci_info *ret, bool v3)
{
    struct call c;
    int r = call_device(&c, name, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    memset(ret, 0, v3 ? sizeof(*ret) : offsetof(struct pci_info, bus_id) + 16);
    pci_text(d->slot, 4, ret->bus_id_legacy, sizeof(ret->bus_id_legacy));
    ret->domain = d->slot / 8;
    ret->bus = pci_bus(d->slot);
    ret->pci_device_id = c.g->board->pci_device;
    ret->pci_subsystem_id = 0x16c110de;
    if (v3)
        pci_text(d->slot, 8, ret->bus_id, sizeof(ret->bus_id));
    return NVML_SUCCESS;
}

API(nvmlDeviceGetPciInfo, const struct nvml_device *d, struct pci_info *ret)
{
    return pci_info(__func__, d, ret, false);
}

API(nvmlDeviceGetPciInfo_v2, const struct nvml_device *d, struct pci_info *ret)
{
    return pci_info(__func__, d, ret, false);
}

API(nvmlDeviceGetPciInfo_v3, const struct nvml_device *d, struct pci_info *ret)
{
    return pci_info(__func__, d, ret, true);
}

static int by_bus(const char *name, const char *bus, const struct nvml_device **ret)
{
    struct call c;
    char text[2][32];
    int r = call_system(&c, name);
    if (r)
        return r;
    for (uint32_t i = 0; bus && ret && i < c.s->gpus_n; i++) {
        pci_text(i, 4, text[0], sizeof(text[0]));
        pci_text(i, 8, text[1], sizeof(text[1]));
        if (strcasecmp(bus, text[0]) == 0 || strcasecmp(bus, text[1]) == 0) {
            *ret = state_handle(i, -1);
            return NVML_SUCCESS;
        }
    }
    return bus && ret ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

API(nvmlDeviceGetHandleByPciBusId, const char *bus, const struct nvml_device **ret)
{
    return by_bus(__func__, bus, ret);
}

API(nvmlDeviceGetHandleByPciBusId_v2, const char *bus, const struct nvml_device **ret)
{
    return by_bus(__func__, bus, ret);
}
