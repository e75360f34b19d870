/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/amdgpu.h"

#include "base/units.h"
#include "sys/clock.h"
#include "sys/rootdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_US (10 * US_PER_S)
#define RARE_US (60 * US_PER_S)

struct gpu {
    struct amdgpu_card card; /* fd < 0: gone */
    uint32_t id, generation;
    int32_t index;
    bool announced, noted;
    int64_t slow_due_us, rare_due_us;
    uint64_t absent; /* bit per row of `attrs`: this device has no such file */
    bool have_last;
    struct gpu_metrics last;
    int64_t energy_base; /* what a 32-bit counter lost by wrapping */
};

struct amdgpu {
    struct source source; /* first */
    int root_fd;
    struct gpu_set skip_gpus;
    uint32_t next_id;
    int64_t rescan_due_us;
    char driver[64];
    size_t n;
    struct gpu gpus[AMDGPU_MAX];
};

/* One number in one file. value = text * mul / div. */
struct attr {
    enum metric metric;
    const char *file;
    bool in_hwmon;
    bool zero_is_unsupported; /* a board that runs never draws 0 W: the other die measures */
    int64_t mul, div;
};

static const struct attr attrs[] = {
    /* MI200 has only the average, MI300 only the input; they are different kinds of power. */
    { METRIC_POWER_INSTANT_MW, "power1_input", true, true, 1, 1000 },
    { METRIC_POWER_AVERAGE_MW, "power1_average", true, true, 1, 1000 },
    { METRIC_POWER_LIMIT_MW, "power1_cap", true, true, 1, 1000 },
    { METRIC_POWER_LIMIT_DEFAULT_MW, "power1_cap_default", true, true, 1, 1000 },
    { METRIC_POWER_LIMIT_MAX_MW, "power1_cap_max", true, true, 1, 1000 },
    { METRIC_UTIL_GPU_PERMILLE, "gpu_busy_percent", false, false, 10, 1 },
    { METRIC_UTIL_MEM_PERMILLE, "mem_busy_percent", false, false, 10, 1 },
    { METRIC_MEM_USED_BYTES, "mem_info_vram_used", false, false, 1, 1 },
    { METRIC_MEM_TOTAL_BYTES, "mem_info_vram_total", false, false, 1, 1 },
    { METRIC_TEMP_GPU_MC, "temp1_input", true, false, 1, 1 },
    { METRIC_TEMP_MEM_MC, "temp3_input", true, false, 1, 1 },
};
_Static_assert(ARRAY_SIZE(attrs) <= 64, "one bit of `absent` for each");

/* What gpu_metrics tells without a further read. */
static const struct {
    enum metric metric;
    enum gm_field field;
    bool only_if_missing; /* hwmon is finer: ask it first */
} packed[] = {
    { METRIC_POWER_INSTANT_MW, GM_POWER_CURRENT_MW, true },
    { METRIC_POWER_AVERAGE_MW, GM_POWER_AVERAGE_MW, true },
    { METRIC_UTIL_GPU_PERMILLE, GM_GFX_PERMILLE, false },
    { METRIC_UTIL_MEM_PERMILLE, GM_MEM_PERMILLE, false },
    { METRIC_TEMP_GPU_MC, GM_TEMP_EDGE_MC, false },
    { METRIC_TEMP_GPU_MC, GM_TEMP_HOTSPOT_MC, false },
    { METRIC_TEMP_GPU_MC, GM_TEMP_GFX_MC, false },
    { METRIC_TEMP_MEM_MC, GM_TEMP_MEM_MC, false },
};

struct round { /* one GPU, one poll */
    struct gpu *gpu;
    struct gather g;
    bool slow, rare, lost;
    bool have_packed;
    struct gpu_metrics now;
};

static bool is_due(const struct round *r, enum metric m)
{
    enum metric_rate rate = metric_info(m)->rate;
    return rate == RATE_TICK || (rate == RATE_SLOW && r->slow) || (rate == RATE_RARE && r->rare);
}

static bool packed_value(const struct round *r, enum metric m, bool fallback, int64_t *ret)
{
    if (!r->have_packed)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(packed); i++)
        if (packed[i].metric == m && packed[i].only_if_missing == fallback &&
            r->now.have[packed[i].field]) {
            *ret = r->now.value[packed[i].field];
            return true;
        }
    return false;
}

static bool is_share(enum metric m)
{
    return m == METRIC_UTIL_GPU_PERMILLE || m == METRIC_UTIL_MEM_PERMILLE;
}

