/* SPDX-License-Identifier: Apache-2.0 */
/* Devices are known by UUID: handles die with the driver, and the order changes. */
#include "source/nvml/nvml-priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void read_uuid(const struct nvml_source *s, struct nvml_device *d, uint32_t index, char *ret,
                      size_t cap)
{
    if (!d || !s->api.device_uuid || s->api.device_uuid(d, ret, (unsigned) cap) != NVML_OK)
        snprintf(ret, cap, "index:%u", index);
    ret[cap - 1] = '\0';
}

static struct nvml_gpu *slot_for(struct nvml_source *s, const char *uuid)
{
    for (uint32_t i = 0; i < s->gpus_n; i++)
        if (!strcmp(s->gpus[i].uuid, uuid))
            return &s->gpus[i];
    if (s->gpus_n == NVML_GPUS_MAX)
        return NULL;
    struct nvml_gpu *g = &s->gpus[s->gpus_n++];
    *g = (struct nvml_gpu){ .entity = ENTITY_NONE, .energy_uj = -1 };
    str_copy(g->uuid, sizeof(g->uuid), str_from(uuid));
    return g;
}

static void describe(const struct nvml_source *s, struct nvml_gpu *g)
{
    struct nvml_pci pci = { 0 };
    char name[NVML_NAME_BYTES] = "";
    if (!g->device)
        return;
    if (s->api.device_name && s->api.device_name(g->device, name, sizeof(name)) == NVML_OK) {
        name[sizeof(name) - 1] = '\0';
        str_copy(g->name, sizeof(g->name), str_from(name));
    }
    if (!s->api.device_pci || s->api.device_pci(g->device, &pci) != NVML_OK)
        return;
    pci.bus_id[sizeof(pci.bus_id) - 1] = pci.bus_id_legacy[sizeof(pci.bus_id_legacy) - 1] = '\0';
    str_copy(g->bus, sizeof(g->bus), str_from(pci.bus_id[0] ? pci.bus_id : pci.bus_id_legacy));
}

static void register_events(struct nvml_source *s, struct nvml_gpu *g)
{
    if (s->events && s->api.event_register)
        (void) s->api.event_register(g->device, NVML_EVENT_XID, s->events);
}

static void find_one(struct nvml_source *s, uint32_t index)
{
    struct nvml_device *device = NULL;
    char uuid[NVML_UUID_BYTES] = "";
    worker_touch(s->pulse, (int32_t) index);
    int code = s->api.device_by_index(index, &device);
    if (code != NVML_OK)
        device = NULL;
    read_uuid(s, device, index, uuid, sizeof(uuid));
    struct nvml_gpu *g = slot_for(s, uuid);
    if (!g || g->present)
        return;
    g->present = true;
    g->declared = false;
    g->index = index;
    g->device = device;
    g->last_code = code;
    g->energy_uj = -1;
    g->is_mig = false;
    describe(s, g);
    if (!device)
        return;
    nvml_probe_gpu(s, g);
    nvml_gpm_open(s, g);
    register_events(s, g);
}

int nvml_start(struct nvml_source *s, struct err *err)
{
    unsigned n = 0;
    worker_touch(s->pulse, WORKER_NOWHERE);
    int r = nvml_init(&s->api, &s->driver, err);
    if (r < 0)
        return r;
    s->initialised = true;
    int code = s->api.device_count(&n);
    if (code != NVML_OK || !n) {
        nvml_stop(s);
        return err_set(err, -ENODEV, "NVML: no GPU: %s",
                       code == NVML_OK ? "the driver lists none" : nvml_code_text(code));
    }
    if (s->api.event_set_create && s->api.event_wait &&
        s->api.event_set_create(&s->events) != NVML_OK)
        s->events = NULL;
    for (unsigned i = 0; i < n && i < NVML_GPUS_MAX; i++)
        if (!gpu_set_has(&s->skip_gpus, i))
            find_one(s, i);
    worker_touch(s->pulse, WORKER_NOWHERE);
    return 0;
}

