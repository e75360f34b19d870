/* SPDX-License-Identifier: Apache-2.0 */
#include "app/triage.h"

#include "app/anchors.h"
#include "app/output.h"
#include "app/triage-json.h"
#include "base/exit.h"
#include "base/units.h"
#include "tables/tables.h"
#include "term/view.h"
#include "trace/trace.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_TICKS 10 /* of a live look: no verdict from one sample */
#define SHOWN_MAX 256  /* devices whose changes --follow tells */

struct run {
    const struct triage_request *rq;
    struct tables tables;
    struct calibration_store store;
    struct anchors *anchors;
    struct intake *intake;
    struct triage *triage;
    struct trace_writer *writer;
    struct finding_list findings;
    struct view_options view;
    struct strbuf notes, out, episodes;
    enum state shown_state[SHOWN_MAX]; /* --follow: what was last said of each device */
    uint32_t shown_candidates[SHOWN_MAX];
    int64_t first_tick_us;
    uint32_t ticks;
};

static void on_episode(void *arg, const struct episode *e)
{
    struct run *run = arg;
    if (run->rq->common->json)
        triage_json_episode(run->triage, e, &run->out);
    else if (run->rq->episodes)
        view_episode(run->triage, e, &run->view, &run->episodes);
}

static void on_finding(void *arg, const struct finding *f)
{
    struct run *run = arg;
    if (run->rq->common->json) {
        triage_json_finding(run->triage, f, &run->out);
        return;
    }
    if (run->rq->follow) {
        struct finding_list one = { 0 };
        finding_list_add(&one, f);
        view_findings(run->triage, &one, &run->view, &run->out);
        finding_list_done(&one);
    }
    finding_list_add(&run->findings, f);
}

/* --follow: a line for each device whose state is another than last said. */
static void say_changes(struct run *run, int64_t now_us)
{
    size_t n = MIN(triage_devices(run->triage), ARRAY_SIZE(run->shown_state));
    for (size_t i = 0; i < n; i++) {
        const struct triage_device *d = triage_device(run->triage, i);
        if (d->is_node ||
            (d->state == run->shown_state[i] && d->candidates == run->shown_candidates[i]))
            continue;
        if (run->rq->common->json)
            triage_json_state(run->triage, i, now_us, &run->out);
        else
            view_change(run->triage, i, run->shown_state[i], now_us, &run->view, &run->out);
        run->shown_state[i] = d->state;
        run->shown_candidates[i] = d->candidates;
    }
}

static int take(struct run *run, const struct record *r, struct err *err)
{
    int result = anchors_before(run->anchors, run->triage, r, err);
    if (result == 0)
        result = triage_feed(run->triage, r, err);
    if (result == 0 && run->writer)
        result = trace_writer_add(run->writer, r, err);
    if (result == 0 && r->kind == RECORD_TICK) {
        if (run->ticks || !intake_is_opening(run->intake))
            run->ticks++;
        if (run->ticks == 1)
            run->first_tick_us = r->mono_us;
        if (run->rq->follow)
            say_changes(run, r->mono_us);
    }
    return result == 0 ? output_flush(&run->out, stdout, err) : result;
}

static bool looked_long_enough(const struct run *run, const struct record *r)
{
    return intake_is_live(run->intake) && !run->rq->follow && r->kind == RECORD_TICK &&
           run->ticks >= LEAST_TICKS && r->mono_us - run->first_tick_us >= run->rq->for_us;
}

static int consume(struct run *run, struct err *err)
{
    const struct record *r;
    int result;
    while ((result = intake_next(run->intake, &r, err)) > 0) {
        result = take(run, r, err);
        if (result < 0)
            return result;
        if (run->rq->common->json == 0)
            output_progress(run->rq->common, intake_is_live(run->intake), run->ticks);
        if (looked_long_enough(run, r))
            return 0;
    }
    return result;
}

