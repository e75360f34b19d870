/* SPDX-License-Identifier: Apache-2.0 */
#include "source/nvml/nvml-about.h"

#include "base/units.h"
#include "source/nvml/nvml-priv.h"
#include "sys/clock.h"

#include <stdio.h>

/* Two polls further apart than the driver's own refresh, so that rates have a span. */
#define BETWEEN_POLLS_US (INT64_C(150) * US_PER_MS)

/* What each ability stands on, and what to do where it is missing. */
static const struct {
    const char *id;
    enum metric metric;
    const char *remedy;
} abilities[] = {
    { "nvml.power_instant", METRIC_POWER_INSTANT_MW,
      "driver 535 or later tells instant and average power apart" },
    { "nvml.power_average", METRIC_POWER_AVERAGE_MW,
      "driver 535 or later tells instant and average power apart" },
    { "nvml.power_limit", METRIC_POWER_LIMIT_MW, "" },
    { "nvml.energy", METRIC_ENERGY_UJ, "" },
    { "nvml.utilisation", METRIC_UTIL_GPU_PERMILLE, "in MIG mode the instances have none" },
    { "nvml.clocks", METRIC_CLOCK_SM_MHZ, "" },
    { "nvml.memory", METRIC_MEM_USED_BYTES, "" },
    { "nvml.throttle_reasons", METRIC_THROTTLE_REASONS, "" },
    { "nvml.throttle_counter", METRIC_THROTTLE_POWER_NS, "" },
    { "nvml.pcie_bytes", METRIC_PCIE_TX_BYTES, "driver 550 or later counts PCIe bytes" },
    { "nvml.nvlink_bytes", METRIC_NVLINK_TX_BYTES, "" },
    { "nvml.gpm", METRIC_SM_ACTIVE_PERMILLE, "needs Hopper or later" },
    { "nvml.processes", METRIC_PROCESS_COUNT, "" },
    { "nvml.ecc", METRIC_ECC_UNCORRECTED, "" },
    { "nvml.row_remap", METRIC_REMAP_PENDING, "" },
    { "nvml.recovery_action", METRIC_RECOVERY_ACTION, "driver 570 or later tells it" },
    { "nvml.fabric", METRIC_FABRIC_UNHEALTHY, "" },
    { "nvml.power_smoothing", METRIC_SMOOTHING_ENABLED, "needs Blackwell and driver 570 or later" },
    { "nvml.mig", METRIC_MIG_ENABLED, "" },
};

struct tally {
    uint32_t gpus, with_value;
    enum obs_status status; /* of the first GPU without */
    uint32_t first_without; /* its position */
};

struct survey {
    struct tally tally[ARRAY_SIZE(abilities)];
    uint32_t gpus, processes, named;
};

/* The latest sample of a GPU counts; an entity's first records come before its samples. */
static void survey_sample(const struct record *r, uint32_t gpu, struct survey *v)
{
    for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
        const struct obs *o = sample_find(&r->u.sample, abilities[i].metric);
        struct tally *t = &v->tally[i];
        if (!o)
            continue;
        t->gpus++;
        if (o->status == OBS_VALUE) {
            t->with_value++;
        } else if (t->gpus - t->with_value == 1) {
            t->status = o->status;
            t->first_without = gpu;
        }
    }
}

static void survey_records(struct record_queue *q, bool rates, struct survey *v)
{
    const struct record *r;
    uint32_t gpu_of[NVML_GPUS_MAX], n = 0;
    struct survey one = { 0 };
    while (record_queue_next(q, &r) > 0) {
        if (r->kind == RECORD_ENTITY && r->u.entity.kind == ENTITY_GPU && n < NVML_GPUS_MAX)
            gpu_of[n++] = r->u.entity.id;
        if (r->kind == RECORD_ENTITY && r->u.entity.kind == ENTITY_PROCESS) {
            one.processes++;
            one.named += r->u.entity.name.n > 0;
        }
        bool known = rates;
        for (uint32_t i = 0; i < n && r->kind == RECORD_SAMPLE; i++)
            known |= gpu_of[i] == r->u.sample.entity;
        if (r->kind == RECORD_SAMPLE && known)
            survey_sample(r, one.gpus++, &one);
    }
    for (size_t i = 0; i < ARRAY_SIZE(abilities); i++)
        if (one.tally[i].gpus && (!rates || abilities[i].metric == METRIC_SM_ACTIVE_PERMILLE))
            v->tally[i] = one.tally[i];
    if (!rates) {
        v->gpus = n;
        v->processes = one.processes;
        v->named = one.named;
    }
}

