/* SPDX-License-Identifier: Apache-2.0 */
/* The integrals. Sums of what phases contribute, each in closed form. */
#include "model.h"

#include "base/units.h"

#include <stdlib.h>

__extension__ typedef __int128 wide; /* watts times years do not fit 64 bits */

/* A scenario may ask for more than fits; then the sum stands still instead of wrapping. */
static int64_t bounded(wide v)
{
    return (int64_t) CLAMP(v, -(wide) (INT64_MAX / 2), (wide) (INT64_MAX / 2));
}

uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;
    for (int i = 0; i < 2; i++) {
        x ^= x >> 30;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 27;
        x *= UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        x += c;
    }
    return x ^ x >> 29;
}

int64_t sim_draw(uint64_t seed, uint64_t what, int64_t lo, int64_t hi)
{
    return lo + (int64_t) (sim_hash(seed, what, 1) % (uint64_t) (hi - lo + 1));
}

/* How much value * us makes one unit of the integral. */
static int64_t divisor(enum sim_channel c)
{
    if (c == SIM_POWER_MW)
        return 1000; /* mW * us is nJ; microjoules are wanted */
    return c >= SIM_NVLINK_TX_BPS && c <= SIM_PCIE_RX_BPS ? US_PER_S : 1;
}

/* Microseconds of [0, y) in which a square wave that starts high is high. */
static int64_t high_before(const struct sim_phase *p, int64_t y)
{
    return y / p->period_us * p->high_us + MIN(y % p->period_us, p->high_us);
}

static int64_t square_part(const struct sim_phase *p, enum sim_channel c, int64_t x)
{
    wide sum = (wide) p->high[c] * x;
    if (p->period_us && p->high[c] != p->low[c]) {
        int64_t high = high_before(p, x + p->shift_us) - high_before(p, p->shift_us);
        sum = (wide) p->low[c] * x + (wide) (p->high[c] - p->low[c]) * high;
    }
    return bounded(sum / divisor(c));
}

static int64_t glide_part(const struct sim_phase *p, int64_t x)
{
    if (!p->glide_us)
        return 0;
    x = MIN(x, p->glide_us);
    wide sum = (wide) p->glide_mw * x - (wide) p->glide_mw * x * x / p->glide_us / 2;
    return bounded(sum / 1000);
}

/* Noise is the derivative of a bounded walk: its integral at cell borders is a hash, linear within
 * the cell, and zero at both ends of the phase. Three cell widths make it rough at every scale. */
static const struct {
    int64_t cell_us;
    int64_t share_permille; /* of noise_mw */
} octaves[] = {
    { 40 * US_PER_MS, 1000 },
    { 640 * US_PER_MS, 500 },
    { 10240 * US_PER_MS, 300 },
};

static int64_t walk(const struct sim_phase *p, uint64_t seed, size_t octave, int64_t cell)
{
    int64_t cells = p->length_us / octaves[octave].cell_us;
    if (cell <= 0 || cell >= cells)
        return 0;
    /* The difference of two uniform numbers in +-a has a standard deviation of 0.816 a. */
    int64_t a_nj = p->noise_mw * octaves[octave].share_permille / 816 * octaves[octave].cell_us;
    int64_t u = (int64_t) (sim_hash(seed, octave, (uint64_t) cell) >> 43) - (1 << 20);
    return (int64_t) ((wide) a_nj * u / (1 << 20));
}

static int64_t noise_part(const struct sim_phase *p, uint64_t seed, int64_t x)
{
    if (!p->noise_mw)
        return 0;
    int64_t sum_nj = 0;
    for (size_t i = 0; i < ARRAY_SIZE(octaves); i++) {
        int64_t width = octaves[i].cell_us, cell = x / width, in = x % width;
        int64_t from = walk(p, seed, i, cell), to = walk(p, seed, i, cell + 1);
        sum_nj += from + (int64_t) ((wide) (to - from) * in / width);
    }
    return sum_nj / 1000;
}

/* Integral of the channel over the first x microseconds of the phase. */
static int64_t phase_part(const struct sim_phase *p, enum sim_channel c, uint64_t seed, int64_t x)
{
    wide sum = square_part(p, c, x);
    if (c == SIM_POWER_MW)
        sum += (wide) glide_part(p, x) + noise_part(p, seed, x);
    return bounded(sum);
}

