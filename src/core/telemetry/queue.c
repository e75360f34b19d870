/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Records are kept in order; their strings and observations behind them in chunks that do not
 * move. Once all were taken, the next add reuses everything. */
struct chunk {
    struct chunk *next;
    size_t used, cap;
    _Alignas(8) char bytes[];
};

struct record_queue {
    struct record *records;
    size_t n, cap, next;
    struct chunk *chunks; /* the newest first */
};

struct record_queue *record_queue_new(void)
{
    return calloc(1, sizeof(struct record_queue));
}

static void chunks_free(struct chunk *c)
{
    while (c) {
        struct chunk *next = c->next;
        free(c);
        c = next;
    }
}

void record_queue_free(struct record_queue *q)
{
    if (!q)
        return;
    chunks_free(q->chunks);
    free(q->records);
    free(q);
}

/* Keeps the newest (largest) chunk, so a steady producer stops allocating. */
static void reset(struct record_queue *q)
{
    q->n = q->next = 0;
    if (!q->chunks)
        return;
    chunks_free(q->chunks->next);
    q->chunks->next = NULL;
    q->chunks->used = 0;
}

static void *keep(struct record_queue *q, const void *bytes, size_t n)
{
    size_t room = (n + 7) & ~(size_t) 7;
    struct chunk *c = q->chunks;
    if (!c || c->cap - c->used < room) {
        size_t cap = MAX(room, c ? c->cap * 2 : (size_t) 4096);
        c = malloc(sizeof(*c) + cap);
        if (!c)
            return NULL;
        *c = (struct chunk){ .next = q->chunks, .cap = cap };
        q->chunks = c;
    }
    char *at = c->bytes + c->used;
    c->used += room;
    return memcpy(at, bytes, n);
}

static bool keep_str(struct record_queue *q, struct str *s)
{
    if (!s->n) {
        *s = (struct str){ NULL, 0 };
        return true;
    }
    s->p = keep(q, s->p, s->n);
    return s->p;
}

static bool keep_parts(struct record_queue *q, struct record *r)
{
    switch (r->kind) {
    case RECORD_HEADER:
        return keep_str(q, &r->u.header.tool) && keep_str(q, &r->u.header.host) &&
               keep_str(q, &r->u.header.boot_id) && keep_str(q, &r->u.header.tables);
    case RECORD_ENTITY:
        return keep_str(q, &r->u.entity.key) && keep_str(q, &r->u.entity.name) &&
               keep_str(q, &r->u.entity.driver) && keep_str(q, &r->u.entity.bus);
    case RECORD_SAMPLE:
        if (!r->u.sample.n)
            return true;
        r->u.sample.obs = keep(q, r->u.sample.obs, r->u.sample.n * sizeof(struct obs));
        return r->u.sample.obs;
    case RECORD_ANCHOR:
        return keep_str(q, &r->u.anchor.source);
    case RECORD_NOTE:
        return keep_str(q, &r->u.note.key) && keep_str(q, &r->u.note.text);
    case RECORD_UNKNOWN:
    case RECORD_GONE:
    case RECORD_TICK:
    case RECORD_CLOCK:
    case RECORD_KIND_COUNT:
        break;
    }
    return true;
}

int record_queue_add(struct record_queue *q, const struct record *r)
{
    if (q->n && q->next == q->n)
        reset(q);
    if (q->n == q->cap) {
        size_t cap = MAX(q->cap * 2, (size_t) 32);
        struct record *records = realloc(q->records, cap * sizeof(*records));
        if (!records)
            return -ENOMEM;
        q->records = records;
        q->cap = cap;
    }
    struct record copy = *r;
    if (!keep_parts(q, &copy))
        return -ENOMEM;
    q->records[q->n++] = copy;
    return 0;
}

int record_queue_next(struct record_queue *q, const struct record **ret)
{
    if (q->next == q->n)
        return 0;
    *ret = &q->records[q->next++];
    return 1;
}

bool record_queue_is_empty(const struct record_queue *q)
{
    return q->next == q->n;
}
