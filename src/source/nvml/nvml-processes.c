/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a context on a GPU. The list costs more than any other call, so it is read seldom. */
#include "source/nvml/nvml-priv.h"

#include "base/parse.h"
#include "sys/rootdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for the entries of any layout, and a pattern no driver writes, to see how far one wrote. */
enum { ENTRY_MAX = 32, ROOM_SPARE = 16, ROOM_MAX = 4096, PATTERN = 0xA5 };

struct owner {
    uint32_t pid, gpu_instance, compute_instance;
    int64_t memory_bytes;
};

struct owners {
    struct owner *at;
    size_t n, cap;
};

static int put(struct owners *list, const struct owner *o)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].pid == o->pid)
            return 0; /* a process with compute and graphics contexts is listed twice */
    if (list->n == list->cap) {
        size_t cap = MAX(list->cap * 2, (size_t) 16);
        struct owner *at = realloc(list->at, cap * sizeof(*at));
        if (!at)
            return -ENOMEM;
        list->at = at;
        list->cap = cap;
    }
    list->at[list->n++] = *o;
    return 0;
}

/* Entries of `size` bytes in a zeroed-with-pattern room. Driver 535.54 and its like wrote 32 bytes
 * each where 24 are declared: seen by what lies behind n entries of 24. */
static size_t entry_size(const unsigned char *room, size_t n)
{
    for (size_t i = n * sizeof(struct nvml_process); i < n * ENTRY_MAX; i++)
        if (room[i] != PATTERN)
            return ENTRY_MAX;
    return sizeof(struct nvml_process);
}

static int64_t memory_of(uint64_t bytes)
{
    return bytes > INT64_MAX ? -1 : (int64_t) bytes;
}

static int take_entries(const unsigned char *room, size_t n, bool v1, struct owners *list)
{
    size_t size = v1 ? sizeof(struct nvml_process_v1) : entry_size(room, n);
    for (size_t i = 0; i < n; i++) {
        struct owner o = { .gpu_instance = NVML_ID_NONE, .compute_instance = NVML_ID_NONE };
        if (v1) {
            struct nvml_process_v1 p;
            memcpy(&p, room + i * size, sizeof(p));
            o.pid = p.pid;
            o.memory_bytes = memory_of(p.used_bytes);
        } else {
            struct nvml_process p;
            memcpy(&p, room + i * size, sizeof(p));
            o = (struct owner){ p.pid, p.gpu_instance, p.compute_instance,
                                memory_of(p.used_bytes) };
        }
        int r = put(list, &o);
        if (r < 0)
            return r;
    }
    return 0;
}

typedef int list_fn(struct nvml_device *, unsigned *io_n, void *entries);

/* Gives an NVML code, or -ENOMEM. */
static int list_owners(struct nvml_device *d, list_fn *call, list_fn *call_v1, struct owners *list)
{
    bool v1 = !call;
    if (v1)
        call = call_v1;
    if (!call)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned n = 0;
    int code = call(d, &n, NULL);
    if (code != NVML_INSUFFICIENT_SIZE)
        return code; /* success: none */
    /* Some may start between the two calls. */
    const unsigned room_n = MIN(n, (unsigned) ROOM_MAX) + ROOM_SPARE;
    unsigned char *room = malloc((size_t) room_n * ENTRY_MAX);
    if (!room)
        return -ENOMEM;
    memset(room, PATTERN, (size_t) room_n * ENTRY_MAX);
    n = room_n;
    code = call(d, &n, room);
    if (code == NVML_OK && take_entries(room, MIN(n, room_n), v1, list) < 0)
        code = -ENOMEM;
    free(room);
    return code;
}

/* Start time (ticks) and command name from the process's own files; 0 and "" when unreadable: a
 * container shows other numbers than the driver. */
static int64_t start_of(const char *sysroot, uint32_t pid, char *name, size_t cap)
{
    char text[1024];
    struct str line;
    int fd;
    name[0] = '\0';
    if (rootdir_open(sysroot, &fd, NULL) < 0)
        return 0;
    int r = rootdir_read(fd, text, sizeof(text), &line, NULL, "proc/%u/stat", pid);
    close(fd);
    if (r < 0)
        return 0;
    ptrdiff_t from = str_find_char(line, '('), to = -1;
    for (size_t i = line.n; i-- > 0 && to < 0;)
        if (line.p[i] == ')')
            to = (ptrdiff_t) i;
    if (from < 0 || to <= from)
        return 0;
    str_copy(name, cap, str_sub(line, (size_t) from + 1, (size_t) to));
    struct str rest = str_sub(line, (size_t) to + 1, line.n), word;
    int64_t start = 0;
    for (int field = 3; field <= 22; field++)
        if (!str_word(&rest, &word))
            return 0;
    return parse_i64(word, &start) < 0 ? 0 : start;
}

