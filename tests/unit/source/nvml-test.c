/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"
#include "base/units.h"
#include "nvml-rig.h"
#include "source/nvml/nvml-fields.h"

#include <math.h>
#include <sys/wait.h>

#define WALL_US INT64_C(1700000000000000)

/* True when the process ended by itself; its exit status. */
static bool exit_of(pid_t pid, int *ret)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return false;
    *ret = WEXITSTATUS(status);
    return true;
}

static void field_by_driver(void)
{
    static const struct {
        const char *driver;
        enum metric metric;
        uint32_t id; /* 0: not asked */
    } rows[] = {
        { "530.30.02", METRIC_POWER_INSTANT_MW, 0 },
        { "535.54.03", METRIC_POWER_INSTANT_MW, 186 },
        { "535.54.03", METRIC_POWER_AVERAGE_MW, 185 },
        { "610.10", METRIC_POWER_INSTANT_MW, 186 },
        { "560.35.05", METRIC_RECOVERY_ACTION, 0 },
        { "570.86.10", METRIC_RECOVERY_ACTION, 230 },
        { "565.57.01", METRIC_SMOOTHING_ENABLED, 0 },
        { "570.172.08", METRIC_SMOOTHING_ENABLED, 251 },
        { "575.51.03", METRIC_SMOOTHING_ENABLED, 256 },
        { "580.65.06", METRIC_SMOOTHING_ENABLED, 256 },
        { "580.66", METRIC_SMOOTHING_ENABLED, 0 },
        { "580.81.99", METRIC_SMOOTHING_ENABLED, 0 },
        { "580.82.07", METRIC_SMOOTHING_ENABLED, 251 },
        { "580.126.09", METRIC_SMOOTHING_ENABLED, 251 },
        { "590.44.01", METRIC_SMOOTHING_ENABLED, 251 },
        { "545.23", METRIC_PCIE_TX_BYTES, 0 },
        { "550.54", METRIC_PCIE_TX_BYTES, 197 },
        { "580.82.07", METRIC_ENERGY_UJ, 83 },
        { "", METRIC_ENERGY_UJ, 83 },
        { "", METRIC_SMOOTHING_ENABLED, 0 },
        { "r580", METRIC_SMOOTHING_ENABLED, 0 },
        { "580", METRIC_SMOOTHING_ENABLED, 256 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct nvml_driver d;
        nvml_driver_parse(str_from(rows[i].driver), &d);
        const struct nvml_field_row *row = nvml_field_find(rows[i].metric, &d);
        if ((row ? row->id : 0) != rows[i].id)
            tap_note("driver '%s' %s", rows[i].driver, metric_info(rows[i].metric)->name);
        CHECK_EQ(row ? row->id : 0, rows[i].id);
    }
}

static void field_values(void)
{
    static const struct {
        struct nvml_field f;
        int64_t scale;
        bool ok;
        int64_t want;
    } rows[] = {
        { { .type = NVML_DOUBLE, .value.f64 = 12.6 }, 1, true, 13 },
        { { .type = NVML_DOUBLE, .value.f64 = (double) NAN }, 1, false, 0 },
        { { .type = NVML_DOUBLE, .value.f64 = 1e300 }, 1, false, 0 },
        { { .type = NVML_UINT, .value.u32 = 700000 }, 1, true, 700000 },
        { { .type = NVML_UINT, .value.u32 = UINT32_MAX }, 1, false, 0 },
        { { .type = NVML_ULONG, .value.u64 = 5 }, 1000, true, 5000 },
        { { .type = NVML_ULONGLONG, .value.u64 = UINT64_MAX }, 1, false, 0 },
        { { .type = NVML_ULONGLONG, .value.u64 = INT64_MAX }, 1, true, INT64_MAX },
        { { .type = NVML_ULONGLONG, .value.u64 = INT64_MAX }, 2, false, 0 },
        { { .type = NVML_SLONGLONG, .value.i64 = -3 }, 1, true, -3 },
        { { .type = NVML_SINT, .value.i32 = -3 }, 10, true, -30 },
        { { .type = NVML_USHORT, .value.u16 = 65535 }, 1, true, 65535 },
        { { .type = NVML_VALUE_TYPE_COUNT, .value.u32 = 1 }, 1, false, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t v = 0;
        CHECK_EQ(nvml_field_value(&rows[i].f, rows[i].scale, &v), rows[i].ok);
        if (rows[i].ok)
            CHECK_EQ(v, rows[i].want);
    }
}

static void field_stamps(void)
{
    static const struct {
        int64_t stamp_us, want_us;
    } rows[] = {
        { 0, 0 },
        { WALL_US, WALL_US },
        { WALL_US - 3600 * US_PER_S, WALL_US - 3600 * US_PER_S },
        { WALL_US - 3600 * US_PER_S - 1, 0 },
        { WALL_US + 5 * US_PER_S, WALL_US + 5 * US_PER_S },
        { WALL_US + 5 * US_PER_S + 1, 0 },
        { -1, 0 },
        { INT64_MAX, 0 },
    };
    static const struct nvml_field_row row = { .metric = METRIC_POWER_INSTANT_MW, .scale = 1 };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct nvml_field f = { .type = NVML_UINT, .timestamp_us = rows[i].stamp_us };
        struct obs o;
        nvml_field_obs(&f, &row, WALL_US, &o);
        CHECK_EQ(o.status, OBS_VALUE);
        CHECK_EQ(o.device_us, rows[i].want_us);
    }
}

/* Whatever a field answers is told, and the other fields go on. */
static void field_statuses(void)
{
    static const struct {
        int code;
        enum obs_status want;
    } rows[] = {
        { 3, OBS_UNSUPPORTED }, { 2, OBS_UNSUPPORTED },  { 4, OBS_DENIED },  { 6, OBS_ABSENT },
        { 21, OBS_ABSENT },     { 10, OBS_TIMED_OUT },   { 999, OBS_ERROR }, { 12345, OBS_ERROR },
        { 17, OBS_DENIED },     { 22, OBS_UNSUPPORTED },
    };
    struct rig t;
    AUTO(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addz(&text, "gpus 1\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        strbuf_addf(&text, "fault field field=186 code=%d from=%zus to=%zus\n", rows[i].code,
                    10 * i + 10, 10 * i + 20);
    rig_open(&t, strbuf_text(&text));
    rig_poll(&t, 10);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        rig_poll(&t, 5);
        const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
        CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->status, rows[i].want);
        CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->value, 0);
        CHECK_EQ(rig_obs(g, METRIC_POWER_AVERAGE_MW)->status, OBS_VALUE);
        rig_poll(&t, 5);
    }
    rig_close(&t);
}

