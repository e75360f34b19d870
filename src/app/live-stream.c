/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of many workers, each with its own numbers, to the one stream. */
#include "app/live-priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t slot_number(const struct live *l, const struct live_slot *s)
{
    return (uint32_t) (s - l->slots);
}

/* Workers look at the time by themselves; the stream's never goes back. */
int live_emit(struct live *l, struct record *r)
{
    if (r->mono_us < l->last_us)
        r->mono_us = l->last_us;
    l->last_us = r->mono_us;
    return record_queue_add(l->queue, r);
}

int live_note(struct live *l, uint32_t entity, const char *key, const char *text)
{
    struct record r = { .kind = RECORD_NOTE,
                        .u.note = {
                            .entity = entity, .key = str_from(key), .text = str_from(text) } };
    return live_emit(l, &r);
}

static bool may_return(const struct live_entity *e)
{
    return e->kind == ENTITY_GPU || e->kind == ENTITY_MIG;
}

static void drop_names(struct live_entity *e)
{
    free(e->key);
    free(e->driver);
    e->key = e->driver = NULL;
}

void live_free_entities(struct live *l)
{
    for (uint32_t i = 0; i < l->entities_n; i++)
        drop_names(&l->entities[i]);
    free(l->entities);
}

static int say_gone(struct live *l, uint32_t id, int64_t mono_us)
{
    struct live_entity *e = &l->entities[id];
    struct record r = { .kind = RECORD_GONE, .mono_us = mono_us, .u.gone = id };
    e->gone = true;
    if (!may_return(e))
        drop_names(e);
    return live_emit(l, &r);
}

static uint32_t stream_id(const struct live_slot *s, uint32_t local)
{
    return local < s->ids_n ? s->ids[local] : ENTITY_NONE;
}

