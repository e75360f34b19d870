/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "sim/nvml/exports.def"

#include <sys/wait.h>

#define NAME(name, since) { #name, since },

static void exports_are_sorted_and_there(void)
{
    static const struct {
        const char *name;
        unsigned since;
    } rows[] = { EXPORTS(NAME, NAME) };
    stage("gpus 1\ndriver 615.71");
    load();
    remove_files();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (!symbol(rows[i].name))
            CHECK_TEXT("missing", rows[i].name);
        if (i)
            CHECK(strcmp(rows[i - 1].name, rows[i].name) < 0);
    }
    CHECK(symbol("sim_parse") == NULL);
    CHECK(symbol("strbuf_addf") == NULL);
}

static void older_drivers_lack_functions(void)
{
    stage("gpus 1\ndriver 535.54.03\nfault missing call=nvmlDeviceGetSerial");
    load();
    remove_files();
    CHECK(symbol("nvmlDeviceGetConfComputeMemSizeInfo") != NULL);
    CHECK(symbol("nvmlDeviceGetComputeRunningProcesses_v3") != NULL);
    CHECK(symbol("nvmlDeviceGetRunningProcessDetailList") == NULL);
    CHECK(symbol("nvmlDeviceGetTemperatureV") == NULL);
    CHECK(symbol("nvmlDeviceGetSerial") == NULL);
}

static void nothing_without_a_scenario(void)
{
    unsetenv("WATTGATE_SIM");
    unsetenv("WATTGATE_SIM_TRACE");
    load();
    unsigned n = 7;
    CHECK_EQ(CALL(nvmlInit_v2, (void), ), 9);
    CHECK_EQ(CALL(nvmlDeviceGetCount_v2, (unsigned *), &n), 1);
    CHECK_EQ(n, 7);
}

static void arguments_are_checked(void)
{
    start("gpus 2\nphase work");
    void *d = NULL;
    int junk = 0;
    char small[8];
    CHECK_EQ(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), 2, &d), 2);
    CHECK(d == NULL);
    CHECK_EQ(power_result(&junk), 2);
    CHECK_EQ(power_result(NULL), 2);
    CHECK_EQ(CALL(nvmlDeviceGetUUID, (void *, char *, unsigned), device(0), small, sizeof(small)),
             7);
    CHECK_EQ(CALL(nvmlDeviceGetPowerUsage, (void *, unsigned *), device(0), NULL), 2);
    CHECK_EQ(CALL(nvmlUnitGetCount, (unsigned *), NULL), 3);
    CHECK_EQ(CALL(nvmlShutdown, (void), ), 0);
    CHECK_EQ(power_result(d), 1);
}

static void identities_lead_back(void)
{
    start("gpus 72\nboard gb200");
    for (unsigned i = 0; i < 72; i++) {
        char uuid[96], bus[32] = "";
        struct {
            char legacy[16];
            unsigned numbers[5];
            char bus[32];
        } pci;
        void *by_uuid = NULL, *by_bus = NULL;
        CHECK_EQ(CALL(nvmlDeviceGetUUID, (void *, char *, unsigned), device(i), uuid, sizeof(uuid)),
                 0);
        CHECK_EQ(strlen(uuid), 40);
        CHECK_EQ(CALL(nvmlDeviceGetHandleByUUID, (const char *, void **), uuid, &by_uuid), 0);
        CHECK_EQ(CALL(nvmlDeviceGetPciInfo_v3, (void *, void *), device(i), &pci), 0);
        memcpy(bus, pci.bus, sizeof(bus));
        CHECK_EQ(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **), bus, &by_bus), 0);
        CHECK(by_uuid == device(i) && by_bus == device(i));
    }
}

