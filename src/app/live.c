/* SPDX-License-Identifier: Apache-2.0 */
#include "app/live.h"

#include "app/live-priv.h"
#include "base/units.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_MIN_US (INT64_C(100) * US_PER_MS)
#define DEADLINE_US (INT64_C(3) * US_PER_S)
#define GRACE_MAX_US US_PER_S
#define CLOCK_STEP_US (INT64_C(100) * US_PER_MS)

static int64_t wall_offset_us(void)
{
    return clock_wall_us() - clock_mono_us();
}

/* xorshift: spreads the polls, decides nothing. */
static int64_t jitter_us(struct live *l)
{
    l->random ^= l->random << 13;
    l->random ^= l->random >> 7;
    l->random ^= l->random << 17;
    return (int64_t) (l->random % (uint64_t) (l->interval_us / 10 + 1));
}

static bool is_wanted(const struct live_options *o, const char *name)
{
    for (size_t i = 0; o->only && o->only[i]; i++)
        if (!strcmp(o->only[i], name))
            return true;
    return !o->only;
}

static int check_names(const struct live_options *o, struct err *err)
{
    for (size_t i = 0; o->only && o->only[i]; i++) {
        bool known = false;
        for (size_t k = 0; source_table[k]; k++)
            known |= !strcmp(source_table[k]->name, o->only[i]);
        if (!known)
            return err_set(err, -EINVAL, "no source is called '%s'", o->only[i]);
    }
    return 0;
}

static int emit_header(struct live *l)
{
    char host[256] = "", boot_id[64] = "";
    if (gethostname(host, sizeof(host)) < 0)
        host[0] = '\0';
    host[sizeof(host) - 1] = '\0';
    clock_boot_id(boot_id, sizeof(boot_id));
    l->wall_offset_us = wall_offset_us();
    struct record r = { .kind = RECORD_HEADER,
                        .mono_us = clock_mono_us(),
                        .u.header = { .clock = CLOCK_STEADY,
                                      .tool = str_from("wattgate " WATTGATE_VERSION),
                                      .host = str_from(host),
                                      .boot_id = str_from(boot_id),
                                      .wall_offset_us = l->wall_offset_us,
                                      .interval_us = l->interval_us } };
    return live_emit(l, &r);
}

static struct live *live_new(const struct live_options *o)
{
    struct live *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->stop_fds[0] = l->stop_fds[1] = -1;
    l->interval_us = MAX(o->interval_us, INTERVAL_MIN_US);
    l->deadline_us = o->deadline_us > 0 ? o->deadline_us : DEADLINE_US;
    l->sysroot = str_dup(str_from(o->sysroot ? o->sysroot : "/"));
    l->nvml_library = o->nvml_library ? str_dup(str_from(o->nvml_library)) : NULL;
    l->pids = o->n_pids ? calloc(o->n_pids, sizeof(*l->pids)) : NULL;
    l->n_pids = l->pids ? o->n_pids : 0;
    if (l->pids)
        memcpy(l->pids, o->pids, o->n_pids * sizeof(*l->pids));
    l->queue = record_queue_new();
    l->random = (uint64_t) clock_wall_us();
    (void) !getrandom(&l->random, sizeof(l->random), GRND_NONBLOCK);
    l->random |= 1;
    if (!l->sysroot || (o->nvml_library && !l->nvml_library) || !l->queue ||
        l->n_pids != o->n_pids || pipe2(l->stop_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        live_close(l);
        return NULL;
    }
    return l;
}

void live_close(struct live *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->slots_n; i++)
        live_slot_close(&l->slots[i]);
    live_free_entities(l);
    record_queue_free(l->queue);
    for (int i = 0; i < 2; i++)
        if (l->stop_fds[i] >= 0)
            close(l->stop_fds[i]);
    free(l->sysroot);
    free(l->nvml_library);
    free(l->pids);
    free(l);
}

void live_stop(struct live *l)
{
    int saved = errno;
    l->stopped = 1;
    (void) !write(l->stop_fds[1], "", 1); /* full means that it was told already */
    errno = saved;
}

