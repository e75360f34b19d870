/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/feed.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step back up to this is rows out of order, held; a longer one is the clock that was set. */
#define HELD_BACK_US (5 * US_PER_S)
#define LEAP_US (600 * US_PER_S)
#define ROUND_US (1 * US_PER_S)
#define TIME_NOTES_MAX 32

int feed_open(const struct trace_format *format, size_t size, feed_step_fn *step,
              struct trace_input *in, struct trace **ret, struct err *err)
{
    struct feed *f = calloc(1, size);
    if (f) {
        f->queue = record_queue_new();
        f->slot_count = 64;
        f->slots = calloc(f->slot_count, sizeof(*f->slots));
    }
    if (!f || !f->queue || !f->slots) {
        feed_close(f ? &f->trace : NULL);
        return err_sys(err, ENOMEM, "read '%s'", input_name(in));
    }
    f->trace.format = format;
    f->trace.report.format = format->name;
    f->in = in;
    f->step = step;
    f->round = 1;
    *ret = &f->trace;
    return 0;
}

void feed_close(struct trace *t)
{
    struct feed *f = (struct feed *) t;
    if (!f)
        return;
    if (f->done)
        f->done(f);
    for (uint32_t i = 0; i < f->n; i++)
        free(f->entities[i].key);
    free(f->entities);
    free(f->slots);
    record_queue_free(f->queue);
    if (f->in)
        input_close(f->in);
    free(f);
}

static void add(struct feed *f, struct record *r)
{
    /* A round is closed at the time of its last record, also when the next time is known already.
     */
    r->mono_us = r->kind == RECORD_TICK ? f->last_us : f->now_us;
    f->last_us = r->mono_us;
    if (f->error)
        return;
    f->error = record_queue_add(f->queue, r);
}

static void start(struct feed *f)
{
    if (f->started)
        return;
    f->started = true;
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){
        .clock = f->clock,
        .tool = str_from(f->trace.report.format),
        .host = str_from(f->host),
    };
    add(f, &r);
}

/* The end of the input. An input of which nothing could be used is an error, not an idle GPU. */
static int finish(struct feed *f, struct err *err)
{
    const char *torn = input_torn(f->in);
    feed_tick(f);
    f->over = true;
    if (torn) {
        f->trace.report.torn = true;
        feed_note(f, ENTITY_NONE, "reader", "%s", torn);
    }
    if (f->any || f->error)
        return 0;
    const char *why = f->trace.report.first_drop;
    return err_set(err, -ENODATA, "'%s' looks like %s but holds no sample that can be used%s%s",
                   input_name(f->in), f->trace.report.format, *why ? ": " : "", why);
}

int feed_next(struct trace *t, const struct record **ret, struct err *err)
{
    struct feed *f = (struct feed *) t;
    for (;;) {
        if (f->error)
            return err_set(err, f->error, "read '%s': %s", input_name(f->in),
                           f->error == -E2BIG ? "more devices and processes than a stream may name"
                                              : strerror(-f->error));
        if (record_queue_next(f->queue, ret) > 0) {
            t->report.samples += (*ret)->kind == RECORD_SAMPLE;
            return 1;
        }
        if (f->over)
            return 0;
        int r = f->step(f, err);
        if (r == 0)
            r = finish(f, err);
        if (r < 0)
            return r;
    }
}

void feed_clock(struct feed *f, enum stream_clock clock)
{
    if (!f->started)
        f->clock = clock;
}

void feed_host(struct feed *f, struct str host)
{
    if (!f->started && !f->host[0])
        str_copy(f->host, sizeof(f->host), host);
}

static bool may_note_time(struct feed *f)
{
    if (f->time_notes >= TIME_NOTES_MAX)
        return false;
    if (++f->time_notes == TIME_NOTES_MAX)
        feed_note(f, ENTITY_NONE, "time", "more such times follow and are not noted");
    return true;
}

static void step_back(struct feed *f, int64_t back_us, int64_t wall_us, uint64_t where)
{
    bool set = back_us > HELD_BACK_US;
    if (set)
        f->shift_us = wall_us - f->now_us;
    if (may_note_time(f))
        feed_note(f, ENTITY_NONE, "time",
                  "line %" PRIu64 ": the time goes back by %" PRId64 ".%03" PRId64 " s; %s", where,
                  back_us / US_PER_S, back_us % US_PER_S / 1000,
                  set ? "taken as a clock that was set" : "held at the latest time");
    if (!set || f->clock != CLOCK_WALL)
        return;
    struct record r = { .kind = RECORD_CLOCK };
    r.u.wall_offset_us = f->shift_us;
    add(f, &r);
}

