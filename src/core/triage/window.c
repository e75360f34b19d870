/* SPDX-License-Identifier: Apache-2.0 */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <string.h>

void track_clear(struct track *k)
{
    k->n = 0;
}

static void drop_old(struct track *k, int64_t now_us, int64_t window_us)
{
    while (k->n && k->at_us[k->first] <= now_us - window_us) {
        k->first = (k->first + 1) % TRACK_SLOTS;
        k->n--;
    }
}

void track_add(struct track *k, int64_t at_us, int64_t value, int64_t window_us)
{
    drop_old(k, at_us, window_us);
    uint32_t last = (k->first + k->n + TRACK_SLOTS - 1) % TRACK_SLOTS;
    bool same = k->n && at_us - k->at_us[last] < window_us / TRACK_SLOTS;
    if (same && k->count[last] < INT32_MAX &&
        !__builtin_add_overflow(k->sum[last], value, &k->sum[last])) {
        k->count[last]++;
        return;
    }
    if (k->n == TRACK_SLOTS) {
        k->first = (k->first + 1) % TRACK_SLOTS;
        k->n--;
    }
    uint32_t slot = (k->first + k->n++) % TRACK_SLOTS;
    k->at_us[slot] = at_us;
    k->sum[slot] = value;
    k->count[slot] = 1;
}

bool track_look(struct track *k, int64_t now_us, int64_t window_us, struct track_view *ret)
{
    int64_t sorted[TRACK_SLOTS];
    drop_old(k, now_us, window_us);
    if (!k->n)
        return false;
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t slot = (k->first + i) % TRACK_SLOTS, at = i;
        int64_t value = k->count[slot] > 1 ? k->sum[slot] / k->count[slot] : k->sum[slot];
        for (; at > 0 && sorted[at - 1] > value; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = value;
    }
    ret->n = k->n;
    ret->min = sorted[0];
    ret->max = sorted[k->n - 1];
    ret->median = sorted[k->n / 2];
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

#define FINE_BINS 1024
#define FINE_MW 2000
#define COARSE_MW 32000

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
