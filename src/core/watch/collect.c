/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch/collect.h"

#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
#define DEPTH_MAX 64
/* Descendants are read in turn: an older rate than this says nothing about now. */
#define HELPER_FRESH_US (30 * US_PER_S)

struct counter {
    int64_t last, at_us; /* -1: not read yet */
    int64_t per_s;       /* -1: not known */
};

static const struct counter unread = { -1, 0, -1 };

enum { CPU, READ, WRITE, COUNTERS };

struct thing { /* an entity of the stream */
    enum entity_kind kind;
    uint32_t parent, rank; /* rank: of a rank's own process; NOBODY */
    int32_t index;
    int64_t seen_us;
    char state; /* of a process */
    struct counter counters[COUNTERS];
};

struct member { /* a rank */
    int32_t pid;
    char device[64];       /* as it is asked for, then as the stream names it */
    uint32_t gpu, process; /* entities; NOBODY */
    struct rank_second now;
    struct counter link[2]; /* NVLink, sent and received */
    enum metric power;      /* the kind of watts that is used */
};

struct collect {
    struct thing *things;
    uint32_t n_things;
    struct member *ranks;
    struct rank_second *seconds;
    struct job_second second;
    int64_t tick_us; /* of the round before; -1 none */
};

struct collect *collect_new(const struct watch_job *job)
{
    struct collect *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->tick_us = -1;
    c->second.n = job->n;
    c->second.step = -1;
    c->ranks = calloc(MAX(job->n, 1u), sizeof(*c->ranks));
    c->seconds = calloc(MAX(job->n, 1u), sizeof(*c->seconds));
    if (!c->ranks || !c->seconds) {
        collect_free(c);
        return NULL;
    }
    c->second.ranks = c->seconds;
    for (uint32_t i = 0; i < job->n; i++) {
        struct member *m = &c->ranks[i];
        m->pid = job->ranks[i].pid;
        m->gpu = m->process = NOBODY;
        m->link[0] = m->link[1] = unread;
        str_copy(m->device, sizeof(m->device), str_from(job->ranks[i].device));
        m->now = (struct rank_second){ .exit_code = 255, .launches = -1, .gpu = GPU_NONE };
    }
    return c;
}

void collect_free(struct collect *c)
{
    if (!c)
        return;
    free(c->things);
    free(c->ranks);
    free(c->seconds);
    free(c);
}

const struct job_second *collect_second(const struct collect *c)
{
    return &c->second;
}

const char *collect_device(const struct collect *c, uint32_t rank_at)
{
    return rank_at < c->second.n ? c->ranks[rank_at].device : "";
}

/* ---- who is who ---- */

static struct thing *thing_at(struct collect *c, uint32_t id)
{
    return id < c->n_things ? &c->things[id] : NULL;
}

static int add_thing(struct collect *c, const struct entity *e)
{
    if (e->id >= c->n_things) {
        uint32_t n = MAX(e->id + 1, c->n_things * 2);
        struct thing *grown = realloc(c->things, n * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + c->n_things, 0, (n - c->n_things) * sizeof(*grown));
        c->things = grown;
        c->n_things = n;
    }
    struct thing *t = &c->things[e->id];
    *t = (struct thing){ .kind = e->kind, .parent = e->parent, .rank = NOBODY, .index = e->index };
    for (int i = 0; i < COUNTERS; i++)
        t->counters[i] = unread;
    return 0;
}

static bool is_asked_for(const struct member *m, const struct entity *gpu)
{
    char by_index[32];
    snprintf(by_index, sizeof(by_index), "index:%" PRId32, gpu->index);
    return m->device[0] && (str_is(gpu->key, m->device) || strcmp(m->device, by_index) == 0);
}

static void bind_gpu(struct member *m, const struct entity *gpu)
{
    m->gpu = gpu->id;
    str_copy(m->device, sizeof(m->device), gpu->key);
}

/* A process: of the host's table, or as the driver lists it below its GPU. */
static void take_process(struct collect *c, const struct entity *e)
{
    const struct thing *parent = thing_at(c, e->parent);
    bool listed = parent && (parent->kind == ENTITY_GPU || parent->kind == ENTITY_MIG);
    for (uint32_t i = 0; i < c->second.n; i++) {
        if (c->ranks[i].pid != e->index)
            continue;
        if (listed && c->ranks[i].gpu == NOBODY)
            c->ranks[i].gpu = e->parent;
        else if (!listed) {
            c->ranks[i].process = e->id;
            c->things[e->id].rank = i;
        }
    }
}