static int read_attr(struct round *r, size_t row, int64_t *ret)
{
    const struct attr *a = &attrs[row];
    char path[96];
    if (r->lost)
        return -ENODEV;
    if (r->gpu->absent >> row & 1)
        return -ENOENT;
    snprintf(path, sizeof(path), "%s%s", a->in_hwmon ? r->gpu->card.hwmon : "", a->file);
    int64_t v = 0;
    int result = kfile_read_i64(r->gpu->card.fd, path, &v);
    if (result == -ENOENT)
        r->gpu->absent |= UINT64_C(1) << row;
    if (result == -ENODEV)
        r->lost = true; /* each further read would wait for the same answer */
    if (result == 0 && (v < 0 || __builtin_mul_overflow(v, a->mul, &v)))
        result = -ERANGE;
    if (result == 0)
        *ret = v / a->div;
    return result;
}

static void read_one(struct round *r, size_t row)
{
    const struct attr *a = &attrs[row];
    int64_t v = 0;
    if (!is_due(r, a->metric))
        return;
    int result = packed_value(r, a->metric, false, &v) ? 0 : read_attr(r, row, &v);
    if (result < 0 && packed_value(r, a->metric, true, &v))
        result = 0;
    if (result == 0 && is_share(a->metric) && v > 1000)
        gather_missing(&r->g, a->metric, OBS_ERROR);
    else if (result == 0 && v == 0 && a->zero_is_unsupported)
        gather_missing(&r->g, a->metric, OBS_UNSUPPORTED);
    else
        gather_result(&r->g, a->metric, result, v);
}

static int note(struct round *r, int64_t mono_us, const char *text, struct record_queue *out)
{
    struct record rec = { .kind = RECORD_NOTE, .mono_us = mono_us };
    rec.u.note = (struct note){ r->gpu->id, STR("gpu_metrics"), str_from(text) };
    r->gpu->noted = true;
    return record_queue_add(out, &rec);
}

static int read_packed(struct round *r, int64_t mono_us, struct record_queue *out)
{
    char buf[GPU_METRICS_BYTES_MAX + 1];
    size_t n = 0;
    struct err err = { 0 };
    int result = kfile_read(r->gpu->card.fd, "gpu_metrics", buf, sizeof(buf), &n);
    if (result == -ENODEV)
        r->lost = true;
    if (result < 0)
        return 0;
    if (gpu_metrics_decode((const uint8_t *) buf, n, &r->now, &err) == 0)
        r->have_packed = true;
    else if (!r->gpu->noted)
        return note(r, mono_us, err.text, out);
    return 0;
}

static void gather_energy(struct round *r)
{
    struct gpu *gpu = r->gpu;
    int64_t ticks = r->now.value[GM_ENERGY_TICKS], uj;
    if (!r->now.have[GM_ENERGY_TICKS] || ticks == 0) {
        /* Firmware that does not count leaves 0. */
        gather_missing(&r->g, METRIC_ENERGY_UJ, OBS_UNSUPPORTED);
        return;
    }
    if (r->now.energy_is_32bit && gpu->have_last && gpu->last.have[GM_ENERGY_TICKS] &&
        ticks < gpu->last.value[GM_ENERGY_TICKS])
        gpu->energy_base += INT64_C(1) << 32;
    if (gpu_metrics_energy_uj(gpu->energy_base + ticks, &uj))
        gather_value(&r->g, METRIC_ENERGY_UJ, uj);
    else
        gather_missing(&r->g, METRIC_ENERGY_UJ, OBS_ERROR);
}

static void gather_reasons(struct round *r)
{
    const struct gpu_metrics *now = &r->now, *last = &r->gpu->last;
    if (now->have[GM_THROTTLE_BITS])
        gather_value(&r->g, METRIC_THROTTLE_REASONS,
                     gpu_metrics_reasons((uint64_t) now->value[GM_THROTTLE_BITS]));
    else if (now->have[GM_LIMIT_POWER]) {
        if (r->gpu->have_last && last->have[GM_LIMIT_POWER])
            gather_value(&r->g, METRIC_THROTTLE_REASONS, gpu_metrics_reasons_since(last, now));
    } else if (now->have[GM_THROTTLE_ASIC] && now->value[GM_THROTTLE_ASIC] == 0)
        gather_value(&r->g, METRIC_THROTTLE_REASONS, 0);
    else
        gather_missing(&r->g, METRIC_THROTTLE_REASONS, OBS_UNSUPPORTED);
}