static size_t find_phase(const struct sim_gpu *g, int64_t t_us)
{
    size_t lo = 0, hi = g->phases_n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->phases[mid].start_us <= t_us)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

struct place {
    size_t phase;
    int64_t round; /* of the part that repeats */
    int64_t at_us; /* t, moved back to the first round */
};

static struct place find_place(const struct sim_gpu *g, int64_t t_us)
{
    struct place p = { .at_us = t_us };
    if (g->loop_us) {
        int64_t from_us = g->phases[g->loop_from].start_us;
        if (t_us >= from_us) {
            p.round = (t_us - from_us) / g->loop_us;
            p.at_us = t_us - p.round * g->loop_us;
        }
    }
    p.phase = find_phase(g, p.at_us);
    return p;
}

int64_t sim_integral(const struct sim_gpu *g, enum sim_channel c, int64_t t_us)
{
    if (t_us <= 0 || !g->phases_n)
        return 0;
    struct place at = find_place(g, t_us);
    const struct sim_phase *p = &g->phases[at.phase];
    uint64_t seed = sim_hash(g->seed, at.phase, (uint64_t) at.round);
    return bounded((wide) p->before[c] + (wide) at.round * g->loop_sum[c] +
                   phase_part(p, c, seed, at.at_us - p->start_us));
}

int64_t sim_mean(const struct sim_gpu *g, enum sim_channel c, int64_t t_us, int64_t window_us)
{
    int64_t from_us = MAX(t_us - window_us, 0);
    int64_t to_us = MAX(t_us, from_us + 1);
    int64_t sum = sim_integral(g, c, to_us) - sim_integral(g, c, from_us);
    int64_t scale = divisor(c), span = to_us - from_us;
    return bounded(((wide) sum * scale + span / 2) / span);
}

const struct sim_phase *sim_phase_at(const struct sim_gpu *g, int64_t t_us, int64_t *ret_since_us)
{
    struct place at = find_place(g, MAX(t_us, 0));
    const struct sim_phase *p = &g->phases[at.phase];
    if (ret_since_us)
        *ret_since_us = p->start_us + at.round * g->loop_us;
    return p;
}

int64_t sim_true_energy_uj(const void *arg, int64_t t_us)
{
    return sim_integral(arg, SIM_POWER_MW, t_us);
}

/* A heat sink with a time constant of about a minute, and units that differ by some degrees. */
int64_t sim_temperature_mc(const struct sim_gpu *g, int64_t t_us)
{
    int64_t short_mw = sim_mean(g, SIM_POWER_MW, t_us, 20 * US_PER_S);
    int64_t long_mw = sim_mean(g, SIM_POWER_MW, t_us, 90 * US_PER_S);
    int64_t ambient_mc = 24000 + sim_draw(g->seed, 77, 0, 4000);
    return ambient_mc + (short_mw + 2 * long_mw) / 3 * 45000 / MAX(g->limit_mw, 1);
}

static int64_t level_at_end(const struct sim_phase *p)
{
    return p->period_us ? p->low[SIM_POWER_MW] : p->high[SIM_POWER_MW];
}

void sim_gpu_finish(struct sim_gpu *g)
{
    int64_t start_us = 0, sum[SIM_CHANNEL_COUNT] = { 0 };
    for (size_t i = 0; i < g->phases_n; i++) {
        struct sim_phase *p = &g->phases[i];
        p->start_us = start_us;
        if (p->glide_us) {
            size_t before = i == g->loop_from ? g->phases_n - 1 : i - 1;
            p->glide_us = MIN(p->glide_us, p->length_us);
            if (i || g->loop_from == 0)
                p->glide_mw = level_at_end(&g->phases[before]) - p->high[SIM_POWER_MW];
        }
        for (enum sim_channel c = 0; c < SIM_CHANNEL_COUNT; c++) {
            p->before[c] = sum[c];
            if (p->length_us != SIM_FOREVER)
                sum[c] = bounded((wide) sum[c] + phase_part(p, c, 0, p->length_us));
        }
        if (p->length_us != SIM_FOREVER)
            start_us += p->length_us;
    }
    if (g->loop_from >= g->phases_n)
        return;
    const struct sim_phase *first = &g->phases[g->loop_from];
    g->loop_us = start_us - first->start_us;
    for (enum sim_channel c = 0; c < SIM_CHANNEL_COUNT; c++)
        g->loop_sum[c] = sum[c] - first->before[c];
}