static int take_entity(struct collect *c, const struct entity *e, struct err *err)
{
    if (add_thing(c, e) < 0)
        return err_sys(err, ENOMEM, "watch");
    for (uint32_t i = 0; e->kind == ENTITY_GPU && i < c->second.n; i++)
        if (is_asked_for(&c->ranks[i], e))
            bind_gpu(&c->ranks[i], e);
    if (e->kind == ENTITY_PROCESS)
        take_process(c, e);
    return 0;
}

static void take_gone(struct collect *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->second.n; i++) {
        struct member *m = &c->ranks[i];
        if (m->process == id) {
            m->now.known |= WATCH_STATE;
            m->now.state = 'X';
        }
        if (m->gpu == id)
            m->now.gpu = GPU_LOST;
    }
    if (thing_at(c, id))
        c->things[id].kind = ENTITY_UNKNOWN;
}

/* The rank whose process this one descends from. */
static uint32_t owner_of(struct collect *c, const struct thing *t)
{
    for (unsigned depth = 0; t && depth < DEPTH_MAX; depth++) {
        if (t->kind != ENTITY_PROCESS)
            return NOBODY;
        if (t->rank != NOBODY)
            return t->rank;
        t = thing_at(c, t->parent);
    }
    return NOBODY;
}

/* ---- readings ---- */

static void count(struct counter *k, int64_t value, int64_t at_us)
{
    if (k->last >= 0 && value >= k->last && at_us > k->at_us)
        k->per_s = (value - k->last) * US_PER_S / (at_us - k->at_us);
    else if (k->last >= 0 && value < k->last)
        k->per_s = -1; /* it began anew */
    k->last = value;
    k->at_us = at_us;
}

static uint32_t kib(int64_t bytes)
{
    return (uint32_t) MIN(bytes / 1024, (int64_t) UINT32_MAX);
}

static uint16_t permille(int64_t value)
{
    return (uint16_t) CLAMP(value, 0, UINT16_MAX);
}

static void take_power(struct member *m, const struct sample *s)
{
    static const enum metric kinds[] = { METRIC_POWER_INSTANT_MW, METRIC_POWER_AVERAGE_MW,
                                         METRIC_POWER_DRAW_MW };
    int64_t mw;
    for (size_t i = 0; i < ARRAY_SIZE(kinds) && m->power == METRIC_UNKNOWN; i++)
        if (sample_get(s, kinds[i], &mw))
            m->power = kinds[i]; /* the kinds are never mixed */
    if (m->power == METRIC_UNKNOWN || !sample_get(s, m->power, &mw) || mw < 0 || mw > INT32_MAX)
        return;
    m->now.known |= WATCH_POWER;
    m->now.power_mw = (int32_t) mw;
}

static void take_link(struct member *m, const struct sample *s, int64_t at_us)
{
    static const enum metric gauges[] = { METRIC_NVLINK_TX_BPS, METRIC_NVLINK_RX_BPS,
                                          METRIC_PCIE_TX_BPS, METRIC_PCIE_RX_BPS };
    static const enum metric counters[] = { METRIC_NVLINK_TX_BYTES, METRIC_NVLINK_RX_BYTES };
    int64_t value, sum = 0;
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(gauges); i++)
        if (sample_get(s, gauges[i], &value) && value >= 0) {
            sum += MIN(value, INT64_MAX / 8);
            any = true;
        }
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        if (!sample_get(s, counters[i], &value))
            continue;
        count(&m->link[i], value, at_us);
        if (m->link[i].per_s < 0)
            continue;
        sum += MIN(m->link[i].per_s, INT64_MAX / 8);
        any = true;
    }
    if (!any)
        return;
    m->now.known |= WATCH_LINK;
    m->now.link_kib = kib(sum);
}

static void take_gpu(struct member *m, const struct sample *s, int64_t at_us)
{
    int64_t value;
    m->now.gpu = GPU_ANSWERS;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->obs[i].status == OBS_TIMED_OUT)
            m->now.gpu = GPU_TIMED_OUT;
        if (s->obs[i].status == OBS_LOST)
            m->now.gpu = GPU_LOST;
    }
    take_power(m, s);
    take_link(m, s, at_us);
    if (sample_get(s, METRIC_UTIL_GPU_PERMILLE, &value)) {
        m->now.known |= WATCH_UTIL;
        m->now.util_permille = permille(value);
    }
    if (sample_get(s, METRIC_UTIL_MEM_PERMILLE, &value)) {
        m->now.known |= WATCH_MEM;
        m->now.mem_permille = permille(value);
    }
}