/* Where "power smoothing enabled" is, by driver; everywhere else its number means another thing. */
static void fields_move_with_the_driver(void)
{
    static const struct {
        const char *driver;
        unsigned enabled, slowdown; /* 0: not there */
    } rows[] = {
        { "570.86.10", 251, 0 },   { "570.172.08", 251, 0 },  { "575.51.03", 256, 251 },
        { "580.65.06", 256, 251 }, { "580.82.07", 251, 269 }, { "580.95.05", 251, 269 },
        { "595.45.01", 251, 269 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        pid_t pid = fork(); /* a library is loaded once in a process */
        if (pid == 0) {
            char text[128];
            (void) snprintf(text, sizeof(text),
                            "gpus 1\nboard b300\ndriver %s\nsmoothing floor=400W\nphase work",
                            rows[i].driver);
            start(text);
            step_s(5);
            struct field_value v = get_field(0, rows[i].enabled, 0);
            bool ok = v.result == 0 && v.type == 1 && v.value.u == 1;
            if (rows[i].slowdown)
                v = get_field(0, rows[i].slowdown, 0);
            _exit(ok && (!rows[i].slowdown || (v.result == 0 && v.type == 3)) ? 0 : 1);
        }
        int status = -1;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        if (status)
            CHECK_TEXT(rows[i].driver, "has its fields where they belong");
    }
}

static void energy_is_the_integral(void)
{
    start("gpus 1\nphase work low=200W period=100ms duty=25%");
    step_s(10);
    unsigned long long before = energy_mj(0);
    step_s(100);
    unsigned long long after = energy_mj(0);
    long long (*truth)(unsigned, long long, long long) = NULL;
    void *at = symbol("wattgate_sim_true_energy_uj");
    CHECK(at != NULL);
    memcpy(&truth, &at, sizeof(truth));
    int64_t true_mj = truth(0, 10 * US_PER_S, 110 * US_PER_S) / 1000;
    CHECK(llabs((int64_t) (after - before) - true_mj) <= true_mj / 1000);
    struct field_value v = get_field(0, 83, 0);
    CHECK_EQ(v.value.ull, after);
    CHECK_EQ(get_field(0, 191, 0).value.ull, after);
    CHECK(v.wall_us == INT64_C(1700000110) * US_PER_S);
}

static void plain_power_means_what_the_chip_means(void)
{
    start("gpus 2\nspread 0%\nboard h100\nboard a100 gpus=1\nsensor phase=0ms\n"
          "phase held for=10s noise=0W\nphase work noise=0W power=350W");
    CHECK_EQ(vclock_step(the_clock, 10 * US_PER_S + 300 * US_PER_MS, NULL), 0);
    unsigned average = power_mw(0); /* 0.3 s of the last second were work */
    CHECK(average > 185000 && average < 195000);
    CHECK_EQ(get_field(0, 185, 0).value.u, average);
    CHECK_EQ(get_field(0, 186, 0).value.u, 350000);
    CHECK_EQ(power_mw(1), 350000);
    CHECK_EQ(get_field(1, 185, 0).result, 3);
    CHECK_EQ(get_field(1, 186, 0).value.u, 350000);
    CHECK_EQ(get_field(0, 186, 1).result, 3); /* no module around this GPU */
    CHECK_EQ(get_field(0, 9999, 0).result, 2);
}

struct ring_sample {
    unsigned long long wall_us;
    union {
        unsigned u;
        unsigned long long ull;
    } value;
};

static int samples(unsigned long long after_us, unsigned *n, struct ring_sample *ring)
{
    unsigned type = 0;
    return CALL(
        nvmlDeviceGetSamples,
        (void *, unsigned, unsigned long long, unsigned *, unsigned *, struct ring_sample *),
        device(0), 0, after_us, &type, n, ring);
}

static void sample_ring_agrees_with_the_sensor(void)
{
    start("gpus 1\nphase work low=200W period=777ms");
    step_s(60);
    unsigned n = 0;
    CHECK_EQ(samples(0, &n, NULL), 0);
    struct ring_sample ring[256];
    CHECK(n > 10 && n <= ARRAY_SIZE(ring));
    CHECK_EQ(samples(0, &n, ring), 0);
    CHECK_EQ(n, 120);
    for (unsigned i = 1; i < n; i++)
        CHECK_EQ(ring[i].wall_us - ring[i - 1].wall_us, 100000);
    struct field_value v = get_field(0, 186, 0);
    CHECK_EQ(v.wall_us, ring[n - 1].wall_us);
    CHECK_EQ(v.value.u, ring[n - 1].value.u);
    unsigned long long last = ring[n - 1].wall_us;
    CHECK_EQ(samples(last, &n, ring), 6);
    step_s(1);
    n = ARRAY_SIZE(ring);
    CHECK_EQ(samples(last, &n, ring), 0);
    CHECK_EQ(n, 10);
}

static unsigned list_pids(unsigned index, const char *driver, unsigned stride, unsigned *pid)
{
    (void) driver;
    unsigned n = 4;
    unsigned char room[4 * 32];
    memset(room, 0xee, sizeof(room));
    CHECK_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3, (void *, unsigned *, void *),
                  device(index), &n, room),
             0);
    for (unsigned i = 0; i < n; i++)
        memcpy(&pid[i], room + (size_t) i * stride, sizeof(pid[i]));
    CHECK_EQ(room[(size_t) n * stride], 0xee); /* nothing was written behind the last */
    return n;
}

