/* SPDX-License-Identifier: Apache-2.0 */
/* Random nodes for scoring. The draw knows nothing of data/boards: every unit gets levels of its
 * own around what its family draws, some families have no row anywhere, spin may lie below another
 * unit's held level, and limits may be lowered. */
#include "model.h"

#include "base/strbuf.h"
#include "base/units.h"

#include <inttypes.h>

struct draw {
    uint64_t seed, n;
    struct strbuf *out;
};

static int64_t draw(struct draw *d, int64_t lo, int64_t hi)
{
    return sim_draw(d->seed, 1000 + d->n++, lo, hi);
}

static bool chance(struct draw *d, int64_t percent)
{
    return draw(d, 1, 100) <= percent;
}

struct unit {
    uint32_t slot;
    int64_t limit_w, level_w[SIM_KIND_COUNT];
};

/* Product names of no board that exists, so that no table has a row for them. */
static const char *const nameless[] = { "NVIDIA X7000", "NVIDIA ZX-40 SXM", "NVIDIA Q900 PCIe" };

static void random_levels(struct draw *d, const struct sim_board *b, struct unit *u)
{
    int64_t bare = b->level_w[SIM_IDLE] * draw(d, 850, 1150) / 1000;
    int64_t held = b->level_w[SIM_HELD] * draw(d, 850, 1150) / 1000;
    held = MAX(held, bare * 108 / 100 + 3);
    /* From a little below this unit's held level (spinning parks the SMs) to clearly above it. */
    int64_t range = u->limit_w - bare;
    int64_t spin = held + range * draw(d, -8, 55) / 1000;
    int64_t work = bare + range * draw(d, 560, 1010) / 1000;
    u->level_w[SIM_IDLE] = bare;
    u->level_w[SIM_HELD] = held;
    u->level_w[SIM_SPIN] = MAX(spin, bare + 2);
    u->level_w[SIM_COPY] = held + range * draw(d, 60, 240) / 1000;
    u->level_w[SIM_LOAD] = held + range * draw(d, 0, 25) / 1000;
    u->level_w[SIM_WRITE] = held + range * draw(d, 0, 15) / 1000;
    u->level_w[SIM_WORK] = work;
}

static void random_unit(struct draw *d, const struct sim_board *b, bool has_row, bool capped,
                        const char *product, struct unit *u)
{
    u->limit_w = capped ? MAX(b->limit_min_w, b->limit_w * draw(d, 500, 900) / 1000) : b->limit_w;
    random_levels(d, b, u);
    strbuf_addf(d->out, "board %s gpus=%" PRIu32 " limit=%" PRId64 "W", b->key, u->slot,
                u->limit_w);
    if (!has_row)
        strbuf_addf(d->out, " product=\"%s\"", product);
    strbuf_addf(d->out, "\nlevels gpus=%" PRIu32, u->slot);
    for (enum sim_kind k = SIM_IDLE; k < SIM_KIND_COUNT; k++)
        strbuf_addf(d->out, " %s=%" PRId64 "W", sim_kind_name(k), u->level_w[k]);
    strbuf_addc(d->out, '\n');
}

/* Work in steps: now and then the power dips for the exchange of gradients. */
static void random_work(struct draw *d, const struct unit *u, int64_t seconds, int64_t period_ms,
                        int64_t duty)
{
    int64_t dip_w = u->level_w[SIM_COPY] + (u->level_w[SIM_WORK] - u->level_w[SIM_COPY]) / 3;
    strbuf_addf(d->out,
                "phase work gpus=%" PRIu32 " for=%" PRId64 "s low=%" PRId64 "W period=%" PRId64
                "ms duty=%" PRId64 "%%\n",
                u->slot, seconds, MIN(dip_w, u->level_w[SIM_WORK]), period_ms, duty);
}

