/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded native trace as a scenario: between two samples of a GPU it does what the later one
 * says about the time before it. Where the energy counter was recorded, the power of a stretch is
 * its difference, so that the replay draws exactly what the GPU drew. */
#include "model.h"

#include "base/units.h"
#include "core/telemetry/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 4096

struct seen_gpu {
    uint32_t slot;
    int64_t last_us; /* of its last sample; -1 before the first */
    int64_t value[METRIC_COUNT];
    bool have[METRIC_COUNT];
};

struct known {
    struct seen_gpu *gpu; /* NULL: no GPU */
    size_t process;       /* 1 + index into processes; 0: no process */
};

struct replay {
    struct sim_scenario *s;
    const char *name;
    struct err *err;
    struct codec_reader *reader;
    struct known *known; /* by entity id */
    size_t known_n;
    int64_t start_us; /* time of the first record; -1 before it */
    bool driver_known;
};

static void replay_done(struct replay *r)
{
    codec_reader_free(r->reader);
    for (size_t i = 0; i < r->known_n; i++)
        free(r->known[i].gpu);
    free(r->known);
}
DEFINE_AUTO_VALUE(replay)

static const struct sim_board *board_of(struct str product)
{
    const struct sim_board *b = sim_board_find(product);
    for (size_t i = 0; !b && i < sim_boards_n; i++) {
        /* "NVIDIA H100 80GB HBM3" for "h100", also of a variant that is not in the list. */
        if (str_contains_nocase(product, sim_boards[i].key))
            b = &sim_boards[i];
    }
    return b ? b : sim_board_find(STR("h100"));
}

static void take_driver(struct replay *r, struct str driver)
{
    struct sim_scenario *s = r->s;
    uint32_t number[2] = { 0, 0 };
    size_t part = 0;
    if (r->driver_known || !driver.n || driver.n >= sizeof(s->driver))
        return;
    for (size_t i = 0; i < driver.n && part < 2; i++)
        if (driver.p[i] == '.')
            part++;
        else if (driver.p[i] >= '0' && driver.p[i] <= '9' && number[part] < 1000)
            number[part] = number[part] * 10 + (uint32_t) (driver.p[i] - '0');
    if (!number[0])
        return;
    str_copy(s->driver, sizeof(s->driver), driver);
    s->driver_number = number[0] * 1000 + MIN(number[1], 999u);
    r->driver_known = true;
}

/* The place of an entity, made when it is new; NULL when memory is out. */
static struct known *known_at(struct replay *r, uint32_t id)
{
    if (id < r->known_n)
        return &r->known[id];
    size_t n = MAX(2 * r->known_n, (size_t) id + 1);
    struct known *known = realloc(r->known, n * sizeof(*known));
    if (!known)
        return NULL;
    for (size_t i = r->known_n; i < n; i++)
        known[i] = (struct known){ NULL, 0 };
    r->known = known;
    r->known_n = n;
    return &known[id];
}

static struct seen_gpu *find_gpu(const struct replay *r, uint32_t id)
{
    return id < r->known_n ? r->known[id].gpu : NULL;
}

static int add_gpu(struct replay *r, const struct entity *e, struct known *known)
{
    struct sim_scenario *s = r->s;
    uint32_t slot = 0;
    while (slot < s->gpus_n && !str_is(e->key, s->gpus[slot].uuid))
        slot++;
    if (slot == SIM_GPUS_MAX)
        return err_set(r->err, -ENOSPC, "%s: more than %d GPUs", r->name, SIM_GPUS_MAX);
    if (slot == s->gpus_n) {
        struct sim_gpu *g = &s->gpus[s->gpus_n++];
        sim_gpu_init(g, board_of(e->name), slot, 1, 0);
        if (e->name.n)
            str_copy(g->product, sizeof(g->product), e->name);
        str_copy(g->uuid, sizeof(g->uuid), e->key);
    }
    if (!known->gpu)
        known->gpu = malloc(sizeof(*known->gpu));
    if (!known->gpu)
        return err_sys(r->err, ENOMEM, "trace '%s'", r->name);
    *known->gpu = (struct seen_gpu){ .slot = slot, .last_us = -1 };
    take_driver(r, e->driver);
    return 0;
}

static int add_process(struct replay *r, const struct entity *e, struct known *known, int64_t t_us)
{
    struct sim_scenario *s = r->s;
    const struct seen_gpu *gpu = find_gpu(r, e->parent);
    if (!gpu || e->index < 0)
        return 0;
    if (s->processes_n == PROCESSES_MAX)
        return err_set(r->err, -ENOSPC, "%s: more than %d processes", r->name, PROCESSES_MAX);
    if (!s->processes) {
        s->processes = calloc(PROCESSES_MAX, sizeof(*s->processes));
        s->processes_cap = PROCESSES_MAX;
    }
    if (!s->processes)
        return err_sys(r->err, ENOMEM, "trace '%s'", r->name);
    uint32_t slot = gpu->slot;
    struct sim_process *p = &s->processes[s->processes_n];
    *p = (struct sim_process){ .pid = (uint32_t) e->index, .from_us = t_us, .to_us = SIM_FOREVER };
    p->gpus[slot / 64] = UINT64_C(1) << (slot % 64);
    known->process = ++s->processes_n;
    return 0;
}

