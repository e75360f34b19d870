/* SPDX-License-Identifier: Apache-2.0 */
#include "app/intake.h"

#include "app/live.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

struct intake {
    struct live *live;
    struct trace *trace;
    const char *path;
};

/* Signal handlers have no argument; one intake is open at a time. */
static struct live *volatile interrupted_live;
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void) number;
    interrupted = 1;
    if (interrupted_live)
        live_stop(interrupted_live);
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    /* The second Ctrl-C kills, should the orderly end take too long. */
    action.sa_flags = (int) SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    interrupted = 0;
}

int intake_check(const struct intake_options *o, struct err *err)
{
    if (!o->format)
        return 0;
    return trace_check_format(o->format, err);
}

int intake_open(const struct intake_options *o, struct intake **ret, struct err *err)
{
    AUTO(intake) struct intake *f = calloc(1, sizeof(*f));
    if (!f)
        return err_sys(err, ENOMEM, "open telemetry");
    f->path = o->path;
    int r;
    if (o->path) {
        r = trace_open(o->path, o->format, &f->trace, err);
    } else {
        struct live_options live = { .interval_us = o->interval_us,
                                     .deadline_us = o->deadline_us,
                                     .sysroot = o->sysroot,
                                     .nvml_library = o->nvml_library,
                                     .pids = o->pids,
                                     .n_pids = o->n_pids };
        r = live_open(&live, &f->live, err);
    }
    if (r < 0)
        return r;
    interrupted_live = f->live;
    catch_signals();
    *ret = TAKE(f);
    return 0;
}

int intake_next(struct intake *f, const struct record **ret, struct err *err)
{
    if (f->live)
        return live_next(f->live, ret, err);
    return interrupted ? 0 : trace_next(f->trace, ret, err);
}

bool intake_is_live(const struct intake *f)
{
    return f->live != NULL;
}

bool intake_is_opening(const struct intake *f)
{
    return f->live && live_is_opening(f->live);
}

bool intake_interrupted(void)
{
    return interrupted;
}

void intake_complaints(const struct intake *f, struct strbuf *out)
{
    if (!f->trace)
        return;
    const struct trace_report *r = trace_report(f->trace);
    if (r->dropped)
        strbuf_addf(out,
                    "%s: %" PRIu64 " of %" PRIu64 " lines or values made no sense and were "
                    "dropped, the first: %s\n",
                    f->path, r->dropped, r->lines, r->first_drop);
    if (r->torn)
        strbuf_addf(out, "%s: ends in the middle of a record; all before it was kept\n", f->path);
}

void intake_close(struct intake *f)
{
    if (!f)
        return;
    interrupted_live = NULL;
    live_close(f->live);
    trace_close(f->trace);
    free(f);
}
