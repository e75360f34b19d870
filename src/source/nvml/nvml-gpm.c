/* SPDX-License-Identifier: Apache-2.0 */
/* GPU performance monitoring (Hopper and later): shares of time between two samples. */
#include "source/nvml/nvml-priv.h"

#include "base/units.h"

#include <math.h>

/* The driver refreshes every 100 ms: two samples closer than that give nothing. */
#define GPM_MIN_US (INT64_C(110) * US_PER_MS)

static const struct {
    enum metric metric;
    uint32_t id;
    double scale, max; /* of the scaled value */
} wanted[] = {
    { METRIC_GR_ACTIVE_PERMILLE, 1, 10, 1000 },    { METRIC_SM_ACTIVE_PERMILLE, 2, 10, 1000 },
    { METRIC_SM_OCCUPANCY_PERMILLE, 3, 10, 1000 }, { METRIC_TENSOR_ACTIVE_PERMILLE, 5, 10, 1000 },
    { METRIC_DRAM_ACTIVE_PERMILLE, 10, 10, 1000 }, { METRIC_PCIE_TX_BPS, 20, 1048576, 1e15 },
    { METRIC_PCIE_RX_BPS, 21, 1048576, 1e15 },     { METRIC_NVLINK_RX_BPS, 60, 1048576, 1e15 },
    { METRIC_NVLINK_TX_BPS, 61, 1048576, 1e15 },
};
_Static_assert(ARRAY_SIZE(wanted) <= NVML_GPM_ROOM, "one request asks for all");

static void free_pair(struct nvml_source *s, struct nvml_gpm_sample *pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] && s->api.gpm_free)
            s->api.gpm_free(pair[i]);
        pair[i] = NULL;
    }
}

static bool alloc_pair(struct nvml_source *s, struct nvml_gpm_sample *pair[2])
{
    if (s->api.gpm_alloc(&pair[0]) == NVML_OK && s->api.gpm_alloc(&pair[1]) == NVML_OK)
        return true;
    free_pair(s, pair);
    return false;
}

void nvml_gpm_open(struct nvml_source *s, struct nvml_gpu *g)
{
    struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
    g->gpm_works = false;
    g->gpm_us = 0;
    if (!s->api.gpm_alloc || !s->api.gpm_free || !s->api.gpm_sample || !s->api.gpm_metrics ||
        !s->api.gpm_support || s->api.gpm_support(g->device, &support) != NVML_OK ||
        !support.is_supported)
        return;
    g->gpm_works = alloc_pair(s, g->gpm);
}

void nvml_gpm_close(struct nvml_source *s, struct nvml_gpu *g)
{
    free_pair(s, g->gpm);
    g->gpm_works = false;
    for (size_t i = 0; i < NVML_MIGS_MAX; i++)
        free_pair(s, g->migs[i].gpm);
}

static void add_all(struct nvml_reading *r, enum obs_status status)
{
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        nvml_add_status(r, wanted[i].metric, status);
}

static void add_metrics(struct nvml_source *s, struct nvml_gpm_sample *const pair[2],
                        struct nvml_reading *r)
{
    struct nvml_gpm_request *rq = s->gpm;
    rq->version = NVML_GPM_VERSION;
    rq->n = ARRAY_SIZE(wanted);
    rq->from = pair[0];
    rq->to = pair[1];
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        rq->metrics[i] = (struct nvml_gpm_metric){ .id = wanted[i].id, .code = NVML_NO_DATA };
    int code = s->api.gpm_metrics(rq);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        int one = code == NVML_OK ? rq->metrics[i].code : code;
        double v = rq->metrics[i].value * wanted[i].scale;
        if (one == NVML_OK && !(isfinite(v) && v >= 0))
            one = NVML_NO_DATA;
        nvml_add(r, wanted[i].metric, one, one == NVML_OK ? llround(fmin(v, wanted[i].max)) : 0);
    }
}

/* Takes the next sample into the older slot and reads the span between the two. */
static void read_pair(struct nvml_source *s, struct nvml_device *d, const uint32_t *gpu_instance,
                      struct nvml_gpm_sample *pair[2], int64_t *io_us, int64_t mono_us,
                      struct nvml_reading *r)
{
    if (*io_us && mono_us - *io_us < GPM_MIN_US)
        return;
    int code = gpu_instance ? s->api.gpm_sample_mig(d, *gpu_instance, pair[0])
                            : s->api.gpm_sample(d, pair[0]);
    if (code != NVML_OK) {
        *io_us = 0;
        add_all(r, nvml_obs_status(code));
        return;
    }
    struct nvml_gpm_sample *newest = pair[0];
    pair[0] = pair[1];
    pair[1] = newest;
    if (*io_us)
        add_metrics(s, pair, r);
    else
        add_all(r, OBS_ABSENT); /* the first sample spans nothing */
    *io_us = mono_us;
}

void nvml_gpm_read(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct nvml_reading *r)
{
    if (!g->gpm_works)
        add_all(r, r->worst ? nvml_obs_status(r->worst) : OBS_UNSUPPORTED);
    else if (r->worst)
        add_all(r, nvml_obs_status(r->worst));
    else
        read_pair(s, g->device, NULL, g->gpm, &g->gpm_us, mono_us, r);
}

void nvml_gpm_read_mig(struct nvml_source *s, struct nvml_gpu *g, struct nvml_mig *m,
                       int64_t mono_us, struct nvml_reading *r)
{
    if (!g->gpm_works || !s->api.gpm_sample_mig || m->gpu_instance == NVML_ID_NONE)
        return;
    if (!m->gpm[0] && !alloc_pair(s, m->gpm))
        return;
    read_pair(s, g->device, &m->gpu_instance, m->gpm, &m->gpm_us, mono_us, r);
}
