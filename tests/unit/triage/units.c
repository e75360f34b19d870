/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include "base/defs.h"
#include "base/units.h"

/* Published middles of a few boards (W): limit, bare, held, spin, work; the unit then moves away
 * from them. Boards without a row in data/boards carry a made-up name. */
static const struct {
    const char *name;
    int limit, bare, held, spin, work;
} kinds[] = {
    { "NVIDIA A100-SXM4-80GB", 400, 58, 70, 87, 340 },
    { "NVIDIA H100 80GB HBM3", 700, 72, 128, 125, 600 },
    { "NVIDIA H200", 700, 76, 136, 140, 580 },
    { "NVIDIA B200", 1000, 140, 190, 192, 850 },
    { "NVIDIA B300 SXM6 AC", 1100, 180, 238, 265, 870 },
    { "NVIDIA GB200", 1200, 165, 225, 255, 984 },
    { "NVIDIA L40S", 350, 36, 102, 104, 310 },
    { "NVIDIA RTX 6000 Nonesuch", 600, 60, 100, 120, 520 },
    { "NVIDIA X900", 900, 110, 160, 175, 760 },
};

static uint64_t rnd(struct unit *u, uint64_t below)
{
    u->rng = u->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (u->rng >> 33) % below;
}

static bool chance(struct unit *u, unsigned percent)
{
    return rnd(u, 100) < percent;
}

/* value +- percent, uniformly */
static int64_t about(struct unit *u, int64_t value, int64_t percent)
{
    int64_t span = value * percent / 100;
    return span ? value - span + (int64_t) rnd(u, (uint64_t) (2 * span + 1)) : value;
}

/* A heavy-tailed length: the product of four factors of 1/3 to 3, so that one in some thousand
 * is 40 times the middle. Frozen before any threshold was tuned. */
static int64_t heavy(struct unit *u, int64_t middle_s)
{
    int64_t v = middle_s * 1000;
    for (int i = 0; i < 4; i++) {
        int64_t up = 1000 + (int64_t) rnd(u, 1500);
        v = chance(u, 50) ? v * up / 1000 : v * 1000 / up;
    }
    return MAX(v / 1000, 1);
}