static void tell(const struct survey *v, struct capability_list *out)
{
    char why[160];
    for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
        const struct tally *t = &v->tally[i];
        enum ability ability = ABILITY_NO;
        if (!t->gpus)
            snprintf(why, sizeof(why), "not told by any GPU");
        else if (t->with_value == t->gpus)
            snprintf(why, sizeof(why), "%s", "");
        else
            snprintf(why, sizeof(why), "%s on GPU %u (%u of %u answer)", obs_status_name(t->status),
                     t->first_without, t->with_value, t->gpus);
        if (t->with_value)
            ability = t->with_value == t->gpus ? ABILITY_YES : ABILITY_PARTLY;
        capability_add(out, abilities[i].id, ability, why,
                       ability == ABILITY_YES ? "" : abilities[i].remedy);
    }
}

static void tell_names(const struct survey *v, struct capability_list *out)
{
    char why[160];
    if (!v->processes) {
        capability_add(out, "nvml.process_names", ABILITY_PARTLY,
                       "no process owns a GPU now: not tried", "");
        return;
    }
    snprintf(why, sizeof(why), "%u of %u processes are in this /proc", v->named, v->processes);
    bool all = v->named == v->processes;
    capability_add(out, "nvml.process_names",
                   all        ? ABILITY_YES
                   : v->named ? ABILITY_PARTLY
                              : ABILITY_NO,
                   all ? "" : why, all ? "" : "share the host's process numbers (hostPID)");
}

static void tell_driver(struct nvml_source *s, struct capability_list *out)
{
    char why[160], version[NVML_VERSION_BYTES] = "";
    if (s->api.library_version)
        (void) s->api.library_version(version, sizeof(version));
    version[sizeof(version) - 1] = '\0';
    snprintf(why, sizeof(why), "driver %.40s, library %.40s", s->driver.text, version);
    capability_add(out, "nvml.driver", ABILITY_YES, why, "");
    capability_add(out, "nvml.events", s->events ? ABILITY_YES : ABILITY_NO,
                   s->events ? "" : "the driver gives no event set",
                   s->events ? "" : "Xid lines in the kernel log say the same");
}

static void survey_source(struct source *src, struct capability_list *out)
{
    struct err err;
    struct survey v = { 0 };
    AUTO(record_queue) struct record_queue *q = record_queue_new();
    if (!q)
        return;
    for (int round = 0; round < 2; round++) {
        if (src->ops->poll(src, clock_mono_us(), q, &err) < 0)
            break;
        survey_records(q, round > 0, &v);
        if (!round)
            clock_sleep_until_us(clock_mono_us() + BETWEEN_POLLS_US);
    }
    tell(&v, out);
    tell_names(&v, out);
}

void nvml_about(const struct source_env *env, struct capability_list *out)
{
    struct err err = { 0 };
    struct nvml_api api;
    void *lib;
    struct source *src;
    if (nvml_load(env->nvml_library, &lib, &api, &err) < 0) {
        capability_add(out, "nvml.library", ABILITY_NO, err.text,
                       "install the NVIDIA driver, or start the container with its utility "
                       "libraries");
        return;
    }
    capability_add(out, "nvml.library", ABILITY_YES, "", "");
    if (nvml_source.open(env, &src, &err) < 0) {
        capability_add(out, "nvml.driver", ABILITY_NO, err.text,
                       "see the code in the message; nvidia-smi should fail alike");
        return;
    }
    tell_driver(CONTAINER_OF(src, struct nvml_source, base), out);
    survey_source(src, out);
    nvml_source.close(src);
}