static void healthy_hopper(void)
{
    static const enum metric expected[] = {
        METRIC_POWER_INSTANT_MW,
        METRIC_POWER_AVERAGE_MW,
        METRIC_POWER_LIMIT_MW,
        METRIC_ENERGY_UJ,
        METRIC_UTIL_GPU_PERMILLE,
        METRIC_UTIL_MEM_PERMILLE,
        METRIC_GR_ACTIVE_PERMILLE,
        METRIC_SM_ACTIVE_PERMILLE,
        METRIC_TENSOR_ACTIVE_PERMILLE,
        METRIC_DRAM_ACTIVE_PERMILLE,
        METRIC_CLOCK_SM_MHZ,
        METRIC_CLOCK_MEM_MHZ,
        METRIC_MEM_USED_BYTES,
        METRIC_TEMP_GPU_MC,
        METRIC_PSTATE,
        METRIC_PCIE_TX_BYTES,
        METRIC_PCIE_RX_BPS,
        METRIC_NVLINK_TX_BYTES,
        METRIC_NVLINK_RX_BPS,
        METRIC_THROTTLE_REASONS,
        METRIC_THROTTLE_POWER_NS,
        METRIC_QUERY_LATENCY_US,
    };
    struct rig t;
    int64_t one = 0, two = 0;
    rig_open(&t, "gpus 2\nboard h100\nprocess gpus=0 pid=self\nphase work gpus=all\n");
    rig_poll(&t, 1);
    const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
    CHECK(!strncmp(g->key, "GPU-", 4));
    CHECK_HAS(g->name, "H100");
    CHECK_EQ(rig_obs(g, METRIC_SM_ACTIVE_PERMILLE)->status, OBS_ABSENT); /* spans nothing yet */
    CHECK_EQ(rig_obs(g, METRIC_MIG_ENABLED)->value, 0);
    CHECK_EQ(rig_obs(g, METRIC_RECOVERY_ACTION)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_ECC_UNCORRECTED)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_POWER_LIMIT_DEFAULT_MW)->value, 700000);
    CHECK_EQ(rig_obs(g, METRIC_PROCESS_COUNT)->value, 1);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 1), METRIC_PROCESS_COUNT)->value, 0);
    one = rig_obs(g, METRIC_ENERGY_UJ)->value;
    rig_poll(&t, 3);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        if (rig_obs(g, expected[i])->status != OBS_VALUE)
            tap_note("%s", metric_info(expected[i])->name);
        CHECK_EQ(rig_obs(g, expected[i])->status, OBS_VALUE);
    }
    two = rig_obs(g, METRIC_ENERGY_UJ)->value;
    CHECK(two - one > 3 * 200 * UJ_PER_J && two - one < 3 * 800 * UJ_PER_J);
    CHECK_EQ(rig_obs(g, METRIC_POWER_DRAW_MW)->status, OBS_STATUS_COUNT); /* not asked */
    CHECK(rig_obs(g, METRIC_POWER_INSTANT_MW)->device_us > WALL_US);
    CHECK(rig_obs(g, METRIC_SM_ACTIVE_PERMILLE)->value <= 1000);
    const struct rig_entity *p = rig_find(&t, ENTITY_PROCESS, (int32_t) getpid());
    CHECK_HAS(p->key, "pid:");
    CHECK(!strstr(p->key, "@0"));
    CHECK_HAS(p->name, "test-nvml");
    CHECK_EQ(rig_obs(p, METRIC_PROC_GPU_MEM_BYTES)->status, OBS_VALUE);
    CHECK_TEXT(t.notes, "");
    rig_close(&t);
}

