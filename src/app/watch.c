/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch.h"

#include "app/output.h"
#include "app/watch-job.h"
#include "app/watch-text.h"
#include "base/exit.h"
#include "base/units.h"
#include "tables/tables.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct run {
    const struct watch_request *rq;
    struct tables tables;
    struct watched watched;
    struct intake *intake;
    struct triage *triage; /* for the levels of the boards */
    struct collect *collect;
    struct watch *watch;
    struct trace_writer *writer;
    struct strbuf out;
    int64_t wall_offset_us, first_us;
    bool told; /* something was said of the verdict */
};

static struct verdict_context context(const struct run *run)
{
    return (struct verdict_context){ .job = &run->watched.job,
                                     .collect = run->collect,
                                     .wall_offset_us = run->wall_offset_us,
                                     .now_us = collect_second(run->collect)->mono_us };
}

static void say(struct run *run)
{
    const struct verdict_context c = context(run);
    run->told = true;
    if (run->rq->common->json)
        verdict_json(&c, watch_verdict(run->watch), &run->out);
    else
        verdict_text(&c, watch_verdict(run->watch), &run->out);
}

/* The levels of a rank's board, once the device is known and has told its limit. */
static void learn_levels(struct run *run)
{
    for (uint32_t i = 0; i < run->watched.job.n; i++) {
        struct watch_rank *r = &run->watched.ranks[i];
        const char *device = collect_device(run->collect, i);
        for (size_t k = 0; r->limit_mw < 0 && device[0] && k < triage_devices(run->triage); k++) {
            const struct triage_device *d = triage_device(run->triage, k);
            if (strcmp(d->key, device) != 0 || d->limit_mw < 0)
                continue;
            str_copy(r->device, sizeof(r->device), str_from(device));
            r->bare_mw = d->anchor_mw[ANCHOR_BARE];
            r->held_mw = d->anchor_mw[ANCHOR_HELD];
            r->limit_mw = d->limit_mw;
            r->table = d->calibration != CALIBRATION_LEARNED;
            watch_set_levels(run->watch, i, r);
        }
    }
}

static int take(struct run *run, const struct record *r, struct err *err)
{
    int result = triage_feed(run->triage, r, err);
    if (result == 0 && run->writer)
        result = trace_writer_add(run->writer, r, err);
    if (result == 0 && run->writer && r->kind == RECORD_HEADER)
        result = watched_record(&run->watched, r->mono_us, run->writer, err);
    if (result == 0)
        result = collect_take(run->collect, r, err);
    if (r->kind == RECORD_HEADER)
        run->wall_offset_us = r->u.header.wall_offset_us;
    if (r->kind == RECORD_CLOCK)
        run->wall_offset_us = r->u.wall_offset_us;
    if (result <= 0)
        return result;
    learn_levels(run);
    if (watch_feed(run->watch, collect_second(run->collect)) || !run->told)
        say(run);
    return output_flush(&run->out, stdout, err);
}

static bool is_over(struct run *run, const struct record *r)
{
    if (r->kind != RECORD_TICK)
        return false;
    if (run->first_us < 0)
        run->first_us = r->mono_us;
    return watch_verdict(run->watch)->verdict == VERDICT_FINISHED ||
           (run->rq->for_us && r->mono_us - run->first_us >= run->rq->for_us);
}

static int stand_beside(struct run *run, struct err *err)
{
    const struct record *r;
    int result;
    while ((result = intake_next(run->intake, &r, err)) > 0) {
        result = take(run, r, err);
        if (result < 0 || is_over(run, r))
            return result;
    }
    return result;
}

static int find_job(struct run *run, struct err *err)
{
    const struct watch_request *rq = run->rq;
    int r = rq->intake.path ? watched_recall(rq->intake.path, &run->watched, err)
                            : watched_find(rq->intake.sysroot, &rq->job, rq->intake.deadline_us,
                                           &run->watched, err);
    if (r < 0)
        return r;
    if (rq->explain && rq->common->json)
        watched_explain_json(&run->watched, &run->out);
    else if (!rq->common->json && (rq->explain || !rq->common->quiet))
        watched_explain(&run->watched, &run->out);
    if (!run->watched.job.n && !rq->explain)
        return err_set(err, -ESRCH,
                       "the job has no process that says which rank it is; --explain tells more");
    return output_flush(&run->out, stdout, err);
}

static int open_run(struct run *run, struct err *err)
{
    static const struct triage_sink nobody;
    struct intake_options intake = run->rq->intake;
    const struct trace_writer_options options = { .output = OUTPUT_NATIVE,
                                                  .start = WRITER_RESUME,
                                                  .input = run->rq->intake.path };
    intake.pids = run->watched.pids;
    intake.n_pids = run->watched.job.n;
    int r = tables_load(run->rq->common->data, &run->tables, err);
    if (r == 0)
        r = intake_open(&intake, &run->intake, err);
    if (r == 0 && run->rq->record)
        r = trace_writer_open(run->rq->record, &options, &run->writer, err);
    if (r < 0)
        return r;
    run->triage = triage_new(&run->tables.triage, &run->tables.boards, &nobody);
    run->collect = collect_new(&run->watched.job);
    run->watch = watch_new(&run->tables.watch, &run->watched.job);
    return run->triage && run->collect && run->watch ? 0 : err_sys(err, ENOMEM, "watch");
}

static void close_run(struct run *run)
{
    struct err e = { 0 };
    if (run->writer && trace_writer_close(run->writer, &e) < 0)
        output_error("watch", &e);
    intake_close(run->intake);
    triage_free(run->triage);
    collect_free(run->collect);
    watch_free(run->watch);
    tables_done(&run->tables);
    watched_done(&run->watched);
    strbuf_done(&run->out);
}

static int status_of(const struct run *run)
{
    switch (watch_verdict(run->watch)->verdict) {
    case VERDICT_HANG:
        return EXIT_REJECT;
    case VERDICT_BLIND:
        return EXIT_UNDECIDED;
    case VERDICT_HEALTHY:
    case VERDICT_SLOW:
    case VERDICT_FINISHED:
    case VERDICT_COUNT:
    default:
        return EXIT_PASS;
    }
}

int app_watch(const struct watch_request *rq)
{
    struct err e = { 0 };
    struct run run = { .rq = rq, .first_us = -1 };
    int r = find_job(&run, &e);
    bool watches = r == 0 && !rq->explain;
    if (watches)
        r = open_run(&run, &e);
    if (watches && r == 0)
        r = stand_beside(&run, &e);
    int status = r < 0 ? EXIT_ENVIRONMENT : watches ? status_of(&run) : EXIT_PASS;
    if (r < 0)
        output_error("watch", &e);
    close_run(&run);
    return status;
}
