/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/codec.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 2000 /* random streams of the round trip */

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static int64_t rnd_value(void)
{
    static const int64_t edges[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 182340, 1000 };
    if (rnd(3) == 0)
        return edges[rnd(ARRAY_SIZE(edges))];
    return (int64_t) (rnd(UINT32_MAX) << rnd(20));
}

static struct str rnd_text(char *buf, size_t cap)
{
    size_t n = rnd(cap);
    for (size_t i = 0; i < n; i++)
        buf[i] = (char) rnd(256);
    return (struct str){ buf, n };
}

/* A record of any kind that keeps the rules of record.h; ids 0..9 are declared. */
static void make(struct record *r, int64_t *t, char bufs[4][24], struct obs *obs)
{
    *t += rnd(2) ? 0 : (int64_t) rnd(2000000);
    *r = (struct record){ .mono_us = *t };
    switch (rnd(8)) {
    case 0:
        r->kind = RECORD_ENTITY;
        r->u.entity = (struct entity){ .id = (uint32_t) rnd(10),
                                       .kind = (enum entity_kind) rnd(ENTITY_KIND_COUNT),
                                       .parent = rnd(2) ? ENTITY_NONE : (uint32_t) rnd(10),
                                       .generation = (uint32_t) rnd(3),
                                       .index = (int32_t) rnd(10) - 1,
                                       .key = rnd_text(bufs[0], 24),
                                       .name = rnd_text(bufs[1], 24),
                                       .driver = rnd_text(bufs[2], 24),
                                       .bus = rnd_text(bufs[3], 24) };
        return;
    case 1:
        r->kind = RECORD_TICK;
        return;
    case 2:
        r->kind = RECORD_CLOCK;
        r->u.wall_offset_us = (int64_t) rnd(1u << 30);
        return;
    case 3:
        r->kind = RECORD_NOTE;
        r->u.note = (struct note){ rnd(2) ? ENTITY_NONE : (uint32_t) rnd(10), rnd_text(bufs[0], 24),
                                   rnd_text(bufs[1], 24) };
        return;
    case 4:
        r->kind = RECORD_ANCHOR;
        r->u.anchor = (struct anchor_value){ (uint32_t) rnd(10), (enum anchor) rnd(ANCHOR_COUNT),
                                             rnd_value(), rnd_text(bufs[0], 24) };
        return;
    default:
        r->kind = RECORD_SAMPLE;
        r->u.sample = (struct sample){ (uint32_t) rnd(10), 1 + (uint32_t) rnd(SAMPLE_MAX), obs };
        for (uint32_t i = 0; i < r->u.sample.n; i++) {
            obs[i] = (struct obs){ .metric = (enum metric)(1 + rnd(METRIC_COUNT - 1)),
                                   .status = (enum obs_status) rnd(OBS_STATUS_COUNT) };
            if (obs[i].status == OBS_VALUE || obs[i].status == OBS_STALE)
                obs[i].value = rnd_value();
            if (rnd(3) == 0)
                obs[i].device_us = 1 + (int64_t) rnd(1u << 30);
        }
    }
}

static bool same_entity(const struct entity *a, const struct entity *b)
{
    return a->id == b->id && a->kind == b->kind && a->parent == b->parent &&
           a->generation == b->generation && a->index == b->index && str_eq(a->key, b->key) &&
           str_eq(a->name, b->name) && str_eq(a->driver, b->driver) && str_eq(a->bus, b->bus);
}

static bool same_sample(const struct sample *a, const struct sample *b)
{
    if (a->entity != b->entity || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->obs[i].metric != b->obs[i].metric || a->obs[i].status != b->obs[i].status ||
            a->obs[i].value != b->obs[i].value || a->obs[i].device_us != b->obs[i].device_us)
            return false;
    return true;
}

