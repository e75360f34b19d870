/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, and what the sensors make of it. */
#include "model.h"

#include <string.h>

static const char *const fault_names[] = {
    [FAULT_UNKNOWN] = "unknown", [FAULT_LATENCY] = "latency", [FAULT_BLOCK] = "block",
    [FAULT_DSTATE] = "dstate",   [FAULT_STUCK] = "stuck",     [FAULT_ENERGY_RESET] = "energy-reset",
    [FAULT_ERROR] = "error",     [FAULT_FIELD] = "field",     [FAULT_LATE] = "late",
    [FAULT_RELOAD] = "reload",   [FAULT_XID] = "xid",         [FAULT_MISSING] = "missing",
};
_Static_assert(ARRAY_SIZE(fault_names) == FAULT_KIND_COUNT, "a fault lacks its name");

const char *sim_fault_name(enum sim_fault_kind k)
{
    return fault_names[k < FAULT_KIND_COUNT ? k : FAULT_UNKNOWN];
}

bool sim_call_matches(const char *pattern, const char *call)
{
    size_t n = strlen(pattern);
    if (n && pattern[n - 1] == '*')
        return strncmp(pattern, call, n - 1) == 0;
    return strcmp(pattern, call) == 0;
}

static bool acts(const struct sim_fault *f, uint32_t slot, int64_t t_us)
{
    return t_us >= f->from_us && t_us < f->to_us &&
           (slot == UINT32_MAX || sim_has_gpu(f->gpus, slot));
}

const struct sim_fault *sim_fault_at(const struct sim_scenario *s, enum sim_fault_kind kind,
                                     uint32_t slot, int64_t t_us)
{
    for (size_t i = 0; i < s->faults_n; i++)
        if (s->faults[i].kind == kind && acts(&s->faults[i], slot, t_us))
            return &s->faults[i];
    return NULL;
}

/* The newest reload that has begun; its driver is up again at to_us. */
static const struct sim_fault *last_reload(const struct sim_scenario *s, int64_t t_us,
                                           uint32_t *ret_n)
{
    const struct sim_fault *last = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < s->faults_n; i++) {
        const struct sim_fault *f = &s->faults[i];
        if (f->kind != FAULT_RELOAD || f->from_us > t_us)
            continue;
        n++;
        if (!last || f->from_us > last->from_us)
            last = f;
    }
    if (ret_n)
        *ret_n = n;
    return last;
}

uint32_t sim_generation(const struct sim_scenario *s, int64_t t_us, bool *ret_down)
{
    uint32_t n = 0;
    const struct sim_fault *f = last_reload(s, t_us, &n);
    *ret_down = f && t_us < f->to_us;
    return n;
}

uint32_t sim_slot_of_index(const struct sim_scenario *s, uint32_t index, int64_t t_us)
{
    const struct sim_fault *f = last_reload(s, t_us, NULL);
    return f && index < SIM_GPUS_MAX ? f->order[index] : index;
}

uint32_t sim_index_of_slot(const struct sim_scenario *s, uint32_t slot, int64_t t_us)
{
    for (uint32_t i = 0; i < s->gpus_n; i++)
        if (sim_slot_of_index(s, i, t_us) == slot)
            return i;
    return slot;
}

int64_t sim_energy_counter_uj(const struct sim_scenario *s, const struct sim_gpu *g, int64_t t_us)
{
    int64_t zero_us = 0;
    for (size_t i = 0; i < s->faults_n; i++) {
        const struct sim_fault *f = &s->faults[i];
        int64_t at_us = f->kind == FAULT_RELOAD ? f->to_us : f->from_us;
        if ((f->kind == FAULT_ENERGY_RESET && sim_has_gpu(f->gpus, g->slot)) ||
            f->kind == FAULT_RELOAD)
            if (at_us <= t_us && at_us > zero_us)
                zero_us = at_us;
    }
    struct sensor_reading r = sensor_read(&g->sensor, sim_true_energy_uj, g, t_us);
    return MAX(r.energy_uj - sim_true_energy_uj(g, zero_us), 0);
}

struct sensor_reading sim_sensor(const struct sim_scenario *s, const struct sim_gpu *g,
                                 int64_t t_us)
{
    const struct sim_fault *late = sim_fault_at(s, FAULT_LATE, g->slot, t_us);
    if (late)
        t_us = MAX(t_us - late->delay_us, 0);
    const struct sim_fault *stuck = sim_fault_at(s, FAULT_STUCK, g->slot, t_us);
    struct sensor_reading r =
        sensor_read(&g->sensor, sim_true_energy_uj, g, stuck ? stuck->from_us : t_us);
    if (stuck) /* a stuck sensor still claims to be fresh */
        r.updated_us = sensor_read(&g->sensor, sim_true_energy_uj, g, t_us).updated_us;
    return r;
}
