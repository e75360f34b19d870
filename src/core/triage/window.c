/* SPDX-License-Identifier: Apache-2.0 */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <string.h>

void track_clear(struct track *k)
{
    k->n = 0;
}

/* `sorted` follows the ring by one insertion and one removal a slot: a sort each time was the
 * dearest part of the whole triage. Both are called while n counts the values in `sorted`. */
static void sorted_insert(struct track *k, int64_t value)
{
    uint32_t at = k->n;
    for (; at > 0 && k->sorted[at - 1] > value; at--)
        k->sorted[at] = k->sorted[at - 1];
    k->sorted[at] = value;
}

static void sorted_remove(struct track *k, int64_t value)
{
    uint32_t at = 0;
    while (at + 1 < k->n && k->sorted[at] != value)
        at++;
    for (; at + 1 < k->n; at++)
        k->sorted[at] = k->sorted[at + 1];
}

static void drop_first(struct track *k)
{
    sorted_remove(k, k->value[k->first]);
    k->first = (k->first + 1) % TRACK_SLOTS;
    k->n--;
}

static inline void drop_old(struct track *k, int64_t now_us, int64_t window_us)
{
    while (k->n && k->at_us[k->first] <= now_us - window_us)
        drop_first(k);
}

static void replace_last(struct track *k, uint32_t last, int64_t value)
{
    sorted_remove(k, k->value[last]);
    k->n--;
    sorted_insert(k, value);
    k->n++;
    k->value[last] = value;
}

void track_add(struct track *k, int64_t at_us, int64_t value, int64_t window_us)
{
    drop_old(k, at_us, window_us);
    uint32_t last = (k->first + k->n + TRACK_SLOTS - 1) % TRACK_SLOTS;
    bool same = k->n && at_us - k->at_us[last] < window_us / TRACK_SLOTS;
    if (same && k->count[last] < INT32_MAX &&
        !__builtin_add_overflow(k->sum[last], value, &k->sum[last])) {
        replace_last(k, last, k->sum[last] / ++k->count[last]);
        return;
    }
    if (k->n == TRACK_SLOTS)
        drop_first(k);
    uint32_t slot = (k->first + k->n) % TRACK_SLOTS;
    sorted_insert(k, value);
    k->n++;
    k->at_us[slot] = at_us;
    k->sum[slot] = k->value[slot] = value;
    k->count[slot] = 1;
}

bool track_max(struct track *k, int64_t now_us, int64_t window_us, int64_t *ret_max)
{
    drop_old(k, now_us, window_us);
    if (!k->n)
        return false;
    *ret_max = k->sorted[k->n - 1];
    return true;
}

bool track_look(struct track *k, int64_t now_us, int64_t window_us, struct track_view *ret)
{
    drop_old(k, now_us, window_us);
    if (!k->n)
        return false;
    ret->n = k->n;
    ret->min = k->sorted[0];
    ret->max = k->sorted[k->n - 1];
    ret->median = k->sorted[k->n / 2];
    ret->span_us = now_us - k->at_us[k->first];
    return true;
}

bool rate_add(struct rate *r, int64_t at_us, int64_t value, int64_t *ret_per_s, int64_t *ret_delta)
{
    struct rate before = *r;
    *r = (struct rate){ value, at_us, true };
    if (!before.seen || value < before.last || at_us <= before.last_us)
        return false;
    int64_t delta = value - before.last, dt = at_us - before.last_us;
    *ret_delta = delta;
    *ret_per_s = delta > INT64_MAX / US_PER_S ? delta / dt * US_PER_S : delta * US_PER_S / dt;
    return true;
}

#define FINE_BINS INT64_C(1024)
#define FINE_MW INT64_C(2000)
#define COARSE_MW INT64_C(32000)

void histogram_clear(struct histogram *h)
{
    if (h->n)
        memset(h, 0, sizeof(*h));
}

void histogram_add(struct histogram *h, int64_t power_mw)
{
    int64_t bin = power_mw / FINE_MW;
    if (bin >= FINE_BINS)
        bin = FINE_BINS + (power_mw - FINE_BINS * FINE_MW) / COARSE_MW;
    h->count[CLAMP(bin, 0, HISTOGRAM_BINS - 1)]++;
    h->n++;
}

int64_t histogram_median_mw(const struct histogram *h)
{
    uint32_t below = 0;
    if (!h->n)
        return -1;
    for (int64_t bin = 0; bin < HISTOGRAM_BINS; bin++) {
        below += h->count[bin];
        if (below * UINT64_C(2) < h->n)
            continue;
        if (bin < FINE_BINS)
            return bin * FINE_MW + FINE_MW / 2;
        return FINE_BINS * FINE_MW + (bin - FINE_BINS) * COARSE_MW + COARSE_MW / 2;
    }
    return -1;
}
