/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one source's worker: start, answers, silence, end. */
#include "app/live-priv.h"
#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOUR_US (INT64_C(3600) * US_PER_S)
#define PAUSE_FIRST_US US_PER_S
#define PAUSE_MAX_US (INT64_C(60) * US_PER_S)
#define END_WAIT_US (INT64_C(200) * US_PER_MS)
/* Finding devices may take seconds a GPU where no one keeps the driver loaded. */
enum { OPENING_DEADLINES = 10 };

int live_slot_start(struct live *l, struct live_slot *s, struct err *err)
{
    char name[16];
    struct live_child child = { .ops = s->ops,
                                .env = { .sysroot = l->sysroot,
                                         .nvml_library = l->nvml_library,
                                         .skip_gpus = s->hung_gpus,
                                         .interval_us = l->interval_us,
                                         .pids = l->pids,
                                         .n_pids = l->n_pids } };
    snprintf(name, sizeof(name), "wattgate: %s", s->ops->name);
    live_forget_ids(l, s);
    codec_reader_reset(s->reader);
    strbuf_clear(&s->in);
    s->asked = false;
    s->sweep_due = s->was_open;
    s->slow_told = false;
    s->fail_code = 0;
    s->left_out = s->hung_gpus;
    s->state = SLOT_OPENING;
    return worker_start(name, live_child_run, &child, &s->worker, err);
}

void live_slot_close(struct live_slot *s)
{
    if (s->worker)
        worker_let_go(s->worker);
    if (s->abandoned)
        worker_let_go(s->abandoned);
    worker_end(s->worker, END_WAIT_US, NULL);
    worker_end(s->abandoned, END_WAIT_US, NULL);
    codec_reader_free(s->reader);
    strbuf_done(&s->in);
    free(s->ids);
}

void live_slot_ask(struct live_slot *s)
{
    if (s->state == SLOT_READY && s->worker && !worker_is_busy(s->worker))
        s->asked = worker_ask(s->worker, "?", 1) == 0;
}

static bool may_restart(struct live_slot *s)
{
    int64_t now_us = worker_now_us();
    if (!s->restarts || now_us - s->hour_us > HOUR_US) {
        s->hour_us = now_us;
        s->restarts = 0;
    }
    return s->restarts < LIVE_RESTARTS_PER_HOUR;
}

/* A worker that hangs may still answer one day; where there is none, another try is made later. */
static int give_up(struct live *l, struct live_slot *s, const char *why)
{
    char text[640];
    s->state = s->worker ? SLOT_BLIND : SLOT_PAUSED;
    s->restart_us = worker_now_us() + HOUR_US;
    s->asked = false;
    snprintf(text, sizeof(text), "%s: %s; its devices are not read", s->ops->name, why);
    return live_note(l, ENTITY_NONE, "blind", text);
}

static void how_it_ended(const struct live_slot *s, int status, char *ret, size_t cap)
{
    if (s->fail_code)
        str_copy(ret, cap, str_from(s->fail_text));
    else if (status >= 0 && WIFSIGNALED(status))
        snprintf(ret, cap, "its worker was ended by signal %d", WTERMSIG(status));
    else
        snprintf(ret, cap, "its worker ended");
}

/* The worker closed its pipe: it failed and said so, crashed, or was killed. */
static int ended(struct live *l, struct live_slot *s)
{
    char why[300], text[400];
    int status = -1;
    worker_end(s->worker, END_WAIT_US, &status);
    s->worker = NULL;
    s->asked = false;
    how_it_ended(s, status, why, sizeof(why));
    if (s->fail_code == -ENODEV && !s->was_open) {
        s->state = SLOT_ABSENT; /* a driver may be loaded later */
        s->restart_us = worker_now_us() + PAUSE_MAX_US;
        return 0;
    }
    if (!may_restart(s))
        return give_up(l, s, why);
    int64_t pause_us = MIN(PAUSE_FIRST_US << MIN(s->restarts, 6u), PAUSE_MAX_US);
    s->restarts++;
    s->restart_us = worker_now_us() + pause_us;
    s->state = SLOT_PAUSED;
    snprintf(text, sizeof(text), "%s: %s; another starts in %" PRId64 " s", s->ops->name, why,
             pause_us / US_PER_S);
    return live_note(l, ENTITY_NONE, "reader", text);
}

