/* SPDX-License-Identifier: Apache-2.0 */
#include "app/record.h"

#include "app/output.h"
#include "base/exit.h"
#include "base/jsonw.h"
#include "base/units.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tally {
    uint64_t samples, ticks;
    int64_t first_us, last_us;
};

static void count(struct tally *tally, const struct record *r)
{
    tally->samples += r->kind == RECORD_SAMPLE;
    if (r->kind != RECORD_TICK)
        return;
    if (!tally->ticks++)
        tally->first_us = r->mono_us;
    tally->last_us = r->mono_us;
}

static int copy_records(const struct record_request *rq, struct intake *intake,
                        struct trace_writer *writer, struct tally *tally, struct err *err)
{
    const struct record *r;
    int result;
    while ((result = intake_next(intake, &r, err)) > 0) {
        result = trace_writer_add(writer, r, err);
        if (result < 0)
            return result;
        count(tally, r);
        output_progress(rq->common, intake_is_live(intake), tally->ticks);
        bool over = rq->for_us && tally->ticks && tally->last_us - tally->first_us >= rq->for_us;
        if (r->kind == RECORD_TICK && over)
            return 0;
    }
    return result;
}

static void tell(const struct record_request *rq, const struct tally *tally)
{
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    bool to_stdout = strcmp(rq->output, "-") == 0;
    if (rq->common->json && !to_stdout) {
        struct jsonw j;
        jsonw_begin(&j, &out);
        jsonw_text(&j, "schema", "wattgate.record/1");
        jsonw_text(&j, "output", rq->output);
        jsonw_i64(&j, "samples", (int64_t) tally->samples);
        jsonw_i64(&j, "ticks", (int64_t) tally->ticks);
        jsonw_scaled(&j, "seconds", tally->last_us - tally->first_us, US_PER_S, 3);
        jsonw_end(&j);
        fputs(strbuf_text(&out), stdout);
    } else if (!rq->common->quiet) {
        view_duration(tally->last_us - tally->first_us, &out);
        fprintf(stderr, "wattgate record: %llu samples of %llu polling rounds over %s in '%s'\n",
                (unsigned long long) tally->samples, (unsigned long long) tally->ticks,
                strbuf_text(&out), rq->output);
    }
}

static int open_writer(const struct record_request *rq, struct trace_writer **ret, struct err *err)
{
    static const enum trace_output outputs[] = {
        [RECORD_FORM_NATIVE] = OUTPUT_NATIVE,
        [RECORD_FORM_CSV] = OUTPUT_CSV,
        [RECORD_FORM_JSONL] = OUTPUT_JSONL,
    };
    const struct trace_writer_options options = {
        .output = outputs[rq->form],
        .zstd = rq->zstd,
        .max_bytes = rq->max_bytes,
        .keep = rq->keep,
        .start = rq->truncate      ? WRITER_TRUNCATE
                 : rq->intake.path ? WRITER_NEW
                                   : WRITER_RESUME,
        .input = rq->intake.path,
    };
    return trace_writer_open(rq->output, &options, ret, err);
}

int app_record(const struct record_request *rq)
{
    struct err e = { 0 }, close_error = { 0 };
    AUTO(intake) struct intake *intake = NULL;
    AUTO(strbuf) struct strbuf notes = STRBUF_INIT;
    struct trace_writer *writer = NULL;
    struct tally tally = { 0 };
    int r = intake_open(&rq->intake, &intake, &e);
    if (r == 0)
        r = open_writer(rq, &writer, &e);
    if (r == 0)
        r = copy_records(rq, intake, writer, &tally, &e);
    output_progress_done();
    if (r < 0)
        output_error("record", &e);
    int closed = writer ? trace_writer_close(writer, &close_error) : 0;
    if (closed < 0 && r == 0)
        output_error("record", &close_error);
    if (intake)
        intake_complaints(intake, &notes);
    output_notes(rq->common, &notes);
    if (writer)
        tell(rq, &tally);
    return r < 0 || closed < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}
