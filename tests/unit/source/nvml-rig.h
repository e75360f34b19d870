/* SPDX-License-Identifier: Apache-2.0 */
/* The source on simulated GPUs with a clock that the test steps. */
#ifndef WATTGATE_TESTS_NVML_RIG_H
#define WATTGATE_TESTS_NVML_RIG_H

#include "source/nvml/nvml.h"
#include "sys/clock.h"
#include "sys/vclock.h"
#include "sys/worker.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RIG_ENTITIES 128

struct rig_entity {
    bool declared, gone;
    enum entity_kind kind;
    uint32_t parent, generation;
    int32_t index;
    char key[96], name[96];
    uint32_t n; /* of the latest sample with more than an event in it */
    struct obs obs[SAMPLE_MAX];
    uint32_t samples;
    int64_t xid;
};

struct rig {
    struct source *src;
    struct source_env env;
    struct worker_pulse pulse;
    struct record_queue *q;
    struct vclock *clock;
    char dir[64];
    uint32_t entities_n;
    struct rig_entity entities[RIG_ENTITIES];
    char notes[2048];
};

static inline void rig_file(const struct rig *t, const char *name, const char *text, char *ret_path,
                            size_t cap)
{
    snprintf(ret_path, cap, "%s/%s", t->dir, name);
    FILE *f = fopen(ret_path, "w");
    CHECK(f != NULL);
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
}

/* The scenario begins now, at virtual time 1000 s. */
static inline void rig_prepare_clock(struct rig *t, bool stepped, const char *scenario)
{
    const struct vclock_setup setup = { .stepped = stepped,
                                        .start_mono_us = 1000000000,
                                        .start_wall_us = 1700000000000000 };
    char path[128];
    struct err err;
    memset(t, 0, sizeof(*t));
    str_copy(t->dir, sizeof(t->dir), STR("/tmp/wattgate-nvml-XXXXXX"));
    CHECK(mkdtemp(t->dir) != NULL);
    rig_file(t, "clock", "", path, sizeof(path));
    CHECK_EQ(vclock_create(path, &setup, &err), 0);
    setenv("WATTGATE_CLOCK", path, 1);
    t->clock = vclock_from_env(NULL);
    CHECK(t->clock != NULL);
    rig_file(t, "scenario", scenario, path, sizeof(path));
    setenv("WATTGATE_SIM", path, 1);
    t->q = record_queue_new();
    t->env = (struct source_env){
        .sysroot = "/", .nvml_library = SIM_NVML_LIBRARY, .interval_us = 1000000, .pulse = &t->pulse
    };
}

static inline void rig_prepare(struct rig *t, const char *scenario)
{
    rig_prepare_clock(t, true, scenario);
}

static inline void rig_open(struct rig *t, const char *scenario)
{
    struct err err = { .text = "" };
    rig_prepare(t, scenario);
    CHECK_EQ(nvml_source.open(&t->env, &t->src, &err), 0);
    if (!t->src)
        tap_note("open: %s", err.text);
}

static inline void rig_entity(struct rig *t, const struct entity *e)
{
    CHECK_EQ(e->id, t->entities_n);
    if (t->entities_n == RIG_ENTITIES)
        return;
    struct rig_entity *k = &t->entities[t->entities_n++];
    *k = (struct rig_entity){ .declared = true,
                              .kind = e->kind,
                              .parent = e->parent,
                              .generation = e->generation,
                              .index = e->index };
    str_copy(k->key, sizeof(k->key), e->key);
    str_copy(k->name, sizeof(k->name), e->name);
}

static inline void rig_sample(struct rig *t, const struct sample *s)
{
    int64_t xid;
    CHECK(s->entity < t->entities_n);
    if (s->entity >= t->entities_n)
        return;
    struct rig_entity *k = &t->entities[s->entity];
    CHECK(!k->gone);
    if (sample_get(s, METRIC_XID, &xid)) {
        k->xid = xid;
        return;
    }
    k->samples++;
    k->n = s->n;
    memcpy(k->obs, s->obs, s->n * sizeof(*s->obs));
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t j = 0; j < i; j++)
            CHECK(s->obs[i].metric != s->obs[j].metric);
}

static inline void rig_take(struct rig *t)
{
    const struct record *r;
    while (record_queue_next(t->q, &r) > 0) {
        CHECK(r->kind != RECORD_HEADER && r->kind != RECORD_TICK);
        if (r->kind == RECORD_ENTITY)
            rig_entity(t, &r->u.entity);
        if (r->kind == RECORD_SAMPLE)
            rig_sample(t, &r->u.sample);
        if (r->kind == RECORD_GONE && r->u.gone < t->entities_n)
            t->entities[r->u.gone].gone = true;
        if (r->kind != RECORD_NOTE)
            continue;
        size_t n = strlen(t->notes);
        snprintf(t->notes + n, sizeof(t->notes) - n, "%.*s: %.*s\n", STR_ARG(r->u.note.key),
                 STR_ARG(r->u.note.text));
    }
}

/* Polls `times` at one second's distance. */
static inline void rig_poll(struct rig *t, int times)
{
    struct err err = { .text = "" };
    for (int i = 0; i < times && t->src; i++) {
        CHECK_EQ(nvml_source.poll(t->src, clock_mono_us(), t->q, &err), 0);
        rig_take(t);
        CHECK_EQ(vclock_step(t->clock, 1000000, &err), 0);
    }
}

/* The newest entity with this kind and number that is not gone. */
static inline struct rig_entity *rig_find(struct rig *t, enum entity_kind kind, int32_t index)
{
    static struct rig_entity none;
    for (uint32_t i = t->entities_n; i-- > 0;)
        if (t->entities[i].kind == kind && t->entities[i].index == index && !t->entities[i].gone)
            return &t->entities[i];
    tap_note("no %s %d", entity_kind_name(kind), (int) index);
    CHECK(none.declared); /* fails */
    return &none;
}

static inline const struct obs *rig_obs(const struct rig_entity *e, enum metric m)
{
    static const struct obs none = { .status = OBS_STATUS_COUNT };
    const struct sample s = { .n = e->n, .obs = e->obs };
    const struct obs *o = sample_find(&s, m);
    return o ? o : &none;
}

static inline void rig_close(struct rig *t)
{
    char command[128];
    nvml_source.close(t->src);
    record_queue_free(t->q);
    snprintf(command, sizeof(command), "rm -rf '%s'", t->dir);
    CHECK_EQ(system(command), 0);
}

#endif
