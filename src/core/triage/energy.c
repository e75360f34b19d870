/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a device over the stream: differences of its counter where it has one, else power
 * integrated over time, with a bound of the error. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#define DUTY_UNSEEN_PERMILLE 750 /* A100, H100: the sensor looks at 25 of 100 ms */
#define AVERAGE_ERROR_PERMILLE 20

/* Integration prefers the 1 s average, which leaves no time unseen. */
static bool pick_power(struct device *d, const struct readings *s, int64_t *ret_mw)
{
    if (got(s, METRIC_POWER_AVERAGE_MW, ret_mw)) {
        d->energy_is_average = true;
        return true;
    }
    if (d->energy_is_average)
        return false;
    return got(s, METRIC_POWER_INSTANT_MW, ret_mw) || got(s, METRIC_POWER_DRAW_MW, ret_mw) ||
           got(s, METRIC_NODE_POWER_MW, ret_mw);
}

static void add_energy(int64_t *to_uj, int64_t step_uj)
{
    if (__builtin_add_overflow(*to_uj, step_uj, to_uj))
        *to_uj = INT64_MAX;
}

/* The energy since the last power reading; 0 over a gap. */
static int64_t take_power(struct triage *t, struct device *d, int64_t mw)
{
    int64_t dt = t->now_us - d->last_power_us, step_uj = 0;
    if (d->last_power_us >= 0 && dt <= device_gap_us(t, d))
        step_uj = uj_from_mw_us((mw + d->energy_power_mw) / 2, dt);
    add_energy(&d->integrated_uj, step_uj);
    d->energy_power_mw = mw;
    d->last_power_us = t->now_us;
    return step_uj;
}

static void take_counter(struct triage *t, struct device *d, int64_t counter, int64_t power_uj)
{
    int64_t per_s, delta, since = d->energy.last_us;
    bool before = d->energy.seen;
    if (rate_add(&d->energy, t->now_us, counter, &per_s, &delta)) {
        add_energy(&d->counter_uj, delta);
        d->counter_span_us += t->now_us - since;
        if (!power_uj)
            return;
        add_energy(&d->compared_counter_uj, delta);
        add_energy(&d->compared_power_uj, power_uj);
        d->compared_us += t->now_us - since;
    } else if (before && counter < d->energy.last) {
        find_once(t, d, FINDING_METRICS_VANISHED, "energy.reset", "energy counter went back");
    }
}

void energy_sample(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t mw, counter, power_uj = 0;
    if (pick_power(d, s, &mw) && mw >= 0 && mw <= POWER_MAX_MW)
        power_uj = take_power(t, d, mw);
    if (got(s, METRIC_ENERGY_UJ, &counter))
        take_counter(t, d, counter, power_uj);
}

/* The worst that the unseen part of each sensor period can hide: all limit, or all idle. */
static int64_t instant_error_permille(const struct device *d, int64_t mean_mw)
{
    int64_t range = device_range_mw(d);
    if (range < 0 || mean_mw <= 0 || d->pub.limit_mw < 0)
        return -1;
    int64_t floor = d->pub.limit_mw - range;
    int64_t up = d->pub.limit_mw - mean_mw, down = mean_mw - floor;
    return MAX(MAX(up, down), 0) * DUTY_UNSEEN_PERMILLE / mean_mw;
}

void energy_publish(const struct triage *t, struct device *d)
{
    (void) t;
    struct triage_device *p = &d->pub;
    int64_t span_us = p->last_us - p->first_us;
    p->energy_uj = -1;
    p->energy_error_permille = -1;
    p->energy_from_counter = d->counter_span_us > 0 && d->counter_span_us * 10 >= span_us * 9;
    if (p->energy_from_counter) {
        p->energy_uj = d->counter_uj;
        return;
    }
    if (!d->power_n || span_us <= 0)
        return;
    p->energy_uj = d->integrated_uj;
    if (d->energy_is_average && p->energy_uj > 0) {
        /* one second of average is unseen at each end */
        int64_t ends_uj = uj_from_mw_us(MAX(p->power_max_mw - p->power_min_mw, 0), 2 * US_PER_S);
        p->energy_error_permille = AVERAGE_ERROR_PERMILLE + ends_uj * 1000 / p->energy_uj;
    } else if (!p->is_node) {
        p->energy_error_permille = instant_error_permille(d, p->power_mean_mw);
    }
}
