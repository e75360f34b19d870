/* SPDX-License-Identifier: Apache-2.0 */
/* States over time: a new state must last before it replaces the old one, and then counts from
 * when it began. */
#include "core/triage/triage-priv.h"

#include <stdio.h>
#include <string.h>

/* ---- strips: the stream in at most STRIP_SLOTS equal slots, halved when it grows ---- */

_Static_assert(STRIP_SLOTS % 2 == 0, "slots are folded in pairs");

/* Two slots become one; the half that is left over is empty. */
static void strip_fold(struct strip *s)
{
    for (size_t i = 0; i < STRIP_SLOTS / 2; i++) {
        s->power_sum[i] = s->power_sum[2 * i] + s->power_sum[2 * i + 1];
        s->power_n[i] = s->power_n[2 * i] + s->power_n[2 * i + 1];
        for (unsigned k = 0; k < STATE_COUNT; k++)
            s->us[i][k] = s->us[2 * i][k] + s->us[2 * i + 1][k];
    }
    for (unsigned i = STRIP_SLOTS / 2; i < STRIP_SLOTS; i++) {
        s->power_sum[i] = 0;
        s->power_n[i] = 0;
        memset(s->us[i], 0, sizeof(s->us[i]));
    }
    s->width_us *= 2;
}

static unsigned strip_slot(struct strip *s, int64_t at_us)
{
    if (!s->width_us)
        s->width_us = 1000000;
    while (at_us - s->origin_us >= s->width_us * STRIP_SLOTS)
        strip_fold(s);
    return (unsigned) CLAMP((at_us - s->origin_us) / s->width_us, 0, STRIP_SLOTS - 1);
}

static void strip_add_time(struct strip *s, int64_t from_us, int64_t to_us, enum state state)
{
    (void) strip_slot(s, to_us); /* folds first, so that slots stay put below */
    while (from_us < to_us) {
        unsigned slot = strip_slot(s, from_us);
        int64_t end = MIN(to_us, s->origin_us + s->width_us * (slot + 1));
        s->us[slot][state] += end - from_us;
        from_us = MAX(end, from_us + 1);
    }
}

void strip_publish(struct device *d)
{
    struct strip *s = &d->strip;
    struct triage_device *p = &d->pub;
    p->slots = d->pub.samples ? strip_slot(s, p->last_us) + 1 : 0;
    for (unsigned i = 0; i < p->slots; i++) {
        p->slot_power_mw[i] = s->power_n[i] ? s->power_sum[i] / s->power_n[i] : -1;
        enum state best = STATE_UNKNOWN;
        for (unsigned k = 1; k < STATE_COUNT; k++)
            if (s->us[i][k] > s->us[i][best])
                best = (enum state) k;
        if (p->slots == 1 && best == STATE_UNKNOWN)
            best = p->state; /* a moment has no duration */
        p->slot_state[i] = best;
    }
}

void episode_power(struct device *d, int64_t at_us, int64_t power_mw)
{
    unsigned slot = strip_slot(&d->strip, at_us);
    d->strip.power_sum[slot] += power_mw;
    d->strip.power_n[slot]++;
    histogram_add(d->next.open ? &d->next_watts : &d->watts, power_mw);
}

/* ---- episodes ---- */

static void give_time(struct device *d, int64_t until_us, enum state state)
{
    if (until_us <= d->pending_from_us)
        return;
    d->pub.us_by_state[state] += until_us - d->pending_from_us;
    strip_add_time(&d->strip, d->pending_from_us, until_us, state);
    d->pending_from_us = until_us;
}

static void add_evidence(struct open_episode *o, const char *rule, const char *detail)
{
    for (uint32_t i = 0; i < o->n_evidence; i++)
        if (strcmp(o->evidence[i].rule, rule) == 0)
            return;
    if (o->n_evidence == EVIDENCE_MAX)
        return;
    struct evidence *e = &o->evidence[o->n_evidence++];
    e->rule = rule;
    str_plain(str_copy(e->detail, sizeof(e->detail), str_from(detail)));
}

static void start(struct open_episode *o, int64_t at_us, const struct verdict *v,
                  enum confidence confidence, const char *detail)
{
    *o = (struct open_episode){
        .open = true, .start_us = at_us, .verdict = *v, .confidence = confidence
    };
    add_evidence(o, v->rule, detail);
}

