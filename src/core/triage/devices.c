/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a stream: found by key, known by the number that samples use. */
#include "core/triage/triage-priv.h"

#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_TICKS 5 /* sampling intervals without a sample before time counts as unseen */

int64_t device_window_us(const struct triage *t, const struct device *d)
{
    int64_t wide = d->interval_us * (t->rules->window_samples + 1);
    return MAX(t->rules->window_us, wide);
}

int64_t device_gap_us(const struct triage *t, const struct device *d)
{
    return MAX(t->rules->lost_us, d->interval_us * GAP_TICKS);
}

static struct device *device_by_key(const struct triage *t, struct str key)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_is(key, t->devices[i]->pub.key))
            return t->devices[i];
    return NULL;
}

struct device *device_by_entity(const struct triage *t, uint32_t entity)
{
    if (entity >= t->n_device_of || !t->device_of[entity])
        return NULL;
    return t->devices[t->device_of[entity] - 1];
}

int device_bind(struct triage *t, uint32_t entity, const struct device *d)
{
    if (entity >= t->n_device_of) {
        size_t n = MAX((size_t) entity + 1, t->n_device_of * 2);
        uint32_t *grown = realloc(t->device_of, n * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + t->n_device_of, 0, (n - t->n_device_of) * sizeof(*grown));
        t->device_of = grown;
        t->n_device_of = n;
    }
    t->device_of[entity] = d ? d->number + 1 : 0;
    return 0;
}

static void use_stored(const struct triage *t, struct device *d)
{
    for (size_t i = 0; i < t->n_stored; i++)
        if (strcmp(t->stored[i].key, d->pub.key) == 0)
            for (unsigned a = 0; a < ANCHOR_COUNT; a++)
                if (t->stored[i].anchor_mw[a] >= 0) {
                    d->learned_mw[a] = t->stored[i].anchor_mw[a];
                    d->kept[a] = true;
                }
}

static void device_init(struct triage *t, struct device *d, const struct entity *e)
{
    struct triage_device *p = &d->pub;
    d->number = (uint32_t) t->n;
    str_copy(p->key, sizeof(p->key), e->key);
    p->is_node = e->kind == ENTITY_NODE;
    p->power_mw = p->util_permille = p->limit_mw = -1;
    p->power_mean_mw = p->power_min_mw = p->power_max_mw = p->util_mean_permille = -1;
    p->energy_uj = p->energy_error_permille = -1;
    d->limit_default_mw = d->mem_used_bytes = -1;
    d->still_since_us = d->last_power_us = -1;
    d->interval_us = t->interval_us;
    for (unsigned a = 0; a < ANCHOR_COUNT; a++)
        d->learned_mw[a] = p->anchor_mw[a] = -1;
    use_stored(t, d);
}

static struct device *device_add(struct triage *t, const struct entity *e)
{
    struct device **grown = realloc(t->devices, (t->n + 1) * sizeof(struct device *));
    if (!grown)
        return NULL;
    t->devices = grown;
    struct device *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    device_init(t, d, e);
    t->devices[t->n++] = d;
    return d;
}

int device_take(struct triage *t, const struct entity *e, struct err *err)
{
    char text[64];
    struct entity named = *e;
    if (!e->key.n) {
        snprintf(text, sizeof(text), "index:%" PRId32, e->index);
        named.key = str_from(text);
    }
    struct device *d = device_by_key(t, named.key);
    if (!d)
        d = device_add(t, &named);
    if (!d || device_bind(t, e->id, d) < 0)
        return err_sys(err, ENOMEM, "triage");
    d->gone = false;
    d->pub.entity = e->id;
    d->pub.index = e->index;
    if (e->name.n) {
        str_plain(str_copy(d->pub.name, sizeof(d->pub.name), e->name));
        d->board = board_find(t->boards, e->name);
    } else if (!d->board) {
        d->board = t->assumed;
    }
    anchors_refresh(t, d);
    return 0;
}

void device_divided(struct triage *t, const struct entity *e)
{
    struct device *d = device_by_entity(t, e->parent);
    uint32_t number = 0;
    if (!d)
        return;
    if (e->index >= 0)
        number = (uint32_t) e->index;
    else if (parse_u32(e->key, &number) < 0)
        return; /* a key that tells no number: it may be told of already */
    d->mig_seen |= UINT32_C(1) << (number % 32);
    d->pub.mig_instances = (uint32_t) __builtin_popcount(d->mig_seen);
}

int triage_assume_product(struct triage *t, struct str product, struct err *err)
{
    t->assumed = board_find(t->boards, product);
    for (size_t i = 0; i < t->boards->n && !t->assumed; i++)
        if (str_is_nocase(product, t->boards->boards[i].name))
            t->assumed = &t->boards->boards[i];
    if (!t->assumed)
        return err_set(err, -ENOENT, "no board table knows '%.*s'", STR_ARG(product));
    return 0;
}

int triage_set_anchors(struct triage *t, struct str key, const int64_t anchor_mw[ANCHOR_COUNT],
                       struct err *err)
{
    struct stored *grown = realloc(t->stored, (t->n_stored + 1) * sizeof(*grown));
    if (!grown)
        return err_sys(err, ENOMEM, "triage");
    t->stored = grown;
    struct stored *s = &grown[t->n_stored++];
    str_copy(s->key, sizeof(s->key), key);
    memcpy(s->anchor_mw, anchor_mw, sizeof(s->anchor_mw));
    struct device *d = device_by_key(t, key);
    if (d) {
        use_stored(t, d);
        anchors_refresh(t, d);
    }
    return 0;
}
