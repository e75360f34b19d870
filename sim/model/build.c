/* SPDX-License-Identifier: Apache-2.0 */
/* Units and phases with their usual values. */
#include "model.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB INT64_C(1000000)
#define GIB (INT64_C(1) << 30)

/* What each kind of phase does beside drawing power; links in MB/s. */
static const struct usual {
    int64_t util, mem_util, sm, occupancy, tensor, dram;
    int64_t nvlink, pcie_tx, pcie_rx;
    int64_t memory_permille, noise_permille;
} usual[] = {
    [SIM_UNKNOWN] = { 0 },
    [SIM_IDLE] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 },
    [SIM_HELD] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 600, 2 },
    [SIM_SPIN] = { 1000, 0, 45, 6, 0, 1, 0, 0, 0, 720, 4 },
    [SIM_COPY] = { 1000, 90, 140, 60, 0, 130, 165000, 400, 400, 720, 20 },
    [SIM_LOAD] = { 90, 20, 8, 3, 0, 15, 0, 200, 6100, 500, 15 },
    [SIM_WRITE] = { 0, 10, 0, 0, 0, 8, 0, 4300, 20, 720, 8 },
    [SIM_WORK] = { 990, 480, 870, 410, 330, 260, 43000, 250, 300, 720, 20 },
};
_Static_assert(ARRAY_SIZE(usual) == SIM_KIND_COUNT, "a kind of phase lacks its usual values");

int sim_gpu_init(struct sim_gpu *g, const struct sim_board *board, uint32_t slot, uint64_t seed,
                 int64_t spread_permille)
{
    struct sim_phase *phases = g->phases;
    *g = (struct sim_gpu){ .board = board, .arch = board->arch, .slot = slot, .phases = phases };
    g->seed = sim_hash(seed, slot, 11);
    str_copy(g->product, sizeof(g->product), str_from(board->product));
    uint64_t a = sim_hash(seed, slot, 21), b = sim_hash(seed, slot, 22);
    (void) snprintf(g->uuid, sizeof(g->uuid),
                    "GPU-%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-8%03" PRIx64 "-%012" PRIx64,
                    a & 0xffffffff, a >> 32 & 0xffff, a >> 48 & 0xfff, b & 0xfff, b >> 16);
    (void) snprintf(g->serial, sizeof(g->serial), "16524%08" PRIu64, b % 100000000);
    g->limit_mw = board->limit_w * MW_PER_W;
    g->memory_bytes = board->memory_gib * GIB;
    int64_t factor = 1000 + sim_draw(g->seed, 31, -spread_permille, spread_permille);
    for (enum sim_kind k = SIM_IDLE; k < SIM_KIND_COUNT; k++)
        g->level_mw[k] = board->level_w[k] * factor; /* W * permille is mW */
    g->sensor = *sim_arch_info(g->arch)->sensor;
    g->sensor.phase_us = (int32_t) sim_draw(g->seed, 41, 0, g->sensor.update_us - 1);
    g->loop_from = SIZE_MAX;
    return 0;
}

void sim_phase_defaults(const struct sim_gpu *g, struct sim_phase *p)
{
    const struct usual *u = &usual[p->kind];
    int64_t *v = p->high;
    v[SIM_POWER_MW] = g->level_mw[p->kind];
    v[SIM_UTIL_PERMILLE] = u->util;
    v[SIM_MEM_UTIL_PERMILLE] = u->mem_util;
    v[SIM_SM_PERMILLE] = u->sm;
    v[SIM_OCCUPANCY_PERMILLE] = u->occupancy;
    v[SIM_TENSOR_PERMILLE] = u->tensor;
    v[SIM_DRAM_PERMILLE] = u->dram;
    int64_t nvlink = g->board->nvlinks ? u->nvlink * MB : 0;
    int64_t instead = g->board->nvlinks ? 0 : MIN(u->nvlink / 8, 12000) * MB;
    v[SIM_NVLINK_TX_BPS] = v[SIM_NVLINK_RX_BPS] = nvlink;
    v[SIM_PCIE_TX_BPS] = u->pcie_tx * MB + instead;
    v[SIM_PCIE_RX_BPS] = u->pcie_rx * MB + instead;
    v[SIM_CAPPED_PERMILLE] = 0;
    memcpy(p->low, p->high, sizeof(p->low));
    p->noise_mw = v[SIM_POWER_MW] * u->noise_permille / 1000;
    p->limit_mw = g->limit_mw;
    p->memory_bytes = g->memory_bytes / 1000 * u->memory_permille;
    p->sm_clock_mhz =
        (uint32_t) (p->kind == SIM_IDLE ? g->board->sm_clock_idle_mhz : g->board->sm_clock_mhz);
}

struct sim_phase *sim_gpu_add_phase(struct sim_gpu *g, enum sim_kind kind, int64_t length_us)
{
    if (g->phases_n == g->phases_cap) {
        size_t cap = g->phases_cap ? g->phases_cap * 2 : 8;
        struct sim_phase *p = realloc(g->phases, cap * sizeof(*p));
        if (!p)
            return NULL;
        g->phases = p;
        g->phases_cap = cap;
    }
    struct sim_phase *p = &g->phases[g->phases_n++];
    *p = (struct sim_phase){ .kind = kind, .length_us = length_us };
    sim_phase_defaults(g, p);
    return p;
}

void sim_free(struct sim_scenario *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < SIM_GPUS_MAX; i++)
        free(s->gpus[i].phases);
    free(s->processes);
    free(s->faults);
    free(s);
}
