/* SPDX-License-Identifier: Apache-2.0 */
#include "app/anchors.h"

#include <errno.h>
#include <stdlib.h>

struct unit {
    uint32_t entity;
    bool settled;                 /* its calibration was set, refused, or is not kept */
    struct calibration_entry now; /* identity and conditions as seen in the stream */
};

struct anchors {
    const struct calibration_store *store;
    bool learning;
    struct strbuf *notes;
    struct unit *units;
    size_t n;
};

struct anchors *anchors_new(const struct calibration_store *store, bool learning,
                            struct strbuf *notes)
{
    struct anchors *a = calloc(1, sizeof(*a));
    if (a) {
        a->store = store;
        a->learning = learning;
        a->notes = notes;
    }
    return a;
}

void anchors_free(struct anchors *a)
{
    if (!a)
        return;
    free(a->units);
    free(a);
}

static int add_unit(struct anchors *a, const struct entity *e)
{
    struct unit *units = realloc(a->units, (a->n + 1) * sizeof(*units));
    if (!units)
        return -ENOMEM;
    a->units = units;
    struct unit *u = &a->units[a->n++];
    *u = (struct unit){ .entity = e->id };
    str_copy(u->now.key, sizeof(u->now.key), e->key);
    str_copy(u->now.name, sizeof(u->now.name), e->name);
    str_copy(u->now.driver, sizeof(u->now.driver), e->driver);
    u->now.limit_mw = u->now.smoothing = -1;
    return 0;
}

static struct unit *find_unit(const struct anchors *a, uint32_t entity)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->units[i].entity == entity)
            return &a->units[i];
    return NULL;
}

static int settle(struct anchors *a, struct unit *u, struct triage *t, struct err *err)
{
    char why[128];
    u->settled = true;
    struct str key = str_from(u->now.key);
    const struct calibration_entry *e = calibration_find(a->store, key);
    if (!e)
        return 0;
    if (calibration_expired(e, str_from(u->now.driver), u->now.limit_mw, u->now.smoothing, why,
                            sizeof(why))) {
        strbuf_addf(a->notes, "calibration of %s is not used: %s\n", u->now.key, why);
        return 0;
    }
    return triage_set_anchors(t, key, e->anchor_mw, err);
}

int anchors_before(struct anchors *a, struct triage *t, const struct record *r, struct err *err)
{
    if (r->kind == RECORD_ENTITY && r->u.entity.kind == ENTITY_GPU)
        return add_unit(a, &r->u.entity) < 0 ? err_sys(err, ENOMEM, "calibration") : 0;
    if (r->kind != RECORD_SAMPLE)
        return 0;
    struct unit *u = find_unit(a, r->u.sample.entity);
    if (!u || (u->settled && !a->learning))
        return 0;
    (void) sample_get(&r->u.sample, METRIC_POWER_LIMIT_MW, &u->now.limit_mw);
    (void) sample_get(&r->u.sample, METRIC_SMOOTHING_ENABLED, &u->now.smoothing);
    return !u->settled && u->now.limit_mw >= 0 ? settle(a, u, t, err) : 0;
}

/* Learned on this unit, in this stream or before. */
static bool take_levels(struct calibration_entry *e, const struct triage_device *d)
{
    bool any = false;
    for (unsigned k = 0; k < ANCHOR_COUNT; k++) {
        bool learned = d->anchor_from[k] == CALIBRATION_LEARNED;
        e->anchor_mw[k] = learned ? d->anchor_mw[k] : -1;
        any = any || learned;
    }
    return any;
}

int anchors_keep(const struct anchors *a, const struct triage *t, int64_t now_us,
                 struct calibration_store *store, size_t *ret_n, struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        const struct unit *u = find_unit(a, d->entity);
        if (!u || str_starts(str_from(u->now.key), "index:"))
            continue;
        struct calibration_entry e = u->now;
        e.learned_us = now_us;
        if (!take_levels(&e, d))
            continue;
        if (calibration_put(store, &e) < 0)
            return err_sys(err, ENOMEM, "calibration");
        kept++;
    }
    *ret_n = kept;
    return 0;
}