static void heard_failure(struct live_slot *s, struct str rest)
{
    struct str word;
    int64_t code = -EIO;
    if (!str_word(&rest, &word) || parse_i64(word, &code) < 0 || code >= 0 || code < -4096)
        code = -EIO;
    s->fail_code = (int) code;
    str_copy(s->fail_text, sizeof(s->fail_text), str_trim(rest));
}

/* A worker that was given up answers after all. */
static int heard_late(struct live *l, struct live_slot *s)
{
    char text[128];
    s->state = SLOT_READY;
    s->hung_gpus = s->left_out; /* what the late worker does not leave out, it reads again */
    snprintf(text, sizeof(text), "%s: the worker answers again", s->ops->name);
    return live_note(l, ENTITY_NONE, "reader", text);
}

static int heard_open(struct live *l, struct live_slot *s)
{
    worker_answered(s->worker);
    s->was_open = true;
    if (s->state == SLOT_BLIND)
        return heard_late(l, s);
    if (s->state == SLOT_OPENING)
        s->state = SLOT_READY;
    return 0;
}

static int heard_done(struct live *l, struct live_slot *s)
{
    int r = 0;
    worker_answered(s->worker);
    s->asked = false;
    if (s->sweep_due)
        r = live_sweep(l, s);
    s->sweep_due = false;
    return s->state == SLOT_BLIND && r >= 0 ? heard_late(l, s) : r;
}

static int heard_control(struct live *l, struct live_slot *s, struct str line)
{
    if (str_starts(line, LIVE_SAYS_FAIL)) {
        heard_failure(s, str_sub(line, sizeof(LIVE_SAYS_FAIL) - 1, line.n));
        return 0;
    }
    if (str_is(line, LIVE_SAYS_OPEN))
        return heard_open(l, s);
    return str_is(line, LIVE_SAYS_DONE) ? heard_done(l, s) : 0;
}

static int heard_line(struct live *l, struct live_slot *s, struct str line)
{
    const struct record *r;
    struct err err;
    if (line.n && line.p[0] == LIVE_CONTROL)
        return heard_control(l, s, str_sub(line, 1, line.n));
    int code = codec_read(s->reader, line, &r, &err);
    if (code == 1)
        return live_accept(l, s, r);
    if (code >= 0 || code == -ENOMEM)
        return code;
    char text[600];
    snprintf(text, sizeof(text), "%s: a line of its worker was dropped: %s", s->ops->name,
             err.text);
    return live_note(l, ENTITY_NONE, "reader", text);
}

static int heard_bytes(struct live *l, struct live_slot *s)
{
    struct str all = strbuf_str(&s->in);
    size_t from = 0;
    int r = 0;
    while (r >= 0) {
        struct str rest = str_sub(all, from, all.n);
        ptrdiff_t n = str_find_char(rest, '\n');
        if (n < 0)
            break;
        r = heard_line(l, s, str_sub(rest, 0, (size_t) n));
        from += (size_t) n + 1;
    }
    strbuf_drop(&s->in, from);
    return r;
}

int live_slot_read(struct live *l, struct live_slot *s)
{
    enum { CHUNK = 16384 };
    while (s->worker) {
        char *at = strbuf_room(&s->in, CHUNK);
        if (!at)
            return -ENOMEM;
        ssize_t n = read(worker_fd(s->worker), at, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0 || s->in.n > LIVE_LINE_MAX)
            return ended(l, s);
        strbuf_took(&s->in, (size_t) n);
        int r = heard_bytes(l, s);
        if (r < 0 || n < CHUNK)
            return r;
    }
    return 0;
}

static void describe_hang(const struct live *l, const struct live_slot *s, uint32_t gpu, char *ret,
                          size_t cap)
{
    struct worker_look look;
    char where[128] = "";
    worker_look(s->worker, &look);
    if (worker_touching(s->worker) >= 0)
        snprintf(where, sizeof(where), " from GPU %d%s%.80s", (int) worker_touching(s->worker),
                 gpu == ENTITY_NONE ? "" : " ", gpu == ENTITY_NONE ? "" : l->entities[gpu].key);
    snprintf(ret, cap, "%s: no answer%s for %" PRId64 " ms; process %d is in state %c%s%s",
             s->ops->name, where, worker_silent_us(s->worker) / US_PER_MS,
             (int) worker_pid(s->worker), look.state, look.wchan[0] ? " at " : "", look.wchan);
}

