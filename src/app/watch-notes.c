/* SPDX-License-Identifier: Apache-2.0 */
/* The job as notes of a trace, so that a recorded watch can be replayed: "job" tells name, attempt
 * and world, each "rank" its number, process, host and device; texts are escaped like URLs. */
#include "app/watch-job.h"

#include "base/parse.h"
#include "trace/trace.h"
#include "trace/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NOTE_JOB "job"
#define NOTE_RANK "rank"

/* ---- out ---- */

static void add_word(struct strbuf *out, const char *text)
{
    strbuf_addc(out, ' ');
    if (!*text)
        strbuf_addc(out, '-');
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c == '%' || *c == '-' || *c == 0x7f)
            strbuf_addf(out, "%%%02x", (unsigned char) *c);
        else
            strbuf_addc(out, *c);
}

static int add_note(struct trace_writer *to, int64_t mono_us, const char *key, struct strbuf *text,
                    struct err *err)
{
    struct record r = { .kind = RECORD_NOTE, .mono_us = mono_us };
    r.u.note = (struct note){ ENTITY_NONE, str_from(key), strbuf_str(text) };
    int result =
        text->error ? err_sys(err, -text->error, "note the job") : trace_writer_add(to, &r, err);
    strbuf_clear(text);
    return result;
}

int watched_record(const struct watched *w, int64_t mono_us, struct trace_writer *to,
                   struct err *err)
{
    AUTO(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%" PRIu32 " %" PRIu32, w->job.attempt, w->job.world);
    add_word(&text, w->job.name);
    int r = add_note(to, mono_us, NOTE_JOB, &text, err);
    for (uint32_t i = 0; r == 0 && i < w->job.n; i++) {
        const struct watch_rank *k = &w->ranks[i];
        strbuf_addf(&text, "%" PRId32 " %" PRId32, k->rank, k->pid);
        add_word(&text, k->host);
        add_word(&text, k->device);
        r = add_note(to, mono_us, NOTE_RANK, &text, err);
    }
    return r;
}

/* ---- in ---- */

static bool take_i32(struct str *rest, int32_t *ret)
{
    struct str word;
    int64_t value;
    if (!str_word(rest, &word) || parse_i64(word, &value) < 0 || value < 0 || value > INT32_MAX)
        return false;
    *ret = (int32_t) value;
    return true;
}

static bool take_text(struct str *rest, char *buf, size_t cap)
{
    struct str word;
    size_t n = 0;
    buf[0] = '\0';
    if (!str_word(rest, &word))
        return false;
    if (str_is(word, "-"))
        return true;
    for (size_t i = 0; i < word.n && n + 1 < cap; i++) {
        uint64_t byte = (unsigned char) word.p[i];
        if (word.p[i] == '%') {
            if (parse_hex_u64(str_sub(word, i + 1, i + 3), &byte) < 0)
                return false;
            i += 2;
        }
        buf[n++] = (char) byte;
    }
    buf[n] = '\0';
    str_plain(buf);
    return true;
}

static bool recall_job(struct watched *w, struct str text)
{
    int32_t attempt, world;
    if (!take_i32(&text, &attempt) || !take_i32(&text, &world) ||
        !take_text(&text, w->job.name, sizeof(w->job.name)))
        return false;
    w->job.attempt = (uint32_t) attempt;
    w->job.world = (uint32_t) world;
    return true;
}

static bool recall_rank(struct watched *w, struct str text)
{
    struct watch_rank r = { .bare_mw = -1, .held_mw = -1, .limit_mw = -1 };
    if (w->job.n == JOB_MEMBERS_MAX || !take_i32(&text, &r.rank) || !take_i32(&text, &r.pid) ||
        !take_text(&text, r.host, sizeof(r.host)) || !take_text(&text, r.device, sizeof(r.device)))
        return false;
    w->ranks[w->job.n] = r;
    w->pids[w->job.n++] = r.pid;
    return true;
}

/* Reads up to the first sample: the notes stand before it. */
static int recall(struct trace *t, struct watched *w, struct err *err)
{
    const struct record *r;
    int result;
    while ((result = trace_next(t, &r, err)) > 0 && r->kind != RECORD_SAMPLE) {
        bool well = true;
        if (r->kind == RECORD_NOTE && str_is(r->u.note.key, NOTE_JOB))
            well = recall_job(w, r->u.note.text);
        else if (r->kind == RECORD_NOTE && str_is(r->u.note.key, NOTE_RANK))
            well = recall_rank(w, r->u.note.text);
        if (!well)
            return err_set(err, -EINVAL, "a note of the job makes no sense");
    }
    return MIN(result, 0);
}

int watched_recall(const char *trace, struct watched *ret, struct err *err)
{
    AUTO(watched) struct watched w = { 0 };
    AUTO(trace) struct trace *t = NULL;
    w.found = calloc(1, sizeof(*w.found));
    w.ranks = calloc(JOB_MEMBERS_MAX, sizeof(*w.ranks));
    w.pids = calloc(JOB_MEMBERS_MAX, sizeof(*w.pids));
    if (!w.found || !w.ranks || !w.pids)
        return err_sys(err, ENOMEM, "watch");
    int r = trace_open(trace, NULL, &t, err);
    if (r == 0)
        r = recall(t, &w, err);
    if (r < 0)
        return err_prefix(err, "'%s'", trace);
    if (!w.job.n)
        return err_set(err, -ENOENT,
                       "'%s' holds no job: it was not recorded by 'wattgate watch --record'",
                       trace);
    w.job.ranks = w.ranks;
    *ret = w;
    w = (struct watched){ 0 };
    return 0;
}
