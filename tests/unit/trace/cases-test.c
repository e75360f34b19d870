/* SPDX-License-Identifier: Apache-2.0 */
/* Small inputs of every format, good and bad, and all that the readers make of them: cases/NAME.in
 * gives cases/NAME.want. After a wanted change: WATTGATE_BLESS=1 writes the .want files, to be read
 * line by line before they are kept. */
#include "base/strbuf.h"
#include "tap.h"
#include "trace/trace.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_word(struct strbuf *out, const char *key, struct str value)
{
    if (value.n)
        strbuf_addf(out, " %s=%.*s", key, STR_ARG(value));
}

static void add_obs(struct strbuf *out, const struct obs *o)
{
    strbuf_addf(out, " %s=", metric_info(o->metric)->name);
    if (o->status == OBS_VALUE)
        strbuf_addf(out, "%" PRId64, o->value);
    else
        strbuf_addf(out, "%s", obs_status_name(o->status));
}

static void add_entity(struct strbuf *out, const struct entity *e)
{
    strbuf_addf(out, "E %u %s %.*s index=%d", e->id, entity_kind_name(e->kind), STR_ARG(e->key),
                (int) e->index);
    if (e->parent != ENTITY_NONE)
        strbuf_addf(out, " parent=%u", e->parent);
    if (e->generation)
        strbuf_addf(out, " generation=%u", e->generation);
    add_word(out, "name", e->name);
    add_word(out, "driver", e->driver);
    add_word(out, "bus", e->bus);
}

static void add_record(struct strbuf *out, const struct record *r)
{
    switch (r->kind) {
    case RECORD_HEADER:
        strbuf_addf(out, "H clock=%s", stream_clock_name(r->u.header.clock));
        add_word(out, "host", r->u.header.host);
        break;
    case RECORD_ENTITY:
        add_entity(out, &r->u.entity);
        break;
    case RECORD_GONE:
        strbuf_addf(out, "G %u", r->u.gone);
        break;
    case RECORD_SAMPLE:
        strbuf_addf(out, "S %u", r->u.sample.entity);
        for (uint32_t i = 0; i < r->u.sample.n; i++)
            add_obs(out, &r->u.sample.obs[i]);
        break;
    case RECORD_TICK:
        strbuf_addz(out, "T");
        break;
    case RECORD_CLOCK:
        strbuf_addf(out, "C %" PRId64, r->u.wall_offset_us);
        break;
    case RECORD_NOTE:
        strbuf_addf(out, "N %.*s: %.*s", STR_ARG(r->u.note.key), STR_ARG(r->u.note.text));
        break;
    case RECORD_ANCHOR:
    case RECORD_UNKNOWN:
    case RECORD_KIND_COUNT:
    default:
        strbuf_addz(out, "?");
    }
    strbuf_addc(out, '\n');
}

/* The sentence without the folder of this machine. */
static void add_error(struct strbuf *out, const struct err *e, const char *folder)
{
    struct str rest = str_from(e->text);
    ptrdiff_t at;
    strbuf_addf(out, "error: ");
    while ((at = str_find(rest, folder)) >= 0) {
        strbuf_add(out, str_sub(rest, 0, (size_t) at));
        rest = str_sub(rest, (size_t) at + strlen(folder) + 1, rest.n);
    }
    strbuf_add(out, rest);
    strbuf_addc(out, '\n');
}

static void dump(const char *folder, const char *path, struct strbuf *out)
{
    AUTO(trace) struct trace *t = NULL;
    const struct record *r;
    struct err e = { 0 };
    int64_t now_us = INT64_MIN;
    int result = trace_open(path, NULL, &t, &e);
    if (result < 0) {
        add_error(out, &e, folder);
        return;
    }
    while ((result = trace_next(t, &r, &e)) > 0) {
        if (r->mono_us != now_us)
            strbuf_addf(out, "@%" PRId64 "\n", r->mono_us);
        now_us = r->mono_us;
        add_record(out, r);
    }
    const struct trace_report *rep = trace_report(t);
    strbuf_addf(out, "%s: %" PRIu64 " samples, %" PRIu64 " dropped%s%s%s\n", rep->format,
                rep->samples, rep->dropped, rep->torn ? ", torn" : "",
                rep->first_drop[0] ? ": " : "", rep->first_drop);
    if (result < 0)
        add_error(out, &e, folder);
}

static void load(const char *path, struct strbuf *b)
{
    FILE *f = fopen(path, "re");
    char buf[4096];
    size_t n;
    while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
        strbuf_add(b, (struct str){ buf, n });
    if (f)
        fclose(f);
}

static void store(const char *path, const struct strbuf *b)
{
    FILE *f = fopen(path, "we");
    CHECK(f && fwrite(b->p, 1, b->n, f) == b->n && fclose(f) == 0);
}

static void one(const char *folder, const char *name)
{
    char path[900];
    AUTO(strbuf) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    dump(folder, path, &got);
    snprintf(path, sizeof(path), "%s/%.*swant", folder, (int) strlen(name) - 2, name);
    if (getenv("WATTGATE_BLESS"))
        store(path, &got);
    load(path, &want);
    if (got.n != want.n || memcmp(got.p, want.p, got.n) != 0)
        tap_note("%s gives:\n%s", name, strbuf_text(&got));
    CHECK(got.n == want.n && memcmp(got.p, want.p, got.n) == 0);
}

static int inputs_only(const struct dirent *e)
{
    return str_ends(str_from(e->d_name), ".in");
}

static void all(void)
{
    char folder[600];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof(folder), "%s", tap_source_path("tests/unit/trace/cases"));
    int n = scandir(folder, &entries, inputs_only, alphasort);
    CHECK(n > 50);
    for (int i = 0; i < n; i++) {
        one(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    tap_note("%d inputs", n);
}

static const struct tap_case cases[] = {
    { "each input gives what is wanted of it", all },
};
TAP_MAIN(cases)