static void old_driver(void)
{
    struct rig t;
    rig_open(&t, "gpus 1\ndriver 530.30.02\n");
    rig_poll(&t, 2);
    const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
    CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->status, OBS_UNSUPPORTED);
    CHECK_EQ(rig_obs(g, METRIC_POWER_AVERAGE_MW)->status, OBS_UNSUPPORTED);
    CHECK_EQ(rig_obs(g, METRIC_POWER_DRAW_MW)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_POWER_LIMIT_MW)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_POWER_LIMIT_MW)->value, 700000);
    rig_close(&t);
}

static void gaps_of_boards(void)
{
    static const struct {
        const char *scenario;
        enum metric metric;
        enum obs_status want;
    } rows[] = {
        { "personality vgpu\n", METRIC_POWER_INSTANT_MW, OBS_UNSUPPORTED },
        { "personality vgpu\n", METRIC_POWER_DRAW_MW, OBS_UNSUPPORTED },
        { "personality vgpu\n", METRIC_MEM_USED_BYTES, OBS_VALUE },
        { "personality geforce\n", METRIC_ECC_UNCORRECTED, OBS_UNSUPPORTED },
        { "personality geforce\n", METRIC_POWER_INSTANT_MW, OBS_VALUE },
        { "board a100\n", METRIC_SM_ACTIVE_PERMILLE, OBS_UNSUPPORTED },
        { "board a100\n", METRIC_POWER_INSTANT_MW, OBS_VALUE },
        { "fabric on\n", METRIC_FABRIC_UNHEALTHY, OBS_VALUE },
        { "fabric off\n", METRIC_FABRIC_UNHEALTHY, OBS_UNSUPPORTED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rig t;
        char text[128];
        snprintf(text, sizeof(text), "gpus 1\n%s", rows[i].scenario);
        /* One library can be loaded once with one scenario: a process for each row. */
        pid_t pid = fork();
        if (pid == 0) {
            rig_open(&t, text);
            rig_poll(&t, 1);
            const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
            int got = (int) rig_obs(g, rows[i].metric)->status;
            rig_close(&t);
            _exit(got);
        }
        int status = -1;
        CHECK(exit_of(pid, &status));
        CHECK_EQ(status, rows[i].want);
    }
}

static void smoothing_numbers(void)
{
    static const struct {
        const char *driver;
        enum obs_status want;
    } rows[] = {
        { "570.172.08", OBS_VALUE }, { "575.57.08", OBS_VALUE },       { "580.65.06", OBS_VALUE },
        { "580.82.07", OBS_VALUE },  { "580.76.05", OBS_UNSUPPORTED }, { "590.44.01", OBS_VALUE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rig t;
        char text[160];
        snprintf(text, sizeof(text),
                 "gpus 1\ndriver %s\nboard b200\nsmoothing gpus=all floor=400W\n", rows[i].driver);
        pid_t pid = fork();
        if (pid == 0) {
            rig_open(&t, text);
            rig_poll(&t, 1);
            const struct obs *o = rig_obs(rig_find(&t, ENTITY_GPU, 0), METRIC_SMOOTHING_ENABLED);
            int got = (int) o->status * 16 + (int) (o->value & 15);
            rig_close(&t);
            _exit(got);
        }
        int status = -1;
        CHECK(exit_of(pid, &status));
        CHECK_EQ(status, (int) rows[i].want * 16 + (rows[i].want == OBS_VALUE));
    }
}

static void missing_functions(void)
{
    struct rig t;
    rig_open(&t, "gpus 1\n"
                 "process gpus=0 pid=4242\n"
                 "phase held gpus=0\n"
                 "fault missing call=nvmlDeviceGetFieldValues\n"
                 "fault missing call=nvmlDeviceGetComputeRunningProcesses_v*\n"
                 "fault missing call=nvmlDeviceGetMemoryInfo_v2\n"
                 "fault missing call=nvmlDeviceGetCurrentClocksEventReasons\n"
                 "fault missing call=nvmlGpm*\n");
    rig_poll(&t, 2);
    const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
    CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->status, OBS_UNSUPPORTED);
    CHECK_EQ(rig_obs(g, METRIC_POWER_DRAW_MW)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_ENERGY_UJ)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_MEM_USED_BYTES)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_THROTTLE_REASONS)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_SM_ACTIVE_PERMILLE)->status, OBS_UNSUPPORTED);
    CHECK_TEXT(rig_find(&t, ENTITY_PROCESS, 4242)->key, "pid:4242@0");
    rig_close(&t);
}