static int64_t gauge(const struct seen_gpu *g, enum metric m, int64_t otherwise)
{
    return g->have[m] ? g->value[m] : otherwise;
}

static int64_t power_of(const struct seen_gpu *g)
{
    int64_t mw = gauge(g, METRIC_POWER_DRAW_MW, 0);
    mw = gauge(g, METRIC_POWER_AVERAGE_MW, mw);
    return gauge(g, METRIC_POWER_INSTANT_MW, mw);
}

/* What kind of thing the GPU did does not matter for a replay, only whether it had a context. */
static enum sim_kind kind_of(const struct seen_gpu *g)
{
    if (gauge(g, METRIC_UTIL_GPU_PERMILLE, 0) > 0)
        return gauge(g, METRIC_SM_ACTIVE_PERMILLE, 1000) > 200 ? SIM_WORK : SIM_SPIN;
    if (g->have[METRIC_PROCESS_COUNT])
        return g->value[METRIC_PROCESS_COUNT] ? SIM_HELD : SIM_IDLE;
    return gauge(g, METRIC_MEM_USED_BYTES, 0) > INT64_C(2) << 30 ? SIM_HELD : SIM_IDLE;
}

static void set_values(struct sim_phase *p, const struct seen_gpu *g, int64_t power_mw)
{
    static const struct {
        enum sim_channel channel;
        enum metric metric;
    } rows[] = {
        { SIM_UTIL_PERMILLE, METRIC_UTIL_GPU_PERMILLE },
        { SIM_MEM_UTIL_PERMILLE, METRIC_UTIL_MEM_PERMILLE },
        { SIM_SM_PERMILLE, METRIC_SM_ACTIVE_PERMILLE },
        { SIM_OCCUPANCY_PERMILLE, METRIC_SM_OCCUPANCY_PERMILLE },
        { SIM_TENSOR_PERMILLE, METRIC_TENSOR_ACTIVE_PERMILLE },
        { SIM_DRAM_PERMILLE, METRIC_DRAM_ACTIVE_PERMILLE },
        { SIM_NVLINK_TX_BPS, METRIC_NVLINK_TX_BPS },
        { SIM_NVLINK_RX_BPS, METRIC_NVLINK_RX_BPS },
        { SIM_PCIE_TX_BPS, METRIC_PCIE_TX_BPS },
        { SIM_PCIE_RX_BPS, METRIC_PCIE_RX_BPS },
    };
    p->high[SIM_POWER_MW] = CLAMP(power_mw, 0, INT64_C(100000000));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        p->high[rows[i].channel] = CLAMP(gauge(g, rows[i].metric, 0), 0, INT64_C(1) << 42);
    p->high[SIM_CAPPED_PERMILLE] = gauge(g, METRIC_THROTTLE_REASONS, 0) & 4 ? 1000 : 0;
    memcpy(p->low, p->high, sizeof(p->low));
    p->noise_mw = 0;
    p->limit_mw = CLAMP(gauge(g, METRIC_POWER_LIMIT_MW, p->limit_mw), 1, INT64_C(100000000));
    p->memory_bytes = CLAMP(gauge(g, METRIC_MEM_USED_BYTES, p->memory_bytes), 0, INT64_C(1) << 46);
    p->sm_clock_mhz =
        (uint32_t) CLAMP(gauge(g, METRIC_CLOCK_SM_MHZ, p->sm_clock_mhz), 0, INT64_C(100000));
}

/* Rates of counters over the stretch take the place of gauges. */
static void set_rates(struct sim_phase *p, const struct seen_gpu *before,
                      const struct seen_gpu *now, int64_t span_us)
{
    static const struct {
        enum sim_channel channel;
        enum metric metric;
    } rows[] = {
        { SIM_NVLINK_TX_BPS, METRIC_NVLINK_TX_BYTES },
        { SIM_NVLINK_RX_BPS, METRIC_NVLINK_RX_BYTES },
        { SIM_PCIE_TX_BPS, METRIC_PCIE_TX_BYTES },
        { SIM_PCIE_RX_BPS, METRIC_PCIE_RX_BYTES },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        enum metric m = rows[i].metric;
        if (!before->have[m] || !now->have[m] || now->value[m] < before->value[m] ||
            before->value[m] < 0 || now->value[m] - before->value[m] > INT64_C(1) << 42)
            continue;
        int64_t bps = (now->value[m] - before->value[m]) * US_PER_S / span_us;
        p->high[rows[i].channel] = p->low[rows[i].channel] = bps;
    }
}

