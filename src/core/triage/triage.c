/* SPDX-License-Identifier: Apache-2.0 */
/* Records in: devices are found, their readings kept, and at each sample the rule is asked. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_TICKS 5 /* sampling intervals without a sample before time counts as unseen */

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

/* ---- devices ---- */

int64_t device_window_us(const struct triage *t, const struct device *d)
{
    int64_t wide = d->interval_us * (t->rules->window_samples + 1);
    return MAX(t->rules->window_us, wide);
}

int64_t device_gap_us(const struct triage *t, const struct device *d)
{
    return MAX(t->rules->lost_us, d->interval_us * GAP_TICKS);
}

static struct device *device_by_key(const struct triage *t, struct str key)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_is(key, t->devices[i]->pub.key))
            return t->devices[i];
    return NULL;
}

static struct device *device_by_entity(const struct triage *t, uint32_t entity)
{
    if (entity >= t->n_device_of || !t->device_of[entity])
        return NULL;
    return t->devices[t->device_of[entity] - 1];
}

static int bind_entity(struct triage *t, uint32_t entity, const struct device *d)
{
    if (entity >= t->n_device_of) {
        size_t n = MAX((size_t) entity + 1, t->n_device_of * 2);
        uint32_t *grown = realloc(t->device_of, n * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + t->n_device_of, 0, (n - t->n_device_of) * sizeof(*grown));
        t->device_of = grown;
        t->n_device_of = n;
    }
    t->device_of[entity] = d ? d->number + 1 : 0;
    return 0;
}

static void use_stored(const struct triage *t, struct device *d)
{
    for (size_t i = 0; i < t->n_stored; i++)
        if (strcmp(t->stored[i].key, d->pub.key) == 0)
            for (unsigned a = 0; a < ANCHOR_COUNT; a++)
                if (t->stored[i].anchor_mw[a] >= 0) {
                    d->learned_mw[a] = t->stored[i].anchor_mw[a];
                    d->kept[a] = true;
                }
}

static void device_init(struct triage *t, struct device *d, const struct entity *e)
{
    struct triage_device *p = &d->pub;
    d->number = (uint32_t) t->n;
    str_copy(p->key, sizeof(p->key), e->key);
    p->is_node = e->kind == ENTITY_NODE;
    p->power_mw = p->util_permille = p->limit_mw = -1;
    p->power_mean_mw = p->power_min_mw = p->power_max_mw = p->util_mean_permille = -1;
    p->energy_uj = p->energy_error_permille = -1;
    d->limit_default_mw = d->mem_used_bytes = -1;
    d->still_since_us = d->last_power_us = -1;
    d->interval_us = t->interval_us;
    for (unsigned a = 0; a < ANCHOR_COUNT; a++)
        d->learned_mw[a] = p->anchor_mw[a] = -1;
    use_stored(t, d);
}

static struct device *device_add(struct triage *t, const struct entity *e)
{
    struct device **grown = realloc(t->devices, (t->n + 1) * sizeof(struct device *));
    if (!grown)
        return NULL;
    t->devices = grown;
    struct device *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    device_init(t, d, e);
    t->devices[t->n++] = d;
    return d;
}

static int take_device(struct triage *t, const struct entity *e, struct err *err)
{
    char text[64];
    struct entity named = *e;
    if (!e->key.n) {
        snprintf(text, sizeof(text), "index:%" PRId32, e->index);
        named.key = str_from(text);
    }
    struct device *d = device_by_key(t, named.key);
    if (!d)
        d = device_add(t, &named);
    if (!d || bind_entity(t, e->id, d) < 0)
        return err_sys(err, ENOMEM, "triage");
    d->gone = false;
    d->pub.entity = e->id;
    d->pub.index = e->index;
    if (e->name.n) {
        str_copy(d->pub.name, sizeof(d->pub.name), e->name);
        d->board = board_find(t->boards, e->name);
    } else if (!d->board) {
        d->board = t->assumed;
    }
    anchors_refresh(t, d);
    return 0;
}

static int take_entity(struct triage *t, const struct entity *e, struct err *err)
{
    if (e->kind == ENTITY_GPU)
        return take_device(t, e, err);
    if (e->kind == ENTITY_NODE)
        str_copy(t->node_key, sizeof(t->node_key), e->key);
    if (bind_entity(t, e->id, NULL) < 0)
        return err_sys(err, ENOMEM, "triage");
    if (e->kind == ENTITY_PROCESS && host_entity(t, e) < 0)
        return err_sys(err, ENOMEM, "triage");
    return 0;
}