static void lost_gpu(void)
{
    struct rig t;
    rig_open(&t, "gpus 3\nfault lost gpus=1 from=5s\nfault error gpus=2 code=16 from=5s\n");
    rig_poll(&t, 4);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 1), METRIC_POWER_INSTANT_MW)->status, OBS_VALUE);
    rig_poll(&t, 20);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 0), METRIC_POWER_INSTANT_MW)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 1), METRIC_POWER_INSTANT_MW)->status, OBS_LOST);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 1), METRIC_UTIL_GPU_PERMILLE)->status, OBS_LOST);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 2), METRIC_POWER_INSTANT_MW)->status, OBS_ERROR);
    CHECK_HAS(t.notes, "device: GPU 1: GPU is lost");
    CHECK_HAS(t.notes, "device: GPU 2: GPU needs a reset");
    CHECK_EQ(t.entities_n, 3);
    rig_close(&t);
}

static void driver_reload(void)
{
    struct rig t;
    char key[3][96];
    rig_open(&t, "gpus 3\nfault reload from=10s to=14s order=reversed\n");
    rig_poll(&t, 10);
    for (int i = 0; i < 3; i++)
        str_copy(key[i], sizeof(key[i]), str_from(rig_find(&t, ENTITY_GPU, i)->key));
    rig_poll(&t, 2);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 0), METRIC_POWER_INSTANT_MW)->status, OBS_LOST);
    rig_poll(&t, 20);
    CHECK_EQ(t.entities_n, 6);
    for (int i = 0; i < 3; i++) {
        const struct rig_entity *g = rig_find(&t, ENTITY_GPU, i);
        CHECK_TEXT(g->key, key[2 - i]);
        CHECK_EQ(g->generation, 1);
        CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->status, OBS_VALUE);
        CHECK(t.entities[i].gone);
    }
    rig_close(&t);
}

static void energy_starts_anew(void)
{
    struct rig t;
    rig_open(&t, "gpus 2\nprocess gpus=0 pid=1 from=1h\nphase work gpus=all\nfault energy-reset "
                 "gpus=1 from=10s\n");
    rig_poll(&t, 20);
    CHECK_EQ(t.entities_n, 3);
    CHECK_EQ(rig_find(&t, ENTITY_GPU, 0)->generation, 0);
    CHECK_EQ(rig_find(&t, ENTITY_GPU, 1)->generation, 1);
    CHECK_TEXT(t.entities[1].key, t.entities[2].key);
    rig_close(&t);
}

