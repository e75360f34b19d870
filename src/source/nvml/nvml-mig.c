/* SPDX-License-Identifier: Apache-2.0 */
/* MIG instances are devices of their own below their GPU: memory and GPM are theirs, watts are the
 * whole GPU's and not repeated. */
#include "source/nvml/nvml-priv.h"

#include <string.h>

static void drop(struct nvml_source *s, struct nvml_mig *m)
{
    for (int i = 0; i < 2; i++)
        if (m->gpm[i] && s->api.gpm_free)
            s->api.gpm_free(m->gpm[i]);
    *m = (struct nvml_mig){ 0 };
}

int nvml_drop_migs(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct record_queue *out)
{
    for (size_t i = 0; i < NVML_MIGS_MAX; i++) {
        struct nvml_mig *m = &g->migs[i];
        if (!m->used)
            continue;
        int r = nvml_emit_gone(m->entity, mono_us, out);
        if (r < 0)
            return r;
        drop(s, m);
    }
    return 0;
}

static int declare(struct nvml_source *s, struct nvml_gpu *g, struct nvml_mig *m, size_t i,
                   int64_t mono_us, struct record_queue *out)
{
    m->entity = s->next_entity++;
    const struct record r = { .kind = RECORD_ENTITY,
                              .mono_us = mono_us,
                              .u.entity = { .id = m->entity,
                                            .kind = ENTITY_MIG,
                                            .parent = g->entity,
                                            .generation = g->generation,
                                            .index = (int32_t) i,
                                            .key = str_from(m->uuid),
                                            .name = str_from(g->name),
                                            .driver = str_from(s->driver.text) } };
    return record_queue_add(out, &r);
}

static bool look(struct nvml_source *s, struct nvml_gpu *g, size_t i, struct nvml_mig *ret)
{
    const struct nvml_api *api = &s->api;
    *ret = (struct nvml_mig){ .gpu_instance = NVML_ID_NONE, .compute_instance = NVML_ID_NONE };
    if (!api->mig_by_index || api->mig_by_index(g->device, (unsigned) i, &ret->device) != NVML_OK ||
        !api->device_uuid || api->device_uuid(ret->device, ret->uuid, sizeof(ret->uuid)) != NVML_OK)
        return false;
    ret->uuid[sizeof(ret->uuid) - 1] = '\0';
    if (api->gpu_instance)
        (void) api->gpu_instance(ret->device, &ret->gpu_instance);
    if (api->compute_instance)
        (void) api->compute_instance(ret->device, &ret->compute_instance);
    ret->used = true;
    return true;
}

int nvml_find_migs(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct record_queue *out)
{
    if (!g->is_mig)
        return nvml_drop_migs(s, g, mono_us, out);
    for (size_t i = 0; i < NVML_MIGS_MAX; i++) {
        struct nvml_mig now, *m = &g->migs[i];
        bool there = look(s, g, i, &now);
        if (there && m->used && !strcmp(m->uuid, now.uuid)) {
            m->device = now.device;
            continue;
        }
        if (m->used) {
            int r = nvml_emit_gone(m->entity, mono_us, out);
            if (r < 0)
                return r;
            drop(s, m);
        }
        if (!there)
            continue;
        *m = now;
        int r = declare(s, g, m, i, mono_us, out);
        if (r < 0)
            return r;
    }
    return 0;
}

int nvml_read_migs(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                   int64_t mono_us, struct record_queue *out)
{
    for (size_t i = 0; i < NVML_MIGS_MAX; i++) {
        struct nvml_mig *m = &g->migs[i];
        if (!m->used)
            continue;
        struct nvml_reading r = { .latency_us = -1 };
        nvml_read_memory(s, m->device, depth >= NVML_RARE, &r);
        nvml_gpm_read_mig(s, g, m, mono_us, &r);
        int code = nvml_emit_sample(m->entity, &r, mono_us, out);
        if (code < 0)
            return code;
    }
    return 0;
}
