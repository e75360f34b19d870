/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"
#include "source/host/parse.h"

#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one round may cost. A stat and an io file are about 10 us together, a link about 1 us. */
#define HOLDERS_A_ROUND 24
#define OTHERS_A_ROUND 8
#define LINKS_A_ROUND 64
#define LINKS_A_PROCESS 4096
#define SCAN_FIRST_US HOST_SLOW_US
#define SCAN_DOUBLINGS 6 /* then every 640 s */
#define DEPTH_MAX 64

void host_close_proc(struct host_proc *p)
{
    kfile_close(&p->stat_file);
    kfile_close(&p->io_file);
}

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const struct host_proc *) a)->pid, y = ((const struct host_proc *) b)->pid;
    return (x > y) - (x < y);
}

static struct host_proc *find_proc(struct host *h, int32_t pid)
{
    struct host_proc key = { .pid = pid };
    return h->n_procs ? bsearch(&key, h->procs, h->n_procs, sizeof(key), by_pid) : NULL;
}

static int read_stat(const struct host *h, struct host_proc *p, bool keep, char *buf, size_t cap,
                     struct pid_stat *ret)
{
    char path[48];
    struct str text;
    snprintf(path, sizeof(path), "proc/%d/stat", p->pid);
    int r = keep ? kfile_reread(&p->stat_file, h->root_fd, path, buf, cap, &text)
                 : kfile_read_text(h->root_fd, path, buf, cap, &text);
    return r < 0 ? r : pid_stat_parse(text, ret);
}

static int tell_gone(uint32_t id, int64_t mono_us, struct record_queue *out)
{
    struct record r = { .kind = RECORD_GONE, .mono_us = mono_us };
    r.u.gone = id;
    return record_queue_add(out, &r);
}

static int tell_note(uint32_t id, const char *key, const char *text, int64_t mono_us,
                     struct record_queue *out)
{
    struct record r = { .kind = RECORD_NOTE, .mono_us = mono_us };
    r.u.note = (struct note){ id, str_from(key), str_from(text) };
    return record_queue_add(out, &r);
}

/* ---- which processes there are ---- */

static int add_proc(struct host *h, int32_t pid)
{
    if (h->n_procs == h->cap_procs) {
        size_t cap = MAX(h->cap_procs * 2, (size_t) 256);
        struct host_proc *procs = realloc(h->procs, cap * sizeof(*procs));
        if (!procs)
            return -ENOMEM;
        h->procs = procs;
        h->cap_procs = cap;
    }
    h->procs[h->n_procs++] = (struct host_proc){ .pid = pid, .seen = true };
    return 0;
}

static bool is_asked(const struct host *h, int32_t pid)
{
    for (uint32_t i = 0; i < h->n_asked; i++)
        if (h->asked[i] == pid)
            return true;
    return false;
}

static void identify(const struct host *h, struct host_proc *p)
{
    char buf[2048];
    struct pid_stat s;
    if (read_stat(h, p, false, buf, sizeof(buf), &s) < 0)
        return;
    p->readable = true;
    p->ppid = s.ppid;
    p->start_ticks = s.start_ticks;
    p->kernel = pid_stat_is_kernel(&s);
    p->holder = is_asked(h, p->pid);
    str_copy(p->comm, sizeof(p->comm), s.comm);
}

/* Marks those that are still there, adds the new ones behind the sorted part. */
static int list_pids(struct host *h)
{
    int fd = openat(h->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    size_t known = h->n_procs;
    int r = 0;
    for (struct dirent *e = readdir(dir); e && r == 0; e = readdir(dir)) {
        uint32_t pid;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || parse_u32(str_from(e->d_name), &pid) < 0 ||
            pid > INT32_MAX)
            continue;
        struct host_proc key = { .pid = (int32_t) pid };
        struct host_proc *p = known ? bsearch(&key, h->procs, known, sizeof(key), by_pid) : NULL;
        if (p)
            p->seen = true;
        else
            r = add_proc(h, (int32_t) pid);
    }
    closedir(dir);
    for (size_t i = known; i < h->n_procs; i++)
        identify(h, &h->procs[i]);
    return r;
}

/* Drops what is no longer there. */
static int sweep(struct host *h, int64_t mono_us, struct record_queue *out)
{
    size_t kept = 0;
    int r = 0;
    for (size_t i = 0; i < h->n_procs; i++) {
        struct host_proc *p = &h->procs[i];
        if (p->seen) {
            h->procs[kept++] = *p;
            continue;
        }
        if (p->announced && r == 0)
            r = tell_gone(p->id, mono_us, out);
        host_close_proc(p);
    }
    h->n_procs = kept;
    return r;
}