int triage_assume_product(struct triage *t, struct str product, struct err *err)
{
    t->assumed = board_find(t->boards, product);
    for (size_t i = 0; i < t->boards->n && !t->assumed; i++)
        if (str_is_nocase(product, t->boards->boards[i].name))
            t->assumed = &t->boards->boards[i];
    if (!t->assumed)
        return err_set(err, -ENOENT, "no board table knows '%.*s'", STR_ARG(product));
    return 0;
}

int triage_set_anchors(struct triage *t, struct str key, const int64_t anchor_mw[ANCHOR_COUNT],
                       struct err *err)
{
    struct stored *grown = realloc(t->stored, (t->n_stored + 1) * sizeof(*grown));
    if (!grown)
        return err_sys(err, ENOMEM, "triage");
    t->stored = grown;
    struct stored *s = &grown[t->n_stored++];
    str_copy(s->key, sizeof(s->key), key);
    memcpy(s->anchor_mw, anchor_mw, sizeof(s->anchor_mw));
    struct device *d = device_by_key(t, key);
    if (d) {
        use_stored(t, d);
        anchors_refresh(t, d);
    }
    return 0;
}

/* ---- readings ---- */

static bool read_power(const struct readings *s, enum metric m, int64_t *ret)
{
    return m != METRIC_UNKNOWN && got(s, m, ret) && *ret >= 0;
}

/* One kind of power reading a device: the first that it gives. Another is taken only when that one
 * has been silent for a whole window. */
static bool pick_power(struct triage *t, struct device *d, const struct readings *s, int64_t *ret)
{
    static const enum metric kinds[] = { METRIC_POWER_INSTANT_MW, METRIC_POWER_AVERAGE_MW,
                                         METRIC_POWER_DRAW_MW, METRIC_NODE_POWER_MW };
    if (read_power(s, d->pub.power_metric, ret))
        return true;
    struct track_view left;
    if (d->pub.power_metric != METRIC_UNKNOWN &&
        track_look(&d->power, t->now_us, device_window_us(t, d), &left))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (read_power(s, kinds[i], ret)) {
            d->pub.power_metric = kinds[i];
            track_clear(&d->power);
            return true;
        }
    return false;
}

static void count_power(struct triage *t, struct device *d, int64_t mw)
{
    struct triage_device *p = &d->pub;
    p->power_mw = mw;
    d->power_sum_mw += mw;
    d->power_n++;
    p->power_mean_mw = d->power_sum_mw / d->power_n;
    p->power_min_mw = p->power_min_mw < 0 ? mw : MIN(p->power_min_mw, mw);
    p->power_max_mw = MAX(p->power_max_mw, mw);
    track_add(&d->power, t->now_us, mw, device_window_us(t, d));
}

static void take_util(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t util;
    d->pub.util_permille = -1;
    if (!got(s, METRIC_UTIL_GPU_PERMILLE, &util) && !got(s, METRIC_GR_ACTIVE_PERMILLE, &util))
        return;
    d->pub.util_permille = util;
    d->util_sum += util;
    d->util_n++;
    d->pub.util_mean_permille = d->util_sum / d->util_n;
    track_add(&d->util, t->now_us, util, device_window_us(t, d));
}

/* Traffic over all links that the sample tells of, in bytes a second. Loading data comes over PCIe
 * one way; what devices exchange goes over NVLink, or over PCIe both ways. */
static void take_links(struct triage *t, struct device *d, const struct readings *s)
{
    static const enum metric gauges[] = { METRIC_PCIE_TX_BPS, METRIC_PCIE_RX_BPS,
                                          METRIC_NVLINK_TX_BPS, METRIC_NVLINK_RX_BPS };
    struct rate *rates[] = { &d->pcie_tx, &d->pcie_rx, &d->nvlink_tx, &d->nvlink_rx };
    static const enum metric counters[] = { METRIC_PCIE_TX_BYTES, METRIC_PCIE_RX_BYTES,
                                            METRIC_NVLINK_TX_BYTES, METRIC_NVLINK_RX_BYTES };
    int64_t total = 0, value, per_s, delta, part[4] = { 0 };
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(gauges); i++) {
        bool counted =
            got(s, counters[i], &value) && rate_add(rates[i], t->now_us, value, &per_s, &delta);
        if (!counted && !got(s, gauges[i], &per_s))
            continue;
        any = true;
        part[i] = CLAMP(per_s, 0, INT64_MAX / 8);
        total += part[i];
    }
    if (any) {
        int64_t exchange = 2 * MIN(part[0], part[1]) + part[2] + part[3];
        d->link_seen = true;
        track_add(&d->link, t->now_us, total, device_window_us(t, d));
        track_add(&d->exchange, t->now_us, exchange, device_window_us(t, d));
    }
}

