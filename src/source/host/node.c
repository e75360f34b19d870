/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"
#include "source/host/parse.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static int announce_node(struct host *h, int64_t mono_us, struct record_queue *out)
{
    char buf[256];
    struct str name = { NULL, 0 };
    if (h->node_told)
        return 0;
    if (kfile_read_text(h->root_fd, "proc/sys/kernel/hostname", buf, sizeof(buf), &name) < 0 ||
        !name.n)
        name = STR("node");
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    r.u.entity = (struct entity){ .id = h->next_id++, /* 0: the first of all */
                                  .kind = ENTITY_NODE,
                                  .parent = ENTITY_NONE,
                                  .index = -1,
                                  .key = name,
                                  .name = name };
    h->node_told = true;
    return record_queue_add(out, &r);
}

static void gather_psi(const struct host *h, struct gather *g)
{
    static const struct {
        const char *path;
        enum metric some, full;
    } rows[] = {
        { "proc/pressure/cpu", METRIC_PSI_CPU_SOME_US, METRIC_UNKNOWN },
        { "proc/pressure/io", METRIC_PSI_IO_SOME_US, METRIC_PSI_IO_FULL_US },
        { "proc/pressure/memory", METRIC_PSI_MEMORY_SOME_US, METRIC_PSI_MEMORY_FULL_US },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char buf[512];
        struct str text;
        int64_t some = 0, full = -1;
        int r = kfile_read_text(h->root_fd, rows[i].path, buf, sizeof(buf), &text);
        if (r == 0)
            r = psi_parse(text, &some, &full);
        gather_result(g, rows[i].some, r, some);
        if (rows[i].full == METRIC_UNKNOWN)
            continue;
        if (r == 0 && full < 0)
            gather_missing(g, rows[i].full, OBS_ABSENT);
        else
            gather_result(g, rows[i].full, r, full);
    }
}

/* The kernel makes all lines for each reader; only the first is looked at. */
static void gather_cpu(struct host *h, int64_t mono_us, struct gather *g)
{
    char buf[1024];
    size_t n = 0;
    int64_t busy = 0, iowait = 0;
    if (mono_us < h->cpu_due_us)
        return;
    h->cpu_due_us = mono_us + h->cpu_period_us - h->cpu_period_us / 10;
    int r = kfile_read(h->root_fd, "proc/stat", buf, sizeof(buf), &n);
    if (r == -EMSGSIZE)
        r = 0;
    if (r == 0)
        r = cpu_stat_parse((struct str){ buf, n }, &busy, &iowait);
    gather_result(g, METRIC_NODE_CPU_BUSY_US, r, busy);
    gather_result(g, METRIC_NODE_CPU_IOWAIT_US, r, iowait);
}

static void gather_dirty(const struct host *h, struct gather *g)
{
    char buf[4096];
    struct str text;
    int64_t bytes = 0;
    int r = kfile_read_text(h->root_fd, "proc/meminfo", buf, sizeof(buf), &text);
    if (r == 0)
        r = meminfo_dirty(text, &bytes);
    if (r == -ENODATA)
        gather_missing(g, METRIC_NODE_DIRTY_BYTES, OBS_ABSENT);
    else
        gather_result(g, METRIC_NODE_DIRTY_BYTES, r, bytes);
}

int host_poll_node(struct host *h, int64_t mono_us, struct record_queue *out)
{
    int r = announce_node(h, mono_us, out);
    if (r < 0)
        return r;
    struct gather g = { .n = 0 };
    gather_psi(h, &g);
    gather_cpu(h, mono_us, &g);
    gather_dirty(h, &g);
    return gather_flush(&g, 0, mono_us, out);
}

/* ---- NFS ---- */

static struct host_mount *find_mount(struct host *h, struct str path)
{
    struct host_mount *unused = NULL;
    for (size_t i = 0; i < HOST_MOUNTS; i++) {
        if (h->mounts[i].used && str_is(path, h->mounts[i].path))
            return &h->mounts[i];
        if (!h->mounts[i].used && !unused)
            unused = &h->mounts[i];
    }
    return unused;
}

