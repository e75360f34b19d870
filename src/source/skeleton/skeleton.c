/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest source that keeps every rule of source.h: one node, one number. Copy this folder,
 * rename, and follow docs/dev/add-a-source.md. It is compiled and tested, and not in source_table.
 */
#include "source/skeleton/skeleton.h"

#include "base/parse.h"
#include "source/kfile.h"
#include "sys/rootdir.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* What the source remembers between polls. The embedded struct is first by habit, not by need:
 * CONTAINER_OF finds the way back. */
struct skeleton {
    struct source source;
    int root_fd;
    bool announced;
};

static const char path[] = "proc/uptime"; /* below env->sysroot, without a leading slash */

static void skeleton_close(struct source *src)
{
    if (!src)
        return; /* NULL is allowed, and so is one that open() gave up half-way */
    struct skeleton *s = CONTAINER_OF(src, struct skeleton, source);
    if (s->root_fd >= 0)
        close(s->root_fd);
    free(s);
}

/* Finds its devices. -ENODEV, with the reason, where there is nothing to read: that is normal. */
static int skeleton_open(const struct source_env *env, struct source **ret, struct err *err)
{
    struct skeleton *s = calloc(1, sizeof(*s));
    if (!s)
        return err_sys(err, ENOMEM, "skeleton");
    *s = (struct skeleton){ .source = { &skeleton_source }, .root_fd = -1 };
    int r = rootdir_open(env->sysroot, &s->root_fd, err);
    if (r == 0 && faccessat(s->root_fd, path, R_OK, 0) < 0)
        r = err_set(err, -ENODEV, "no '/%s' to read", path);
    if (r < 0) {
        skeleton_close(&s->source);
        return r;
    }
    *ret = &s->source; /* written only on success */
    return 0;
}

/* Each entity is told of once, before its first sample. */
static int announce(struct skeleton *s, int64_t mono_us, struct record_queue *out)
{
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    r.u.entity = (struct entity){
        .id = 0, .kind = ENTITY_NODE, .parent = ENTITY_NONE, .index = -1, .key = STR("skeleton")
    };
    s->announced = true;
    return record_queue_add(out, &r);
}

/* "123.45 456.78" in seconds. A source with several formats keeps its parsers in a file of their
 * own, pure, with a fuzz target. */
static int read_uptime_us(const struct skeleton *s, int64_t *ret_us)
{
    char buf[128];
    struct str text, word;
    int r = kfile_read_text(s->root_fd, path, buf, sizeof(buf), &text);
    if (r < 0)
        return r;
    return str_word(&text, &word) ? parse_scaled(word, 1000000, ret_us) : -EINVAL;
}

/* What cannot be read becomes an observation that says why. An error ends the source, so only a
 * lack of memory is one. The time is an argument: a source stamps records with it. */
static int skeleton_poll(struct source *src, int64_t mono_us, struct record_queue *out,
                         struct err *err)
{
    struct skeleton *s = CONTAINER_OF(src, struct skeleton, source);
    int64_t uptime_us = 0;
    struct gather g = { .n = 0 };
    int r = s->announced ? 0 : announce(s, mono_us, out);
    int result = read_uptime_us(s, &uptime_us);
    gather_result(&g, METRIC_NODE_CPU_BUSY_US, result, uptime_us); /* stands for a real metric */
    if (r == 0)
        r = gather_flush(&g, 0, mono_us, out);
    return r < 0 ? err_sys(err, -r, "queue of skeleton records") : 0;
}

/* Works without open(): `wattgate doctor` asks on machines where open() fails. */
static void skeleton_about(const struct source_env *env, struct capability_list *out)
{
    struct source *src = NULL;
    struct err err = { 0 };
    int r = skeleton_open(env, &src, &err);
    capability_add(out, "skeleton.uptime", r == 0 ? ABILITY_YES : ABILITY_NO, err.text,
                   r == 0 ? "" : "mount /proc");
    skeleton_close(src);
}

const struct source_ops skeleton_source = {
    .name = "skeleton",
    .open = skeleton_open,
    .poll = skeleton_poll,
    .close = skeleton_close,
    .about = skeleton_about,
};