static void take_activity(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t mem, sm, tensor;
    int64_t window = device_window_us(t, d);
    if (got(s, METRIC_UTIL_MEM_PERMILLE, &mem) || got(s, METRIC_DRAM_ACTIVE_PERMILLE, &mem)) {
        d->mem_seen = true;
        track_add(&d->mem, t->now_us, mem, window);
    }
    bool have_sm = got(s, METRIC_SM_ACTIVE_PERMILLE, &sm);
    bool have_tensor = got(s, METRIC_TENSOR_ACTIVE_PERMILLE, &tensor);
    if (!have_sm && !have_tensor)
        return;
    /* tensor work counts as SM work, on the scale of the SM threshold */
    int64_t scaled =
        have_tensor ? tensor * t->rules->busy_sm_permille / MAX(t->rules->busy_tensor_permille, 1)
                    : 0;
    d->sm_seen = true;
    track_add(&d->sm, t->now_us, MAX(have_sm ? sm : 0, scaled), window);
}

static void take_owner(const struct triage *t, struct device *d, const struct readings *s)
{
    int64_t count;
    (void) got(s, METRIC_MEM_USED_BYTES, &d->mem_used_bytes);
    bool filled = d->mem_used_bytes > t->rules->min_mem_bytes;
    if (got(s, METRIC_PROCESS_COUNT, &count))
        d->owner = count > 0 || filled ? AMOUNT_SOME : AMOUNT_NONE;
    else if (d->owner == AMOUNT_UNKNOWN && filled)
        d->owner = AMOUNT_SOME;
}

static void take_settings(const struct triage *t, struct device *d, const struct readings *s)
{
    int64_t value, before = d->pub.limit_mw;
    if (got(s, METRIC_POWER_LIMIT_MW, &value) && value > 0)
        d->pub.limit_mw = value;
    if (got(s, METRIC_POWER_LIMIT_DEFAULT_MW, &value) && value > 0)
        d->limit_default_mw = value;
    if (got(s, METRIC_SMOOTHING_ENABLED, &value))
        d->smoothing = value > 0;
    if (d->pub.limit_mw != before)
        anchors_refresh(t, d);
}

/* ---- signals ---- */

static enum amount amount_of(struct track *k, bool seen, int64_t now_us, int64_t window_us,
                             int64_t quiet)
{
    int64_t max;
    if (!seen || !track_max(k, now_us, window_us, &max))
        return AMOUNT_UNKNOWN;
    return max > quiet ? AMOUNT_SOME : AMOUNT_NONE;
}

static enum util_kind util_of(const struct triage *t, struct device *d, int64_t window_us)
{
    struct track_view v;
    if (!track_look(&d->util, t->now_us, window_us, &v))
        return UTIL_UNKNOWN;
    if (v.max <= t->rules->util_zero_permille)
        return UTIL_ZERO;
    return v.median >= t->rules->util_busy_permille ? UTIL_BUSY : UTIL_BETWEEN;
}

static enum amount link_of(const struct triage *t, struct device *d, int64_t window_us)
{
    struct track_view exchange;
    int64_t max;
    if (!d->link_seen || !track_max(&d->link, t->now_us, window_us, &max))
        return AMOUNT_UNKNOWN;
    if (track_look(&d->exchange, t->now_us, window_us, &exchange) &&
        exchange.median >= t->rules->much_link_bps)
        return AMOUNT_MUCH;
    return max > t->rules->quiet_link_bps ? AMOUNT_SOME : AMOUNT_NONE;
}

static enum flatness flatness_of(const struct triage *t, const struct device *d,
                                 const struct track_view *power, int64_t window_us)
{
    int64_t range = device_range_mw(d);
    if (power->n < t->rules->window_samples || power->span_us * 2 < window_us)
        return FLAT_UNKNOWN;
    int64_t allowed = (range >= 0 ? range : power->median) * t->rules->flat_permille / 1000;
    return power->max - power->min <= MAX(allowed, 8 * MW_PER_W) ? FLAT_YES : FLAT_NO;
}

static enum near near_of(const struct device *d, int64_t power_mw)
{
    int64_t bare = d->learned_mw[ANCHOR_BARE], held = d->learned_mw[ANCHOR_HELD];
    if (bare < 0 || held <= bare)
        return NEAR_UNKNOWN;
    int64_t quarter = (held - bare) / 4;
    if (power_mw <= bare + quarter)
        return NEAR_BARE;
    return power_mw >= held - quarter ? NEAR_HELD : NEAR_UNKNOWN;
}

