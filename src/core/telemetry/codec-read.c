/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"
#include "core/telemetry/codec-priv.h"
#include "core/telemetry/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct codec_reader {
    struct form forms[FORMS_MAX];
    uint8_t known[ENTITY_MAX / 8]; /* a bit for each entity declared */
    int64_t now_us, wall_offset_us;
    bool timed;
    bool headed; /* some header was read: a clock starts anew only behind another one */
    struct record record;
    struct obs obs[SAMPLE_MAX];
    struct strbuf texts; /* unescaped strings of the record */
};

/* Where in the line the reader is. */
struct cursor {
    const char *at, *end, *start;
    struct err *err;
};

struct codec_reader *codec_reader_new(void)
{
    return calloc(1, sizeof(struct codec_reader));
}

void codec_reader_free(struct codec_reader *r)
{
    if (!r)
        return;
    strbuf_done(&r->texts);
    free(r);
}

void codec_reader_reset(struct codec_reader *r)
{
    struct strbuf texts = r->texts;
    *r = (struct codec_reader){ .texts = texts, .headed = r->headed };
}

void codec_reader_forget_forms(struct codec_reader *r)
{
    memset(r->forms, 0, sizeof(r->forms));
}

static int bad(const struct cursor *c, const char *what)
{
    return err_set(c->err, -EINVAL, "column %td: %s", c->at - c->start + 1, what);
}

static bool at_end(const struct cursor *c)
{
    return c->at == c->end;
}

static bool skip_blank(struct cursor *c)
{
    if (at_end(c) || *c->at != ' ')
        return false;
    c->at++;
    return true;
}

/* Eight digits at once: true, and their value, when all eight bytes are digits. */
static bool scan_eight(const char *p, uint64_t *ret)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    const uint64_t high = UINT64_C(0xF0F0F0F0F0F0F0F0), zeros = UINT64_C(0x3030303030303030);
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (!little || (w & high) != zeros || ((w + UINT64_C(0x0606060606060606)) & high) != zeros)
        return false;
    uint64_t digits = w - zeros;
    digits = digits * 10 + (digits >> 8); /* pairs, in every other byte */
    uint64_t mask = UINT64_C(0x000000FF000000FF);
    digits = ((digits & mask) * UINT64_C(0x000F424000000064) +
              ((digits >> 16) & mask) * UINT64_C(0x0000271000000001)) >>
             32;
    *ret = digits;
    return true;
}

/* The hot path: a decimal integer, overflow checked only when it is long. */
static bool scan_i64(struct cursor *c, int64_t *ret)
{
    const char *p = c->at;
    bool minus = p < c->end && *p == '-';
    if (minus)
        p++;
    const char *digits = p;
    uint64_t v = 0, eight;
    while (c->end - p >= 8 && p - digits <= 8 && scan_eight(p, &eight)) {
        v = v * 100000000 + eight;
        p += 8;
    }
    while (p < c->end && (unsigned char) (*p - '0') < 10)
        v = v * 10 + (uint64_t) (*p++ - '0');
    if (p == digits)
        return false;
    if (p - digits > 18) {
        if (parse_i64((struct str){ c->at, (size_t) (p - c->at) }, ret) < 0)
            return false;
    } else {
        *ret = minus ? -(int64_t) v : (int64_t) v;
    }
    c->at = p;
    return true;
}

static bool scan_u32(struct cursor *c, uint32_t *ret)
{
    int64_t v;
    const char *before = c->at;
    if (!scan_i64(c, &v) || v < 0 || v > UINT32_MAX) {
        c->at = before;
        return false;
    }
    *ret = (uint32_t) v;
    return true;
}

/* The rest up to the next blank; empty at a blank or at the end. */
static struct str scan_word(struct cursor *c)
{
    const char *from = c->at;
    while (c->at < c->end && *c->at != ' ')
        c->at++;
    return (struct str){ from, (size_t) (c->at - from) };
}