static int64_t energy_power(const struct seen_gpu *before, const struct seen_gpu *now,
                            int64_t span_us)
{
    enum metric m = METRIC_ENERGY_UJ;
    if (!before->have[m] || !now->have[m] || before->value[m] < 0 ||
        now->value[m] <= before->value[m] || now->value[m] - before->value[m] > INT64_C(1) << 50)
        return power_of(now);
    return (now->value[m] - before->value[m]) * 1000 / span_us;
}

static int add_sample(struct replay *r, const struct sample *sample, int64_t t_us)
{
    struct seen_gpu *g = find_gpu(r, sample->entity);
    if (!g)
        return 0;
    struct sim_gpu *gpu = &r->s->gpus[g->slot];
    struct seen_gpu now = *g;
    for (uint32_t i = 0; i < sample->n; i++)
        if (sample->obs[i].status == OBS_VALUE) {
            now.value[sample->obs[i].metric] = sample->obs[i].value;
            now.have[sample->obs[i].metric] = true;
        }
    int64_t from_us = g->last_us < 0 ? 0 : g->last_us, span_us = t_us - from_us;
    if (span_us > 0) {
        struct sim_phase *p = sim_gpu_add_phase(gpu, kind_of(&now), span_us);
        if (!p)
            return err_sys(r->err, ENOMEM, "trace '%s'", r->name);
        set_values(p, &now, g->last_us < 0 ? power_of(&now) : energy_power(g, &now, span_us));
        set_rates(p, g, &now, span_us);
    }
    now.last_us = t_us;
    *g = now;
    return 0;
}

static int take_entity(struct replay *r, const struct entity *e, int64_t t_us)
{
    struct known *known = known_at(r, e->id); /* the codec keeps ids below ENTITY_MAX */
    if (!known)
        return err_sys(r->err, ENOMEM, "trace '%s'", r->name);
    if (e->kind == ENTITY_GPU)
        return add_gpu(r, e, known);
    return e->kind == ENTITY_PROCESS ? add_process(r, e, known, t_us) : 0;
}

static int take(struct replay *r, const struct record *rec)
{
    if (rec->mono_us < 0)
        return 0;
    if (r->start_us < 0)
        r->start_us = rec->mono_us;
    int64_t t_us = MAX(rec->mono_us - r->start_us, 0);
    if (rec->kind == RECORD_ENTITY)
        return take_entity(r, &rec->u.entity, t_us);
    if (rec->kind == RECORD_GONE && rec->u.gone < r->known_n && r->known[rec->u.gone].process)
        r->s->processes[r->known[rec->u.gone].process - 1].to_us = t_us;
    return rec->kind == RECORD_SAMPLE ? add_sample(r, &rec->u.sample, t_us) : 0;
}

/* After its end the last stretch goes on. */
static int finish(struct replay *r)
{
    for (uint32_t i = 0; i < r->s->gpus_n; i++) {
        struct sim_gpu *g = &r->s->gpus[i];
        if (!g->phases_n && !sim_gpu_add_phase(g, SIM_IDLE, SIM_FOREVER))
            return err_sys(r->err, ENOMEM, "trace '%s'", r->name);
        g->phases[g->phases_n - 1].length_us = SIM_FOREVER;
        g->loop_from = SIZE_MAX;
        sim_gpu_finish(g);
    }
    if (r->s->gpus_n)
        return 0;
    return err_set(r->err, -EINVAL,
                   "%s: no GPU in it; is it a native trace that is not compressed?", r->name);
}

static int read_lines(struct replay *r, struct str text)
{
    struct str rest = text, line;
    const struct record *rec = NULL;
    while (rest.p && str_split(&rest, '\n', &line)) {
        if (!rest.p && text.n && text.p[text.n - 1] != '\n')
            break; /* a torn last line */
        int got = codec_read(r->reader, line, &rec, NULL);
        int bad = got > 0 ? take(r, rec) : 0; /* lines that make no sense are left out */
        if (bad < 0)
            return bad;
    }
    return finish(r);
}

int sim_parse_trace(const char *name, struct str text, struct sim_scenario **ret, struct err *err)
{
    AUTO(sim_scenario) struct sim_scenario *s = calloc(1, sizeof(*s));
    AUTO(replay) struct replay r = { .s = s, .name = name, .err = err, .start_us = -1 };
    r.reader = codec_reader_new();
    if (!s || !r.reader)
        return err_sys(err, ENOMEM, "trace '%s'", name);
    s->driver_number = 580095;
    str_copy(s->driver, sizeof(s->driver), STR("580.95.05"));
    s->cuda = 13000;
    int bad = read_lines(&r, text);
    if (bad < 0)
        return bad;
    *ret = TAKE(s);
    return 0;
}
