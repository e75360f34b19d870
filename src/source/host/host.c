/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"

#include "base/parse.h"
#include "sys/rootdir.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* True once a period, with room for a round that comes a little early. */
static bool due(int64_t *io_due_us, int64_t mono_us, int64_t period_us)
{
    if (mono_us < *io_due_us)
        return false;
    *io_due_us = mono_us + period_us - period_us / 10;
    return true;
}

static int host_poll(struct source *src, int64_t mono_us, struct record_queue *out, struct err *err)
{
    struct host *h = CONTAINER_OF(src, struct host, source);
    if (!due(&h->tick_due_us, mono_us, h->period_us))
        return 0;
    bool slow = due(&h->slow_due_us, mono_us, HOST_SLOW_US);
    bool rare = due(&h->rare_due_us, mono_us, HOST_RARE_US);
    int r = host_poll_node(h, mono_us, out);
    if (r == 0)
        r = host_poll_links(h, mono_us, slow, rare, out);
    if (r == 0 && slow)
        r = host_poll_mounts(h, mono_us, out);
    if (r == 0)
        r = host_poll_procs(h, mono_us, slow, out);
    return r < 0 ? err_sys(err, -r, "queue of host records") : 0;
}

static void host_close(struct source *src)
{
    if (!src)
        return;
    struct host *h = CONTAINER_OF(src, struct host, source);
    if (h->root_fd >= 0)
        close(h->root_fd);
    for (size_t i = 0; i < h->n_procs; i++)
        host_close_proc(&h->procs[i]);
    for (size_t i = 0; i < ARRAY_SIZE(h->psi); i++)
        kfile_close(&h->psi[i]);
    kfile_close(&h->cpu);
    kfile_close(&h->meminfo);
    free(h->procs);
    free(h->text);
    free(h);
}

/* "0-191" or "0,2-7": the highest number and one; 1 when it cannot be read. */
static int64_t count_cpus(const struct host *h)
{
    char buf[256];
    struct str text;
    uint32_t last;
    if (kfile_read_text(h->root_fd, "sys/devices/system/cpu/online", buf, sizeof(buf), &text) < 0)
        return 1;
    size_t at = text.n;
    while (at && text.p[at - 1] >= '0' && text.p[at - 1] <= '9')
        at--;
    return parse_u32(str_sub(text, at, text.n), &last) == 0 ? (int64_t) last + 1 : 1;
}

static int host_open(const struct source_env *env, struct source **ret, struct err *err)
{
    struct host *h = calloc(1, sizeof(*h));
    char *text = malloc(HOST_TEXT_BYTES);
    if (!h || !text) {
        free(h);
        free(text);
        return err_sys(err, ENOMEM, "host");
    }
    *h = (struct host){ .source = { &host_source },
                        .root_fd = -1,
                        .period_us = MAX(env->interval_us, HOST_TICK_US),
                        .asked = env->pids,
                        .n_asked = env->n_pids,
                        .text = text };
    int r = rootdir_open(env->sysroot, &h->root_fd, err);
    if (r == 0 && faccessat(h->root_fd, "proc", R_OK | X_OK, 0) < 0)
        r = err_set(err, -ENODEV, "no '/proc' below '%s': mount it", env->sysroot);
    if (r < 0) {
        host_close(&h->source);
        return r;
    }
    h->cpu_period_us = CLAMP(count_cpus(h) / 64 * HOST_TICK_US, HOST_TICK_US, HOST_SLOW_US);
    *ret = &h->source;
    return 0;
}

const struct source_ops host_source = {
    .name = "host",
    .open = host_open,
    .poll = host_poll,
    .close = host_close,
    .about = host_about,
};
