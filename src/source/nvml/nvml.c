/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs through the management library. */
#include "source/nvml/nvml-priv.h"

#include "base/units.h"
#include "source/nvml/nvml-about.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOW_US (INT64_C(10) * US_PER_S)
#define RARE_US (INT64_C(60) * US_PER_S)
#define RETRY_FIRST_US (INT64_C(5) * US_PER_S)
enum { EVENTS_PER_POLL = 64 };

static struct nvml_source *of(struct source *base)
{
    return CONTAINER_OF(base, struct nvml_source, base);
}

static void nvml_close(struct source *base)
{
    if (!base)
        return;
    struct nvml_source *s = of(base);
    nvml_stop(s);
    /* The library stays loaded: it may have left threads behind that run in it. */
    for (uint32_t i = 0; i < s->gpus_n; i++)
        nvml_forget_processes(&s->gpus[i]);
    free(s->gpm);
    free(s->sysroot);
    free(s);
}

static int nvml_open(const struct source_env *env, struct source **ret, struct err *err)
{
    struct nvml_source *s = calloc(1, sizeof(*s));
    if (!s)
        return err_sys(err, ENOMEM, "NVML");
    s->base.ops = &nvml_source;
    s->sysroot = str_dup(str_from(env->sysroot ? env->sysroot : "/"));
    s->gpm = calloc(1, sizeof(*s->gpm));
    s->skip_gpus = env->skip_gpus;
    s->pulse = env->pulse;
    s->interval_us = MAX(env->interval_us, US_PER_MS);
    s->retry_after_us = RETRY_FIRST_US;
    int r = s->sysroot && s->gpm ? nvml_load(env->nvml_library, &s->lib, &s->api, err)
                                 : err_sys(err, ENOMEM, "NVML");
    if (r >= 0)
        r = nvml_start(s, err);
    if (r < 0) {
        nvml_close(&s->base);
        return r;
    }
    *ret = &s->base;
    return 0;
}

/* Everything at first; later what is read seldom is spread over the polls, one GPU after the
 * other, so that no poll is much longer than the rest. */
static enum nvml_depth depth_of(const struct nvml_source *s, uint32_t gpu)
{
    uint64_t slow = (uint64_t) MAX((SLOW_US + s->interval_us / 2) / s->interval_us, 1);
    uint64_t rare = (uint64_t) MAX((RARE_US + s->interval_us / 2) / s->interval_us, 1);
    if (!s->polls || (s->polls + gpu) % rare == 0)
        return NVML_RARE;
    return (s->polls + gpu) % slow == 0 ? NVML_SLOW : NVML_TICK;
}

static int note_change(struct nvml_gpu *g, int code, int64_t mono_us, struct record_queue *out)
{
    char text[160];
    if (code == g->last_code)
        return 0;
    g->last_code = code;
    snprintf(text, sizeof(text), "GPU %u: %s (%d)", g->index,
             code == NVML_OK ? "answers again" : nvml_code_text(code), code);
    return nvml_emit_note(g->entity, "device", text, mono_us, out);
}

/* An energy counter that went back was started anew: another load of the driver. */
static bool energy_went_back(struct nvml_gpu *g, const struct nvml_reading *r)
{
    int64_t uj = -1;
    const struct sample sample = { .n = r->n, .obs = r->obs };
    if (!sample_get(&sample, METRIC_ENERGY_UJ, &uj))
        return false;
    bool back = g->energy_uj >= 0 && uj < g->energy_uj;
    g->energy_uj = uj;
    return back;
}

static int poll_gpu(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                    int64_t mono_us, struct record_queue *out, int *ret_code)
{
    struct nvml_reading r;
    r.n = 0;
    r.latency_us = -1;
    r.wall_us = clock_wall_us();
    r.worst = g->device ? NVML_OK : g->last_code;
    worker_touch(s->pulse, (int32_t) g->index);
    if (depth >= NVML_SLOW && (!g->device || g->last_code != NVML_OK) && nvml_retake(s, g))
        r.worst = NVML_OK;
    if (g->device) {
        nvml_read_gpu(s, g, depth, &r);
        nvml_gpm_read(s, g, mono_us, &r);
    } else {
        nvml_add_status(&r, METRIC_POWER_INSTANT_MW, nvml_obs_status(g->last_code));
    }
    *ret_code = r.worst;
    int code = 0;
    if (energy_went_back(g, &r))
        code = nvml_next_generation(s, g, mono_us, out);
    if (code >= 0)
        code = note_change(g, r.worst, mono_us, out);
    if (code >= 0 && depth >= NVML_RARE && !r.worst)
        code = nvml_find_migs(s, g, mono_us, out);
    if (code >= 0 && depth >= NVML_SLOW)
        code = nvml_read_processes(s, g, mono_us, out, &r);
    if (code >= 0)
        code = nvml_emit_sample(g->entity, &r, mono_us, out);
    if (code >= 0 && !r.worst)
        code = nvml_read_migs(s, g, depth, mono_us, out);
    return code;
}