static int discover(struct host *h, int64_t mono_us, struct record_queue *out)
{
    for (size_t i = 0; i < h->n_procs; i++)
        h->procs[i].seen = false;
    int r = list_pids(h);
    if (r == 0)
        r = sweep(h, mono_us, out);
    if (h->n_procs)
        qsort(h->procs, h->n_procs, sizeof(*h->procs), by_pid);
    return r;
}

/* ---- which of them hold a GPU ---- */

static bool is_gpu_device(struct str path)
{
    return str_starts(path, "/dev/nvidia") || str_is(path, "/dev/kfd") ||
           str_starts(path, "/dev/dri/renderD");
}

/* Number of links that were read. */
static unsigned scan_fds(const struct host *h, struct host_proc *p)
{
    char path[48], target[64];
    unsigned links = 0;
    snprintf(path, sizeof(path), "proc/%d/fd", p->pid);
    int fd = openat(h->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p->fd_denied = fd < 0 && (errno == EACCES || errno == EPERM);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 1;
    }
    for (struct dirent *e = readdir(dir); e && links < LINKS_A_PROCESS; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        ssize_t n = readlinkat(fd, e->d_name, target, sizeof(target));
        links++;
        if (n > 0 && is_gpu_device((struct str){ target, (size_t) n })) {
            p->holder = true;
            break;
        }
    }
    closedir(dir);
    return links + 2;
}

/* New processes are looked at soon and then ever more seldom: a GPU is opened early in a life.
 * True when one was found that holds a GPU. */
static bool scan_due(struct host *h, int64_t mono_us)
{
    bool found = false;
    unsigned budget = LINKS_A_ROUND, used = 0;
    for (size_t i = 0; i < h->n_procs && (used < budget || !h->first_scan_done); i++) {
        struct host_proc *p = &h->procs[i];
        if (p->kernel || p->holder || mono_us < p->scan_due_us)
            continue;
        if (!strcmp(p->comm, "wattgate"))
            p->kernel = true; /* ourselves: our own driver calls are no job */
        else
            used += scan_fds(h, p);
        found |= p->holder;
        p->scan_due_us = mono_us + (SCAN_FIRST_US << MIN(p->scans, SCAN_DOUBLINGS));
        p->scans++;
    }
    h->first_scan_done = true;
    return found;
}

static bool descends_from_holder(struct host *h, const struct host_proc *p)
{
    for (unsigned depth = 0; p && depth < DEPTH_MAX; depth++) {
        if (p->holder || p->watched)
            return true;
        p = p->ppid > 1 ? find_proc(h, p->ppid) : NULL;
    }
    return false;
}

static void mark_watched(struct host *h)
{
    for (size_t i = 0; i < h->n_procs; i++) {
        struct host_proc *p = &h->procs[i];
        if (!p->watched && p->readable && !p->kernel)
            p->watched = descends_from_holder(h, p);
        if (p->holder) {
            const struct host_proc *parent = p->ppid > 1 ? find_proc(h, p->ppid) : NULL;
            p->child = parent && parent->holder;
            if (p->child)
                host_close_proc(p);
        }
    }
}

/* ---- what is told of them ---- */

static int announce(struct host *h, struct host_proc *p, unsigned depth, int64_t mono_us,
                    struct record_queue *out)
{
    struct host_proc *parent = p->ppid > 1 ? find_proc(h, p->ppid) : NULL;
    if (parent && parent->watched && !parent->announced && depth < DEPTH_MAX) {
        int r = announce(h, parent, depth + 1, mono_us, out);
        if (r < 0)
            return r;
    }
    if (p->announced || h->next_id >= HOST_PROC_ENTITIES)
        return 0;
    char key[64];
    snprintf(key, sizeof(key), "pid:%d@%llu", p->pid, (unsigned long long) p->start_ticks);
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    r.u.entity = (struct entity){ .id = h->next_id++,
                                  .kind = ENTITY_PROCESS,
                                  .parent = parent && parent->announced ? parent->id : ENTITY_NONE,
                                  .index = p->pid,
                                  .key = str_from(key),
                                  .name = str_from(p->comm) };
    p->id = r.u.entity.id;
    p->announced = true;
    return record_queue_add(out, &r);
}

/* Read each time, through files that stay open; the others in turn. */
static bool is_primary(const struct host_proc *p)
{
    return p->holder && !p->child;
}

