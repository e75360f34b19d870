/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/codec-priv.h"
#include "core/telemetry/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECENT 64u /* entities share this many memories of their last form */

struct codec_writer {
    struct form forms[FORMS_MAX];
    uint32_t next_form;
    uint8_t recent[RECENT]; /* form that an entity used last, by id modulo */
    int64_t now_us;
    bool timed; /* a time was written since the last reset */
    bool restate;
    int64_t wall_offset_us;
};

struct codec_writer *codec_writer_new(void)
{
    return calloc(1, sizeof(struct codec_writer));
}

void codec_writer_free(struct codec_writer *w)
{
    free(w);
}

void codec_writer_reset(struct codec_writer *w)
{
    *w = (struct codec_writer){ .wall_offset_us = w->wall_offset_us };
}

void codec_writer_restate_forms(struct codec_writer *w)
{
    memset(w->forms, 0, sizeof(w->forms));
    w->next_form = 0;
}

void codec_writer_restate_time(struct codec_writer *w)
{
    w->restate = true;
}

/* Blanks, control characters and '%' become %XX, so that a text is one word. */
static void add_word(struct strbuf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if (c <= 0x20 || c == '%' || c == 0x7f)
            strbuf_addf(out, "%%%02X", c);
        else
            strbuf_addc(out, (char) c);
    }
}

static void add_text(struct strbuf *out, const char *key, struct str s)
{
    if (!s.n)
        return;
    strbuf_addf(out, " %s=", key);
    add_word(out, s);
}

static void add_number(struct strbuf *out, const char *key, int64_t value)
{
    if (value)
        strbuf_addf(out, " %s=%" PRId64, key, value);
}

static void add_id(struct strbuf *out, uint32_t id)
{
    if (id == ENTITY_NONE)
        strbuf_addc(out, '-');
    else
        strbuf_add_i64(out, id);
}

static void add_time(struct codec_writer *w, int64_t mono_us, struct strbuf *out)
{
    bool step = w->timed && !w->restate;
    if (step && mono_us == w->now_us)
        return;
    strbuf_addc(out, step ? '+' : '@');
    strbuf_add_i64(out, step ? mono_us - w->now_us : mono_us);
    strbuf_addc(out, '\n');
    w->timed = true;
    w->restate = false;
    w->now_us = mono_us;
}

static void write_header(struct codec_writer *w, const struct stream_header *h, struct strbuf *out)
{
    w->wall_offset_us = h->wall_offset_us;
    strbuf_addf(out, "H clock=%s", stream_clock_name(h->clock));
    add_text(out, "tool", h->tool);
    add_text(out, "host", h->host);
    add_text(out, "boot", h->boot_id);
    add_text(out, "tables", h->tables);
    add_number(out, "wall", h->wall_offset_us);
    add_number(out, "interval", h->interval_us);
}

static int write_entity(const struct entity *e, struct strbuf *out, struct err *err)
{
    if (e->id >= ENTITY_MAX)
        return err_set(err, -EINVAL, "entity %" PRIu32 ": ids stay below %u", e->id, ENTITY_MAX);
    if (e->parent != ENTITY_NONE && e->parent >= ENTITY_MAX)
        return err_set(err, -EINVAL, "entity %" PRIu32 ": parent %" PRIu32 " is no id", e->id,
                       e->parent);
    strbuf_addf(out, "E %" PRIu32 " %s", e->id, entity_kind_name(e->kind));
    if (e->parent != ENTITY_NONE)
        strbuf_addf(out, " parent=%" PRIu32, e->parent);
    add_number(out, "generation", e->generation);
    if (e->index >= 0)
        strbuf_addf(out, " index=%" PRId32, e->index);
    add_text(out, "key", e->key);
    add_text(out, "name", e->name);
    add_text(out, "driver", e->driver);
    add_text(out, "bus", e->bus);
    return 0;
}

static bool form_fits(const struct form *f, const struct sample *s)
{
    if (f->n != s->n)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (f->metric[i] != (uint16_t) s->obs[i].metric)
            return false;
    return true;
}

/* The form of this sample, declared now when it is new. */
static uint32_t find_form(struct codec_writer *w, const struct sample *s, struct strbuf *out)
{
    uint8_t *recent = &w->recent[s->entity % RECENT];
    if (form_fits(&w->forms[*recent], s))
        return *recent;
    for (uint32_t i = 0; i < FORMS_MAX && w->forms[i].n; i++)
        if (form_fits(&w->forms[i], s))
            return *recent = (uint8_t) i;
    uint32_t number = w->next_form++ % FORMS_MAX;
    struct form *f = &w->forms[number];
    f->n = s->n;
    strbuf_addf(out, "F %" PRIu32, number);
    for (uint32_t i = 0; i < s->n; i++) {
        f->metric[i] = (uint16_t) s->obs[i].metric;
        strbuf_addf(out, " %s", metric_info(s->obs[i].metric)->name);
    }
    strbuf_addc(out, '\n');
    return *recent = (uint8_t) number;
}