/* Underfed: short work, then nothing until data comes. */
static void random_gaps(struct draw *d, const struct unit *u, int64_t seconds, int64_t period_ms,
                        int64_t duty)
{
    strbuf_addf(d->out,
                "phase work gpus=%" PRIu32 " for=%" PRId64 "s low=%" PRId64 "W period=%" PRId64
                "ms duty=%" PRId64 "%% low-util=0%% low-mem-util=0%% low-sm=0%% low-tensor=0%% "
                "low-dram=0%%\n",
                u->slot, seconds, u->level_w[SIM_HELD], period_ms, duty);
}

static void plain(struct draw *d, const struct unit *u, enum sim_kind kind, int64_t seconds)
{
    strbuf_addf(d->out, "phase %s gpus=%" PRIu32, sim_kind_name(kind), u->slot);
    if (seconds)
        strbuf_addf(d->out, " for=%" PRId64 "s", seconds);
    strbuf_addc(d->out, '\n');
}

/* One part of the node's life; all units take part, `odd` plays a role of its own. */
static void random_part(struct draw *d, const struct unit *units, uint32_t n)
{
    int64_t what = draw(d, 0, 6), seconds = draw(d, 45, 240);
    int64_t period_ms = chance(d, 15) ? 100 * draw(d, 3, 20) : draw(d, 230, 4100);
    int64_t duty = draw(d, 55, 95), gap_duty = draw(d, 8, 45);
    uint32_t odd = (uint32_t) draw(d, 0, n - 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct unit *u = &units[i];
        bool is_odd = i == odd;
        if (what == 0 || what == 1)
            random_work(d, u, seconds, period_ms, duty);
        else if (what == 2)
            plain(d, u, is_odd ? SIM_WRITE : SIM_SPIN, MAX(seconds / 4, 12));
        else if (what == 3)
            plain(d, u, is_odd ? SIM_HELD : SIM_SPIN, seconds);
        else if (what == 4)
            plain(d, u, SIM_COPY, seconds);
        else if (what == 5)
            random_gaps(d, u, seconds, period_ms, gap_duty);
        else
            plain(d, u, SIM_HELD, seconds / 2 + 15);
    }
}

void sim_random(uint64_t seed, uint32_t gpus, struct strbuf *out)
{
    struct draw d = { .seed = sim_hash(seed, 5, 5), .out = out };
    struct unit units[SIM_GPUS_MAX];
    gpus = CLAMP(gpus, 1u, (uint32_t) SIM_GPUS_MAX);
    const struct sim_board *b = &sim_boards[(size_t) draw(&d, 0, (int64_t) sim_boards_n - 1)];
    bool has_row = chance(&d, 80), capped = chance(&d, 15);
    const char *product = nameless[draw(&d, 0, ARRAY_SIZE(nameless) - 1)];
    bool smooth = b->arch == SIM_ARCH_BLACKWELL && chance(&d, 20);
    strbuf_addf(out, "# drawn from seed %" PRIu64 "\ngpus %" PRIu32 "\nseed %" PRIu64 "\n", seed,
                gpus, seed);
    for (uint32_t i = 0; i < gpus; i++) {
        units[i].slot = i;
        random_unit(&d, b, has_row, capped, product, &units[i]);
    }
    if (smooth)
        strbuf_addf(out, "smoothing floor=%" PRId64 "W hold=%" PRId64 "s down=%" PRId64 "s\n",
                    units[0].limit_w * draw(&d, 30, 55) / 100, draw(&d, 10, 60), draw(&d, 2, 10));
    int64_t idle_s = draw(&d, 30, 90), load_s = draw(&d, 10, 40), parts = draw(&d, 3, 7);
    for (uint32_t i = 0; i < gpus; i++) {
        plain(&d, &units[i], SIM_IDLE, idle_s);
        plain(&d, &units[i], SIM_LOAD, load_s);
    }
    for (int64_t p = 0; p < parts; p++)
        random_part(&d, units, gpus);
    for (uint32_t i = 0; i < gpus; i++)
        plain(&d, &units[i], SIM_IDLE, 0);
}