static int emit_xid(const struct nvml_source *s, const struct nvml_event *e, int64_t mono_us,
                    struct record_queue *out)
{
    struct nvml_reading r;
    r.n = 0;
    r.worst = NVML_OK;
    if (e->type != NVML_EVENT_XID)
        return 0;
    for (uint32_t i = 0; i < s->gpus_n; i++) {
        const struct nvml_gpu *g = &s->gpus[i];
        if (!g->present || g->device != e->device)
            continue;
        nvml_add(&r, METRIC_XID, NVML_OK, (int64_t) (e->data & INT64_MAX));
        return nvml_emit_sample(g->entity, &r, mono_us, out);
    }
    return 0;
}

static int poll_events(struct nvml_source *s, int64_t mono_us, struct record_queue *out)
{
    if (!s->events)
        return 0;
    worker_touch(s->pulse, WORKER_NOWHERE);
    for (int i = 0; i < EVENTS_PER_POLL; i++) {
        struct nvml_event e = { .gpu_instance = NVML_ID_NONE, .compute_instance = NVML_ID_NONE };
        if (s->api.event_wait(s->events, &e, 0) != NVML_OK)
            break; /* a time-out: none waits */
        int r = emit_xid(s, &e, mono_us, out);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The driver went away under us, or came back with other devices behind the handles. */
static int go_down(struct nvml_source *s, int64_t mono_us, int64_t pause_us,
                   struct record_queue *out)
{
    s->down = true;
    s->retry_us = mono_us + pause_us;
    return nvml_emit_note(ENTITY_NONE, "driver", "NVML: the driver is being found anew", mono_us,
                          out);
}

static int poll_down(struct nvml_source *s, int64_t mono_us, struct record_queue *out)
{
    if (mono_us >= s->retry_us) {
        struct err err;
        nvml_stop(s);
        if (nvml_start(s, &err) >= 0) {
            s->down = false;
            s->polls = 0;
            return nvml_declare(s, mono_us, out);
        }
        s->retry_us = mono_us + s->retry_after_us;
        s->retry_after_us = MIN(s->retry_after_us * 2, RARE_US);
    }
    for (uint32_t i = 0; i < s->gpus_n; i++) {
        const struct nvml_gpu *g = &s->gpus[i];
        if (!g->declared)
            continue;
        struct nvml_reading r = { 0 };
        nvml_add_status(&r, METRIC_POWER_INSTANT_MW, OBS_LOST);
        nvml_add_status(&r, METRIC_UTIL_GPU_PERMILLE, OBS_LOST);
        int code = nvml_emit_sample(g->entity, &r, mono_us, out);
        if (code < 0)
            return code;
    }
    return 0;
}

static int poll_gpus(struct nvml_source *s, int64_t mono_us, struct record_queue *out)
{
    uint32_t asked = 0, without_driver = 0;
    bool moved = false;
    for (uint32_t i = 0; i < s->gpus_n; i++) {
        struct nvml_gpu *g = &s->gpus[i];
        int code = NVML_OK;
        if (!g->present)
            continue;
        enum nvml_depth depth = depth_of(s, i);
        int r = poll_gpu(s, g, depth, mono_us, out, &code);
        if (r < 0)
            return r;
        asked++;
        without_driver +=
            nvml_code_is_reload(code) || code == NVML_GPU_NOT_FOUND || code == NVML_GPU_IS_LOST;
        if (depth >= NVML_SLOW && code == NVML_OK && g->device && !nvml_is_same(s, g))
            moved = true;
    }
    int r = poll_events(s, mono_us, out);
    if (r >= 0 && moved)
        return go_down(s, mono_us, 0, out);
    if (r >= 0 && asked && without_driver == asked)
        return go_down(s, mono_us, s->retry_after_us, out);
    s->retry_after_us = RETRY_FIRST_US;
    return r;
}

static int nvml_poll(struct source *base, int64_t mono_us, struct record_queue *out,
                     struct err *err)
{
    struct nvml_source *s = of(base);
    int r = 0;
    if (s->down)
        r = poll_down(s, mono_us, out);
    else if (!s->polls)
        r = nvml_declare(s, mono_us, out);
    if (r >= 0 && !s->down) {
        r = poll_gpus(s, mono_us, out);
        s->polls++;
    }
    worker_touch(s->pulse, WORKER_NOWHERE);
    return r < 0 ? err_sys(err, -r, "NVML: keep what was read") : 0;
}

const struct source_ops nvml_source = {
    .name = "nvml",
    .open = nvml_open,
    .poll = nvml_poll,
    .close = nvml_close,
    .about = nvml_about,
};
