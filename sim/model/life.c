/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that say what happens: phases, processes, faults. */
#include "parse-priv.h"

#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* sensor gpus=LIST phase=13ms: where the grid of updates of these units lies. */
void life_sensor(struct parser *p)
{
    uint64_t gpus[2];
    int64_t phase_us = 0;
    parser_gpus(p, gpus);
    if (!parser_duration(p, "phase", &phase_us))
        parser_fail(p, p->words[0], "needs phase=DURATION");
    parser_end(p, 1);
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++)
        if (sim_has_gpu(gpus, i))
            p->s->gpus[i].sensor.phase_us = (int32_t) (phase_us % p->s->gpus[i].sensor.update_us);
}

void life_levels(struct parser *p)
{
    uint64_t gpus[2];
    parser_gpus(p, gpus);
    for (enum sim_kind k = SIM_IDLE; k < SIM_KIND_COUNT; k++) {
        int64_t mw = 0;
        if (!parser_power(p, sim_kind_name(k), &mw))
            continue;
        for (uint32_t i = 0; i < p->s->gpus_n; i++)
            if (sim_has_gpu(gpus, i))
                p->s->gpus[i].level_mw[k] = mw;
    }
    parser_end(p, 1);
}

static const struct {
    const char *key, *low_key;
    enum sim_channel channel;
    char unit; /* W power, % share, B rate */
} channel_keys[] = {
    { "power", "low", SIM_POWER_MW, 'W' },
    { "util", "low-util", SIM_UTIL_PERMILLE, '%' },
    { "mem-util", "low-mem-util", SIM_MEM_UTIL_PERMILLE, '%' },
    { "sm", "low-sm", SIM_SM_PERMILLE, '%' },
    { "occupancy", "low-occupancy", SIM_OCCUPANCY_PERMILLE, '%' },
    { "tensor", "low-tensor", SIM_TENSOR_PERMILLE, '%' },
    { "dram", "low-dram", SIM_DRAM_PERMILLE, '%' },
    { "nvlink-tx", "low-nvlink-tx", SIM_NVLINK_TX_BPS, 'B' },
    { "nvlink-rx", "low-nvlink-rx", SIM_NVLINK_RX_BPS, 'B' },
    { "pcie-tx", "low-pcie-tx", SIM_PCIE_TX_BPS, 'B' },
    { "pcie-rx", "low-pcie-rx", SIM_PCIE_RX_BPS, 'B' },
};

static bool channel_value(struct parser *p, const char *key, char unit, int64_t *ret)
{
    if (unit == 'W')
        return parser_power(p, key, ret);
    return unit == '%' ? parser_share(p, key, ret) : parser_size(p, key, "/s", ret);
}

/* Draws of more than the enforced limit cannot be: the clocks give way. */
static void cap_phase(struct sim_phase *ph)
{
    int64_t over = 0;
    if (ph->high[SIM_POWER_MW] >= ph->limit_mw) {
        over = ph->high[SIM_POWER_MW] - ph->limit_mw;
        ph->high[SIM_POWER_MW] = ph->limit_mw;
        ph->high[SIM_CAPPED_PERMILLE] = 1000;
        ph->sm_clock_mhz -=
            (uint32_t) (ph->sm_clock_mhz * MIN(over * 400 / ph->limit_mw + 60, 500) / 1000);
        ph->noise_mw = MIN(ph->noise_mw, ph->limit_mw / 200);
    }
    ph->low[SIM_POWER_MW] = MIN(ph->low[SIM_POWER_MW], ph->limit_mw);
    int64_t least_mw = MIN(ph->low[SIM_POWER_MW], ph->high[SIM_POWER_MW]);
    ph->noise_mw = MIN(ph->noise_mw, least_mw / 8); /* energy must never fall */
}

static void phase_wave(struct parser *p, struct sim_phase *ph)
{
    int64_t duty = 500;
    if (parser_duration(p, "period", &ph->period_us) &&
        (ph->period_us < 100 || ph->period_us > 86400 * US_PER_S))
        parser_fail(p, p->words[0], "needs a period between 100us and a day");
    (void) parser_share(p, "duty", &duty);
    (void) parser_duration(p, "shift", &ph->shift_us);
    if (ph->period_us) {
        ph->high_us = ph->period_us / 1000 * duty + ph->period_us % 1000 * duty / 1000;
        ph->shift_us %= ph->period_us;
    }
}