static void process_layout(const char *driver, unsigned stride)
{
    char text[256];
    (void) snprintf(text, sizeof(text),
                    "gpus 2\ndriver %s\nphase work gpus=0\nprocess pid=4242 memory=1GiB\n"
                    "process pid=self memory=2GiB\nprocess pid=77 type=graphics\n",
                    driver);
    start(text);
    unsigned pid[4] = { 0 }, n = 0;
    CHECK_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3, (void *, unsigned *, void *), device(0),
                  &n, NULL),
             7);
    CHECK_EQ(n, 2);
    CHECK_EQ(list_pids(0, driver, stride, pid), 2);
    CHECK_EQ(pid[0], 4242);
    CHECK_EQ(pid[1], getpid());
    CHECK_EQ(list_pids(1, driver, stride, pid), 0); /* idle: no context */
}

static void process_layout_now(void)
{
    process_layout("580.95.05", 24);
}

static void process_layout_of_535_54(void)
{
    process_layout("535.54.03", 32);
}

static void process_layout_of_535_161(void)
{
    process_layout("535.161.08", 24);
}

/* Values of all kinds of calls, as one process sees them. */
static void take_values(unsigned long long ret[4])
{
    struct {
        unsigned gpu, memory;
    } util = { 0, 0 };
    CHECK_EQ(CALL(nvmlDeviceGetUtilizationRates, (void *, void *), device(1), &util), 0);
    ret[0] = power_mw(1);
    ret[1] = energy_mj(1);
    ret[2] = util.gpu * 1000 + util.memory;
    ret[3] = get_field(1, 138, UINT_MAX).value.ull;
}

static void processes_agree(void)
{
    stage("gpus 2\nphase work low=200W period=777ms");
    step_s(33);
    unsigned long long seen[3][4];
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            load();
            CHECK_EQ(CALL(nvmlInit_v2, (void), ), 0);
            take_values(seen[0]);
            _exit(write(pipes[1], seen[0], sizeof(seen[0])) == sizeof(seen[0]) ? 0 : 1);
        }
        CHECK_EQ(read(pipes[0], seen[i], sizeof(seen[i])), sizeof(seen[i]));
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
    }
    remove_files();
    CHECK(seen[0][0] > 100000 && seen[0][1] > 0 && seen[0][2] > 0 && seen[0][3] > 0);
    CHECK(memcmp(seen[0], seen[1], sizeof(seen[0])) == 0);
    CHECK(memcmp(seen[0], seen[2], sizeof(seen[0])) == 0);
}

static void gpm_metrics(void)
{
    struct {
        unsigned version, n;
        void *first, *second;
        struct {
            unsigned id;
            int result;
            double value;
            const char *names[3];
        } metric[5];
    } get = { .version = 1, .n = 5 };
    static const unsigned ids[] = { 1, 2, 5, 61, 8 };
    start("gpus 1\nphase work sm=80% tensor=30% util=100% nvlink=1MiB/s");
    CHECK_EQ(CALL(nvmlGpmSampleAlloc, (void **), &get.first), 0);
    CHECK_EQ(CALL(nvmlGpmSampleAlloc, (void **), &get.second), 0);
    CHECK_EQ(CALL(nvmlGpmSampleGet, (void *, void *), device(0), get.first), 0);
    step_s(2);
    CHECK_EQ(CALL(nvmlGpmSampleGet, (void *, void *), device(0), get.second), 0);
    for (unsigned i = 0; i < 5; i++)
        get.metric[i].id = ids[i];
    CHECK_EQ(CALL(nvmlGpmMetricsGet, (void *), &get), 0);
    CHECK_EQ(get.metric[0].value * 1000 + 0.5, 100000);
    CHECK_EQ(get.metric[1].value * 1000 + 0.5, 80000);
    CHECK_EQ(get.metric[2].value * 1000 + 0.5, 30000);
    CHECK_EQ(get.metric[3].value * 1000 + 0.5, 1000);
    CHECK_EQ(get.metric[4].result, 3);
    CHECK_EQ(CALL(nvmlGpmSampleFree, (void *), get.first), 0);
    CHECK_EQ(CALL(nvmlGpmSampleFree, (void *), get.second), 0);
}