static uint32_t parent_of(const struct nvml_gpu *g, const struct owner *o)
{
    for (size_t i = 0; i < NVML_MIGS_MAX; i++)
        if (g->migs[i].used && g->migs[i].gpu_instance == o->gpu_instance &&
            g->migs[i].compute_instance == o->compute_instance)
            return g->migs[i].entity;
    return g->entity;
}

static int declare(struct nvml_source *s, struct nvml_gpu *g, const struct owner *o, int64_t start,
                   const char *name, int64_t mono_us, struct record_queue *out)
{
    char key[48];
    struct nvml_followed *all = realloc(g->processes, (g->processes_n + 1) * sizeof(*g->processes));
    if (!all)
        return -ENOMEM;
    g->processes = all;
    g->processes[g->processes_n++] = (struct nvml_followed){ .pid = o->pid,
                                                             .entity = s->next_entity++,
                                                             .start = start,
                                                             .memory_bytes = o->memory_bytes,
                                                             .seen = true };
    snprintf(key, sizeof(key), "pid:%u@%lld", o->pid, (long long) start);
    const struct record r = { .kind = RECORD_ENTITY,
                              .mono_us = mono_us,
                              .u.entity = { .id = g->processes[g->processes_n - 1].entity,
                                            .kind = ENTITY_PROCESS,
                                            .parent = parent_of(g, o),
                                            .index = (int32_t) o->pid,
                                            .key = str_from(key),
                                            .name = str_from(name) } };
    return record_queue_add(out, &r);
}

static int follow(struct nvml_source *s, struct nvml_gpu *g, const struct owner *o, int64_t mono_us,
                  struct record_queue *out)
{
    char name[64];
    int64_t start = start_of(s->sysroot, o->pid, name, sizeof(name));
    for (size_t i = 0; i < g->processes_n; i++) {
        struct nvml_followed *f = &g->processes[i];
        if (f->pid != o->pid || f->start != start)
            continue;
        f->seen = true;
        f->memory_bytes = o->memory_bytes;
        return 0;
    }
    if (g->processes_n >= NVML_PROCESSES_MAX)
        return 0;
    return declare(s, g, o, start, name, mono_us, out);
}

static int sweep(struct nvml_gpu *g, bool fresh, int64_t mono_us, struct record_queue *out)
{
    size_t kept = 0;
    int r = 0;
    for (size_t i = 0; i < g->processes_n; i++) {
        struct nvml_followed *f = &g->processes[i];
        if (!f->seen) {
            if ((r = nvml_emit_gone(f->entity, mono_us, out)) < 0)
                return r;
            continue;
        }
        struct nvml_reading one = { 0 };
        nvml_add(&one, METRIC_PROC_GPU_MEM_BYTES, f->memory_bytes < 0 ? NVML_NO_DATA : NVML_OK,
                 f->memory_bytes);
        if (fresh && (r = nvml_emit_sample(f->entity, &one, mono_us, out)) < 0)
            return r;
        g->processes[kept++] = *f;
    }
    g->processes_n = kept;
    return 0;
}

int nvml_read_processes(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                        struct record_queue *out, struct nvml_reading *r)
{
    struct owners list = { 0 };
    const struct nvml_api *api = &s->api;
    if (r->worst)
        return 0;
    int code = list_owners(g->device, api->compute_processes, api->compute_processes_v1, &list);
    int graphics = NVML_OK;
    if (code == NVML_OK)
        graphics =
            list_owners(g->device, api->graphics_processes, api->graphics_processes_v1, &list);
    int result = code < 0 || graphics < 0 ? -ENOMEM : 0;
    if (result == 0)
        nvml_add(r, METRIC_PROCESS_COUNT, code, (int64_t) list.n);
    for (size_t i = 0; i < g->processes_n; i++)
        g->processes[i].seen = code != NVML_OK; /* an unread list ends nobody */
    for (size_t i = 0; i < list.n && result == 0; i++)
        result = follow(s, g, &list.at[i], mono_us, out);
    if (result == 0)
        result = sweep(g, code == NVML_OK, mono_us, out);
    free(list.at);
    return result;
}

void nvml_forget_processes(struct nvml_gpu *g)
{
    free(g->processes);
    g->processes = NULL;
    g->processes_n = 0;
}