static void mig_instances(void)
{
    struct rig t;
    rig_open(&t,
             "gpus 2\nmig gpus=1 instances=2\nprocess gpus=0 pid=1 from=1h\nphase work gpus=all\n");
    rig_poll(&t, 3);
    CHECK_EQ(t.entities_n, 4);
    const struct rig_entity *m = rig_find(&t, ENTITY_MIG, 1);
    CHECK_EQ(m->parent, 1);
    CHECK(!strncmp(m->key, "MIG-", 4));
    CHECK_EQ(rig_obs(m, METRIC_MEM_USED_BYTES)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(m, METRIC_POWER_INSTANT_MW)->status, OBS_STATUS_COUNT);
    const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 1);
    CHECK_EQ(rig_obs(g, METRIC_UTIL_GPU_PERMILLE)->status, OBS_UNSUPPORTED);
    CHECK_EQ(rig_obs(g, METRIC_POWER_INSTANT_MW)->status, OBS_VALUE);
    rig_close(&t);
}

static void xid_events(void)
{
    struct rig t;
    rig_open(&t, "gpus 2\nfault xid gpus=1 code=79 from=3s\n");
    rig_poll(&t, 2);
    CHECK_EQ(rig_find(&t, ENTITY_GPU, 1)->xid, 0);
    rig_poll(&t, 4);
    CHECK_EQ(rig_find(&t, ENTITY_GPU, 1)->xid, 79);
    CHECK_EQ(rig_find(&t, ENTITY_GPU, 0)->xid, 0);
    rig_close(&t);
}

static void processes_come_and_go(void)
{
    struct rig t;
    rig_open(&t, "gpus 1\nprocess gpus=0 pid=4000001 from=15s to=35s memory=2GiB\n"
                 "process gpus=0 pid=4000001 type=graphics from=15s to=35s\n");
    rig_poll(&t, 12);
    CHECK_EQ(t.entities_n, 1);
    rig_poll(&t, 18);
    const struct rig_entity *p = rig_find(&t, ENTITY_PROCESS, 4000001);
    CHECK_EQ(p->parent, 0);
    CHECK_EQ(rig_obs(p, METRIC_PROC_GPU_MEM_BYTES)->value, INT64_C(2) << 30);
    rig_poll(&t, 20);
    CHECK_EQ(t.entities_n, 2);
    CHECK(t.entities[1].gone);
    rig_close(&t);
}

/* Links that count for themselves are added up; one without an answer leaves no sum. */
static void links_added_up(void)
{
    struct rig t;
    int64_t one, two;
    rig_open(&t, "gpus 1\nboard b200\nphase copy\n"
                 "fault field field=138 code=3\nfault field field=139 code=3\n"
                 "fault field field=204 code=999 from=20s\n");
    rig_poll(&t, 2);
    const struct rig_entity *g = rig_find(&t, ENTITY_GPU, 0);
    one = rig_obs(g, METRIC_NVLINK_TX_BYTES)->value;
    rig_poll(&t, 10);
    two = rig_obs(g, METRIC_NVLINK_TX_BYTES)->value;
    CHECK(one > 0 && two > one + INT64_C(10000000000));
    CHECK_EQ(rig_obs(g, METRIC_NVLINK_RX_BYTES)->status, OBS_VALUE);
    rig_poll(&t, 12);
    CHECK_EQ(rig_obs(g, METRIC_NVLINK_TX_BYTES)->status, OBS_VALUE);
    CHECK_EQ(rig_obs(g, METRIC_NVLINK_RX_BYTES)->status, OBS_ERROR);
    rig_close(&t);
}

/* The first releases of driver 535 wrote longer entries than they declared. */
static void long_entries(void)
{
    struct rig t;
    rig_open(&t, "gpus 1\ndriver 535.54.03\nprocess gpus=0 pid=4000001 from=0s memory=1GiB\n"
                 "process gpus=0 pid=4000002 from=0s memory=2GiB\n"
                 "process gpus=0 pid=4000003 from=0s memory=3GiB\n");
    rig_poll(&t, 1);
    for (int i = 1; i <= 3; i++) {
        const struct rig_entity *p = rig_find(&t, ENTITY_PROCESS, 4000000 + i);
        CHECK_EQ(rig_obs(p, METRIC_PROC_GPU_MEM_BYTES)->value, (int64_t) i << 30);
    }
    CHECK_EQ(t.entities_n, 4);
    rig_close(&t);
}