/* " key=value": false at the end of the line. */
static bool scan_pair(struct cursor *c, struct str *ret_key, struct str *ret_value)
{
    if (!skip_blank(c))
        return false;
    struct str word = scan_word(c);
    ptrdiff_t eq = str_find_char(word, '=');
    *ret_key = str_sub(word, 0, eq < 0 ? word.n : (size_t) eq);
    *ret_value = str_sub(word, eq < 0 ? word.n : (size_t) eq + 1, word.n);
    return true;
}

/* Unescapes into the reader's buffer, which has room for the whole line already. */
static bool unescape(struct codec_reader *r, struct str s, struct str *ret)
{
    char *to = strbuf_room(&r->texts, s.n);
    size_t n = 0;
    if (!to)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t byte = (unsigned char) s.p[i];
        if (s.p[i] == '%') {
            struct str hex = str_sub(s, i + 1, i + 3);
            if (hex.n != 2 || parse_hex_u64(hex, &byte) < 0)
                return false;
            i += 2;
        }
        to[n++] = (char) byte;
    }
    strbuf_took(&r->texts, n);
    *ret = (struct str){ to, n };
    return true;
}

static bool is_known(const struct codec_reader *r, uint32_t id)
{
    return id < ENTITY_MAX && (r->known[id / 8] >> (id % 8) & 1);
}

static int read_header(struct codec_reader *r, struct cursor *c)
{
    struct stream_header h = { 0 };
    struct str key, value;
    while (scan_pair(c, &key, &value)) {
        bool ok = true;
        if (str_is(key, "clock"))
            ok = stream_clock_from_name(value, &h.clock);
        else if (str_is(key, "tool"))
            ok = unescape(r, value, &h.tool);
        else if (str_is(key, "host"))
            ok = unescape(r, value, &h.host);
        else if (str_is(key, "boot"))
            ok = unescape(r, value, &h.boot_id);
        else if (str_is(key, "tables"))
            ok = unescape(r, value, &h.tables);
        else if (str_is(key, "wall"))
            ok = parse_i64(value, &h.wall_offset_us) == 0 && h.wall_offset_us <= TIME_MAX_US &&
                 h.wall_offset_us >= -TIME_MAX_US;
        else if (str_is(key, "interval"))
            ok = parse_i64(value, &h.interval_us) == 0 && h.interval_us >= 0 &&
                 h.interval_us <= TIME_MAX_US;
        if (!ok)
            return bad(c, "a header field of no sense before here");
    }
    codec_reader_reset(r);
    r->headed = true;
    r->wall_offset_us = h.wall_offset_us;
    r->record = (struct record){ .kind = RECORD_HEADER };
    r->record.u.header = h;
    return 0; /* given out with the time line that follows */
}

static bool read_entity_field(struct codec_reader *r, struct entity *e, struct str key,
                              struct str value)
{
    int64_t number;
    if (str_is(key, "key"))
        return unescape(r, value, &e->key);
    if (str_is(key, "name"))
        return unescape(r, value, &e->name);
    if (str_is(key, "driver"))
        return unescape(r, value, &e->driver);
    if (str_is(key, "bus"))
        return unescape(r, value, &e->bus);
    if (str_is(key, "parent"))
        return parse_u32(value, &e->parent) == 0 && is_known(r, e->parent);
    if (str_is(key, "generation"))
        return parse_u32(value, &e->generation) == 0;
    if (!str_is(key, "index"))
        return true; /* of a newer version */
    if (parse_i64(value, &number) < 0 || number < 0 || number > INT32_MAX)
        return false;
    e->index = (int32_t) number;
    return true;
}

static int read_entity(struct codec_reader *r, struct cursor *c)
{
    struct entity e = { .parent = ENTITY_NONE, .index = -1 };
    struct str key, value;
    if (!skip_blank(c) || !scan_u32(c, &e.id) || e.id >= ENTITY_MAX)
        return bad(c, "no entity id");
    if (!skip_blank(c))
        return bad(c, "no entity kind");
    (void) entity_kind_from_name(scan_word(c), &e.kind); /* a newer kind stays unknown */
    while (scan_pair(c, &key, &value))
        if (!read_entity_field(r, &e, key, value))
            return bad(c, "an entity field of no sense before here");
    r->known[e.id / 8] |= (uint8_t) (1u << (e.id % 8));
    r->record.kind = RECORD_ENTITY;
    r->record.u.entity = e;
    return 1;
}