static void take_host(struct thing *t, const struct sample *s, int64_t at_us)
{
    static const enum metric counters[COUNTERS] = {
        [CPU] = METRIC_PROC_CPU_US,
        [READ] = METRIC_PROC_READ_BYTES,
        [WRITE] = METRIC_PROC_WRITE_BYTES,
    };
    int64_t value;
    for (int i = 0; i < COUNTERS; i++)
        if (sample_get(s, counters[i], &value))
            count(&t->counters[i], value, at_us);
    t->state = '\0';
    if (sample_get(s, METRIC_PROC_STATE, &value))
        t->state = (char) value;
    t->seen_us = at_us;
}

static void take_sample(struct collect *c, const struct sample *s, int64_t at_us)
{
    struct thing *t = thing_at(c, s->entity);
    for (uint32_t i = 0; i < c->second.n; i++)
        if (c->ranks[i].gpu == s->entity)
            take_gpu(&c->ranks[i], s, at_us);
    if (t && t->kind == ENTITY_PROCESS)
        take_host(t, s, at_us);
}

/* ---- the second ---- */

static void add_rate(struct rank_second *r, uint32_t signal, uint32_t *to, int64_t per_s)
{
    if (per_s < 0)
        return;
    r->known |= signal;
    *to = kib(MIN((int64_t) *to * 1024 + per_s, INT64_MAX / 2));
}

static void add_own(struct rank_second *r, const struct thing *t)
{
    if (t->state) {
        r->known |= WATCH_STATE;
        r->state = t->state;
        r->debugged = t->state == 't' || t->state == 'T';
    }
    if (t->counters[CPU].per_s >= 0) {
        r->known |= WATCH_CPU;
        r->cpu_permille = permille(t->counters[CPU].per_s / 1000);
    }
    add_rate(r, WATCH_READ, &r->read_kib, t->counters[READ].per_s);
    add_rate(r, WATCH_WRITE, &r->write_kib, t->counters[WRITE].per_s);
}

static void add_helper(struct rank_second *r, const struct thing *t)
{
    r->helpers_waiting = permille(r->helpers_waiting + (t->state == 'D'));
    if (t->counters[CPU].per_s >= 0)
        r->helpers_permille = permille(r->helpers_permille + t->counters[CPU].per_s / 1000);
    add_rate(r, WATCH_READ, &r->read_kib, t->counters[READ].per_s);
    add_rate(r, WATCH_WRITE, &r->write_kib, t->counters[WRITE].per_s);
}

static void add_processes(struct collect *c, int64_t at_us)
{
    for (uint32_t i = 0; i < c->n_things; i++) {
        struct thing *t = &c->things[i];
        if (t->kind != ENTITY_PROCESS || !t->seen_us || at_us - t->seen_us > HELPER_FRESH_US)
            continue;
        uint32_t rank = owner_of(c, t);
        if (rank == NOBODY || c->ranks[rank].now.state == 'X')
            continue;
        c->ranks[rank].now.known |= WATCH_HELPERS;
        if (t->rank == rank)
            add_own(&c->ranks[rank].now, t);
        else
            add_helper(&c->ranks[rank].now, t);
    }
}

/* What stays of a rank for the next second: that it ended. */
static struct rank_second blank(const struct rank_second *before, const struct member *m)
{
    struct rank_second r = { .exit_code = 255, .launches = -1 };
    r.gpu = m->gpu == NOBODY ? GPU_NONE : GPU_ANSWERS;
    if (before && before->state == 'X') {
        r.known = WATCH_STATE;
        r.state = 'X';
    }
    return r;
}

static void take_tick(struct collect *c, int64_t at_us)
{
    add_processes(c, at_us);
    c->second.mono_us = at_us;
    c->second.dt_us = c->tick_us < 0 ? 0 : at_us - c->tick_us;
    c->tick_us = at_us;
    for (uint32_t i = 0; i < c->second.n; i++) {
        struct member *m = &c->ranks[i];
        c->seconds[i] = m->now;
        m->now = blank(&c->seconds[i], m);
    }
}

int collect_take(struct collect *c, const struct record *r, struct err *err)
{
    switch (r->kind) {
    case RECORD_ENTITY:
        return take_entity(c, &r->u.entity, err);
    case RECORD_GONE:
        take_gone(c, r->u.gone);
        return 0;
    case RECORD_SAMPLE:
        take_sample(c, &r->u.sample, r->mono_us);
        return 0;
    case RECORD_TICK:
        take_tick(c, r->mono_us);
        return 1;
    case RECORD_UNKNOWN:
    case RECORD_HEADER:
    case RECORD_CLOCK:
    case RECORD_ANCHOR:
    case RECORD_NOTE:
    case RECORD_KIND_COUNT:
    default:
        return 0;
    }
}
