/* SPDX-License-Identifier: Apache-2.0 */
/* What the windows of a device show, as the rule asks for it. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

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

/* Most of the window, not its highest moment: a starved job works in bursts. */
static enum amount work_of(const struct triage *t, struct device *d, int64_t window_us)
{
    struct track_view v;
    if (!d->sm_seen || !track_look(&d->sm, t->now_us, window_us, &v))
        return AMOUNT_UNKNOWN;
    return v.median >= t->rules->busy_sm_permille ? AMOUNT_SOME : AMOUNT_NONE;
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

void signals_look(struct triage *t, struct device *d, struct signals *s, struct track_view *power)
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
    s->sm = work_of(t, d, window);
    s->host = host_look(t, d);
    s->may_compute = d->board && d->board->low_power_compute;
    s->working =
        have && s->power == CLASS_NONE && d->pub.limit_mw > 0 &&
        power->median * 1000 >= d->pub.limit_mw * (int64_t) (t->rules->high_permille + 100);
    s->still = stillness_of(t, d, s);
}

enum confidence signals_confidence(const struct triage *t, const struct device *d,
                                   const struct track_view *power)
{
    if (t->clock == CLOCK_NONE || power->n < t->rules->window_samples)
        return CONFIDENCE_SNAPSHOT;
    return d->pub.calibration == CALIBRATION_LEARNED ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
}