static void phase_values(struct parser *p, struct sim_phase *ph)
{
    phase_wave(p, ph);
    struct str nvlink = parser_value(p, "nvlink");
    int64_t v = 0;
    if (nvlink.p && parser_size(p, "nvlink", "/s", &v))
        ph->high[SIM_NVLINK_TX_BPS] = ph->high[SIM_NVLINK_RX_BPS] = ph->low[SIM_NVLINK_TX_BPS] =
            ph->low[SIM_NVLINK_RX_BPS] = v;
    int64_t level_mw = ph->high[SIM_POWER_MW];
    for (size_t i = 0; i < ARRAY_SIZE(channel_keys); i++) {
        enum sim_channel c = channel_keys[i].channel;
        if (channel_value(p, channel_keys[i].key, channel_keys[i].unit, &v))
            ph->high[c] = ph->low[c] = v;
        if (channel_value(p, channel_keys[i].low_key, channel_keys[i].unit, &v)) {
            ph->low[c] = v;
            if (!ph->period_us)
                parser_fail(p, p->words[0], "has a low value but no period");
        }
    }
    if (level_mw)
        ph->noise_mw = ph->noise_mw * ph->high[SIM_POWER_MW] / level_mw;
    (void) parser_power(p, "noise", &ph->noise_mw);
    (void) parser_power(p, "limit", &ph->limit_mw);
    (void) parser_duration(p, "glide", &ph->glide_us);
    (void) parser_size(p, "memory", "", &ph->memory_bytes);
    (void) parser_number(p, "sm-clock", "MHz", &ph->sm_clock_mhz);
    if (ph->limit_mw < 1)
        parser_fail(p, p->words[0], "needs a limit above 0W");
}

void life_phase(struct parser *p)
{
    struct str word = parser_word(p, "needs a kind: idle held wait spin copy load write work");
    enum sim_kind kind = SIM_UNKNOWN;
    uint64_t gpus[2];
    int64_t length_us = SIM_FOREVER;
    if (p->r == 0 && !sim_kind_from_name(word, &kind))
        parser_fail(p, word, "is none of idle held wait spin copy load write work");
    parser_gpus(p, gpus);
    (void) parser_duration(p, "for", &length_us);
    if (length_us == 0)
        parser_fail(p, p->words[0], "has no length");
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++) {
        struct sim_gpu *g = &p->s->gpus[i];
        if (!sim_has_gpu(gpus, i))
            continue;
        if (g->phases_n && g->phases[g->phases_n - 1].length_us == SIM_FOREVER) {
            parser_fail(p, word, "comes after a phase that lasts for ever");
            return;
        }
        for (size_t k = 0; k < p->pairs_n; k++)
            p->pairs[k].used = str_is(p->pairs[k].key, "gpus") || str_is(p->pairs[k].key, "for");
        struct sim_phase *ph = sim_gpu_add_phase(g, kind, length_us);
        if (!ph) {
            p->r = err_sys(p->err, ENOMEM, "scenario '%s'", p->name);
            return;
        }
        phase_values(p, ph);
        if (p->r == 0)
            cap_phase(ph);
    }
    parser_end(p, 2);
}

void life_loop(struct parser *p)
{
    uint64_t gpus[2];
    parser_gpus(p, gpus);
    parser_end(p, 1);
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++)
        if (sim_has_gpu(gpus, i))
            p->s->gpus[i].loop_from = p->s->gpus[i].phases_n;
}

void life_process(struct parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_process pr = { .to_us = SIM_FOREVER, .from_us = -1 };
    parser_gpus(p, pr.gpus);
    struct str pid = parser_value(p, "pid"), type = parser_value(p, "type");
    if (!pid.p || str_is(pid, "launcher"))
        pr.which = SIM_PID_LAUNCHER;
    else if (str_is(pid, "self"))
        pr.which = SIM_PID_SELF;
    else if (parse_u32(pid, &pr.pid) < 0)
        parser_fail(p, pid, "is no process id, 'self' or 'launcher'");
    if (type.p && !str_is(type, "compute") && !str_is(type, "graphics"))
        parser_fail(p, type, "is neither compute nor graphics");
    pr.graphics = type.p && str_is(type, "graphics");
    (void) parser_size(p, "memory", "", &pr.memory_bytes);
    (void) parser_duration(p, "from", &pr.from_us);
    (void) parser_duration(p, "to", &pr.to_us);
    parser_end(p, 1);
    if (p->r < 0)
        return;
    if (s->processes_n == s->processes_cap) {
        size_t cap = s->processes_cap ? s->processes_cap * 2 : 8;
        struct sim_process *n = realloc(s->processes, cap * sizeof(*n));
        if (!n) {
            p->r = err_sys(p->err, ENOMEM, "scenario '%s'", p->name);
            return;
        }
        s->processes = n;
        s->processes_cap = cap;
    }
    s->processes[s->processes_n++] = pr;
}