/* Hung: told, left alone, and replaced once by a worker that keeps away from that GPU. */
static int hung(struct live *l, struct live_slot *s)
{
    char what[300], text[400];
    struct err err;
    int32_t index = worker_touching(s->worker);
    uint32_t gpu = live_find_gpu(l, s, index);
    int r;
    bool blameable = index >= 0 && index < GPU_SET_MAX;
    if (blameable && gpu == ENTITY_NONE && (r = live_declare_hung(l, s, index, &gpu)) < 0)
        return r;
    describe_hang(l, s, gpu, what, sizeof(what));
    if (blameable)
        gpu_set_add(&s->hung_gpus, index);
    bool replace = blameable && !s->replaced && !s->abandoned;
    snprintf(text, sizeof(text), "%s; it is left alone%s", what,
             replace ? ", another worker goes on without that GPU" : "");
    r = live_note(l, gpu, "worker", text);
    if (r < 0)
        return r;
    if (!replace)
        return give_up(l, s, s->replaced ? "the worker that replaced a hung one hangs too" : what);
    s->replaced = true;
    s->abandoned = s->worker;
    s->worker = NULL;
    worker_let_go(s->abandoned);
    return live_slot_start(l, s, &err) < 0 ? give_up(l, s, err.text) : 0;
}

/* The worker that was left alone has ended, so the driver let go: all devices are tried again. */
static int try_all_again(struct live *l, struct live_slot *s)
{
    char text[128];
    struct err err;
    s->retry_due = false;
    s->restarts++;
    snprintf(text, sizeof(text), "%s: the call that hung has ended; all GPUs are read again",
             s->ops->name);
    int r = live_note(l, ENTITY_NONE, "reader", text);
    worker_end(s->worker, END_WAIT_US, NULL);
    s->worker = NULL;
    s->hung_gpus = (struct gpu_set){ { 0 } };
    s->replaced = false;
    if (r >= 0 && live_slot_start(l, s, &err) < 0)
        r = give_up(l, s, err.text);
    return r;
}

static void reap_abandoned(struct live_slot *s)
{
    int status;
    if (!s->abandoned || !worker_has_ended(s->abandoned, &status))
        return;
    worker_end(s->abandoned, 0, NULL);
    s->abandoned = NULL;
    s->retry_due = true;
}

static bool waits_to_start(const struct live_slot *s)
{
    return s->state == SLOT_PAUSED || s->state == SLOT_ABSENT;
}

/* Finding devices may take long and be well: it is told, and nobody is blamed yet. */
static int tell_slow(struct live *l, struct live_slot *s)
{
    char what[300], text[400];
    s->slow_told = true;
    describe_hang(l, s, ENTITY_NONE, what, sizeof(what));
    snprintf(text, sizeof(text), "%s; its devices are not found yet", what);
    return live_note(l, ENTITY_NONE, "worker", text);
}

static int64_t deadline_of(const struct live *l, const struct live_slot *s)
{
    return s->state == SLOT_OPENING ? l->deadline_us * OPENING_DEADLINES : l->deadline_us;
}

int live_slot_check(struct live *l, struct live_slot *s)
{
    struct err err;
    int r = 0;
    reap_abandoned(s);
    if (s->retry_due && s->state == SLOT_READY && may_restart(s))
        r = try_all_again(l, s);
    if (r >= 0 && waits_to_start(s) && worker_now_us() >= s->restart_us &&
        live_slot_start(l, s, &err) < 0)
        r = give_up(l, s, err.text);
    if (r >= 0 && s->worker && s->state == SLOT_OPENING && !s->slow_told &&
        worker_silent_us(s->worker) > l->deadline_us)
        r = tell_slow(l, s);
    if (r >= 0 && s->worker && s->state != SLOT_BLIND &&
        worker_silent_us(s->worker) > deadline_of(l, s))
        r = hung(l, s);
    return r;
}

int64_t live_slot_wait_us(const struct live *l, const struct live_slot *s)
{
    if (waits_to_start(s))
        return s->restart_us - worker_now_us();
    if (!s->worker || s->state == SLOT_BLIND || !worker_is_busy(s->worker))
        return INT64_MAX;
    int64_t us = s->state == SLOT_OPENING && !s->slow_told ? l->deadline_us : deadline_of(l, s);
    return us - worker_silent_us(s->worker);
}