void unit_draw(struct unit *u, uint64_t seed)
{
    *u = (struct unit){ .rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
    for (int i = 0; i < 8; i++)
        (void) rnd(u, 2);
    unsigned kind = (unsigned) rnd(u, ARRAY_SIZE(kinds));
    u->name = kinds[kind].name;
    u->default_mw = kinds[kind].limit * MW_PER_W;
    u->limit_mw = chance(u, 10) ? u->default_mw * (int64_t) (60 + rnd(u, 35)) / 100 : u->default_mw;
    u->bare_mw = about(u, kinds[kind].bare * MW_PER_W, 15);
    u->held_mw = MAX(about(u, kinds[kind].held * MW_PER_W, 15), u->bare_mw + 5 * MW_PER_W);
    u->spin_mw = MAX(about(u, kinds[kind].spin * MW_PER_W, 15), u->bare_mw + 5 * MW_PER_W);
    u->work_mw = MIN(about(u, kinds[kind].work * MW_PER_W, 15), u->limit_mw);
    u->sees_util = chance(u, 97);
    u->sees_mem = chance(u, 85);
    u->sees_link = chance(u, 60);
    u->sees_sm = chance(u, 50);
    u->sees_owner = chance(u, 80);
    u->sees_host = u->sees_owner && chance(u, 50);
    u->sees_limit = chance(u, 95);
    u->average = chance(u, 50);
    u->hangs = chance(u, 30);
    if (chance(u, 4))
        u->floor_mw = u->bare_mw + (u->limit_mw - u->bare_mw) * 35 / 100;
    u->now = TRUTH_IDLE;
    u->left_s = 20 + (int64_t) rnd(u, 60);
    u->level_mw = u->last_mw = u->bare_mw;
}

static int64_t range(const struct unit *u, int64_t permille)
{
    return u->bare_mw + (u->limit_mw - u->bare_mw) * permille / 1000;
}

/* Watts of a phase, and how long it lasts. */
static void enter(struct unit *u, enum truth next)
{
    static const int64_t middle_s[TRUTH_COUNT] = {
        [TRUTH_IDLE] = 60,
        [TRUTH_HELD] = 40,
        [TRUTH_LOAD] = 30,
        [TRUTH_WORK] = 300,
        [TRUTH_COMM] = 200,
        [TRUTH_STARVED] = 150,
        [TRUTH_UNDERFED] = 200,
        [TRUTH_OFFLOAD] = 200,
        [TRUTH_CHECKPOINT] = 30,
        [TRUTH_PAUSE] = 6,
        [TRUTH_DEADLOCK] = UNIT_SECONDS,
    };
    bool was_high = u->now == TRUTH_WORK;
    u->now = next;
    u->since_change_s = 0;
    u->left_s = next == TRUTH_DEADLOCK ? UNIT_SECONDS : heavy(u, middle_s[next]);
    switch (next) {
    case TRUTH_IDLE:
        u->level_mw = u->bare_mw;
        break;
    case TRUTH_HELD:
        u->level_mw = u->held_mw;
        break;
    case TRUTH_LOAD:
        u->level_mw = about(u, u->held_mw, 8);
        break;
    case TRUTH_WORK:
        u->level_mw = MAX(about(u, u->work_mw, 8), range(u, 600));
        break;
    case TRUTH_COMM:
        u->level_mw = range(u, 170 + (int64_t) rnd(u, 130));
        break;
    case TRUTH_STARVED:
        u->level_mw = range(u, 170 + (int64_t) rnd(u, 180));
        break;
    case TRUTH_UNDERFED:
        u->level_mw = range(u, 230 + (int64_t) rnd(u, 220));
        break;
    case TRUTH_OFFLOAD:
        u->level_mw = range(u, 40 + (int64_t) rnd(u, 90));
        break;
    case TRUTH_CHECKPOINT:
    case TRUTH_PAUSE:
    case TRUTH_DEADLOCK:
    case TRUTH_COUNT:
        u->level_mw = u->spin_mw;
        break;
    }
    if (was_high && u->floor_mw)
        u->floor_until_s = u->second + 40;
}

/* What follows what: a job starts, works with pauses and saves, perhaps hangs. */
static void next_phase(struct unit *u)
{
    static const enum truth busy[] = { TRUTH_WORK,    TRUTH_WORK,     TRUTH_WORK,   TRUTH_COMM,
                                       TRUTH_STARVED, TRUTH_UNDERFED, TRUTH_OFFLOAD };
    static const enum truth breaks[] = { TRUTH_CHECKPOINT, TRUTH_PAUSE, TRUTH_PAUSE, TRUTH_HELD };
    if (u->now == TRUTH_IDLE)
        enter(u, chance(u, 50) ? TRUTH_LOAD : TRUTH_HELD);
    else if (u->now == TRUTH_LOAD || u->now == TRUTH_HELD || u->now == TRUTH_CHECKPOINT ||
             u->now == TRUTH_PAUSE)
        enter(u, busy[rnd(u, ARRAY_SIZE(busy))]);
    else if (u->hangs && u->second > UNIT_SECONDS / 3 && chance(u, 40))
        enter(u, TRUTH_DEADLOCK);
    else if (chance(u, 10))
        enter(u, TRUTH_IDLE);
    else
        enter(u, breaks[rnd(u, ARRAY_SIZE(breaks))]);
}

static int64_t draw_mw(struct unit *u)
{
    bool swings = u->now == TRUTH_WORK || u->now == TRUTH_STARVED || u->now == TRUTH_UNDERFED;
    bool still = u->now == TRUTH_IDLE || u->now == TRUTH_HELD;
    int64_t true_mw = about(u, u->level_mw, swings ? 12 : still ? 1 : 2);
    if (u->floor_mw && u->second < u->floor_until_s)
        true_mw = MAX(true_mw, u->floor_mw);
    true_mw = MIN(true_mw, u->limit_mw);
    int64_t shown = u->average ? (true_mw * 8 + u->last_mw * 2) / 10 : true_mw;
    u->last_mw = true_mw;
    return shown;
}

/* utilisation, memory, SM in permille; link bytes a second, one way and back */
static void activity(struct unit *u, int64_t *util, int64_t *mem, int64_t *sm, int64_t *tensor,
                     int64_t *one_way, int64_t *exchange)
{
    const int64_t gb = 1000000000;
    *util = *mem = *sm = *tensor = *one_way = *exchange = 0;
    switch (u->now) {
    case TRUTH_IDLE:
    case TRUTH_HELD:
    case TRUTH_COUNT:
        *util = (int64_t) rnd(u, 20);
        *one_way = (int64_t) rnd(u, 1000000);
        break;
    case TRUTH_LOAD:
        *util = (int64_t) rnd(u, 170);
        *mem = (int64_t) rnd(u, 60);
        *one_way = gb + (int64_t) rnd(u, 4000000000);
        break;
    case TRUTH_WORK:
        *util = 960 + (int64_t) rnd(u, 41);
        *mem = 200 + (int64_t) rnd(u, 400);
        *sm = 550 + (int64_t) rnd(u, 400);
        *tensor = 250 + (int64_t) rnd(u, 300);
        *exchange = (int64_t) rnd(u, 40) * gb;
        break;
    case TRUTH_COMM:
        *util = 980 + (int64_t) rnd(u, 21);
        *mem = 30 + (int64_t) rnd(u, 170);
        *sm = 80 + (int64_t) rnd(u, 150);
        *exchange = 20 * gb + (int64_t) rnd(u, 60) * gb;
        break;
    case TRUTH_STARVED:
        *util = 30 + (int64_t) rnd(u, 550);
        *mem = 10 + (int64_t) rnd(u, 150);
        *sm = 40 + (int64_t) rnd(u, 200);
        *one_way = 10000000 + (int64_t) rnd(u, 300000000);
        break;
    case TRUTH_UNDERFED:
        *util = 900 + (int64_t) rnd(u, 101);
        *mem = 80 + (int64_t) rnd(u, 250);
        *sm = 420 + (int64_t) rnd(u, 250);
        *tensor = 100 + (int64_t) rnd(u, 100);
        *exchange = (int64_t) rnd(u, 3) * gb / 2;
        break;
    case TRUTH_OFFLOAD:
        *util = 300 + (int64_t) rnd(u, 701);
        *mem = 20 + (int64_t) rnd(u, 200);
        *sm = 50 + (int64_t) rnd(u, 200);
        *exchange = 2 * gb + (int64_t) rnd(u, 8) * gb;
        break;
    case TRUTH_CHECKPOINT:
    case TRUTH_PAUSE:
    case TRUTH_DEADLOCK:
        *util = 1000;
        *mem = (int64_t) rnd(u, 8);
        *sm = 5 + (int64_t) rnd(u, 60);
        *one_way = (int64_t) rnd(u, 2000000);
        *exchange = (int64_t) rnd(u, 1000000);
        break;
    }
}

static void host_second(struct unit *u)
{
    bool loading = u->now == TRUTH_STARVED || u->now == TRUTH_LOAD;
    u->cpu_us += US_PER_S;
    u->loader_us += loading ? 900000 : (int64_t) rnd(u, 60000);
    u->read_bytes += loading ? 20000000 + (int64_t) rnd(u, 200000000) : (int64_t) rnd(u, 50000);
    u->wrote_bytes += (int64_t) rnd(u, 4000); /* a log */
    /* a save flushes in bursts, with gaps of up to 10 s */
    if (u->now == TRUTH_CHECKPOINT && u->since_change_s % 12 < 4)
        u->wrote_bytes += 300000000;
}

static void put(struct obs *obs, uint32_t *n, enum metric m, int64_t value)
{
    obs[(*n)++] = (struct obs){ .metric = m, .value = value };
}

uint32_t unit_second(struct unit *u, struct obs obs[16], enum truth *ret)
{
    int64_t util, mem, sm, tensor, one_way, exchange;
    uint32_t n = 0;
    u->second++;
    u->since_change_s++;
    if (u->left_s-- <= 0)
        next_phase(u);
    host_second(u);
    activity(u, &util, &mem, &sm, &tensor, &one_way, &exchange);
    put(obs, &n, u->average ? METRIC_POWER_AVERAGE_MW : METRIC_POWER_INSTANT_MW, draw_mw(u));
    if (u->sees_limit) {
        put(obs, &n, METRIC_POWER_LIMIT_MW, u->limit_mw);
        put(obs, &n, METRIC_POWER_LIMIT_DEFAULT_MW, u->default_mw);
    }
    if (u->sees_util)
        put(obs, &n, METRIC_UTIL_GPU_PERMILLE, util);
    if (u->sees_mem)
        put(obs, &n, METRIC_UTIL_MEM_PERMILLE, mem);
    if (u->sees_sm) {
        put(obs, &n, METRIC_SM_ACTIVE_PERMILLE, sm);
        put(obs, &n, METRIC_TENSOR_ACTIVE_PERMILLE, tensor);
    }
    if (u->sees_link) {
        put(obs, &n, METRIC_PCIE_RX_BPS, one_way);
        put(obs, &n, METRIC_NVLINK_TX_BPS, exchange / 2);
        put(obs, &n, METRIC_NVLINK_RX_BPS, exchange / 2);
    }
    if (u->sees_owner)
        put(obs, &n, METRIC_PROCESS_COUNT, u->now == TRUTH_IDLE ? 0 : 1);
    put(obs, &n, METRIC_MEM_USED_BYTES,
        u->now == TRUTH_IDLE ? INT64_C(600) << 20 : INT64_C(40) << 30);
    if (u->floor_mw)
        put(obs, &n, METRIC_SMOOTHING_ENABLED, 1);
    *ret = u->now;
    return n;
}

uint32_t unit_owner(const struct unit *u, struct obs obs[8])
{
    uint32_t n = 0;
    put(obs, &n, METRIC_PROC_STATE, 'R');
    put(obs, &n, METRIC_PROC_CPU_US, u->cpu_us);
    put(obs, &n, METRIC_PROC_READ_BYTES, 0);
    put(obs, &n, METRIC_PROC_WRITE_BYTES, u->wrote_bytes);
    return n;
}

uint32_t unit_loader(const struct unit *u, struct obs obs[8])
{
    uint32_t n = 0;
    put(obs, &n, METRIC_PROC_STATE, 'S');
    put(obs, &n, METRIC_PROC_CPU_US, u->loader_us);
    put(obs, &n, METRIC_PROC_READ_BYTES, u->read_bytes);
    put(obs, &n, METRIC_PROC_WRITE_BYTES, 0);
    return n;
}

const char *truth_name(enum truth t)
{
    static const char *const names[] = {
        [TRUTH_IDLE] = "idle",         [TRUTH_HELD] = "held",         [TRUTH_LOAD] = "load",
        [TRUTH_WORK] = "work",         [TRUTH_COMM] = "comm",         [TRUTH_STARVED] = "starved",
        [TRUTH_UNDERFED] = "underfed", [TRUTH_OFFLOAD] = "offload",   [TRUTH_CHECKPOINT] = "save",
        [TRUTH_PAUSE] = "pause",       [TRUTH_DEADLOCK] = "deadlock",
    };
    return t < TRUTH_COUNT ? names[t] : "?";
}