static void picture(struct run *run)
{
    if (run->rq->common->json) {
        triage_json_summary(run->triage, run->tables.digest, &run->out);
        return;
    }
    if (!triage_devices(run->triage)) {
        strbuf_addz(&run->out, intake_is_live(run->intake)
                                   ? "no device has answered; wattgate doctor tells why\n"
                                   : "no device in this input\n");
        return;
    }
    view_devices(run->triage, &run->view, &run->out);
    if (run->findings.n || run->findings.dropped) {
        strbuf_addc(&run->out, '\n');
        view_findings(run->triage, &run->findings, &run->view, &run->out);
    }
    if (run->rq->episodes)
        strbuf_addf(&run->out, "\n%s", strbuf_text(&run->episodes));
}

static int judge(const struct triage *t)
{
    bool named = false;
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        if (d->state == STATE_DEADLOCK || d->state == STATE_LOST)
            return EXIT_REJECT;
        named = named || d->is_node || (d->state != STATE_UNKNOWN && d->state != STATE_UNRESOLVED);
    }
    return named ? EXIT_PASS : EXIT_UNDECIDED;
}

static int open_writer(struct run *run, struct err *err)
{
    struct trace_writer_options options = {
        .output = OUTPUT_NATIVE,
        .start = intake_is_live(run->intake) ? WRITER_RESUME : WRITER_NEW,
        .input = run->rq->intake.path,
    };
    return run->rq->record ? trace_writer_open(run->rq->record, &options, &run->writer, err) : 0;
}

/* A file that was asked for must be readable; the usual place is used if it can be, and said if
 * not. */
static int load_levels(struct run *run, struct err *err)
{
    char path[4096];
    struct err problem = { 0 };
    if (run->rq->calibration)
        return calibration_load(run->rq->calibration, &run->store, err);
    if (calibration_default_path(path, sizeof(path), NULL) == 0 &&
        calibration_load(path, &run->store, &problem) < 0)
        strbuf_addf(&run->notes, "kept levels are not used: %s\n", problem.text);
    return 0;
}

static int open_run(struct run *run, struct err *err)
{
    const struct triage_sink sink = { on_episode, on_finding, run };
    int r = tables_load(run->rq->common->data, &run->tables, err);
    if (r == 0)
        r = load_levels(run, err);
    if (r == 0)
        r = intake_open(&run->rq->intake, &run->intake, err);
    if (r == 0)
        r = open_writer(run, err);
    if (r < 0)
        return r;
    run->anchors = anchors_new(&run->store, false, &run->notes);
    run->triage = triage_new(&run->tables.triage, &run->tables.boards, &sink);
    if (!run->anchors || !run->triage)
        return err_sys(err, ENOMEM, "triage");
    if (!run->rq->board)
        return 0;
    r = triage_assume_product(run->triage, str_from(run->rq->board), err);
    return r < 0 ? err_prefix(err, "--board") : 0;
}

static void close_run(struct run *run)
{
    struct err e = { 0 };
    if (run->writer && trace_writer_close(run->writer, &e) < 0)
        output_error("triage", &e);
    intake_close(run->intake);
    triage_free(run->triage);
    anchors_free(run->anchors);
    calibration_store_done(&run->store);
    tables_done(&run->tables);
    finding_list_done(&run->findings);
    strbuf_done(&run->notes);
    strbuf_done(&run->out);
    strbuf_done(&run->episodes);
}

int app_triage(const struct triage_request *rq)
{
    struct err e = { 0 };
    struct run run = { .rq = rq, .view = output_view(rq->common) };
    int status = EXIT_ENVIRONMENT;
    int r = open_run(&run, &e);
    if (r == 0)
        r = consume(&run, &e);
    output_progress_done();
    /* What was read before a failure is still worth its picture. */
    if (run.triage && triage_finish(run.triage, &e) == 0 && (r == 0 || run.ticks)) {
        intake_complaints(run.intake, &run.notes);
        picture(&run);
        status = r == 0 ? judge(run.triage) : EXIT_ENVIRONMENT;
    }
    output_notes(rq->common, &run.notes);
    if (r < 0)
        output_error("triage", &e);
    struct err write_error = { 0 };
    if (output_flush(&run.out, stdout, &write_error) < 0) {
        output_error("triage", &write_error);
        status = EXIT_ENVIRONMENT;
    }
    close_run(&run);
    return status;
}

void app_list_formats(struct strbuf *out)
{
    for (size_t i = 0; trace_formats[i]; i++)
        strbuf_addf(out, "%-18s%s\n", trace_formats[i]->name, trace_formats[i]->help);
}
