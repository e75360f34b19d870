/* SPDX-License-Identifier: Apache-2.0 */
#include "app/calibrate.h"

#include "app/anchors.h"
#include "app/output.h"
#include "base/exit.h"
#include "base/jsonw.h"
#include "base/units.h"
#include "sys/clock.h"
#include "tables/tables.h"

#include <errno.h>
#include <stdio.h>

/* What must be seen for a level to be learned. */
static const char *const how_to_see[ANCHOR_COUNT] = {
    [ANCHOR_BARE] = "no process on the GPU for a while",
    [ANCHOR_HELD] = "a process that holds a context and does nothing",
    [ANCHOR_SPIN] = "ranks waiting in a collective, nothing moving",
    [ANCHOR_WORK] = "the job computing",
};

static void add_levels_json(const struct calibration_entry *e, struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.calibration/1");
    jsonw_text(&j, "device", e->key);
    jsonw_text(&j, "name", e->name);
    jsonw_text(&j, "driver", e->driver);
    jsonw_i64(&j, "learned_us", e->learned_us);
    jsonw_object(&j, "anchors_mw");
    for (unsigned a = 0; a < ANCHOR_COUNT; a++)
        if (e->anchor_mw[a] >= 0)
            jsonw_i64(&j, anchor_name((enum anchor) a), e->anchor_mw[a]);
        else
            jsonw_null(&j, anchor_name((enum anchor) a));
    jsonw_object_end(&j);
    jsonw_end(&j);
}

static void add_levels_text(const struct calibration_entry *e, struct strbuf *out)
{
    strbuf_addf(out, "%s  %s, driver %s, limit ", e->key, e->name[0] ? e->name : "?",
                e->driver[0] ? e->driver : "?");
    if (e->limit_mw >= 0)
        strbuf_add_scaled(out, e->limit_mw, MW_PER_W, 0);
    else
        strbuf_addc(out, '?');
    strbuf_addz(out, " W\n");
    for (unsigned a = 0; a < ANCHOR_COUNT; a++) {
        strbuf_addf(out, "  %-5s ", anchor_name((enum anchor) a));
        if (e->anchor_mw[a] >= 0) {
            strbuf_add_scaled(out, e->anchor_mw[a], MW_PER_W, 1);
            strbuf_addz(out, " W\n");
        } else {
            strbuf_addf(out, "not seen (needs %s)\n", how_to_see[a]);
        }
    }
}

static void add_store(const struct calibrate_request *rq, const struct calibration_store *s,
                      struct strbuf *out)
{
    for (size_t i = 0; i < s->n; i++)
        if (rq->common->json)
            add_levels_json(&s->items[i], out);
        else
            add_levels_text(&s->items[i], out);
}

struct learning {
    struct tables tables;
    struct calibration_store none; /* learning starts without what is kept */
    struct anchors *anchors;
    struct triage *triage;
    struct intake *intake;
    struct strbuf notes;
};

static int learn(const struct calibrate_request *rq, struct learning *l, struct err *err)
{
    const struct triage_sink sink = { NULL, NULL, NULL };
    int r = tables_load(rq->common->data, &l->tables, err);
    if (r == 0)
        r = intake_open(&rq->intake, &l->intake, err);
    if (r < 0)
        return r;
    l->anchors = anchors_new(&l->none, true, &l->notes);
    l->triage = triage_new(&l->tables.triage, &l->tables.boards, &sink);
    if (!l->anchors || !l->triage)
        return err_sys(err, ENOMEM, "calibrate");
    const struct record *rec;
    int64_t first_us = -1;
    uint64_t ticks = 0;
    while ((r = intake_next(l->intake, &rec, err)) > 0) {
        r = anchors_before(l->anchors, l->triage, rec, err);
        if (r == 0)
            r = triage_feed(l->triage, rec, err);
        if (r < 0)
            return r;
        if (rec->kind != RECORD_TICK)
            continue;
        first_us = first_us < 0 ? rec->mono_us : first_us;
        output_progress(rq->common, intake_is_live(l->intake), ++ticks);
        if (intake_is_live(l->intake) && rec->mono_us - first_us >= rq->for_us)
            break;
    }
    return r < 0 ? r : triage_finish(l->triage, err);
}

static void learning_done(struct learning *l)
{
    intake_close(l->intake);
    triage_free(l->triage);
    anchors_free(l->anchors);
    tables_done(&l->tables);
    strbuf_done(&l->notes);
}

static int keep(const struct calibrate_request *rq, const struct learning *l, const char *path,
                size_t *ret_n, struct strbuf *out, struct err *err)
{
    AUTO(calibration_store) struct calibration_store seen = { 0 }, kept = { 0 };
    int r = anchors_keep(l->anchors, l->triage, clock_wall_us(), &seen, ret_n, err);
    if (r == 0)
        add_store(rq, &seen, out);
    if (r < 0 || rq->dry_run || !*ret_n)
        return r;
    r = calibration_load(path, &kept, err);
    for (size_t i = 0; r == 0 && i < seen.n; i++)
        if (calibration_put(&kept, &seen.items[i]) < 0)
            r = err_sys(err, ENOMEM, "calibrate");
    return r == 0 ? calibration_save(path, &kept, err) : r;
}

static int calibrate(const struct calibrate_request *rq, const char *path, struct strbuf *out,
                     struct err *err)
{
    struct learning l = { 0 };
    size_t n = 0;
    int r = learn(rq, &l, err);
    output_progress_done();
    if (r == 0)
        r = keep(rq, &l, path, &n, out, err);
    if (r == 0 && !n)
        strbuf_addz(&l.notes, "no level was learned: a level is kept only for a GPU with a UUID "
                              "and only when its state was really seen\n");
    if (r == 0 && n && !rq->dry_run)
        strbuf_addf(&l.notes, "kept in %s\n", path);
    output_notes(rq->common, &l.notes);
    learning_done(&l);
    return r < 0 ? r : n ? EXIT_PASS : EXIT_UNDECIDED;
}

static int show(const struct calibrate_request *rq, const char *path, struct strbuf *out,
                struct err *err)
{
    AUTO(calibration_store) struct calibration_store s = { 0 };
    int r = calibration_load(path, &s, err);
    if (r < 0)
        return r;
    add_store(rq, &s, out);
    if (!s.n && !rq->common->json)
        strbuf_addf(out, "nothing is kept in %s\n", path);
    return s.n ? EXIT_PASS : EXIT_UNDECIDED;
}

int app_calibrate(const struct calibrate_request *rq)
{
    char path[4096];
    struct err e = { 0 };
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    int r = 0;
    if (rq->store)
        str_copy(path, sizeof(path), str_from(rq->store));
    else
        r = calibration_default_path(path, sizeof(path), &e);
    if (r == 0)
        r = rq->show ? show(rq, path, &out, &e) : calibrate(rq, path, &out, &e);
    int status = r < 0 ? EXIT_ENVIRONMENT : r;
    if (r >= 0 && output_flush(&out, stdout, &e) < 0)
        r = -EIO;
    if (r < 0) {
        output_error("calibrate", &e);
        return EXIT_ENVIRONMENT;
    }
    return status;
}
