/* SPDX-License-Identifier: Apache-2.0 */
/* Records in: devices are found, their readings kept, and at each sample the rule is asked. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READING_MAX (INT64_C(1) << 53) /* beyond is garbage, and would overflow sums */

struct triage *triage_new(const struct triage_rules *rules, const struct board_set *boards,
                          const struct triage_sink *sink)
{
    struct triage *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->rules = rules;
    t->boards = boards;
    t->sink = *sink;
    return t;
}

void triage_free(struct triage *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->devices[i]);
    free(t->devices);
    free(t->processes);
    free(t->device_of);
    free(t->stored);
    free(t);
}

size_t triage_devices(const struct triage *t)
{
    return t->n;
}

const struct triage_device *triage_device(const struct triage *t, size_t i)
{
    return i < t->n ? &t->devices[i]->pub : NULL;
}

int64_t triage_wall_us(const struct triage *t, int64_t stream_us)
{
    int64_t wall;
    if (t->clock == CLOCK_NONE || __builtin_add_overflow(stream_us, t->wall_offset_us, &wall))
        return -1;
    return wall;
}

/* ---- a step ---- */

static bool has_rule(const struct open_episode *o, const char *rule)
{
    for (uint32_t i = 0; o->open && i < o->n_evidence; i++)
        if (strcmp(o->evidence[i].rule, rule) == 0)
            return true;
    return false;
}

/* The numbers compared, in words; made only when an episode does not have them yet. */
static void explain(const struct triage *t, const struct device *d, const struct signals *s,
                    const struct verdict *v, const struct track_view *power, char *buf, size_t cap)
{
    static const char *const amounts[] = { "?", "none", "some", "much" };
    static const char *const hosts[] = { "?", "still", "writing", "loading", "blocked" };
    int64_t low, high;
    buf[0] = '\0';
    if (has_rule(&d->now, v->rule) && (!d->next.open || has_rule(&d->next, v->rule)))
        return;
    (void) classify(t, d, power->median, &low, &high);
    int n = power->median < 0 ? snprintf(buf, cap, "no watts")
                              : snprintf(buf, cap, "%" PRId64 " W", power->median / MW_PER_W);
    if (low >= 0 && n > 0)
        n += snprintf(buf + n, cap - (size_t) n, " (low to %" PRId64 ", high from %" PRId64 ")",
                      low / MW_PER_W, high / MW_PER_W);
    if (d->pub.util_permille >= 0 && n > 0 && (size_t) n < cap)
        n +=
            snprintf(buf + n, cap - (size_t) n, ", util %" PRId64 " %%", d->pub.util_permille / 10);
    if (n > 0 && (size_t) n < cap)
        snprintf(buf + n, cap - (size_t) n, ", memory %s, links %s, owner %s, host %s",
                 amounts[s->mem], amounts[s->link], amounts[s->owner], hosts[s->host]);
}

/* A device that says that it is lost, or whose query never came back. */
static bool answer_missing(const struct readings *s, struct verdict *v)
{
    if (s->lost)
        *v = (struct verdict){ STATE_LOST, 0, "device.lost" };
    else if (s->timed_out)
        *v = (struct verdict){ STATE_UNKNOWN, 0, "device.timed-out" };
    return s->lost || s->timed_out;
}

static void lose(struct triage *t, struct device *d, const char *rule, const char *why)
{
    const struct verdict v = { STATE_LOST, 0, rule };
    if (d->pub.is_node || !d->pub.samples)
        return;
    find_once(t, d, FINDING_DEVICE_LOST, rule, "%s", why);
    episode_step(t, d, &v, CONFIDENCE_HIGH, why);
}

static void step(struct triage *t, struct device *d, const struct readings *s, int64_t dt_us)
{
    struct signals signals;
    struct track_view power;
    struct verdict v;
    char detail[sizeof(((struct evidence *) NULL)->detail)];
    if (answer_missing(s, &v)) {
        if (v.state == STATE_LOST)
            lose(t, d, v.rule, "the driver says that the GPU is lost");
        else
            episode_step(t, d, &v, CONFIDENCE_HIGH, "the query did not come back in time");
        return;
    }
    d->said.done[FINDING_DEVICE_LOST] = false;
    signals_look(t, d, &signals, &power);
    v = decide(&signals);
    if (d->stuck_sensor)
        v = (struct verdict){ STATE_UNKNOWN, 0, "sensor.frozen" };
    explain(t, d, &signals, &v, &power, detail, sizeof(detail));
    episode_step(t, d, &v, signals_confidence(t, d, &power), detail);
    findings_step(t, d, &signals, &v, &power);
    learn(t, d, &signals, &power, dt_us);
}