static int read_gone(struct codec_reader *r, struct cursor *c)
{
    uint32_t id;
    if (!skip_blank(c) || !scan_u32(c, &id) || !at_end(c) || !is_known(r, id))
        return bad(c, "no id of a known entity");
    r->known[id / 8] &= (uint8_t) ~(1u << (id % 8));
    r->record.kind = RECORD_GONE;
    r->record.u.gone = id;
    return 1;
}

static int read_form(struct codec_reader *r, struct cursor *c)
{
    uint32_t number;
    struct form f = { 0 };
    if (!skip_blank(c) || !scan_u32(c, &number) || number >= FORMS_MAX)
        return bad(c, "no form number below 256");
    while (skip_blank(c)) {
        if (f.n == SAMPLE_MAX)
            return bad(c, "more than 64 metrics in a form");
        f.metric[f.n++] = (uint16_t) metric_from_name(scan_word(c));
    }
    if (!f.n)
        return bad(c, "a form without metrics");
    r->forms[number] = f;
    return 0;
}

static bool scan_obs(const struct codec_reader *r, struct cursor *c, struct obs *o)
{
    o->status = OBS_VALUE;
    o->value = o->device_us = 0;
    if (!at_end(c) && *c->at == '~') {
        o->status = OBS_STALE;
        c->at++;
    }
    if (!scan_i64(c, &o->value)) {
        if (at_end(c) || o->status == OBS_STALE)
            return false;
        char first = *c->at++;
        o->status = OBS_ABSENT;
        if (first == '!' && !at_end(c)) {
            char letter = *c->at++;
            for (size_t i = 0; i < ARRAY_SIZE(status_letters); i++)
                if (status_letters[i].letter == letter)
                    o->status = status_letters[i].status;
        }
        if (first != '-' && o->status == OBS_ABSENT)
            return false;
    }
    if (at_end(c) || *c->at != '@')
        return true;
    c->at++;
    if (!scan_i64(c, &o->device_us))
        return false;
    return !__builtin_add_overflow(o->device_us, r->now_us, &o->device_us) &&
           !__builtin_add_overflow(o->device_us, r->wall_offset_us, &o->device_us);
}

static int read_sample(struct codec_reader *r, struct cursor *c)
{
    uint32_t id, number, n = 0;
    if (!skip_blank(c) || !scan_u32(c, &id) || !is_known(r, id))
        return bad(c, "no id of a known entity");
    if (!skip_blank(c) || !scan_u32(c, &number) || number >= FORMS_MAX || !r->forms[number].n)
        return bad(c, "no number of a declared form");
    const struct form *f = &r->forms[number];
    for (uint32_t i = 0; i < f->n; i++) {
        struct obs *o = &r->obs[n];
        if (!skip_blank(c) || !scan_obs(r, c, o))
            return bad(c, "no value");
        o->metric = (enum metric) f->metric[i];
        n += o->metric != METRIC_UNKNOWN;
    }
    if (!at_end(c))
        return bad(c, "more values than the form has metrics");
    if (!n)
        return 0;
    r->record.kind = RECORD_SAMPLE;
    r->record.u.sample = (struct sample){ id, n, r->obs };
    return 1;
}

static int read_clock(struct codec_reader *r, struct cursor *c)
{
    int64_t offset;
    if (!skip_blank(c) || !scan_i64(c, &offset) || !at_end(c) || offset > TIME_MAX_US ||
        offset < -TIME_MAX_US)
        return bad(c, "no offset of wall time in us");
    r->wall_offset_us = offset;
    r->record.kind = RECORD_CLOCK;
    r->record.u.wall_offset_us = offset;
    return 1;
}

