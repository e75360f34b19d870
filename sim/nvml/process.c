/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a context. Three layouts of one list, by function and driver version. */
#include "state.h"

#include "base/parse.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t resolve_pid(const struct sim_process *p)
{
    uint32_t pid = p->pid;
    if (p->which == SIM_PID_GIVEN)
        return pid;
    const char *launcher = getenv("WATTGATE_SIM_PID");
    if (p->which == SIM_PID_LAUNCHER && launcher && parse_u32(str_from(launcher), &pid) == 0)
        return pid;
    return (uint32_t) getpid();
}

static bool owns_now(const struct call *c, const struct sim_process *p)
{
    if (!sim_has_gpu(p->gpus, c->device->slot))
        return false;
    if (p->from_us >= 0)
        return c->t_us >= p->from_us && c->t_us < p->to_us;
    return c->phase->kind != SIM_IDLE && c->t_us < p->to_us;
}

uint32_t owners_find(const struct call *c, struct owner *ret, uint32_t cap)
{
    static const struct sim_process usual = { .gpus = { UINT64_MAX, UINT64_MAX },
                                              .which = SIM_PID_LAUNCHER,
                                              .from_us = -1,
                                              .to_us = SIM_FOREVER };
    size_t n = c->s->processes_n ? c->s->processes_n : 1;
    const struct sim_process *list = c->s->processes_n ? c->s->processes : &usual;
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!owns_now(c, &list[i]))
            continue;
        if (found < cap)
            ret[found] = (struct owner){
                .pid = resolve_pid(&list[i]),
                .memory_bytes =
                    list[i].memory_bytes ? list[i].memory_bytes : (int64_t) used_memory_bytes(c),
                .graphics = list[i].graphics,
            };
        found++;
    }
    return found;
}

struct process_v1 {
    unsigned pid;
    unsigned long long bytes;
};

struct process_v2 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

/* Only the first releases of driver 535 have the last member. */
struct process_cc {
    struct process_v2 v2;
    unsigned long long protected_bytes;
};
_Static_assert(sizeof(struct process_v1) == 16, "as the driver lays it out");
_Static_assert(sizeof(struct process_v2) == 24, "as the driver lays it out");
_Static_assert(sizeof(struct process_cc) == 32, "as the driver lays it out");

static size_t layout_size(const struct call *c, int version)
{
    if (version == 1)
        return sizeof(struct process_v1);
    bool cc = version == 3 && c->s->driver_number >= 535043 && c->s->driver_number < 535098;
    return cc ? sizeof(struct process_cc) : sizeof(struct process_v2);
}

#define OWNERS_MAX 64

static int list_processes(const char *name, const struct nvml_device *d, int version, bool graphics,
                          unsigned *count, void *out)
{
    struct call c;
    struct owner owners[OWNERS_MAX];
    int r = call_device(&c, name, d, CALL_MIG);
    if (r || !count)
        return r ? r : NVML_INVALID_ARGUMENT;
    uint32_t all = MIN(owners_find(&c, owners, OWNERS_MAX), OWNERS_MAX), n = 0;
    for (uint32_t i = 0; i < all; i++)
        if (owners[i].graphics == graphics)
            owners[n++] = owners[i];
    unsigned room = *count;
    *count = n;
    if (n > room || (n && !out))
        return NVML_INSUFFICIENT_SIZE;
    size_t size = layout_size(&c, version);
    for (uint32_t i = 0; i < n; i++) {
        struct process_cc p = { 0 };
        bool divided = c.g->mig > 0;
        p.v2.pid = owners[i].pid;
        p.v2.bytes = (unsigned long long) owners[i].memory_bytes;
        p.v2.gpu_instance = divided ? (unsigned) (d->mig >= 0 ? d->mig : 0) + 7 : UINT32_MAX;
        p.v2.compute_instance = divided ? 0 : UINT32_MAX;
        memcpy((char *) out + i * size, &p, size);
    }
    return NVML_SUCCESS;
}

API(nvmlDeviceGetComputeRunningProcesses, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 1, false, n, out);
}

API(nvmlDeviceGetComputeRunningProcesses_v2, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 2, false, n, out);
}

API(nvmlDeviceGetComputeRunningProcesses_v3, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 3, false, n, out);
}

API(nvmlDeviceGetGraphicsRunningProcesses, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 1, true, n, out);
}

API(nvmlDeviceGetGraphicsRunningProcesses_v2, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 2, true, n, out);
}

API(nvmlDeviceGetGraphicsRunningProcesses_v3, const struct nvml_device *d, unsigned *n, void *out)
{
    return list_processes(__func__, d, 3, true, n, out);
}

static int no_processes(const char *name, const struct nvml_device *d, unsigned *n)
{
    struct call c;
    int r = call_device(&c, name, d, CALL_MIG);
    if (r || !n)
        return r ? r : NVML_INVALID_ARGUMENT;
    *n = 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetMPSComputeRunningProcesses, const struct nvml_device *d, unsigned *n, void *out)
{
    (void) out;
    return no_processes(__func__, d, n);
}

API(nvmlDeviceGetMPSComputeRunningProcesses_v2, const struct nvml_device *d, unsigned *n, void *out)
{
    (void) out;
    return no_processes(__func__, d, n);
}

API(nvmlDeviceGetMPSComputeRunningProcesses_v3, const struct nvml_device *d, unsigned *n, void *out)
{
    (void) out;
    return no_processes(__func__, d, n);
}

struct process_sample {
    unsigned pid;
    unsigned long long wall_us;
    unsigned sm, memory, encoder, decoder;
};

/* The newest sample of every process that does something; older ones are not kept. */
API(nvmlDeviceGetProcessUtilization, const struct nvml_device *d, struct process_sample *out,
    unsigned *count, unsigned long long last_seen_us)
{
    struct call c;
    struct owner owners[OWNERS_MAX];
    int r = call_device(&c, __func__, d, 0);
    if (r || !count)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (c.g->mig)
        return NVML_NOT_SUPPORTED;
    int64_t step_us = US_PER_S / 6, at_us = c.t_us / step_us * step_us;
    int64_t util = sim_mean(c.g, SIM_UTIL_PERMILLE, at_us, step_us);
    int64_t memory = sim_mean(c.g, SIM_MEM_UTIL_PERMILLE, at_us, step_us);
    unsigned long long wall_us = (unsigned long long) wall_from_sim_us(at_us);
    uint32_t n = MIN(owners_find(&c, owners, OWNERS_MAX), OWNERS_MAX);
    if (!n || (!util && !memory) || wall_us <= last_seen_us)
        return NVML_NOT_FOUND;
    unsigned room = *count;
    *count = n;
    if (!out || room < n)
        return NVML_INSUFFICIENT_SIZE;
    for (uint32_t i = 0; i < n; i++)
        out[i] = (struct process_sample){ .pid = owners[i].pid,
                                          .wall_us = wall_us,
                                          .sm = permille_to_percent(util / n),
                                          .memory = permille_to_percent(memory / n) };
    return NVML_SUCCESS;
}