void life_smoothing(struct parser *p)
{
    uint64_t gpus[2];
    int64_t floor_mw = 0, hold_us = 30 * US_PER_S, down_us = 5 * US_PER_S;
    parser_gpus(p, gpus);
    if (!parser_power(p, "floor", &floor_mw) || !floor_mw)
        parser_fail(p, p->words[0], "needs floor=POWER");
    (void) parser_duration(p, "hold", &hold_us);
    (void) parser_duration(p, "down", &down_us);
    parser_end(p, 1);
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++)
        if (sim_has_gpu(gpus, i)) {
            p->s->gpus[i].floor_mw = floor_mw;
            p->s->gpus[i].floor_hold_us = hold_us;
            p->s->gpus[i].floor_down_us = down_us;
        }
}

void life_mig(struct parser *p)
{
    uint64_t gpus[2];
    uint32_t n = SIM_MIG_MAX;
    parser_gpus(p, gpus);
    (void) parser_number(p, "instances", "", &n);
    if (n < 1 || n > SIM_MIG_MAX)
        parser_fail(p, p->words[0], "takes 1 to 7 instances");
    parser_end(p, 1);
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++)
        if (sim_has_gpu(gpus, i))
            p->s->gpus[i].mig = n;
}

static void fault_order(struct parser *p, struct sim_fault *f)
{
    struct str v = parser_value(p, "order"), rest = v, part;
    bool seen[SIM_GPUS_MAX] = { false };
    uint32_t n = 0;
    for (uint32_t i = 0; i < SIM_GPUS_MAX; i++)
        f->order[i] = (uint8_t) i;
    if (v.p && str_is(v, "reversed")) {
        for (uint32_t i = 0; i < p->s->gpus_n; i++)
            f->order[i] = (uint8_t) (p->s->gpus_n - 1 - i);
        return;
    }
    while (v.p && p->r == 0 && str_split(&rest, ',', &part)) {
        uint32_t g = 0;
        if (parse_u32(part, &g) < 0 || g >= p->s->gpus_n || seen[g] || n >= p->s->gpus_n) {
            parser_fail(p, part, "is no GPU of this node, or is named twice");
            return;
        }
        seen[g] = true;
        f->order[n++] = (uint8_t) g;
    }
    if (v.p && n != p->s->gpus_n)
        parser_fail(p, v, "does not name every GPU of the node once");
}

static bool fault_kind(struct str word, struct sim_fault *f)
{
    if (str_is(word, "lost")) { /* the short name of the commonest error */
        f->kind = FAULT_ERROR;
        f->code = 15;
        return true;
    }
    for (enum sim_fault_kind k = FAULT_LATENCY; k < FAULT_KIND_COUNT; k++)
        if (str_is(word, sim_fault_name(k))) {
            f->kind = k;
            return true;
        }
    return false;
}

static void fault_check(struct parser *p, const struct sim_fault *f)
{
    if (f->kind == FAULT_DSTATE && !f->path[0])
        parser_fail(p, p->words[1], "needs path=: a cgroup v1 freezer directory or a file");
    if (f->kind == FAULT_FIELD && !f->field)
        parser_fail(p, p->words[1], "needs field=ID");
    if (f->kind == FAULT_MISSING && f->call[0] == '*')
        parser_fail(p, p->words[1], "needs call=FUNCTION");
    if (f->kind == FAULT_RELOAD && f->to_us == SIM_FOREVER)
        parser_fail(p, p->words[1], "needs to=TIME, when the driver is up again");
    if (f->to_us < f->from_us)
        parser_fail(p, p->words[1], "ends before it begins");
}