static void add_obs(const struct codec_writer *w, const struct obs *o, struct strbuf *out)
{
    strbuf_addc(out, ' ');
    if (o->status == OBS_ABSENT)
        strbuf_addc(out, '-');
    for (size_t i = 0; i < ARRAY_SIZE(status_letters); i++)
        if (o->status == status_letters[i].status) {
            strbuf_addc(out, '!');
            strbuf_addc(out, status_letters[i].letter);
        }
    if (o->status == OBS_STALE)
        strbuf_addc(out, '~');
    if (o->status == OBS_STALE || o->status == OBS_VALUE)
        strbuf_add_i64(out, o->value);
    if (o->device_us) {
        strbuf_addc(out, '@');
        strbuf_add_i64(out, o->device_us - w->now_us - w->wall_offset_us);
    }
}

static int check_sample(const struct sample *s, struct err *err)
{
    if (s->entity >= ENTITY_MAX || !s->n || s->n > SAMPLE_MAX)
        return err_set(err, -EINVAL, "sample of entity %" PRIu32 " with %" PRIu32 " observations",
                       s->entity, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->obs[i].metric == METRIC_UNKNOWN || (unsigned) s->obs[i].metric >= METRIC_COUNT ||
            (unsigned) s->obs[i].status >= OBS_STATUS_COUNT)
            return err_set(err, -EINVAL,
                           "sample of entity %" PRIu32 ": observation %" PRIu32
                           " has no metric or status",
                           s->entity, i);
    return 0;
}

static int write_sample(struct codec_writer *w, const struct sample *s, struct strbuf *out,
                        struct err *err)
{
    int r = check_sample(s, err);
    if (r < 0)
        return r;
    uint32_t form = find_form(w, s, out);
    strbuf_addc(out, 'S');
    strbuf_addc(out, ' ');
    strbuf_add_i64(out, s->entity);
    strbuf_addc(out, ' ');
    strbuf_add_i64(out, form);
    for (uint32_t i = 0; i < s->n; i++)
        add_obs(w, &s->obs[i], out);
    return 0;
}

static int write_body(struct codec_writer *w, const struct record *r, struct strbuf *out,
                      struct err *err)
{
    switch (r->kind) {
    case RECORD_HEADER:
        write_header(w, &r->u.header, out);
        return 0;
    case RECORD_ENTITY:
        return write_entity(&r->u.entity, out, err);
    case RECORD_GONE:
        strbuf_addf(out, "G %" PRIu32, r->u.gone);
        return 0;
    case RECORD_SAMPLE:
        return write_sample(w, &r->u.sample, out, err);
    case RECORD_TICK:
        strbuf_addc(out, 'T');
        return 0;
    case RECORD_CLOCK:
        w->wall_offset_us = r->u.wall_offset_us;
        strbuf_addf(out, "C %" PRId64, r->u.wall_offset_us);
        return 0;
    case RECORD_ANCHOR:
        strbuf_addf(out, "A %" PRIu32 " %s %" PRId64, r->u.anchor.entity,
                    anchor_name(r->u.anchor.anchor), r->u.anchor.power_mw);
        add_text(out, "source", r->u.anchor.source);
        return 0;
    case RECORD_NOTE:
        strbuf_addz(out, "N ");
        add_id(out, r->u.note.entity);
        add_text(out, "key", r->u.note.key);
        add_text(out, "text", r->u.note.text);
        return 0;
    case RECORD_UNKNOWN:
    case RECORD_KIND_COUNT:
        break;
    }
    return err_set(err, -EINVAL, "a record of no kind");
}

int codec_write(struct codec_writer *w, const struct record *r, struct strbuf *out, struct err *err)
{
    if (r->kind == RECORD_HEADER) {
        w->timed = false; /* a header may start another boot's clock */
    } else if (w->timed && r->mono_us < w->now_us) {
        return err_set(err, -EINVAL, "time goes back from %" PRId64 " to %" PRId64 " us", w->now_us,
                       r->mono_us);
    }
    const size_t before = out->n;
    const bool timed = w->timed, header = r->kind == RECORD_HEADER;
    const int64_t now_us = w->now_us;
    if (!header)
        add_time(w, r->mono_us, out);
    int result = write_body(w, r, out, err);
    if (result < 0) {
        if (out->p && !out->error) {
            out->n = before;
            out->p[before] = '\0';
        }
        w->timed = timed;
        w->now_us = now_us;
        return result;
    }
    strbuf_addc(out, '\n');
    if (header)
        add_time(w, r->mono_us, out);
    return out->error ? err_sys(err, -out->error, "write a record") : 0;
}
