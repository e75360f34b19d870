/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of a source: opens it, polls when asked, answers in lines. */
#include "app/live-priv.h"
#include "sys/clock.h"

#include <errno.h>
#include <unistd.h>

static int write_all(int fd, struct str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EPIPE;
        s = str_sub(s, (size_t) n, s.n);
    }
    return 0;
}

static int say(const struct worker_side *side, struct strbuf *out)
{
    int r = out->error ? out->error : write_all(side->out_fd, strbuf_str(out));
    strbuf_clear(out);
    return r;
}

static int say_failed(const struct worker_side *side, struct strbuf *out, int code,
                      const struct err *err)
{
    strbuf_clear(out);
    strbuf_addf(out, "%c%s%d ", LIVE_CONTROL, LIVE_SAYS_FAIL, code);
    for (const char *c = err->text; *c; c++)
        strbuf_addc(out, (char) (*c == '\n' ? ' ' : *c));
    strbuf_addc(out, '\n');
    return say(side, out);
}

/* The time is asked here, right before the driver is. */
static int poll_once(struct source *src, struct record_queue *q, struct codec_writer *w,
                     struct strbuf *out, struct err *err)
{
    const struct record *rec;
    int r = src->ops->poll(src, clock_mono_us(), q, err);
    if (r < 0)
        return r;
    while (record_queue_next(q, &rec) > 0)
        if ((r = codec_write(w, rec, out, err)) == -ENOMEM)
            return r; /* any other: a record that breaks a rule is not sent */
    strbuf_addf(out, "%c%s\n", LIVE_CONTROL, LIVE_SAYS_DONE);
    return 0;
}

/* Questions that piled up are one question. False when the parent is gone. */
static bool next_question(int fd)
{
    char bytes[64];
    ssize_t n;
    do
        n = read(fd, bytes, sizeof(bytes));
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* Nothing is closed at the end: closing may hang as well, and the kernel does it. */
int live_child_run(const struct worker_side *side, void *arg)
{
    struct live_child *c = arg;
    struct err err = { .text = "" };
    struct strbuf out = STRBUF_INIT;
    struct source *src;
    struct record_queue *q = record_queue_new();
    struct codec_writer *w = codec_writer_new();
    c->env.pulse = side->pulse;
    if (!q || !w)
        return 1;
    int r = c->ops->open(&c->env, &src, &err);
    if (r < 0)
        return say_failed(side, &out, r, &err) < 0;
    strbuf_addf(&out, "%c%s\n", LIVE_CONTROL, LIVE_SAYS_OPEN);
    if (say(side, &out) < 0)
        return 1;
    while (next_question(side->in_fd)) {
        r = poll_once(src, q, w, &out, &err);
        if (r < 0)
            return say_failed(side, &out, r, &err) < 0;
        if (say(side, &out) < 0)
            return 1;
    }
    return 0;
}