void life_fault(struct parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_fault f = { .to_us = SIM_FOREVER, .code = 3 };
    struct str word = parser_word(p, "needs a kind, see wattgate-sim(5)");
    if (p->r == 0 && !fault_kind(word, &f))
        parser_fail(p, word, "is no fault, see wattgate-sim(5)");
    parser_gpus(p, f.gpus);
    struct str call = parser_value(p, "call"), path = parser_value(p, "path");
    if (call.n >= sizeof(f.call))
        parser_fail(p, call, "is too long for a function name");
    if (path.n >= sizeof(f.path))
        parser_fail(p, path, "is too long a path");
    str_copy(f.call, sizeof(f.call), call.n ? call : STR("*"));
    str_copy(f.path, sizeof(f.path), path);
    (void) parser_duration(p, "from", &f.from_us);
    (void) parser_duration(p, "to", &f.to_us);
    (void) parser_duration(p, "delay", &f.delay_us);
    f.tail_us = f.delay_us;
    (void) parser_duration(p, "tail", &f.tail_us);
    (void) parser_number(p, "code", "", &f.code);
    (void) parser_number(p, "field", "", &f.field);
    if (f.kind == FAULT_RELOAD)
        fault_order(p, &f);
    if (p->r == 0)
        fault_check(p, &f);
    parser_end(p, 2);
    if (p->r < 0)
        return;
    if (s->faults_n == s->faults_cap) {
        size_t cap = s->faults_cap ? s->faults_cap * 2 : 8;
        struct sim_fault *n = realloc(s->faults, cap * sizeof(*n));
        if (!n) {
            p->r = err_sys(p->err, ENOMEM, "scenario '%s'", p->name);
            return;
        }
        s->faults = n;
        s->faults_cap = cap;
    }
    s->faults[s->faults_n++] = f;
}

static bool insert_copy(struct sim_gpu *g, size_t at)
{
    struct sim_phase copy = g->phases[at];
    if (!sim_gpu_add_phase(g, SIM_IDLE, SIM_FOREVER))
        return false;
    memmove(&g->phases[at + 1], &g->phases[at], (g->phases_n - 1 - at) * sizeof(*g->phases));
    g->phases[at] = copy;
    if (g->loop_from != SIZE_MAX && g->loop_from > at)
        g->loop_from++;
    return true;
}

/* After work, power smoothing keeps a board at its floor for a while and then lets go slowly. */
static bool apply_smoothing(struct sim_gpu *g)
{
    for (size_t i = 1; g->floor_mw && i < g->phases_n; i++) {
        const struct sim_phase *before = &g->phases[i - 1];
        struct sim_phase *ph = &g->phases[i];
        if (before->high[SIM_POWER_MW] < g->floor_mw || ph->high[SIM_POWER_MW] >= g->floor_mw)
            continue;
        if (ph->length_us > g->floor_hold_us) {
            if (!insert_copy(g, i))
                return false;
            ph = &g->phases[i];
            ph->length_us = g->floor_hold_us;
            struct sim_phase *rest = &g->phases[i + 1];
            if (rest->length_us != SIM_FOREVER)
                rest->length_us -= g->floor_hold_us;
            rest->glide_us = g->floor_down_us;
            i++;
        }
        ph->high[SIM_POWER_MW] = ph->low[SIM_POWER_MW] = g->floor_mw;
    }
    return true;
}

void life_finish(struct parser *p)
{
    for (uint32_t i = 0; i < p->s->gpus_n; i++) {
        struct sim_gpu *g = &p->s->gpus[i];
        bool ends = g->phases_n && g->phases[g->phases_n - 1].length_us != SIM_FOREVER;
        bool loops = ends && g->loop_from < g->phases_n;
        bool ok = apply_smoothing(g);
        if (ok && !loops) {
            g->loop_from = SIZE_MAX;
            if (!g->phases_n || ends) {
                struct sim_phase *ph = sim_gpu_add_phase(g, SIM_IDLE, SIM_FOREVER);
                ok = ph != NULL;
                if (ph)
                    cap_phase(ph);
            }
        }
        if (!ok) {
            p->r = err_sys(p->err, ENOMEM, "scenario '%s'", p->name);
            return;
        }
        sim_gpu_finish(g);
    }
}