static int keep_id(struct live_slot *s, uint32_t local, uint32_t id)
{
    if (local >= ENTITY_MAX)
        return 0;
    if (local >= s->ids_n) {
        uint32_t n = MAX(local + 1, s->ids_n * 2);
        uint32_t *ids = realloc(s->ids, n * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        for (uint32_t i = s->ids_n; i < n; i++)
            ids[i] = ENTITY_NONE;
        s->ids = ids;
        s->ids_n = n;
    }
    s->ids[local] = id;
    return 0;
}

void live_forget_ids(struct live *l, struct live_slot *s)
{
    free(s->ids);
    s->ids = NULL;
    s->ids_n = 0;
    for (uint32_t i = 0; i < l->entities_n; i++)
        if (l->entities[i].slot == slot_number(l, s))
            l->entities[i].seen = false;
}

/* The newest entity of the slot with this identity, present or not. */
static uint32_t find_known(const struct live *l, const struct live_slot *s, const struct entity *e,
                           uint32_t parent)
{
    for (uint32_t i = l->entities_n; i-- > 0;) {
        const struct live_entity *k = &l->entities[i];
        if (k->key && k->slot == slot_number(l, s) && k->kind == e->kind &&
            str_is(e->key, k->key) && (may_return(k) || k->parent == parent))
            return i;
    }
    return ENTITY_NONE;
}

static int new_entity(struct live *l, const struct live_slot *s, const struct entity *e,
                      uint32_t parent, uint32_t generation, uint32_t *ret)
{
    if (l->entities_n == l->entities_cap) {
        uint32_t cap = MAX(l->entities_cap * 2, 32u);
        struct live_entity *all = realloc(l->entities, cap * sizeof(*all));
        if (!all)
            return -ENOMEM;
        l->entities = all;
        l->entities_cap = cap;
    }
    struct live_entity *k = &l->entities[l->entities_n];
    *k = (struct live_entity){ .kind = e->kind,
                               .slot = slot_number(l, s),
                               .parent = parent,
                               .generation = generation,
                               .index = e->index,
                               .seen = true,
                               .key = str_dup(e->key),
                               .driver = str_dup(e->driver) };
    if (!k->key || !k->driver) {
        drop_names(k);
        return -ENOMEM;
    }
    *ret = l->entities_n++;
    return 0;
}

static int tell_full(struct live *l)
{
    if (l->full_told)
        return 0;
    l->full_told = true;
    return live_note(l, ENTITY_NONE, "reader",
                     "more entities than a stream can number: new ones are left out");
}

static int accept_entity(struct live *l, struct live_slot *s, const struct record *r)
{
    const struct entity *e = &r->u.entity;
    uint32_t parent = stream_id(s, e->parent), generation = e->generation, id = 0;
    uint32_t known = find_known(l, s, e, parent);
    if (known != ENTITY_NONE) {
        struct live_entity *k = &l->entities[known];
        generation = may_return(k) ? k->generation + 1 : generation;
        if (!k->gone && k->index == e->index && str_is(e->driver, k->driver)) {
            k->seen = true; /* the same as before: found again by a new worker */
            return keep_id(s, e->id, known);
        }
        if (!k->gone && say_gone(l, known, r->mono_us) < 0)
            return -ENOMEM;
    }
    if (l->entities_n >= ENTITY_MAX)
        return tell_full(l);
    int code = new_entity(l, s, e, parent, generation, &id);
    if (code < 0 || (code = keep_id(s, e->id, id)) < 0)
        return code;
    struct record told = *r;
    told.u.entity.id = id;
    told.u.entity.parent = parent;
    told.u.entity.generation = generation;
    return live_emit(l, &told);
}

static int accept_gone(struct live *l, struct live_slot *s, const struct record *r)
{
    uint32_t id = stream_id(s, r->u.gone);
    if (id == ENTITY_NONE || l->entities[id].gone)
        return 0;
    s->ids[r->u.gone] = ENTITY_NONE;
    return say_gone(l, id, r->mono_us);
}

int live_accept(struct live *l, struct live_slot *s, const struct record *r)
{
    struct record told = *r;
    switch (r->kind) {
    case RECORD_ENTITY:
        return accept_entity(l, s, r);
    case RECORD_GONE:
        return accept_gone(l, s, r);
    case RECORD_SAMPLE:
        told.u.sample.entity = stream_id(s, r->u.sample.entity);
        return told.u.sample.entity == ENTITY_NONE ? 0 : live_emit(l, &told);
    case RECORD_ANCHOR:
        told.u.anchor.entity = stream_id(s, r->u.anchor.entity);
        return told.u.anchor.entity == ENTITY_NONE ? 0 : live_emit(l, &told);
    case RECORD_NOTE:
        told.u.note.entity = stream_id(s, r->u.note.entity);
        return live_emit(l, &told);
    case RECORD_UNKNOWN:
    case RECORD_HEADER:
    case RECORD_TICK:
    case RECORD_CLOCK:
    case RECORD_KIND_COUNT:
        break;
    }
    return 0; /* these are for the stream's owner to say */
}

static bool is_hung(const struct live_slot *s, int32_t index)
{
    return gpu_set_has(&s->hung_gpus, index);
}

/* A hung GPU and what is on it cannot be found by a worker that leaves it out. */
static bool is_left_out(const struct live *l, const struct live_slot *s,
                        const struct live_entity *e)
{
    for (int depth = 0; depth < 3; depth++) {
        if (e->kind == ENTITY_GPU)
            return is_hung(s, e->index);
        if (e->parent >= l->entities_n)
            return false;
        e = &l->entities[e->parent];
    }
    return false;
}

int live_sweep(struct live *l, struct live_slot *s)
{
    for (uint32_t i = 0; i < l->entities_n; i++) {
        const struct live_entity *e = &l->entities[i];
        if (e->slot != slot_number(l, s) || e->gone || e->seen || is_left_out(l, s, e))
            continue;
        int r = say_gone(l, i, l->last_us);
        if (r < 0)
            return r;
    }
    return 0;
}

uint32_t live_find_gpu(const struct live *l, const struct live_slot *s, int32_t index)
{
    for (uint32_t i = 0; i < l->entities_n; i++) {
        const struct live_entity *e = &l->entities[i];
        if (e->kind == ENTITY_GPU && !e->gone && e->slot == slot_number(l, s) && e->index == index)
            return i;
    }
    return ENTITY_NONE;
}

/* A GPU that hung before anyone knew what it is called. */
int live_declare_hung(struct live *l, struct live_slot *s, int32_t index, uint32_t *ret)
{
    char key[32];
    snprintf(key, sizeof(key), "index:%d", (int) index);
    struct record r = { .kind = RECORD_ENTITY,
                        .u.entity = { .kind = ENTITY_GPU,
                                      .parent = ENTITY_NONE,
                                      .index = index,
                                      .key = str_from(key) } };
    if (l->entities_n >= ENTITY_MAX)
        return tell_full(l);
    int code = new_entity(l, s, &r.u.entity, ENTITY_NONE, 0, &r.u.entity.id);
    if (code < 0)
        return code;
    *ret = r.u.entity.id;
    return live_emit(l, &r);
}

static bool is_read(const struct live *l, const struct live_entity *e)
{
    const struct live_slot *s = &l->slots[e->slot];
    return s->state == SLOT_READY && !s->sweep_due && !is_hung(s, e->index);
}

int live_tell_unread(struct live *l)
{
    static const struct obs timed_out[] = {
        { METRIC_POWER_INSTANT_MW, OBS_TIMED_OUT, 0, 0 },
        { METRIC_POWER_AVERAGE_MW, OBS_TIMED_OUT, 0, 0 },
        { METRIC_UTIL_GPU_PERMILLE, OBS_TIMED_OUT, 0, 0 },
    };
    for (uint32_t i = 0; i < l->entities_n; i++) {
        const struct live_entity *e = &l->entities[i];
        if (e->kind != ENTITY_GPU || e->gone || is_read(l, e))
            continue;
        struct record r = { .kind = RECORD_SAMPLE,
                            .u.sample = {
                                .entity = i, .n = ARRAY_SIZE(timed_out), .obs = timed_out } };
        int code = live_emit(l, &r);
        if (code < 0)
            return code;
    }
    return 0;
}