void nvml_stop(struct nvml_source *s)
{
    for (uint32_t i = 0; i < s->gpus_n; i++) {
        struct nvml_gpu *g = &s->gpus[i];
        nvml_gpm_close(s, g);
        g->device = NULL;
        g->present = false;
    }
    if (s->events && s->api.event_set_free)
        s->api.event_set_free(s->events);
    s->events = NULL;
    if (s->initialised)
        s->api.shutdown();
    s->initialised = false;
}

bool nvml_is_same(struct nvml_source *s, const struct nvml_gpu *g)
{
    char uuid[NVML_UUID_BYTES] = "";
    if (!s->api.device_uuid || s->api.device_uuid(g->device, uuid, sizeof(uuid)) != NVML_OK)
        return true; /* cannot be told; the readings will */
    uuid[sizeof(uuid) - 1] = '\0';
    return !strcmp(uuid, g->uuid);
}

bool nvml_retake(struct nvml_source *s, struct nvml_gpu *g)
{
    struct nvml_device *device = NULL;
    char uuid[NVML_UUID_BYTES] = "";
    if (s->api.device_by_index(g->index, &device) != NVML_OK)
        return false;
    read_uuid(s, device, g->index, uuid, sizeof(uuid));
    /* One that had no name because it could not be asked is taken as it comes. */
    if (strcmp(uuid, g->uuid) != 0)
        return false;
    g->device = device;
    return true;
}

static int say_goodbye(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                       struct record_queue *out)
{
    int r = nvml_drop_migs(s, g, mono_us, out);
    for (size_t i = 0; i < g->processes_n && r >= 0; i++)
        r = nvml_emit_gone(g->processes[i].entity, mono_us, out);
    nvml_forget_processes(g);
    if (r >= 0 && g->entity != ENTITY_NONE)
        r = nvml_emit_gone(g->entity, mono_us, out);
    return r;
}

int nvml_next_generation(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                         struct record_queue *out)
{
    int r = say_goodbye(s, g, mono_us, out);
    if (r < 0)
        return r;
    if (g->entity != ENTITY_NONE)
        g->generation++;
    g->entity = s->next_entity++;
    g->declared = true;
    const struct record rec = { .kind = RECORD_ENTITY,
                                .mono_us = mono_us,
                                .u.entity = { .id = g->entity,
                                              .kind = ENTITY_GPU,
                                              .parent = ENTITY_NONE,
                                              .generation = g->generation,
                                              .index = (int32_t) g->index,
                                              .key = str_from(g->uuid),
                                              .name = str_from(g->name),
                                              .driver = str_from(s->driver.text),
                                              .bus = str_from(g->bus) } };
    return record_queue_add(out, &rec);
}

int nvml_declare(struct nvml_source *s, int64_t mono_us, struct record_queue *out)
{
    int r = 0;
    for (uint32_t i = 0; i < s->gpus_n && r >= 0; i++) {
        struct nvml_gpu *g = &s->gpus[i];
        if (g->present && !g->declared) {
            r = nvml_next_generation(s, g, mono_us, out);
        } else if (!g->present && g->declared) {
            r = say_goodbye(s, g, mono_us, out);
            g->declared = false;
        }
    }
    return r;
}

int nvml_emit_sample(uint32_t entity, const struct nvml_reading *r, int64_t mono_us,
                     struct record_queue *out)
{
    const struct record rec = { .kind = RECORD_SAMPLE,
                                .mono_us = mono_us,
                                .u.sample = { .entity = entity, .n = r->n, .obs = r->obs } };
    return r->n ? record_queue_add(out, &rec) : 0;
}

int nvml_emit_note(uint32_t entity, const char *key, const char *text, int64_t mono_us,
                   struct record_queue *out)
{
    const struct record rec = {
        .kind = RECORD_NOTE,
        .mono_us = mono_us,
        .u.note = { .entity = entity, .key = str_from(key), .text = str_from(text) }
    };
    return record_queue_add(out, &rec);
}

int nvml_emit_gone(uint32_t entity, int64_t mono_us, struct record_queue *out)
{
    const struct record rec = { .kind = RECORD_GONE, .mono_us = mono_us, .u.gone = entity };
    return record_queue_add(out, &rec);
}
