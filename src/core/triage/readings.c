/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's readings into the device's windows and totals. */
#include "core/triage/triage-priv.h"

static bool read_power(const struct readings *s, enum metric m, int64_t *ret)
{
    return m != METRIC_UNKNOWN && got(s, m, ret) && *ret >= 0 && *ret <= POWER_MAX_MW;
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

bool readings_take(struct triage *t, struct device *d, const struct readings *s, int64_t *ret_mw)
{
    take_settings(t, d, s);
    bool have = pick_power(t, d, s, ret_mw);
    if (have)
        count_power(t, d, *ret_mw);
    else
        d->pub.power_mw = -1;
    if (d->pub.is_node)
        return have;
    take_util(t, d, s);
    take_links(t, d, s);
    take_activity(t, d, s);
    take_owner(t, d, s);
    return have;
}