static enum stillness stillness_of(const struct triage *t, struct device *d,
                                   const struct signals *s)
{
    bool still = s->power == CLASS_LOW && s->util == UTIL_BUSY && s->flat != FLAT_NO &&
                 s->mem != AMOUNT_SOME && (s->link == AMOUNT_NONE || s->link == AMOUNT_UNKNOWN) &&
                 s->host != HOST_WRITING && s->host != HOST_LOADING;
    if (!still) {
        d->still_since_us = -1;
        return STILL_SHORT;
    }
    if (d->still_since_us < 0)
        d->still_since_us = t->now_us;
    int64_t lasted = t->now_us - d->still_since_us;
    if (lasted >= t->rules->deadlock_blind_us)
        return STILL_BLIND_LONG;
    return lasted >= t->rules->deadlock_us ? STILL_LONG : STILL_SHORT;
}

static void look(struct triage *t, struct device *d, struct signals *s, struct track_view *power)
{
    int64_t window = device_window_us(t, d), low, high;
    bool have = !d->stuck_sensor && track_look(&d->power, t->now_us, window, power);
    *s = (struct signals){ .owner = d->owner, .smoothing = d->smoothing };
    if (!have)
        *power = (struct track_view){ .median = -1, .min = -1, .max = -1 };
    s->power = d->class = classify(t, d, power->median, &low, &high);
    s->flat = have ? flatness_of(t, d, power, window) : FLAT_UNKNOWN;
    s->near = have ? near_of(d, power->median) : NEAR_UNKNOWN;
    s->util = util_of(t, d, window);
    s->mem = amount_of(&d->mem, d->mem_seen, t->now_us, window, t->rules->quiet_mem_permille);
    s->link = link_of(t, d, window);
    s->sm = amount_of(&d->sm, d->sm_seen, t->now_us, window, t->rules->busy_sm_permille - 1);
    s->host = host_look(t, d);
    s->may_compute = d->board && d->board->low_power_compute;
    s->working =
        have && s->power == CLASS_NONE && d->pub.limit_mw > 0 &&
        power->median * 1000 >= d->pub.limit_mw * (int64_t) (t->rules->high_permille + 100);
    s->still = stillness_of(t, d, s);
}

static enum confidence confidence_of(const struct triage *t, const struct device *d,
                                     const struct track_view *power)
{
    if (t->clock == CLOCK_NONE || power->n < t->rules->window_samples)
        return CONFIDENCE_SNAPSHOT;
    return d->pub.calibration == CALIBRATION_LEARNED ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
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
    look(t, d, &signals, &power);
    v = decide(&signals);
    if (d->stuck_sensor)
        v = (struct verdict){ STATE_UNKNOWN, 0, "sensor.frozen" };
    explain(t, d, &signals, &v, &power, detail, sizeof(detail));
    episode_step(t, d, &v, confidence_of(t, d, &power), detail);
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
    if (dt > device_gap_us(t, d) && d->pub.samples > 1 && d->now.verdict.state != STATE_LOST)
        episode_gap(t, d);
    else if (dt > 0)
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
    take_settings(t, d, s);
    bool have = pick_power(t, d, s, &mw);
    if (have)
        count_power(t, d, mw);
    else
        d->pub.power_mw = -1;
    energy_sample(t, d, s);
    if (!d->pub.is_node) {
        take_util(t, d, s);
        take_links(t, d, s);
        take_activity(t, d, s);
        take_owner(t, d, s);
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
        if (take_device(t, &node, err) < 0)
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
    memset(t->device_of, 0, t->n_device_of * sizeof(*t->device_of));
    for (size_t i = 0; i < t->n_processes; i++)
        t->processes[i].used = false;
    t->last_tick_us = 0;
}

static void take_tick(struct triage *t)
{
    if (t->last_tick_us && t->now_us > t->last_tick_us)
        t->tick_us = t->now_us - t->last_tick_us;
    t->last_tick_us = t->now_us;
    for (size_t i = 0; i < t->n; i++) {
        struct device *d = t->devices[i];
        if (d->gone || !d->pub.samples || d->now.verdict.state == STATE_LOST)
            continue;
        /* a whole stream that paused is a gap, not a death */
        if (t->now_us - d->pub.last_us > device_gap_us(t, d) && t->tick_us < t->rules->lost_us)
            lose(t, d, "device.silent", "no sample while others go on");
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