static int start_workers(struct live *l, const struct live_options *o, struct err *err)
{
    for (size_t i = 0; source_table[i] && l->slots_n < LIVE_SLOTS_MAX; i++) {
        if (!is_wanted(o, source_table[i]->name))
            continue;
        struct live_slot *s = &l->slots[l->slots_n++];
        s->ops = source_table[i];
        s->reader = codec_reader_new();
        if (!s->reader)
            return err_sys(err, ENOMEM, "live telemetry");
        int r = live_slot_start(l, s, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Real microseconds until something has to be done, whatever the workers say. */
static int64_t wait_us(const struct live *l)
{
    int64_t left_us = clock_wait_us(l->round_open ? l->close_us : l->next_round_us);
    for (uint32_t i = 0; i < l->slots_n; i++)
        left_us = MIN(left_us, live_slot_wait_us(l, &l->slots[i]));
    return MAX(left_us, 0);
}

/* Waits at most `limit_us` and takes what came. */
static int listen_once(struct live *l, int64_t limit_us)
{
    struct pollfd fds[LIVE_SLOTS_MAX + 1];
    struct live_slot *of[LIVE_SLOTS_MAX + 1] = { NULL };
    nfds_t n = 0;
    fds[n++] = (struct pollfd){ .fd = l->stop_fds[0], .events = POLLIN };
    for (uint32_t i = 0; i < l->slots_n; i++) {
        if (!l->slots[i].worker)
            continue;
        of[n] = &l->slots[i];
        fds[n++] = (struct pollfd){ .fd = worker_fd(l->slots[i].worker), .events = POLLIN };
    }
    l->planned_us = worker_now_us() + limit_us;
    const struct timespec limit = { .tv_sec = limit_us / US_PER_S,
                                    .tv_nsec = limit_us % US_PER_S * NS_PER_US };
    if (ppoll(fds, n, &limit, NULL) <= 0)
        return 0;
    for (nfds_t i = 1; i < n; i++) {
        if (!fds[i].revents)
            continue;
        int r = live_slot_read(l, of[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Judges the workers, after all that they said was taken. If this side itself stood still (a
 * suspended machine, a caller that was busy), the workers' time starts anew. */
static int check_slots(struct live *l)
{
    bool late = l->planned_us && worker_now_us() - l->planned_us > l->deadline_us / 2;
    for (uint32_t i = 0; i < l->slots_n; i++) {
        struct live_slot *s = &l->slots[i];
        int r = 0;
        if (late && s->worker)
            r = live_slot_read(l, s);
        if (late && s->worker)
            worker_forgive(s->worker);
        if (r >= 0)
            r = live_slot_check(l, s);
        if (r < 0)
            return r;
    }
    return 0;
}

static void open_round(struct live *l, int64_t now_us)
{
    l->round_open = true;
    l->close_us = now_us + MIN(l->interval_us / 2, GRACE_MAX_US);
    for (uint32_t i = 0; i < l->slots_n; i++)
        live_slot_ask(&l->slots[i]);
    do /* rounds that were slept through are left out */
        l->round_us += l->interval_us;
    while (l->round_us <= now_us);
    l->next_round_us = l->round_us + jitter_us(l);
}

static bool all_answered(const struct live *l)
{
    for (uint32_t i = 0; i < l->slots_n; i++)
        if (l->slots[i].asked)
            return false;
    return true;
}

static int close_round(struct live *l)
{
    l->round_open = false;
    int r = live_tell_unread(l);
    int64_t now_us = clock_mono_us(), offset_us = clock_wall_us() - now_us;
    if (r >= 0 && llabs(offset_us - l->wall_offset_us) > CLOCK_STEP_US) {
        struct record step = { .kind = RECORD_CLOCK,
                               .mono_us = now_us,
                               .u.wall_offset_us = offset_us };
        l->wall_offset_us = offset_us;
        r = live_emit(l, &step);
    }
    struct record tick = { .kind = RECORD_TICK, .mono_us = now_us };
    return r < 0 ? r : live_emit(l, &tick);
}

static int turn(struct live *l)
{
    int64_t now_us = clock_mono_us();
    if (!l->round_open && now_us >= l->next_round_us)
        open_round(l, now_us);
    int r = listen_once(l, record_queue_is_empty(l->queue) ? wait_us(l) : 0);
    if (r >= 0)
        r = check_slots(l);
    if (r >= 0 && l->round_open && (all_answered(l) || clock_mono_us() >= l->close_us))
        r = close_round(l);
    return r;
}

int live_next(struct live *l, const struct record **ret, struct err *err)
{
    while (!l->stopped) {
        if (record_queue_next(l->queue, ret) > 0)
            return 1;
        int r = turn(l);
        if (r < 0)
            return err_sys(err, -r, "live telemetry");
    }
    return 0;
}

static bool is_any(const struct live *l, enum slot_state state)
{
    for (uint32_t i = 0; i < l->slots_n; i++)
        if (l->slots[i].state == state)
            return true;
    return false;
}

bool live_is_opening(const struct live *l)
{
    return is_any(l, SLOT_OPENING);
}

/* Until every source said what it found, or the deadline is over: a slow one may come later. */
static int wait_for_sources(struct live *l, struct err *err)
{
    int64_t until_us = worker_now_us() + l->deadline_us, left_us;
    int r = 0;
    while (r >= 0 && is_any(l, SLOT_OPENING) && (left_us = until_us - worker_now_us()) > 0)
        r = listen_once(l, left_us);
    if (r < 0)
        return err_sys(err, -r, "live telemetry");
    if (is_any(l, SLOT_READY) || is_any(l, SLOT_OPENING) || is_any(l, SLOT_PAUSED))
        return 0;
    AUTO(strbuf) struct strbuf why = STRBUF_INIT;
    for (uint32_t i = 0; i < l->slots_n; i++)
        strbuf_addf(&why, "%s%s: %s", i ? "; " : "", l->slots[i].ops->name, l->slots[i].fail_text);
    return err_set(err, -ENODEV, "nothing to read on this machine: %s", strbuf_text(&why));
}

int live_open(const struct live_options *options, struct live **ret, struct err *err)
{
    int r = check_names(options, err);
    if (r < 0)
        return r;
    AUTO(live) struct live *l = live_new(options);
    if (!l)
        return err_sys(err, ENOMEM, "live telemetry");
    if (emit_header(l) < 0)
        return err_sys(err, ENOMEM, "live telemetry");
    if ((r = start_workers(l, options, err)) < 0 || (r = wait_for_sources(l, err)) < 0)
        return r;
    l->round_us = l->next_round_us = clock_mono_us();
    *ret = TAKE(l);
    return 0;
}