/* A stream that began without times counts its rounds: a time that comes later cannot be put in. */
static bool counts_rounds(struct feed *f, uint64_t where)
{
    if (!f->started || f->clock != CLOCK_NONE)
        return false;
    if (!f->timed)
        feed_note(f, ENTITY_NONE, "time",
                  "line %" PRIu64 ": a time, behind samples without one: times are not used",
                  where);
    f->timed = true;
    return true;
}

static void feed_time(struct feed *f, int64_t wall_us, uint64_t where)
{
    int64_t us = wall_us - f->shift_us;
    if (counts_rounds(f, where))
        return;
    if (!f->timed) {
        f->timed = true;
        f->now_us = us;
        return;
    }
    int64_t step_us = us - f->now_us;
    if (step_us < 0) {
        start(f);
        step_back(f, -step_us, wall_us, where);
        return;
    }
    if (step_us > LEAP_US && f->longest_us && step_us / 20 > f->longest_us) {
        start(f);
        feed_tick(f);
        if (may_note_time(f))
            feed_note(f, ENTITY_NONE, "time",
                      "line %" PRIu64 ": the time leaps forward by %" PRId64 " s", where,
                      step_us / US_PER_S);
    } else if (step_us > f->longest_us) {
        f->longest_us = step_us;
    }
    f->now_us = us;
}

void feed_at(struct feed *f, struct stamp stamp, uint64_t where)
{
    feed_clock(f, CLOCK_WALL);
    feed_time(f, stamp.wall_us, where);
    if (stamp.zone || f->zone_noted)
        return;
    f->zone_noted = true;
    start(f);
    feed_note(f, ENTITY_NONE, "reader", "the times state no zone: they are taken as UTC");
}

void feed_at_relative(struct feed *f, int64_t us, uint64_t where)
{
    feed_clock(f, CLOCK_STEADY);
    feed_time(f, us, where);
}