static void gather_field(struct round *r, enum metric m, enum gm_field f)
{
    if (r->now.have[f])
        gather_value(&r->g, m, r->now.value[f]);
}

static void gather_packed(struct round *r)
{
    if (!r->have_packed)
        return;
    gather_energy(r);
    gather_reasons(r);
    gather_field(r, METRIC_NVLINK_RX_BYTES, GM_LINK_READ_BYTES);
    gather_field(r, METRIC_NVLINK_TX_BYTES, GM_LINK_WRITE_BYTES);
    r->gpu->last = r->now;
    r->gpu->have_last = true;
}

static void gather_clock(struct round *r, enum metric m, enum gm_field f, const char *file,
                         bool want_max)
{
    char buf[2048];
    struct str text;
    int64_t now = 0, max = 0;
    if (r->have_packed && r->now.have[f] && !want_max) {
        gather_value(&r->g, m, r->now.value[f]);
        return;
    }
    int result =
        r->lost ? -ENODEV : kfile_read_text(r->gpu->card.fd, file, buf, sizeof(buf), &text);
    if (result == 0)
        result = amdgpu_clock_levels(text, want_max ? NULL : &now, &max);
    if (result == -ENODATA)
        gather_missing(&r->g, m, OBS_ABSENT);
    else
        gather_result(&r->g, m, result, want_max ? max : now);
}

static int sample_gpu(struct gpu *gpu, int64_t mono_us, struct record_queue *out)
{
    int64_t start_us = clock_mono_us();
    struct round r = { .gpu = gpu,
                       .slow = mono_us >= gpu->slow_due_us,
                       .rare = mono_us >= gpu->rare_due_us };
    int q = read_packed(&r, mono_us, out);
    if (q < 0)
        return q;
    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
        read_one(&r, i);
    gather_clock(&r, METRIC_CLOCK_SM_MHZ, GM_CLOCK_GFX_MHZ, "pp_dpm_sclk", false);
    gather_clock(&r, METRIC_CLOCK_MEM_MHZ, GM_CLOCK_MEM_MHZ, "pp_dpm_mclk", false);
    if (r.rare)
        gather_clock(&r, METRIC_CLOCK_SM_MAX_MHZ, GM_CLOCK_GFX_MHZ, "pp_dpm_sclk", true);
    gather_packed(&r);
    if (r.slow)
        gpu->slow_due_us = mono_us + SLOW_US - SLOW_US / 20;
    if (r.rare)
        gpu->rare_due_us = mono_us + RARE_US - RARE_US / 20;
    gather_value(&r.g, METRIC_QUERY_LATENCY_US, MAX(clock_mono_us() - start_us, 0));
    return gather_flush(&r.g, gpu->id, mono_us, out);
}

static int announce(const struct amdgpu *a, struct gpu *gpu, int64_t mono_us,
                    struct record_queue *out)
{
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    r.u.entity = (struct entity){ .id = gpu->id,
                                  .kind = ENTITY_GPU,
                                  .parent = ENTITY_NONE,
                                  .generation = gpu->generation,
                                  .index = gpu->index,
                                  .key = str_from(gpu->card.key),
                                  .name = str_from(gpu->card.name),
                                  .driver = str_from(a->driver),
                                  .bus = str_from(gpu->card.bus) };
    gpu->announced = true;
    return record_queue_add(out, &r);
}

/* Says that it is lost, and that it is gone. */
static int dismiss(struct gpu *gpu, int64_t mono_us, struct record_queue *out)
{
    struct gather g = { .n = 0 };
    gather_missing(&g, METRIC_POWER_INSTANT_MW, OBS_LOST);
    gather_missing(&g, METRIC_POWER_AVERAGE_MW, OBS_LOST);
    gather_missing(&g, METRIC_UTIL_GPU_PERMILLE, OBS_LOST);
    int r = gather_flush(&g, gpu->id, mono_us, out);
    amdgpu_card_done(&gpu->card);
    struct record gone = { .kind = RECORD_GONE, .mono_us = mono_us };
    gone.u.gone = gpu->id;
    return r < 0 ? r : record_queue_add(out, &gone);
}