static int announce_mount(struct host *h, struct host_mount *m, const struct nfs_mount *nfs,
                          int64_t mono_us, struct record_queue *out)
{
    *m = (struct host_mount){ .used = true, .id = h->next_id++ };
    str_copy(m->path, sizeof(m->path), nfs->path);
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    r.u.entity = (struct entity){ .id = m->id,
                                  .kind = ENTITY_MOUNT,
                                  .parent = ENTITY_NONE,
                                  .index = -1,
                                  .key = str_from(m->path),
                                  .name = nfs->device };
    return record_queue_add(out, &r);
}

static void gather_op(struct gather *g, const struct nfs_mount *nfs, const struct nfs_op *op,
                      enum metric first, int64_t bytes)
{
    /* The catalogue keeps the four of an operation together: ops, bytes, rtt, queue. */
    int64_t v[4] = { op->ops, bytes, op->rtt_us, op->queue_us };
    for (unsigned i = 0; i < 4; i++) {
        enum metric m = (enum metric)((unsigned) first + i);
        if (!nfs->supported)
            gather_missing(g, m, OBS_UNSUPPORTED);
        else if (!op->valid)
            gather_missing(g, m, nfs->broken ? OBS_ERROR : OBS_ABSENT);
        else
            gather_value(g, m, v[i]);
    }
}
_Static_assert(METRIC_NFS_READ_QUEUE_US == METRIC_NFS_READ_OPS + 3 &&
                   METRIC_NFS_WRITE_QUEUE_US == METRIC_NFS_WRITE_OPS + 3,
               "gather_op counts on this order");

static int poll_mount(struct host *h, const struct nfs_mount *nfs, int64_t mono_us,
                      struct record_queue *out)
{
    struct host_mount *m = find_mount(h, nfs->path);
    if (!m || nfs->path.n >= sizeof(m->path) || (m->used && m->seen) || h->next_id >= ENTITY_MAX)
        return 0; /* too many, too long, or hidden below a later mount */
    int r = m->used ? 0 : announce_mount(h, m, nfs, mono_us, out);
    if (r < 0)
        return r;
    m->seen = true;
    struct gather g = { .n = 0 };
    gather_op(&g, nfs, &nfs->read, METRIC_NFS_READ_OPS, nfs->read.received_bytes);
    gather_op(&g, nfs, &nfs->write, METRIC_NFS_WRITE_OPS, nfs->write.sent_bytes);
    return gather_flush(&g, m->id, mono_us, out);
}

int host_poll_mounts(struct host *h, int64_t mono_us, struct record_queue *out)
{
    size_t n = 0;
    int r = kfile_read(h->root_fd, "proc/self/mountstats", h->text, HOST_TEXT_BYTES, &n);
    if (r < 0 && r != -EMSGSIZE)
        return 0; /* `about` says so; mounts that were known keep their last values */
    for (size_t i = 0; i < HOST_MOUNTS; i++)
        h->mounts[i].seen = false;
    struct str rest = { h->text, n };
    struct nfs_mount nfs;
    while (nfs_mount_next(&rest, &nfs) > 0) {
        bool cut = r == -EMSGSIZE && !rest.n;
        int q = cut ? 0 : poll_mount(h, &nfs, mono_us, out);
        if (q < 0)
            return q;
    }
    for (size_t i = 0; i < HOST_MOUNTS && r == 0; i++) {
        if (!h->mounts[i].used || h->mounts[i].seen)
            continue;
        struct record gone = { .kind = RECORD_GONE, .mono_us = mono_us };
        gone.u.gone = h->mounts[i].id;
        h->mounts[i].used = false;
        int q = record_queue_add(out, &gone);
        if (q < 0)
            return q;
    }
    return 0;
}