static uint32_t slot_hash(enum entity_kind kind, uint32_t parent, struct str key)
{
    uint32_t h = 2166136261u ^ (uint32_t) kind ^ (parent * 2654435761u);
    for (size_t i = 0; i < key.n; i++)
        h = (h ^ (unsigned char) key.p[i]) * 16777619u;
    return h ^ (h >> 15);
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *slot_find(struct feed *f, enum entity_kind kind, uint32_t parent, struct str key)
{
    uint32_t mask = f->slot_count - 1;
    for (uint32_t i = slot_hash(kind, parent, key) & mask;; i = (i + 1) & mask) {
        if (!f->slots[i])
            return &f->slots[i];
        const struct feed_entity *e = &f->entities[f->slots[i] - 1];
        if (e->kind == kind && e->parent == parent && str_is(key, e->key))
            return &f->slots[i];
    }
}

static int grow(struct feed *f)
{
    if (f->n < f->cap)
        return 0;
    uint32_t cap = f->cap ? f->cap * 2 : 16;
    struct feed_entity *entities = realloc(f->entities, cap * sizeof(*entities));
    if (!entities)
        return -ENOMEM;
    f->entities = entities;
    f->cap = cap;
    if (cap * 2 <= f->slot_count)
        return 0;
    uint32_t *slots = calloc((size_t) cap * 4, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(f->slots);
    f->slots = slots;
    f->slot_count = cap * 4;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct feed_entity *e = &f->entities[i];
        /* Of several generations the latest is found. */
        *slot_find(f, e->kind, e->parent, str_from(e->key)) = i + 1;
    }
    return 0;
}

uint32_t feed_entity(struct feed *f, const struct entity *e)
{
    if (f->error)
        return ENTITY_NONE;
    uint32_t *slot = slot_find(f, e->kind, e->parent, e->key);
    uint32_t generation = 0;
    if (*slot) {
        const struct feed_entity *known = &f->entities[*slot - 1];
        if (!known->gone)
            return *slot - 1;
        generation = known->generation + 1;
    }
    char *key = f->n < ENTITY_MAX ? str_dup(e->key) : NULL;
    if (!key || grow(f) < 0) {
        free(key);
        f->error = f->n < ENTITY_MAX ? -ENOMEM : -E2BIG;
        return ENTITY_NONE;
    }
    start(f);
    f->entities[f->n] = (struct feed_entity){
        .key = key, .parent = e->parent, .generation = generation, .kind = e->kind
    };
    struct record r = { .kind = RECORD_ENTITY, .u.entity = *e };
    r.u.entity.id = f->n++;
    r.u.entity.generation = generation;
    *slot_find(f, e->kind, e->parent, e->key) = f->n;
    add(f, &r);
    return r.u.entity.id;
}

uint32_t feed_gpu(struct feed *f, struct str uuid, int32_t index, struct str name,
                  struct str driver, struct str bus)
{
    char key[32];
    struct entity e = { .kind = ENTITY_GPU,
                        .parent = ENTITY_NONE,
                        .index = index,
                        .key = uuid,
                        .name = name,
                        .driver = driver,
                        .bus = bus };
    if (!uuid.n && index < 0 && bus.n) {
        e.key = bus;
    } else if (!uuid.n) {
        e.index = MAX(index, 0);
        snprintf(key, sizeof(key), "index:%" PRId32, e.index);
        e.key = str_from(key);
    }
    return feed_entity(f, &e);
}

void feed_process(struct feed *f, uint32_t gpu, int64_t pid, struct str name,
                  const struct obs *memory)
{
    char key[32];
    if (gpu == ENTITY_NONE || pid < 0 || pid > INT32_MAX)
        return;
    snprintf(key, sizeof(key), "pid:%" PRId64, pid);
    struct entity e = { .kind = ENTITY_PROCESS,
                        .parent = gpu,
                        .index = (int32_t) pid,
                        .key = str_from(key),
                        .name = name };
    uint32_t id = feed_entity(f, &e);
    if (id == ENTITY_NONE)
        return;
    if (f->entities[id].round == f->round)
        return; /* listed twice: as compute and as graphics */
    f->entities[id].round = f->round;
    if (!memory)
        return;
    struct obs o = *memory;
    o.metric = METRIC_PROC_GPU_MEM_BYTES;
    f->entities[id].round = 0; /* else its first sample would close the round */
    feed_sample(f, id, &o, 1);
}

void feed_sample(struct feed *f, uint32_t entity, const struct obs *obs, uint32_t n)
{
    if (f->error || entity >= f->n || !n)
        return;
    if (f->round_count && (f->entities[entity].round == f->round ||
                           (f->clock != CLOCK_NONE && f->now_us - f->round_from_us >= ROUND_US)))
        feed_tick(f);
    start(f);
    f->any = true;
    if (!f->round_count)
        f->round_from_us = f->now_us;
    f->entities[entity].round = f->round;
    f->round_count++;
    struct record r = { .kind = RECORD_SAMPLE };
    r.u.sample = (struct sample){ .entity = entity, .n = n, .obs = obs };
    add(f, &r);
}

void feed_tick(struct feed *f)
{
    if (!f->round_count)
        return;
    struct record r = { .kind = RECORD_TICK };
    add(f, &r);
    f->round++;
    f->round_count = 0;
    if (f->clock == CLOCK_NONE)
        f->now_us++; /* counts rounds: there is no time */
}

void feed_gone(struct feed *f, uint32_t parent, enum entity_kind kind)
{
    for (uint32_t i = 0; i < f->n; i++) {
        struct feed_entity *e = &f->entities[i];
        if (e->parent != parent || e->kind != kind || e->gone || e->round == f->round)
            continue;
        e->gone = true;
        struct record r = { .kind = RECORD_GONE, .u.gone = i };
        add(f, &r);
    }
}

void feed_note(struct feed *f, uint32_t entity, const char *key, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    start(f);
    struct record r = { .kind = RECORD_NOTE };
    r.u.note = (struct note){ .entity = entity, .key = str_from(key), .text = str_from(text) };
    add(f, &r);
}

void obs_list_add(struct obs_list *l, enum metric m, const struct obs *o, bool replace)
{
    struct obs *at = NULL;
    for (uint32_t i = 0; i < l->n && !at; i++)
        if (l->obs[i].metric == m)
            at = &l->obs[i];
    if (at && !replace)
        return;
    if (!at) {
        if (l->n >= SAMPLE_MAX)
            return;
        at = &l->obs[l->n++];
    }
    *at = *o;
    at->metric = m;
}

const struct obs *obs_list_find(const struct obs_list *l, enum metric m)
{
    struct sample s = { .n = l->n, .obs = l->obs };
    return sample_find(&s, m);
}
