/* SPDX-License-Identifier: Apache-2.0 */
/* Triage's energy against the true integral that the simulation keeps, through the NVML source. */
#include "nvml-rig.h"

#include "base/units.h"
#include "tables/tables.h"

#include <dlfcn.h>
#include <inttypes.h>

typedef long long (*true_energy_fn)(unsigned, long long, long long);

static long long true_uj(unsigned gpu, int64_t from_us, int64_t to_us)
{
    void *lib = dlopen(SIM_NVML_LIBRARY, RTLD_NOW);
    true_energy_fn fn = NULL;
    void *symbol = lib ? dlsym(lib, "wattgate_sim_true_energy_uj") : NULL;
    memcpy(&fn, &symbol, sizeof(fn));
    CHECK(fn != NULL);
    return fn ? fn(gpu, from_us, to_us) : 0;
}

static void feed(struct triage *t, const struct record *r)
{
    struct err e = { .text = "" };
    if (triage_feed(t, r, &e) < 0) {
        tap_note("%s", e.text);
        CHECK(false);
    }
}

struct result {
    struct triage_device device;
    long long truth_uj;
};

/* `seconds` polls of one simulated GPU, at slightly uneven distances, as the live sampler does. */
static struct result watch(const char *scenario, int seconds)
{
    struct rig rig;
    struct err e = { .text = "" };
    struct tables tables;
    const struct triage_sink sink = { NULL, NULL, NULL };
    struct result result = { 0 };
    rig_open(&rig, scenario);
    CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    struct record r = { .kind = RECORD_HEADER, .mono_us = clock_mono_us() };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .interval_us = US_PER_S };
    feed(t, &r);
    for (int i = 0; i < seconds && rig.src; i++) {
        const struct record *got;
        CHECK_EQ(nvml_source.poll(rig.src, clock_mono_us(), rig.q, &e), 0);
        while (record_queue_next(rig.q, &got) > 0) {
            struct record copy = *got;
            copy.mono_us = clock_mono_us();
            feed(t, &copy);
        }
        CHECK_EQ(vclock_step(rig.clock, 950000 + i * 7919 % 100000, &e), 0);
    }
    CHECK_EQ(triage_finish(t, &e), 0);
    CHECK(triage_devices(t) >= 1);
    if (triage_devices(t)) {
        result.device = *triage_device(t, 0);
        result.truth_uj = true_uj(0, result.device.first_us - INT64_C(1000000000),
                                  result.device.last_us - INT64_C(1000000000));
    }
    triage_free(t);
    tables_done(&tables);
    rig_close(&rig);
    return result;
}

static int64_t off_permille(const struct result *r)
{
    int64_t apart = r->device.energy_uj - r->truth_uj;
    return (apart < 0 ? -apart : apart) * 1000 / MAX(r->truth_uj, 1);
}

#define STEPS "gpus 1\nboard h100\nphase work low=250W period=1180ms duty=70%\n"
#define LOCKED "gpus 1\nboard h100\nphase work low=150W period=100ms duty=30%\n"
#define NO_COUNTER                                                                                 \
    "fault field field=83 code=3\nfault missing call=nvmlDeviceGetTotalEnergyConsumption\n"
/* GA100 has no average: its sensor looks at 25 of 100 ms and sees one side of this load. */
#define GA100_LOCKED "gpus 1\nboard a100\nphase work low=90W period=100ms duty=30%\n"

/* The library reads its scenario once, so that each of these is a case (and a process) of its own.
 */

static void counted(const char *scenario)
{
    struct result r = watch(scenario, 120);
    tap_note("%" PRId64 " J, truly %lld J, off %" PRId64 " permille", r.device.energy_uj / UJ_PER_J,
             r.truth_uj / UJ_PER_J, off_permille(&r));
    CHECK(r.device.energy_from_counter);
    CHECK(r.truth_uj > 0);
    CHECK(off_permille(&r) <= 10);
}

/* Without the counter the error is stated, and the true one lies within it. */
static void integrated(const char *scenario)
{
    struct result r = watch(scenario, 120);
    tap_note("%" PRId64 " J, truly %lld J, off %" PRId64 " permille, stated %" PRId64,
             r.device.energy_uj / UJ_PER_J, r.truth_uj / UJ_PER_J, off_permille(&r),
             r.device.energy_error_permille);
    CHECK(!r.device.energy_from_counter);
    CHECK(r.device.energy_uj > 0);
    CHECK(r.device.energy_error_permille >= off_permille(&r));
}

static void steps_counted(void)
{
    counted(STEPS);
}

static void locked_counted(void)
{
    counted(LOCKED);
}

static void ga100_locked_counted(void)
{
    counted(GA100_LOCKED);
}

static void steps_integrated(void)
{
    integrated(STEPS NO_COUNTER);
}

static void locked_integrated(void)
{
    integrated(LOCKED NO_COUNTER);
}

static void ga100_locked_integrated(void)
{
    integrated(GA100_LOCKED NO_COUNTER);
}

static void ga100_shifted_integrated(void)
{
    integrated(GA100_LOCKED "sensor phase=40ms\n" NO_COUNTER);
}

static const struct tap_case cases[] = {
    { "counter: steps of 1.18 s within 1 %", steps_counted },
    { "counter: a load locked to the sensor within 1 %", locked_counted },
    { "counter: the same on a sensor without average", ga100_locked_counted },
    { "no counter: the stated error holds", steps_integrated },
    { "no counter: it holds for a locked load", locked_integrated },
    { "no counter, no average: it holds for a locked load", ga100_locked_integrated },
    { "no counter, no average: it holds on the load's other side", ga100_shifted_integrated },
};
TAP_MAIN(cases)
