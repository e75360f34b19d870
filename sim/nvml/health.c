/* SPDX-License-Identifier: Apache-2.0 */
/* Memory errors, links, fabric; and what only the tests ask. */
#include "state.h"

#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

API(nvmlDeviceGetEccMode, const struct nvml_device *d, unsigned *current, unsigned *pending)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (r || !current || !pending)
        return r ? r : NVML_INVALID_ARGUMENT;
    *current = *pending = 1;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetTotalEccErrors, const struct nvml_device *d, unsigned type, unsigned counter,
    unsigned long long *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (r || !ret || type > 1 || counter > 1)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetMemoryErrorCounter, const struct nvml_device *d, unsigned type, unsigned counter,
    unsigned place, unsigned long long *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (r || !ret || type > 1 || counter > 1 || place > 7)
        return r ? r : NVML_INVALID_ARGUMENT;
    *ret = 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetRemappedRows, const struct nvml_device *d, unsigned *corrected,
    unsigned *uncorrected, unsigned *pending, unsigned *failure)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (!r && c.g->arch == SIM_ARCH_VOLTA)
        r = NVML_NOT_SUPPORTED;
    if (r || !corrected || !uncorrected || !pending || !failure)
        return r ? r : NVML_INVALID_ARGUMENT;
    *corrected = *uncorrected = *pending = *failure = 0;
    return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkState, const struct nvml_device *d, unsigned link, unsigned *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !ret || link >= 18)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (!link_count(&c))
        return NVML_NOT_SUPPORTED;
    *ret = link < link_count(&c);
    return NVML_SUCCESS;
}

/* State: 0 not supported, 3 completed. Health: 2-bit fields, 2 is "no" to every trouble. */
static unsigned fabric_state(const struct call *c)
{
    return c->s->fabric && c->s->personality == SIM_DATACENTER ? 3 : 0;
}

static void fabric_uuid(const struct call *c, unsigned char uuid[16])
{
    for (unsigned char i = 0; i < 16; i++)
        uuid[i] = fabric_state(c) ? (unsigned char) (0xf0 + i) : 0;
}

struct fabric_v1 {
    unsigned char uuid[16];
    unsigned status, clique, state;
};

API(nvmlDeviceGetGpuFabricInfo, const struct nvml_device *d, struct fabric_v1 *ret)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    fabric_uuid(&c, ret->uuid);
    ret->status = 0;
    ret->clique = 0;
    ret->state = fabric_state(&c);
    return NVML_SUCCESS;
}

struct fabric_v3 {
    unsigned version;
    unsigned char uuid[16];
    unsigned status, clique, state, health_mask;
    unsigned char health_summary; /* version 2 ends before it */
};

API(nvmlDeviceGetGpuFabricInfoV, const struct nvml_device *d, struct fabric_v3 *io)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || !io)
        return r ? r : NVML_INVALID_ARGUMENT;
    bool v2 = io->version == (36u | 2u << 24), v3 = io->version == (sizeof(*io) | 3u << 24);
    if (!v2 && !v3)
        return NVML_VERSION_MISMATCH;
    fabric_uuid(&c, io->uuid);
    io->status = 0;
    io->clique = 0;
    io->state = fabric_state(&c);
    io->health_mask = io->state ? 0x1aa : 0;
    if (v3)
        io->health_summary = io->state ? 1 : 0;
    return NVML_SUCCESS;
}

/* For tests: the truth. Indices are those of before any reload. */

__attribute__((visibility("default"))) long long wattgate_sim_true_energy_uj(unsigned slot,
                                                                             long long from_us,
                                                                             long long to_us);
__attribute__((visibility("default"))) long long wattgate_sim_true_energy_uj(unsigned slot,
                                                                             long long from_us,
                                                                             long long to_us)
{
    const struct sim_scenario *s = state_scenario();
    if (!s || slot >= s->gpus_n || from_us < 0 || to_us < from_us)
        return -1;
    return sim_true_energy_uj(&s->gpus[slot], to_us) - sim_true_energy_uj(&s->gpus[slot], from_us);
}

__attribute__((visibility("default"))) const char *wattgate_sim_true_phase(unsigned slot,
                                                                           long long t_us);
__attribute__((visibility("default"))) const char *wattgate_sim_true_phase(unsigned slot,
                                                                           long long t_us)
{
    const struct sim_scenario *s = state_scenario();
    if (!s || slot >= s->gpus_n || t_us < 0)
        return NULL;
    return sim_kind_name(sim_phase_at(&s->gpus[slot], t_us, NULL)->kind);
}

__attribute__((visibility("default"))) long long wattgate_sim_now_us(void);
__attribute__((visibility("default"))) long long wattgate_sim_now_us(void)
{
    return sim_now_us();
}

/* For `wattgate sim`: 0, or the first mistake in a scenario or trace. */
API(wattgate_sim_check, const char *name, const char *text, size_t n, int trace, char *ret_error,
    size_t cap)
{
    AUTO(sim_scenario) struct sim_scenario *s = NULL;
    struct err err = { 0 };
    struct str t = { text, n };
    int r = trace ? sim_parse_trace(name, t, &s, &err) : sim_parse(name, t, &s, &err);
    if (r < 0)
        (void) snprintf(ret_error, cap, "%s", err.text);
    return r;
}

/* The text of a random scenario, cut to the buffer; gives its length. */
API(wattgate_sim_random, unsigned long long seed, unsigned gpus, char *buf, size_t cap)
{
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    sim_random(seed, gpus, &b);
    if (b.error || b.n >= cap)
        return -1;
    memcpy(buf, strbuf_text(&b), b.n + 1);
    return (int) b.n;
}

/* The keys of the boards, one a line. */
API(wattgate_sim_boards, char *buf, size_t cap)
{
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    for (size_t i = 0; i < sim_boards_n; i++)
        strbuf_addf(&b, "%-8s %s, %s, %d W\n", sim_boards[i].key, sim_boards[i].product,
                    sim_arch_name(sim_boards[i].arch), (int) sim_boards[i].limit_w);
    if (b.error || b.n >= cap)
        return -1;
    memcpy(buf, strbuf_text(&b), b.n + 1);
    return (int) b.n;
}
