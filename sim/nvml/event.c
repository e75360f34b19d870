/* SPDX-License-Identifier: Apache-2.0 */
/* Event sets. The one kind of event here is the critical Xid. */
#include "state.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_XID 8u
#define EVENT_KINDS (1u | 2u | 4u | 8u | 16u | 128u)
#define SET_MAGIC 0x54455645u

struct event_set {
    uint32_t magic;
    bool gpus[SIM_GPUS_MAX];
    int64_t seen_us; /* events up to here were delivered */
    size_t seen_n;   /* of those at exactly seen_us: how many */
};

struct event_data {
    const struct nvml_device *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

API(nvmlEventSetCreate, struct event_set **ret)
{
    struct call c;
    int r = call_system(&c, __func__);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    struct event_set *set = calloc(1, sizeof(*set));
    if (!set)
        return NVML_MEMORY;
    set->magic = SET_MAGIC;
    set->seen_us = c.t_us; /* what happened before is not told */
    *ret = set;
    return NVML_SUCCESS;
}

API(nvmlEventSetFree, struct event_set *set)
{
    if (!set || set->magic != SET_MAGIC)
        return NVML_INVALID_ARGUMENT;
    set->magic = 0;
    free(set);
    return NVML_SUCCESS;
}

API(nvmlDeviceGetSupportedEventTypes, const struct nvml_device *d, unsigned long long *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = c.s->personality == SIM_VGPU ? EVENT_XID : EVENT_KINDS;
    return NVML_SUCCESS;
}

API(nvmlDeviceRegisterEvents, const struct nvml_device *d, unsigned long long types,
    struct event_set *set)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !set || set->magic != SET_MAGIC)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (types & ~(unsigned long long) EVENT_KINDS)
        return NVML_NOT_SUPPORTED;
    if (types & EVENT_XID)
        set->gpus[d->slot] = true;
    return NVML_SUCCESS;
}

struct coming {
    int64_t at_us;
    uint32_t slot, xid;
};

/* The next event that the set has not told of, in the order of time and then of GPU. */
static bool next_event(const struct call *c, const struct event_set *set, struct coming *ret)
{
    size_t at_seen = 0;
    bool found = false;
    for (uint32_t slot = 0; slot < c->s->gpus_n; slot++) {
        for (size_t i = 0; set->gpus[slot] && i < c->s->faults_n; i++) {
            const struct sim_fault *f = &c->s->faults[i];
            if (f->kind != FAULT_XID || !sim_has_gpu(f->gpus, slot) || f->from_us < set->seen_us)
                continue;
            if (f->from_us == set->seen_us && at_seen++ < set->seen_n)
                continue;
            if (!found || f->from_us < ret->at_us) {
                *ret = (struct coming){ f->from_us, slot, f->code };
                found = true;
            }
        }
    }
    return found;
}

static int wait_event(const char *name, struct event_set *set, struct event_data *ret,
                      unsigned timeout_ms)
{
    struct call c;
    struct coming e = { 0 };
    int r = call_system(&c, name);
    if (r || !set || !ret || set->magic != SET_MAGIC)
        return r ? r : NVML_INVALID_ARGUMENT;
    int64_t until_us = c.t_us + timeout_ms * US_PER_MS;
    bool comes = next_event(&c, set, &e) && e.at_us <= until_us;
    sim_sleep_until_us(comes ? e.at_us : until_us);
    if (!comes || sim_now_us() < e.at_us) /* a signal may have cut the sleep short */
        return NVML_TIMEOUT;
    set->seen_n = e.at_us == set->seen_us ? set->seen_n + 1 : 1;
    set->seen_us = e.at_us;
    *ret = (struct event_data){ .device = state_handle(e.slot, -1),
                                .type = EVENT_XID,
                                .data = e.xid,
                                .gpu_instance = UINT32_MAX,
                                .compute_instance = UINT32_MAX };
    return NVML_SUCCESS;
}

API(nvmlEventSetWait, struct event_set *set, struct event_data *ret, unsigned timeout_ms)
{
    return wait_event(__func__, set, ret, timeout_ms);
}

API(nvmlEventSetWait_v2, struct event_set *set, struct event_data *ret, unsigned timeout_ms)
{
    return wait_event(__func__, set, ret, timeout_ms);
}