static void keep_pace(struct triage *t, struct device *d)
{
    int64_t dt = t->now_us - d->pub.last_us;
    if (!d->pub.samples) {
        d->pub.first_us = d->strip.origin_us = t->now_us;
        return;
    }
    bool was_silent = d->silent;
    d->silent = false;
    if (dt > device_gap_us(t, d) && d->pub.samples > 1 && !was_silent &&
        d->now.verdict.state != STATE_LOST)
        episode_gap(t, d);
    else if (dt > 0 && !was_silent)
        d->interval_us = d->interval_us ? d->interval_us + (dt - d->interval_us) / 8 : dt;
}

static void spread_out(const struct sample *from, struct readings *to)
{
    memset(to->have, 0, sizeof(to->have));
    memset(to->named, 0, sizeof(to->named));
    to->errors = 0;
    to->lost = to->timed_out = false;
    for (uint32_t i = 0; i < from->n; i++) {
        const struct obs *o = &from->obs[i];
        to->status[o->metric] = o->status;
        to->named[o->metric / 64] |= UINT64_C(1) << (o->metric % 64);
        bool sane = o->value <= READING_MAX && o->value >= -READING_MAX;
        if (o->status == OBS_VALUE && !sane) {
            to->status[o->metric] = OBS_ERROR; /* no device can mean that */
            continue;
        }
        if (o->status == OBS_VALUE) {
            to->value[o->metric] = o->value;
            to->have[o->metric / 64] |= UINT64_C(1) << (o->metric % 64);
            continue;
        }
        to->lost = to->lost || o->status == OBS_LOST;
        to->timed_out = to->timed_out || o->status == OBS_TIMED_OUT;
        if (o->status == OBS_ERROR && !to->errors++)
            to->first_error = o->metric;
    }
}

static void take_device_sample(struct triage *t, struct device *d, const struct sample *sample)
{
    struct readings *s = &t->in;
    spread_out(sample, s);
    int64_t mw = 0, dt = d->pub.samples ? t->now_us - d->pub.last_us : 0;
    keep_pace(t, d);
    d->pub.samples++;
    d->pub.last_us = t->now_us;
    bool have = readings_take(t, d, s, &mw);
    energy_sample(t, d, s);
    if (!d->pub.is_node) {
        findings_sample(t, d, s);
        step(t, d, s, MIN(dt, device_gap_us(t, d)));
    }
    if (have)
        episode_power(d, t->now_us, mw);
}

static int take_sample(struct triage *t, const struct sample *s, struct err *err)
{
    struct device *d = device_by_entity(t, s->entity);
    if (!d && sample_find(s, METRIC_NODE_POWER_MW)) {
        struct entity node = { .id = s->entity,
                               .kind = ENTITY_NODE,
                               .parent = ENTITY_NONE,
                               .index = -1,
                               .key = str_from(t->node_key) };
        if (device_take(t, &node, err) < 0)
            return -ENOMEM;
        d = device_by_entity(t, s->entity);
    }
    if (d)
        take_device_sample(t, d, s);
    else
        host_sample(t, s);
    return 0;
}

/* ---- the stream ---- */

static int take_entity(struct triage *t, const struct entity *e, struct err *err)
{
    if (e->kind == ENTITY_GPU)
        return device_take(t, e, err);
    if (e->kind == ENTITY_MIG)
        device_divided(t, e);
    if (e->kind == ENTITY_NODE)
        str_copy(t->node_key, sizeof(t->node_key), e->key);
    if (device_bind(t, e->id, NULL) < 0)
        return err_sys(err, ENOMEM, "triage");
    if (e->kind == ENTITY_PROCESS && host_entity(t, e) < 0)
        return err_sys(err, ENOMEM, "triage");
    return 0;
}

/* A recorder that was restarted, perhaps after a reboot: time goes on by the wall clock. */
static void take_header(struct triage *t, const struct record *r)
{
    const struct stream_header *h = &r->u.header;
    int64_t before = t->now_us, stream = r->mono_us;
    t->interval_us = h->interval_us;
    if (!t->headed) {
        t->headed = true;
        t->clock = h->clock;
        t->wall_offset_us = h->wall_offset_us;
        t->now_us = stream;
        return;
    }
    t->shift_us = h->clock == t->clock ? h->wall_offset_us - t->wall_offset_us : 0;
    if (stream + t->shift_us < before) {
        t->shift_us = before - stream;
        for (size_t i = 0; i < t->n && i < 1; i++)
            find(t, NULL, FINDING_TIME, "stream.restart",
                 "the recording goes on at an earlier time");
    }
    for (size_t i = 0; i < t->n_device_of; i++)
        t->device_of[i] = 0;
    for (size_t i = 0; i < t->n_processes; i++)
        t->processes[i].used = false;
    t->last_tick_us = 0;
}