static bool same(const struct record *a, const struct record *b)
{
    if (a->kind != b->kind || a->mono_us != b->mono_us)
        return false;
    if (a->kind == RECORD_ENTITY)
        return same_entity(&a->u.entity, &b->u.entity);
    if (a->kind == RECORD_SAMPLE)
        return same_sample(&a->u.sample, &b->u.sample);
    if (a->kind == RECORD_CLOCK)
        return a->u.wall_offset_us == b->u.wall_offset_us;
    if (a->kind == RECORD_NOTE)
        return a->u.note.entity == b->u.note.entity && str_eq(a->u.note.key, b->u.note.key) &&
               str_eq(a->u.note.text, b->u.note.text);
    if (a->kind == RECORD_ANCHOR)
        return a->u.anchor.entity == b->u.anchor.entity &&
               a->u.anchor.anchor == b->u.anchor.anchor &&
               a->u.anchor.power_mw == b->u.anchor.power_mw &&
               str_eq(a->u.anchor.source, b->u.anchor.source);
    if (a->kind == RECORD_HEADER)
        return a->u.header.clock == b->u.header.clock &&
               a->u.header.wall_offset_us == b->u.header.wall_offset_us &&
               a->u.header.interval_us == b->u.header.interval_us &&
               str_eq(a->u.header.tool, b->u.header.tool) &&
               str_eq(a->u.header.host, b->u.header.host);
    return true;
}

/* Writes the record, reads its lines back; false and a note when it is not the same. */
static bool trip(struct codec_writer *w, struct codec_reader *reader, const struct record *r)
{
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    const struct record *back = NULL;
    struct err e = { 0 };
    int result = codec_write(w, r, &out, &e);
    if (result < 0) {
        tap_note("write: %s", e.text);
        return false;
    }
    struct str rest = strbuf_str(&out), line;
    result = 0;
    while (result == 0 && str_split(&rest, '\n', &line))
        result = codec_read(reader, line, &back, &e);
    bool ok = result == 1 && same(r, back) && (!rest.p || rest.n == 0);
    if (!ok)
        tap_note("kind %d: '%s' gave %d %s", (int) r->kind, strbuf_text(&out), result, e.text);
    return ok;
}

static void round_trip(void)
{
    int wrong = 0;
    for (uint64_t s = 0; s < STREAMS && wrong < 3; s++) {
        AUTO(codec_writer) struct codec_writer *w = codec_writer_new();
        AUTO(codec_reader) struct codec_reader *r = codec_reader_new();
        int64_t t = (int64_t) rnd(1u << 30);
        struct record rec = { .kind = RECORD_HEADER, .mono_us = t };
        seed = s;
        rec.u.header = (struct stream_header){ .clock = CLOCK_STEADY,
                                               .tool = STR("a tool %"),
                                               .host = STR("h"),
                                               .wall_offset_us = (int64_t) rnd(1u << 30),
                                               .interval_us = 1000000 };
        wrong += !trip(w, r, &rec);
        for (uint32_t id = 0; id < 10; id++) {
            rec = (struct record){ .kind = RECORD_ENTITY, .mono_us = t };
            rec.u.entity = (struct entity){ .id = id, .parent = ENTITY_NONE, .index = -1 };
            wrong += !trip(w, r, &rec);
        }
        for (int i = 0; i < 100; i++) {
            char bufs[4][24];
            struct obs obs[SAMPLE_MAX];
            make(&rec, &t, bufs, obs);
            wrong += !trip(w, r, &rec);
        }
    }
    tap_note("%d streams of 111 records", STREAMS);
    CHECK_EQ(wrong, 0);
}