static int read_anchor(struct codec_reader *r, struct cursor *c)
{
    struct anchor_value a = { 0 };
    struct str key, value;
    if (!skip_blank(c) || !scan_u32(c, &a.entity) || !is_known(r, a.entity))
        return bad(c, "no id of a known entity");
    if (!skip_blank(c) || !anchor_from_name(scan_word(c), &a.anchor))
        return bad(c, "no anchor name before here");
    if (!skip_blank(c) || !scan_i64(c, &a.power_mw))
        return bad(c, "no power in mW");
    while (scan_pair(c, &key, &value))
        if (str_is(key, "source") && !unescape(r, value, &a.source))
            return bad(c, "a source of no sense before here");
    r->record.kind = RECORD_ANCHOR;
    r->record.u.anchor = a;
    return 1;
}

static int read_note(struct codec_reader *r, struct cursor *c)
{
    struct note n = { .entity = ENTITY_NONE };
    struct str key, value;
    if (!skip_blank(c))
        return bad(c, "no entity id");
    if (!at_end(c) && *c->at == '-')
        c->at++;
    else if (!scan_u32(c, &n.entity) || !is_known(r, n.entity))
        return bad(c, "no id of a known entity");
    while (scan_pair(c, &key, &value))
        if ((str_is(key, "key") && !unescape(r, value, &n.key)) ||
            (str_is(key, "text") && !unescape(r, value, &n.text)))
            return bad(c, "a note of no sense before here");
    r->record.kind = RECORD_NOTE;
    r->record.u.note = n;
    return 1;
}

/* "@123": absolute, "+123": later by. The header waits for its time. */
static int read_time(struct codec_reader *r, struct cursor *c, bool relative)
{
    int64_t t;
    bool header = r->record.kind == RECORD_HEADER && !r->timed;
    if (!r->timed && !header && r->headed)
        return bad(c, "a time whose header made no sense");
    if (!scan_i64(c, &t) || !at_end(c))
        return bad(c, "no time in us");
    if (relative && (t < 0 || __builtin_add_overflow(t, r->now_us, &t)))
        return bad(c, "a step back in time");
    if (t > TIME_MAX_US || t < -TIME_MAX_US)
        return bad(c, "no time that a clock can show");
    if (r->timed && t < r->now_us)
        return bad(c, "time goes back");
    r->now_us = t;
    r->timed = true;
    r->record.mono_us = t;
    return header ? 1 : 0;
}

static int read_kind(struct codec_reader *r, struct cursor *c, char kind)
{
    switch (kind) {
    case 'S':
        return read_sample(r, c);
    case '+':
        return read_time(r, c, true);
    case '@':
        return read_time(r, c, false);
    case 'T':
        r->record.kind = RECORD_TICK;
        return at_end(c) ? 1 : bad(c, "something behind a tick");
    case 'F':
        return read_form(r, c);
    case 'E':
        return read_entity(r, c);
    case 'G':
        return read_gone(r, c);
    case 'H':
        return read_header(r, c);
    case 'C':
        return read_clock(r, c);
    case 'A':
        return read_anchor(r, c);
    case 'N':
        return read_note(r, c);
    default: /* of a newer version: skipped */
        return kind >= 'B' && kind <= 'Z' ? 0 : bad(c, "no kind of record");
    }
}

int codec_read(struct codec_reader *r, struct str line, const struct record **ret, struct err *err)
{
    struct cursor c = { line.p, line.p + line.n, line.p, err };
    if (!line.n)
        return 0;
    char kind = *c.at++;
    if (!r->timed && kind != 'H' && kind != '@' && kind != 'F')
        return bad(&c, "a record before any time");
    if (kind == 'H')
        r->record.kind = RECORD_UNKNOWN; /* a header that still waits for its time is given up */
    if (kind == 'E' || kind == 'H' || kind == 'A' || kind == 'N') {
        strbuf_clear(&r->texts);
        if (!strbuf_room(&r->texts, line.n)) /* so that unescaped texts do not move */
            return err_sys(err, ENOMEM, "read a record");
    }
    int result = read_kind(r, &c, kind);
    if (result == 1) {
        r->record.mono_us = r->now_us;
        *ret = &r->record;
    }
    return result;
}