static bool any_fresh(const struct triage *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct device *d = t->devices[i];
        if (!d->gone && !d->pub.is_node && d->pub.samples &&
            t->now_us - d->pub.last_us <= device_gap_us(t, d))
            return true;
    }
    return false;
}

/* One device that is silent while others are not has died; when all are, it is the reading. */
static void fall_silent(struct triage *t, struct device *d, bool others_go_on)
{
    const struct verdict v = { STATE_UNKNOWN, 0, "stream.silent" };
    d->silent = true;
    if (others_go_on)
        lose(t, d, "device.silent", "no sample while others go on");
    else
        episode_step(t, d, &v, CONFIDENCE_HIGH, "no GPU gives a sample");
}

static void take_tick(struct triage *t)
{
    if (t->last_tick_us && t->now_us > t->last_tick_us)
        t->tick_us = t->now_us - t->last_tick_us;
    t->last_tick_us = t->now_us;
    bool others_go_on = any_fresh(t);
    for (size_t i = 0; i < t->n; i++) {
        struct device *d = t->devices[i];
        if (d->gone || d->pub.is_node || !d->pub.samples || d->now.verdict.state == STATE_LOST)
            continue;
        if (t->now_us - d->pub.last_us > device_gap_us(t, d) && t->tick_us < t->rules->lost_us)
            fall_silent(t, d, others_go_on);
    }
    findings_tick(t);
}

static void take_note(struct triage *t, const struct note *n)
{
    static const struct {
        const char *key, *rule;
        enum finding_kind kind;
    } rows[] = {
        { "worker", "worker.stuck", FINDING_WORKER_STUCK },
        { "blind", "worker.blind", FINDING_BLIND },
        { "time", "stream.time", FINDING_TIME },
        { "reader", "stream.reader", FINDING_READER },
    };
    struct device *d = n->entity == ENTITY_NONE ? NULL : device_by_entity(t, n->entity);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (str_is(n->key, rows[i].key))
            find(t, d, rows[i].kind, rows[i].rule, "%.*s", STR_ARG(n->text));
    host_note(t, n);
}

static void take_gone(struct triage *t, uint32_t entity)
{
    struct device *d = device_by_entity(t, entity);
    if (!d) {
        host_gone(t, entity);
        return;
    }
    lose(t, d, "device.gone", "the device went away");
    d->gone = true;
    t->device_of[entity] = 0;
}

static void take_anchor(struct triage *t, const struct anchor_value *a)
{
    struct device *d = device_by_entity(t, a->entity);
    if (!d || a->power_mw < 0 || !str_starts(a->source, "learned"))
        return;
    d->learned_mw[a->anchor] = a->power_mw;
    anchors_refresh(t, d);
}

static bool advance(struct triage *t, const struct record *r)
{
    int64_t now;
    if (__builtin_add_overflow(r->mono_us, t->shift_us, &now))
        return false;
    if (t->headed && now < t->now_us)
        return false;
    t->now_us = now;
    t->headed = true;
    return true;
}

int triage_feed(struct triage *t, const struct record *r, struct err *err)
{
    if (t->finished)
        return err_set(err, -EINVAL, "triage: fed after its end");
    if (r->kind == RECORD_HEADER) {
        take_header(t, r);
        return 0;
    }
    if (!advance(t, r))
        return err_set(err, -EINVAL, "triage: time goes back to %" PRId64 " us", r->mono_us);
    switch (r->kind) {
    case RECORD_ENTITY:
        return take_entity(t, &r->u.entity, err);
    case RECORD_SAMPLE:
        return take_sample(t, &r->u.sample, err);
    case RECORD_TICK:
        take_tick(t);
        return 0;
    case RECORD_GONE:
        take_gone(t, r->u.gone);
        return 0;
    case RECORD_CLOCK:
        t->wall_offset_us = r->u.wall_offset_us - t->shift_us;
        return 0;
    case RECORD_NOTE:
        take_note(t, &r->u.note);
        return 0;
    case RECORD_ANCHOR:
        take_anchor(t, &r->u.anchor);
        return 0;
    case RECORD_UNKNOWN:
    case RECORD_HEADER:
    case RECORD_KIND_COUNT:
        break;
    }
    return err_set(err, -EINVAL, "triage: a record of no kind");
}

int triage_finish(struct triage *t, struct err *err)
{
    if (t->finished)
        return err_set(err, -EINVAL, "triage: finished twice");
    t->finished = true;
    for (size_t i = 0; i < t->n; i++) {
        struct device *d = t->devices[i];
        if (!d->pub.is_node && d->pub.samples)
            episode_finish(t, d);
        energy_publish(t, d);
        strip_publish(d);
    }
    return 0;
}
