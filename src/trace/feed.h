/* SPDX-License-Identifier: Apache-2.0 */
/* What every reader of a foreign format stands on: it turns entities, times and observations, as
 * they are met, into a well-formed stream of records (header first, an entity before its samples,
 * times that never go back, a tick behind each polling round). Private to trace/.
 *
 * Failures are remembered, as in a strbuf, and come out of feed_next(). */
#ifndef WATTGATE_TRACE_FEED_H
#define WATTGATE_TRACE_FEED_H

#include "core/telemetry/queue.h"
#include "trace/input.h"
#include "trace/reader.h"
#include "trace/stamp.h"

struct feed_entity {
    char *key;
    uint32_t parent;
    uint32_t generation;
    enum entity_kind kind;
    uint64_t round; /* in which it was seen last */
    bool gone;
};

struct feed;
/* Consumes some input and feeds it: 1 when there is more, 0 at the end, negative on an error.
 * Called until a record is there. */
typedef int feed_step_fn(struct feed *f, struct err *err);

struct feed {
    struct trace trace; /* first */
    struct trace_input *in;
    struct record_queue *queue;
    feed_step_fn *step;
    void (*done)(struct feed *f); /* frees what the reader holds besides; may be NULL */
    int error;
    bool over;
    bool any; /* a sample was fed */

    enum stream_clock clock;
    char host[256];
    bool started; /* the header was given */
    bool timed;
    bool zone_noted;
    int64_t now_us;     /* of what is fed */
    int64_t last_us;    /* of the latest record made */
    int64_t shift_us;   /* wall time minus the times given out */
    int64_t longest_us; /* usual step between times, at most */
    uint32_t time_notes;

    uint64_t round;       /* from 1 */
    uint32_t round_count; /* samples in it */
    int64_t round_from_us;

    struct feed_entity *entities;
    uint32_t n, cap;
    uint32_t *slots; /* open addressing over key, kind, parent: id + 1 */
    uint32_t slot_count;
};

/* A reader of `size` zeroed bytes that start with a struct feed. Takes `in` over on success. */
int feed_open(const struct trace_format *format, size_t size, feed_step_fn *step,
              struct trace_input *in, struct trace **ret, struct err *err) MUST_CHECK;
void feed_close(struct trace *t);
int feed_next(struct trace *t, const struct record **ret, struct err *err);

/* What the header says; before the first entity. Without it the source states no time. */
void feed_clock(struct feed *f, enum stream_clock clock);
void feed_host(struct feed *f, struct str host);
/* The time of what follows. A time that goes back is held (a little) or taken as a step of the
 * source's clock; a leap is kept. Each gives a note with the key "time". `where`: line number. */
void feed_at(struct feed *f, struct stamp stamp, uint64_t where);
/* The same for sources that count from their start (CLOCK_STEADY). */
void feed_at_relative(struct feed *f, int64_t us, uint64_t where);
/* Finds the entity by kind, parent and key, or makes it known; `e->id` and `e->generation` are not
 * read. ENTITY_NONE when the stream has too many, which is remembered. */
uint32_t feed_entity(struct feed *f, const struct entity *e);
/* A GPU without UUID: its key is "index:N". */
uint32_t feed_gpu(struct feed *f, struct str uuid, int32_t index, struct str name,
                  struct str driver, struct str bus);
/* A context on a GPU, with its memory unless `memory` is NULL. */
void feed_process(struct feed *f, uint32_t gpu, int64_t pid, struct str name,
                  const struct obs *memory);
/* One sample of the entity now; it closes the round when the entity was in it already, or when the
 * round began long ago. */
void feed_sample(struct feed *f, uint32_t entity, const struct obs *obs, uint32_t n);
/* Closes the round; nothing when it holds no sample. */
void feed_tick(struct feed *f);
/* The children of a kind that were not seen in this round are gone. */
void feed_gone(struct feed *f, uint32_t parent, enum entity_kind kind);
void feed_note(struct feed *f, uint32_t entity, const char *key, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* A sample under construction. */
struct obs_list {
    struct obs obs[SAMPLE_MAX];
    uint32_t n;
};

/* The first observation of a metric stays; `replace` puts the new one in its place. */
void obs_list_add(struct obs_list *l, enum metric m, const struct obs *o, bool replace);
const struct obs *obs_list_find(const struct obs_list *l, enum metric m);

#endif