/* Takes the card over: a new one, or one that came back. The card is closed when it is known. */
static void adopt(struct amdgpu *a, struct amdgpu_card *card)
{
    struct gpu *gpu = NULL;
    for (size_t i = 0; i < a->n; i++)
        if (!strcmp(a->gpus[i].card.key, card->key))
            gpu = &a->gpus[i];
    if ((gpu && gpu->card.fd >= 0) || (!gpu && a->n == AMDGPU_MAX) || a->next_id >= ENTITY_MAX) {
        amdgpu_card_done(card);
        return;
    }
    uint32_t generation = gpu ? gpu->generation + 1 : 0;
    if (!gpu)
        gpu = &a->gpus[a->n++];
    *gpu = (struct gpu){ .card = *card,
                         .id = a->next_id++,
                         .generation = generation,
                         .index = (int32_t) (gpu - a->gpus) };
}

static int rescan(struct amdgpu *a, struct err *err)
{
    struct amdgpu_card cards[AMDGPU_MAX];
    size_t n = 0;
    int r = amdgpu_scan(a->root_fd, cards, AMDGPU_MAX, &n, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        adopt(a, &cards[i]);
    return 0;
}

static bool is_skipped(const struct amdgpu *a, const struct gpu *gpu)
{
    return gpu_set_has(&a->skip_gpus, gpu->index);
}

static int poll_gpu(struct amdgpu *a, struct gpu *gpu, int64_t mono_us, struct record_queue *out)
{
    if (gpu->card.fd < 0)
        return 0;
    int r = gpu->announced ? 0 : announce(a, gpu, mono_us, out);
    if (r < 0 || is_skipped(a, gpu))
        return r;
    if (faccessat(gpu->card.fd, "uevent", R_OK, 0) < 0 && errno != EACCES)
        return dismiss(gpu, mono_us, out);
    return sample_gpu(gpu, mono_us, out);
}

static int amdgpu_poll(struct source *src, int64_t mono_us, struct record_queue *out,
                       struct err *err)
{
    struct amdgpu *a = CONTAINER_OF(src, struct amdgpu, source);
    if (mono_us >= a->rescan_due_us) {
        a->rescan_due_us = mono_us + SLOW_US;
        (void) rescan(a, NULL); /* the driver may be unloaded just now; those known are polled */
    }
    for (size_t i = 0; i < a->n; i++) {
        int r = poll_gpu(a, &a->gpus[i], mono_us, out);
        if (r < 0)
            return err_sys(err, -r, "queue of AMD GPU %d", a->gpus[i].index);
    }
    return 0;
}

static void amdgpu_close(struct source *src)
{
    if (!src)
        return;
    struct amdgpu *a = CONTAINER_OF(src, struct amdgpu, source);
    for (size_t i = 0; i < a->n; i++)
        amdgpu_card_done(&a->gpus[i].card);
    if (a->root_fd >= 0)
        close(a->root_fd);
    free(a);
}

/* The out-of-tree module has a version, the kernel's own goes with the kernel. */
static void read_driver(struct amdgpu *a)
{
    char buf[64];
    struct str text;
    if (kfile_read_text(a->root_fd, "sys/module/amdgpu/version", buf, sizeof(buf), &text) == 0)
        str_copy(a->driver, sizeof(a->driver), text);
    else if (kfile_read_text(a->root_fd, "proc/sys/kernel/osrelease", buf, sizeof(buf), &text) == 0)
        snprintf(a->driver, sizeof(a->driver), "linux %.*s", (int) MIN(text.n, (size_t) 50),
                 text.p);
}

static int amdgpu_open(const struct source_env *env, struct source **ret, struct err *err)
{
    struct amdgpu *a = calloc(1, sizeof(*a));
    if (!a)
        return err_sys(err, ENOMEM, "amdgpu");
    *a =
        (struct amdgpu){ .source = { &amdgpu_source }, .root_fd = -1, .skip_gpus = env->skip_gpus };
    int r = rootdir_open(env->sysroot, &a->root_fd, err);
    if (r == 0) {
        r = rescan(a, err);
        if (r == 0 && !a->n)
            r = err_set(err, -ENODEV, "no card below '/sys/class/drm' is driven by amdgpu");
        else if (r == -ENOENT)
            r = err_set(err, -ENODEV, "no '/sys/class/drm': no graphics driver is loaded");
    }
    if (r < 0) {
        amdgpu_close(&a->source);
        return r;
    }
    read_driver(a);
    *ret = &a->source;
    return 0;
}

const struct source_ops amdgpu_source = {
    .name = "amdgpu",
    .open = amdgpu_open,
    .poll = amdgpu_poll,
    .close = amdgpu_close,
    .about = amdgpu_about,
};