static void gather_io(const struct host *h, struct host_proc *p, struct gather *g)
{
    char path[48], buf[512];
    struct str text;
    int64_t rd = 0, wr = 0;
    int r = -EACCES;
    if (!p->io_denied) {
        snprintf(path, sizeof(path), "proc/%d/io", p->pid);
        r = is_primary(p) ? kfile_reread(&p->io_file, h->root_fd, path, buf, sizeof(buf), &text)
                          : kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text);
        p->io_denied = r == -EACCES;
        if (r == 0)
            r = pid_io_parse(text, &rd, &wr);
    }
    gather_result(g, METRIC_PROC_READ_BYTES, r, rd);
    gather_result(g, METRIC_PROC_WRITE_BYTES, r, wr);
}

/* Where in the kernel a process sleeps that does not answer signals. */
static int tell_wchan(const struct host *h, struct host_proc *p, int64_t mono_us,
                      struct record_queue *out)
{
    char path[48], buf[64];
    struct str text;
    snprintf(path, sizeof(path), "proc/%d/wchan", p->pid);
    if (kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text) < 0 || !text.n ||
        str_is(text, "0") || str_is(text, p->wchan))
        return 0;
    str_copy(p->wchan, sizeof(p->wchan), text);
    return tell_note(p->id, "wchan", p->wchan, mono_us, out);
}

/* The process ended, or its number was given to another. */
static int forget(struct host *h, struct host_proc *p, int64_t mono_us, struct record_queue *out)
{
    int r = tell_gone(p->id, mono_us, out);
    host_close_proc(p);
    *p = (struct host_proc){ .pid = p->pid, .seen = true };
    identify(h, p); /* unreadable when it ended: the next listing drops it */
    return r;
}

static int sample_proc(struct host *h, struct host_proc *p, int64_t mono_us,
                       struct record_queue *out)
{
    char buf[2048];
    struct pid_stat s;
    struct gather g = { .n = 0 };
    int r = read_stat(h, p, is_primary(p), buf, sizeof(buf), &s);
    if (r == -ENOENT || r == -ESRCH || (r == 0 && s.start_ticks != p->start_ticks))
        return forget(h, p, mono_us, out);
    gather_result(&g, METRIC_PROC_STATE, r, r == 0 ? s.state : 0);
    gather_result(&g, METRIC_PROC_CPU_US, r, r == 0 ? s.cpu_us : 0);
    gather_io(h, p, &g);
    if (mono_us >= p->slow_due_us) {
        p->slow_due_us = mono_us + HOST_SLOW_US - HOST_SLOW_US / 20;
        gather_result(&g, METRIC_PROC_THREADS, r, r == 0 ? s.threads : 0);
    }
    int q = gather_flush(&g, p->id, mono_us, out);
    if (q == 0 && r == 0 && s.state == 'D')
        q = tell_wchan(h, p, mono_us, out);
    return q;
}

/* At most `budget` of the holders or of the others, going on where the last round ended. */
static int sample_some(struct host *h, bool holders, unsigned budget, size_t *io_next,
                       int64_t mono_us, struct record_queue *out)
{
    size_t start = *io_next < h->n_procs ? *io_next : 0;
    for (size_t k = 0; k < h->n_procs && budget; k++) {
        size_t i = (start + k) % h->n_procs;
        struct host_proc *p = &h->procs[i];
        if (!p->watched || is_primary(p) != holders)
            continue;
        int r = announce(h, p, 0, mono_us, out);
        if (r == 0 && p->announced)
            r = sample_proc(h, p, mono_us, out);
        if (r < 0)
            return r;
        budget--;
        *io_next = i + 1;
    }
    return 0;
}

static int tell_denied(struct host *h, int64_t mono_us, struct record_queue *out)
{
    size_t denied = 0;
    for (size_t i = 0; i < h->n_procs; i++)
        denied += h->procs[i].fd_denied || (!h->procs[i].readable && !h->procs[i].kernel);
    bool tell = denied > 0 && h->denied_told == 0;
    h->denied_told = denied;
    if (!tell)
        return 0;
    char text[160];
    snprintf(text, sizeof(text),
             "%zu of %zu processes cannot be looked into: whether they hold a GPU is not known",
             denied, h->n_procs);
    return tell_note(0, "host", text, mono_us, out);
}

int host_poll_procs(struct host *h, int64_t mono_us, bool slow, struct record_queue *out)
{
    int r = slow ? discover(h, mono_us, out) : 0;
    if (r < 0)
        return r;
    bool found = scan_due(h, mono_us);
    if (slow || !h->next_id)
        r = tell_denied(h, mono_us, out);
    if (slow || found)
        mark_watched(h);
    if (r == 0)
        r = sample_some(h, true, HOLDERS_A_ROUND, &h->next_holder, mono_us, out);
    return r < 0 ? r : sample_some(h, false, OTHERS_A_ROUND, &h->next_other, mono_us, out);
}
