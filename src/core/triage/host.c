/* SPDX-License-Identifier: Apache-2.0 */
/* What the host tells about the processes of a GPU: do they write, read, compute, wait? */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define RECENT_US (15 * US_PER_S)
#define WRITE_BPS INT64_C(262144) /* log lines are less, a checkpoint is more */
#define READ_BPS INT64_C(1048576)
#define BUSY_CPU_PERMILLE 500 /* of one core: a loader that works */
#define PROCESSES_MAX 8192u

static struct process *find_process(struct triage *t, uint32_t entity)
{
    for (size_t i = 0; i < t->n_processes; i++)
        if (t->processes[i].used && t->processes[i].entity == entity)
            return &t->processes[i];
    return NULL;
}

static struct process *new_process(struct triage *t)
{
    for (size_t i = 0; i < t->n_processes; i++)
        if (!t->processes[i].used)
            return &t->processes[i];
    if (t->n_processes >= PROCESSES_MAX)
        return NULL;
    size_t n = MAX(t->n_processes * 2, (size_t) 16);
    struct process *grown = realloc(t->processes, n * sizeof(*grown));
    if (!grown)
        return NULL;
    for (size_t i = t->n_processes; i < n; i++)
        grown[i] = (struct process){ 0 };
    struct process *p = &grown[t->n_processes];
    t->processes = grown;
    t->n_processes = n;
    return p;
}

static uint32_t device_number(const struct triage *t, uint32_t entity)
{
    return entity < t->n_device_of && t->device_of[entity] ? t->device_of[entity] - 1 : ENTITY_NONE;
}

/* The driver names a GPU's processes by pid, the host shows the same pids: they are joined here. */
static uint32_t device_of_process(struct triage *t, const struct process *p)
{
    uint32_t device = device_number(t, p->parent);
    if (device != ENTITY_NONE)
        return device;
    for (size_t i = 0; i < t->n_processes; i++) {
        const struct process *o = &t->processes[i];
        if (o->used && o != p && o->is_owner && o->pid == p->pid)
            return o->device;
    }
    const struct process *parent = p->parent == ENTITY_NONE ? NULL : find_process(t, p->parent);
    return parent ? parent->device : ENTITY_NONE;
}

int host_entity(struct triage *t, const struct entity *e)
{
    struct process *p = find_process(t, e->id);
    if (!p)
        p = new_process(t);
    if (!p)
        return t->n_processes >= PROCESSES_MAX ? 0 : -ENOMEM;
    *p = (struct process){ .entity = e->id,
                           .used = true,
                           .pid = e->index,
                           .parent = e->parent,
                           .wrote_us = -1,
                           .loaded_us = -1 };
    p->is_owner = device_number(t, e->parent) != ENTITY_NONE;
    for (size_t i = 0; i < t->n_processes; i++) /* an owner may become known after its children */
        if (t->processes[i].used)
            t->processes[i].device = device_of_process(t, &t->processes[i]);
    return 0;
}

void host_gone(struct triage *t, uint32_t entity)
{
    struct process *p = find_process(t, entity);
    if (p)
        p->used = false;
}

static void rate_above(struct rate *r, const struct sample *s, enum metric m, int64_t now_us,
                       int64_t least_per_s, int64_t *io_when_us)
{
    int64_t value, per_s, delta;
    if (sample_get(s, m, &value) && rate_add(r, now_us, value, &per_s, &delta) &&
        per_s >= least_per_s)
        *io_when_us = now_us;
}

void host_sample(struct triage *t, const struct sample *s)
{
    struct process *p = find_process(t, s->entity);
    int64_t state;
    if (!p)
        return;
    if (sample_get(s, METRIC_PROC_STATE, &state)) {
        p->host_seen = true;
        p->in_d = state == 'D';
        p->d_on_write = p->d_on_write && p->in_d;
    }
    rate_above(&p->written, s, METRIC_PROC_WRITE_BYTES, t->now_us, WRITE_BPS, &p->wrote_us);
    rate_above(&p->read, s, METRIC_PROC_READ_BYTES, t->now_us, READ_BPS, &p->loaded_us);
    /* A rank that spins is busy on the CPU too; only its children's CPU time is loading. */
    if (!p->is_owner && device_number(t, p->parent) == ENTITY_NONE && p->parent != ENTITY_NONE)
        rate_above(&p->cpu, s, METRIC_PROC_CPU_US, t->now_us, US_PER_S * BUSY_CPU_PERMILLE / 1000,
                   &p->loaded_us);
}

/* Kernel functions that a task waits in while its writes go out. */
static bool waits_on_write(struct str wchan)
{
    static const char *const parts[] = { "write", "sync",          "commit",
                                         "flush", "balance_dirty", "writeback" };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (str_find(wchan, parts[i]) >= 0)
            return true;
    return false;
}

void host_note(struct triage *t, const struct note *n)
{
    struct process *p = find_process(t, n->entity);
    if (p && str_is(n->key, "wchan"))
        p->d_on_write = waits_on_write(n->text);
}

static bool recently(const struct triage *t, int64_t when_us)
{
    return when_us >= 0 && t->now_us - when_us <= RECENT_US;
}

/* The owner's write bytes must be readable before stillness is believed: a process of another
 * user shows its state but not its I/O. */
enum host_view host_look(const struct triage *t, const struct device *d)
{
    bool seen = false, blind = false, blocked = false, loading = false;
    for (size_t i = 0; i < t->n_processes; i++) {
        const struct process *p = &t->processes[i];
        if (!p->used || p->device != d->number || !p->host_seen)
            continue;
        seen = seen || p->written.seen;
        blind = blind || !p->written.seen;
        if (recently(t, p->wrote_us) || (p->in_d && p->d_on_write))
            return HOST_WRITING;
        blocked = blocked || p->in_d;
        loading = loading || recently(t, p->loaded_us);
    }
    if (blocked)
        return HOST_BLOCKED;
    if (loading)
        return HOST_LOADING;
    return seen && !blind ? HOST_STILL : HOST_UNKNOWN;
}
