/* SPDX-License-Identifier: Apache-2.0 */
/* GPU performance monitoring: a metric is what happened between two samples. */
#include "state.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define GPM_STEP_US (100 * US_PER_MS) /* samples are refreshed no faster than this */
#define GPM_MAGIC 0x4d50474du

struct gpm_sample {
    uint32_t magic;
    bool taken;
    int64_t at_us;
    uint32_t links;
    int64_t sum[SIM_CHANNEL_COUNT];
};

struct gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *short_name, *long_name, *unit;
};

struct gpm_metrics {
    unsigned version, n;
    struct gpm_sample *first, *second;
    struct gpm_metric metrics[]; /* its length grew twice without a new version: n counts */
};

struct gpm_support {
    unsigned version, supported;
};

API(nvmlGpmQueryDeviceSupport, const struct nvml_device *d, struct gpm_support *io)
{
    struct call c;
    int r = call_device(&c, __func__, d, CALL_MIG);
    if (r || !io)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (io->version != 1)
        return NVML_VERSION_MISMATCH;
    io->supported = sim_arch_info(c.g->arch)->gpm && c.s->personality == SIM_DATACENTER;
    return NVML_SUCCESS;
}

API(nvmlGpmSampleAlloc, struct gpm_sample **ret)
{
    struct call c;
    int r = call_system(&c, __func__);
    if (r || !ret)
        return r ? r : NVML_INVALID_ARGUMENT;
    struct gpm_sample *s = calloc(1, sizeof(*s));
    if (!s)
        return NVML_MEMORY;
    s->magic = GPM_MAGIC;
    *ret = s;
    return NVML_SUCCESS;
}

API(nvmlGpmSampleFree, struct gpm_sample *s)
{
    if (!s || s->magic != GPM_MAGIC)
        return NVML_INVALID_ARGUMENT;
    s->magic = 0;
    free(s);
    return NVML_SUCCESS;
}

static int take(const char *name, const struct nvml_device *d, int flags, struct gpm_sample *s)
{
    struct call c;
    int r = call_device(&c, name, d, flags | CALL_NO_VGPU | CALL_NO_GEFORCE);
    if (r || !s || s->magic != GPM_MAGIC)
        return r ? r : NVML_INVALID_ARGUMENT;
    if (!sim_arch_info(c.g->arch)->gpm)
        return NVML_NOT_SUPPORTED;
    s->at_us = c.t_us / GPM_STEP_US * GPM_STEP_US;
    s->links = link_count(&c);
    s->taken = true;
    for (enum sim_channel ch = 0; ch < SIM_CHANNEL_COUNT; ch++)
        s->sum[ch] = sim_integral(c.g, ch, s->at_us);
    return NVML_SUCCESS;
}

API(nvmlGpmSampleGet, const struct nvml_device *d, struct gpm_sample *s)
{
    return take(__func__, d, CALL_MIG, s);
}

API(nvmlGpmMigSampleGet, const struct nvml_device *d, unsigned gpu_instance, struct gpm_sample *s)
{
    (void) gpu_instance; /* all instances do the same */
    return take(__func__, d, 0, s);
}

/* Rows: what a metric is, as a share of time or as traffic. Scale is in thousandths. */
static const struct row {
    unsigned id;
    enum sim_channel channel;
    int32_t scale;
    const char *short_name, *unit;
} rows[] = {
    { 1, SIM_UTIL_PERMILLE, 1000, "Graphics Util", "%" },
    { 2, SIM_SM_PERMILLE, 1000, "SM Util", "%" },
    { 3, SIM_OCCUPANCY_PERMILLE, 1000, "SM Occupancy", "%" },
    { 4, SIM_SM_PERMILLE, 180, "Integer Util", "%" },
    { 5, SIM_TENSOR_PERMILLE, 1000, "Any Tensor Util", "%" },
    { 6, SIM_TENSOR_PERMILLE, 0, "DFMA Tensor Util", "%" },
    { 7, SIM_TENSOR_PERMILLE, 1000, "HMMA Tensor Util", "%" },
    { 9, SIM_TENSOR_PERMILLE, 0, "IMMA Tensor Util", "%" },
    { 10, SIM_DRAM_PERMILLE, 1000, "DRAM BW Util", "%" },
    { 11, SIM_SM_PERMILLE, 0, "FP64 Util", "%" },
    { 12, SIM_SM_PERMILLE, 90, "FP32 Util", "%" },
    { 13, SIM_SM_PERMILLE, 40, "FP16 Util", "%" },
    { 20, SIM_PCIE_TX_BPS, 1000, "PCIe TX", "MiB/s" },
    { 21, SIM_PCIE_RX_BPS, 1000, "PCIe RX", "MiB/s" },
    { 60, SIM_NVLINK_RX_BPS, 1000, "NVLink RX", "MiB/s" },
    { 61, SIM_NVLINK_TX_BPS, 1000, "NVLink TX", "MiB/s" },
};

static const struct row *find_row(unsigned id)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].id == id)
            return &rows[i];
    return NULL;
}

static void compute(const struct gpm_sample *a, const struct gpm_sample *b, struct gpm_metric *m)
{
    unsigned id = m->id;
    double share = 1;
    if (id >= 62 && id < 62 + 2 * a->links) { /* per link, received at even numbers */
        share = 1.0 / a->links;
        id = id % 2 ? 61 : 60;
    }
    const struct row *row = find_row(id);
    int64_t span_us = b->at_us - a->at_us;
    m->value = 0;
    m->result = NVML_NOT_SUPPORTED;
    if (!row || ((id == 60 || id == 61) && !a->links))
        return;
    m->result = span_us > 0 ? NVML_SUCCESS : NVML_NO_DATA;
    m->short_name = m->long_name = row->short_name;
    m->unit = row->unit;
    if (span_us <= 0)
        return;
    double sum = (double) (b->sum[row->channel] - a->sum[row->channel]) * row->scale / 1000;
    bool bytes = row->id >= 20;
    m->value = share * (bytes ? sum / (1 << 20) * 1e6 : sum / 10) / (double) span_us;
}

API(nvmlGpmMetricsGet, struct gpm_metrics *io)
{
    struct call c;
    int r = call_system(&c, __func__);
    if (r)
        return r;
    if (!io || !io->first || !io->second || io->first->magic != GPM_MAGIC ||
        io->second->magic != GPM_MAGIC || !io->first->taken || !io->second->taken)
        return NVML_INVALID_ARGUMENT;
    if (io->version != 1)
        return NVML_VERSION_MISMATCH;
    for (unsigned i = 0; i < io->n; i++)
        compute(io->first, io->second, &io->metrics[i]);
    return NVML_SUCCESS;
}