/* A GPU that hung another worker is not so much as looked at. */
static void skipped_gpu(void)
{
    struct rig t;
    struct err err;
    rig_prepare(&t, "gpus 3\nfault block gpus=1\n");
    gpu_set_add(&t.env.skip_gpus, 1);
    CHECK_EQ(nvml_source.open(&t.env, &t.src, &err), 0);
    rig_poll(&t, 15);
    CHECK_EQ(t.entities_n, 2);
    CHECK_EQ(rig_obs(rig_find(&t, ENTITY_GPU, 2), METRIC_POWER_INSTANT_MW)->status, OBS_VALUE);
    CHECK_EQ(atomic_load(&t.pulse.touching), WORKER_NOWHERE);
    CHECK(atomic_load(&t.pulse.beat) > 30);
    rig_close(&t);
}

static const struct capability *ability_of(const struct capability_list *list, const char *id)
{
    static const struct capability none = { .ability = ABILITY_PARTLY, .why = "not told" };
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->items[i].id, id))
            return &list->items[i];
    return &none;
}

static void abilities(void)
{
    struct rig t;
    struct capability_list list = { 0 };
    rig_prepare_clock(&t, false,
                      "gpus 2\nboard h100\nprocess gpus=0 pid=4242424 from=0s\n"
                      "fault field gpus=1 field=186 code=3\n");
    nvml_source.about(&t.env, &list);
    CHECK_EQ(ability_of(&list, "nvml.library")->ability, ABILITY_YES);
    CHECK_HAS(ability_of(&list, "nvml.driver")->why, "580.95.05");
    CHECK_EQ(ability_of(&list, "nvml.power_average")->ability, ABILITY_YES);
    CHECK_EQ(ability_of(&list, "nvml.power_instant")->ability, ABILITY_PARTLY);
    CHECK_HAS(ability_of(&list, "nvml.power_instant")->why, "GPU 1");
    CHECK_EQ(ability_of(&list, "nvml.gpm")->ability, ABILITY_YES);
    CHECK_EQ(ability_of(&list, "nvml.events")->ability, ABILITY_YES);
    CHECK_EQ(ability_of(&list, "nvml.power_smoothing")->ability, ABILITY_NO);
    CHECK_EQ(ability_of(&list, "nvml.process_names")->ability, ABILITY_NO);
    capability_list_done(&list);
    rig_close(&t);
}

static void no_library(void)
{
    const struct source_env env = { .sysroot = "/",
                                    .nvml_library = "/nonexistent/libnvidia-ml.so" };
    struct capability_list list = { 0 };
    struct source *src;
    struct err err;
    CHECK_EQ(nvml_source.open(&env, &src, &err), -19);
    CHECK_HAS(err.text, "/nonexistent/libnvidia-ml.so");
    nvml_source.about(&env, &list);
    CHECK_EQ(ability_of(&list, "nvml.library")->ability, ABILITY_NO);
    CHECK(ability_of(&list, "nvml.library")->remedy[0] != '\0');
    capability_list_done(&list);
}

static void mismatch(void)
{
    struct rig t;
    struct err err;
    struct capability_list list = { 0 };
    rig_prepare(&t, "gpus 1\nfault error call=nvmlInit* code=18\n");
    CHECK_EQ(nvml_source.open(&t.env, &t.src, &err), -19);
    CHECK_HAS(err.text, "driver and library versions differ");
    nvml_source.about(&t.env, &list);
    CHECK_EQ(ability_of(&list, "nvml.driver")->ability, ABILITY_NO);
    CHECK_HAS(ability_of(&list, "nvml.driver")->why, "(18)");
    capability_list_done(&list);
    rig_close(&t);
}

static const struct tap_case cases[] = {
    { "field numbers by driver", field_by_driver },
    { "field values", field_values },
    { "field stamps", field_stamps },
    { "field statuses", field_statuses },
    { "a healthy Hopper", healthy_hopper },
    { "an old driver", old_driver },
    { "gaps of boards", gaps_of_boards },
    { "smoothing either side of the renumbering", smoothing_numbers },
    { "missing functions", missing_functions },
    { "a lost GPU", lost_gpu },
    { "driver reload", driver_reload },
    { "energy starts anew", energy_starts_anew },
    { "MIG instances", mig_instances },
    { "Xid events", xid_events },
    { "processes come and go", processes_come_and_go },
    { "links added up", links_added_up },
    { "long process entries", long_entries },
    { "a skipped GPU", skipped_gpu },
    { "abilities", abilities },
    { "no library", no_library },
    { "driver mismatch", mismatch },
};

TAP_MAIN(cases)