static void personalities(void)
{
    start("gpus 1\nboard rtx4090\npersonality geforce\nphase work");
    unsigned a = 0, b = 0;
    CHECK_EQ(CALL(nvmlDeviceGetEccMode, (void *, unsigned *, unsigned *), device(0), &a, &b), 3);
    CHECK_EQ(CALL(nvmlDeviceGetMigMode, (void *, unsigned *, unsigned *), device(0), &a, &b), 3);
    CHECK_EQ(CALL(nvmlDeviceGetFanSpeed, (void *, unsigned *), device(0), &a), 0);
    CHECK_EQ(get_field(0, 138, 0).result, 3);
    CHECK_EQ(power_result(device(0)), 0);
}

static void vgpu_has_no_watts(void)
{
    start("gpus 1\npersonality vgpu\nphase work");
    CHECK_EQ(power_result(device(0)), 3);
    CHECK_EQ(get_field(0, 186, 0).result, 3);
    CHECK_EQ(get_field(0, 83, 0).result, 3);
}

static void mig_instances(void)
{
    start("gpus 1\nmig instances=2\nphase work");
    unsigned mode = 0, pending = 0, is = 0;
    void *m = NULL, *parent = NULL;
    struct {
        unsigned gpu, memory;
    } util;
    char uuid[96];
    CHECK_EQ(
        CALL(nvmlDeviceGetMigMode, (void *, unsigned *, unsigned *), device(0), &mode, &pending),
        0);
    CHECK_EQ(mode, 1);
    CHECK_EQ(CALL(nvmlDeviceGetUtilizationRates, (void *, void *), device(0), &util), 3);
    CHECK_EQ(
        CALL(nvmlDeviceGetMigDeviceHandleByIndex, (void *, unsigned, void **), device(0), 2, &m),
        6);
    CHECK_EQ(
        CALL(nvmlDeviceGetMigDeviceHandleByIndex, (void *, unsigned, void **), device(0), 1, &m),
        0);
    CHECK_EQ(power_result(m), 3);
    CHECK_EQ(power_result(device(0)), 0);
    CHECK_EQ(CALL(nvmlDeviceIsMigDeviceHandle, (void *, unsigned *), m, &is), 0);
    CHECK_EQ(is, 1);
    CHECK_EQ(CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (void *, void **), m, &parent), 0);
    CHECK(parent == device(0));
    CHECK_EQ(CALL(nvmlDeviceGetUUID, (void *, char *, unsigned), m, uuid, sizeof(uuid)), 0);
    CHECK(strncmp(uuid, "MIG-", 4) == 0);
    CHECK_EQ(CALL(nvmlDeviceGetHandleByUUID, (const char *, void **), uuid, &parent), 0);
    CHECK(parent == m);
}

static const struct tap_case cases[] = {
    { "every export is there, in order, and no other", exports_are_sorted_and_there },
    { "older drivers lack functions", older_drivers_lack_functions },
    { "without a scenario there is no driver", nothing_without_a_scenario },
    { "arguments are checked", arguments_are_checked },
    { "72 GPUs are found by UUID and bus id", identities_lead_back },
    { "fields move with the driver version", fields_move_with_the_driver },
    { "energy is the true integral", energy_is_the_integral },
    { "plain power is average or instant by chip", plain_power_means_what_the_chip_means },
    { "the sample ring agrees with the sensor", sample_ring_agrees_with_the_sensor },
    { "process list of 580.95", process_layout_now },
    { "process list of 535.54", process_layout_of_535_54 },
    { "process list of 535.161", process_layout_of_535_161 },
    { "processes see the same values", processes_agree },
    { "GPM metrics come from two samples", gpm_metrics },
    { "GeForce lacks what it lacks", personalities },
    { "a virtual GPU has no watts", vgpu_has_no_watts },
    { "MIG instances", mig_instances },
};
TAP_MAIN(cases)