static void emit(struct triage *t, struct device *d, int64_t end_us)
{
    struct open_episode *o = &d->now;
    if (!o->open)
        return;
    struct episode e = { .device = d->number,
                         .start_us = o->start_us,
                         .end_us = end_us,
                         .state = o->verdict.state,
                         .candidates = o->verdict.candidates,
                         .confidence = o->confidence,
                         .power_mw = histogram_median_mw(&d->watts),
                         .samples = o->samples,
                         .n_evidence = o->n_evidence };
    memcpy(e.evidence, o->evidence, sizeof(e.evidence));
    if (t->sink.episode)
        t->sink.episode(t->sink.arg, &e);
    o->open = false;
    histogram_clear(&d->watts);
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
    return a->state == b->state && a->candidates == b->candidates;
}

static void publish(struct device *d)
{
    d->pub.state = d->now.verdict.state;
    d->pub.candidates = d->now.verdict.candidates;
    d->pub.since_us = d->now.start_us;
}

/* The waiting state takes over; its beginning is where it was first seen. */
static void switch_over(struct triage *t, struct device *d)
{
    give_time(d, d->next.start_us, d->now.verdict.state);
    emit(t, d, d->next.start_us);
    d->now = d->next;
    d->watts = d->next_watts;
    histogram_clear(&d->next_watts);
    d->next.open = false;
    publish(d);
}

static void drop_next(struct device *d)
{
    if (!d->next.open)
        return;
    d->now.samples += d->next.samples;
    if (d->next_watts.n)
        for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
            d->watts.count[i] += d->next_watts.count[i];
    d->watts.n += d->next_watts.n;
    histogram_clear(&d->next_watts);
    d->next.open = false;
}

static bool at_once(const struct device *d, const struct verdict *v)
{
    /* Death needs no second look, nor does what follows it; and until a window is full the
     * first guess is improved, not kept. */
    return v->state == STATE_LOST || d->now.verdict.state == STATE_LOST ||
           v->state == STATE_DEADLOCK || d->silent;
}

static void continue_now(struct device *d, const struct verdict *v, enum confidence confidence,
                         const char *detail)
{
    drop_next(d);
    d->now.samples++;
    d->now.confidence = MAX(d->now.confidence, confidence);
    add_evidence(&d->now, v->rule, detail);
}

void episode_step(struct triage *t, struct device *d, const struct verdict *v,
                  enum confidence confidence, const char *detail)
{
    int64_t now = t->now_us;
    if (!d->now.open) {
        start(&d->now, now, v, confidence, detail);
        d->now.samples = 1;
        d->pending_from_us = now;
        publish(d);
        return;
    }
    if (same_verdict(&d->now.verdict, v)) {
        continue_now(d, v, confidence, detail);
        return;
    }
    if (d->now.confidence == CONFIDENCE_SNAPSHOT) { /* still the first guess */
        int64_t since = d->now.start_us;
        uint32_t samples = d->now.samples;
        start(&d->now, since, v, confidence, detail);
        d->now.samples = samples + 1;
        d->next.open = false;
        publish(d);
        return;
    }
    if (!d->next.open || !same_verdict(&d->next.verdict, v)) {
        drop_next(d);
        start(&d->next, now, v, confidence, detail);
    }
    d->next.samples++;
    d->next.confidence = MAX(d->next.confidence, confidence);
    if (now - d->next.start_us >= t->rules->min_episode_us || at_once(d, v))
        switch_over(t, d);
}

/* Nothing was sampled for long: what was open ends where it was last seen. */
void episode_gap(struct triage *t, struct device *d)
{
    drop_next(d);
    give_time(d, d->pub.last_us, d->now.verdict.state);
    emit(t, d, d->pub.last_us);
    d->pending_from_us = t->now_us;
    track_clear(&d->power);
    track_clear(&d->util);
    track_clear(&d->mem);
    track_clear(&d->link);
    track_clear(&d->exchange);
    track_clear(&d->sm);
    d->still_since_us = -1;
}

void episode_finish(struct triage *t, struct device *d)
{
    int64_t end = d->now.verdict.state == STATE_LOST ? t->now_us : d->pub.last_us;
    drop_next(d);
    give_time(d, end, d->now.verdict.state);
    emit(t, d, MAX(end, d->now.start_us));
}