/* A line and what reading it gives after a fixed beginning; a bad line must change nothing. */
static void lines(void)
{
    static const struct {
        const char *line;
        int want;
        const char *text;
    } rows[] = {
        { "S 0 0 1 2", 1, NULL },
        { "S 0 0 - !u", 1, NULL },
        { "S 0 0 ~5 !l@-3", 1, NULL },
        { "S 0 0 1", -EINVAL, "column 8: no value" },
        { "S 0 0 1 2 3", -EINVAL, "more values" },
        { "S 0 0 1 x", -EINVAL, "column" },
        { "S 0 0 1 !q", -EINVAL, "no value" },
        { "S 0 0 1 9223372036854775808", -EINVAL, "no value" },
        { "S 0 0 1 1@9223372036854775807", -EINVAL, "no value" },
        { "S 1 0 1 2", -EINVAL, "known entity" },
        { "S 0 1 1 2", -EINVAL, "declared form" },
        { "S 0 1 1 2", -EINVAL, "declared form" },
        { "S -1 0 1 2", -EINVAL, "known entity" },
        { "F 256 power_draw_mw", -EINVAL, "form number" },
        { "F 3", -EINVAL, "without metrics" },
        { "+-1", -EINVAL, "back in time" },
        { "@99", -EINVAL, "goes back" },
        { "@", -EINVAL, "no time" },
        { "+9223372036854775807", -EINVAL, "back in time" },
        { "+9007199254740993", -EINVAL, "a clock can show" },
        { "C 9223372036854775807", -EINVAL, "offset of wall time" },
        { "E 65536 gpu", -EINVAL, "entity id" },
        { "E 2 gpu key=%4", -EINVAL, "no sense" },
        { "E 2 gpu parent=7", -EINVAL, "no sense" },
        { "E 2 gadget colour=red", 1, NULL },
        { "A 0 bare x", -EINVAL, "no power" },
        { "N 5 key=a text=b", -EINVAL, "known entity" },
        { "T x", -EINVAL, "behind a tick" },
        { "Q whatever comes later", 0, NULL },
        { "#", -EINVAL, "no kind" },
        { "H clock=sundial", -EINVAL, "header field" },
        { "", 0, NULL },
        { "T", 1, NULL },
    };
    AUTO(codec_reader) struct codec_reader *r = codec_reader_new();
    const char *start[] = { "H clock=wall tool=t", "@100", "E 0 gpu index=0",
                            "F 0 power_draw_mw util_gpu_permille" };
    const struct record *rec;
    struct err e;
    CHECK_EQ(codec_read(r, STR("T"), &rec, &e), -EINVAL); /* before any time */
    for (size_t i = 0; i < ARRAY_SIZE(start); i++)
        CHECK(codec_read(r, str_from(start[i]), &rec, &e) >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int got = codec_read(r, str_from(rows[i].line), &rec, &e);
        if (got != rows[i].want)
            tap_note("line '%s'", rows[i].line);
        CHECK_EQ(got, rows[i].want);
        if (rows[i].text)
            CHECK_HAS(e.text, rows[i].text);
    }
    CHECK_EQ(rec->mono_us, 100);
}

static void writer_refuses(void)
{
    AUTO(codec_writer) struct codec_writer *w = codec_writer_new();
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    struct err e;
    struct record r = { .kind = RECORD_TICK, .mono_us = 100 };
    CHECK_EQ(codec_write(w, &r, &out, &e), 0);
    r.mono_us = 99;
    CHECK_EQ(codec_write(w, &r, &out, &e), -EINVAL);
    struct record s = { .kind = RECORD_SAMPLE, .mono_us = 150 };
    CHECK_EQ(codec_write(w, &s, &out, &e), -EINVAL); /* no observation */
    r.mono_us = 200;
    CHECK_EQ(codec_write(w, &r, &out, &e), 0);
    CHECK_TEXT(strbuf_text(&out), "@100\nT\n+100\nT\n"); /* the refused one left no trace */
}

static void many_forms(void)
{
    AUTO(codec_writer) struct codec_writer *w = codec_writer_new();
    AUTO(codec_reader) struct codec_reader *r = codec_reader_new();
    struct record rec = { .kind = RECORD_HEADER };
    int wrong = !trip(w, r, &rec);
    rec = (struct record){ .kind = RECORD_ENTITY };
    rec.u.entity = (struct entity){ .parent = ENTITY_NONE, .index = -1 };
    wrong += !trip(w, r, &rec);
    for (unsigned i = 0; i < 3000; i++) { /* more shapes than there are numbers */
        struct obs obs[2] = { { .metric = (enum metric)(1 + i % (METRIC_COUNT - 1)) },
                              { .metric = (enum metric)(1 + i / 50 % (METRIC_COUNT - 1)) } };
        rec = (struct record){ .kind = RECORD_SAMPLE, .mono_us = i };
        rec.u.sample = (struct sample){ 0, 2, obs };
        wrong += !trip(w, r, &rec);
    }
    CHECK_EQ(wrong, 0);
}

static const struct tap_case cases[] = {
    { "random streams come back", round_trip },
    { "lines, good and bad", lines },
    { "the writer refuses and leaves no trace", writer_refuses },
    { "form numbers are reused", many_forms },
};
TAP_MAIN(cases)
