/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"
#include "base/units.h"
#include "core/telemetry/codec.h"
#include "sim/model/model.h"
#include "tap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_scenario *parse(const char *text)
{
    struct sim_scenario *s = NULL;
    struct err e = { 0 };
    if (sim_parse("test", str_from(text), &s, &e) < 0)
        tap_note("%s", e.text);
    CHECK(s != NULL);
    return s;
}

/* Sums tiny steps of the closed form by way of means; both must say the same. */
static void integral_is_the_sum_of_its_parts(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("gpus 1\nphase work for=3s power=600W low=200W period=370ms duty=30% shift=90ms\n"
              "loop\nphase spin for=1700ms glide=400ms\nphase work for=2s limit=500W power=640W");
    const struct sim_gpu *g = &s->gpus[0];
    int64_t sum = 0, last = 0;
    for (int64_t t = 0; t < 40 * US_PER_S; t += 7919) {
        int64_t e = sim_true_energy_uj(g, t);
        CHECK(e >= last);
        CHECK(e - last < 900 * 7919); /* never above 900 W */
        sum += e - last;
        last = e;
    }
    CHECK_EQ(sum, last);
    /* 3 s of 600/200 W at 30 %: wave aside, 320 W; noise adds nothing over a whole phase. */
    int64_t first_uj = sim_true_energy_uj(g, 3 * US_PER_S);
    CHECK(llabs(first_uj - INT64_C(960000000)) < 40000000);
    int64_t round_a = sim_true_energy_uj(g, 6700000) - sim_true_energy_uj(g, 3000000);
    int64_t round_b = sim_true_energy_uj(g, 6700000 + 3700000) - sim_true_energy_uj(g, 6700000);
    CHECK_EQ(round_a, round_b);
    CHECK_EQ(sim_integral(g, SIM_CAPPED_PERMILLE, 6700000), 2000 * US_PER_MS * 1000);
    CHECK_EQ(sim_mean(g, SIM_POWER_MW, 6700000, 2 * US_PER_S), 500000);
}

static void integral_has_no_jumps(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("gpus 1\nloop\nphase work for=1230ms low=200W period=370ms noise=30W\n"
              "phase spin for=700ms glide=200ms noise=9W");
    for (int64_t t = 0; t < 8 * US_PER_S; t++) {
        int64_t step = sim_true_energy_uj(&s->gpus[0], t + 1) - sim_true_energy_uj(&s->gpus[0], t);
        if (step < -1 || step > 1000 + 2) /* 1 us of 1 kW, and rounding of three sums */
            CHECK_EQ(step, 0);
    }
}

/* The instant reading is the mean of 25 ms at every 100 ms, whatever came between. */
static void instant_is_a_window(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s = parse(
        "gpus 1\nsensor phase=0ms\nphase work noise=0W power=600W low=100W period=331ms duty=50%");
    const struct sim_gpu *g = &s->gpus[0];
    for (int64_t t = 2 * US_PER_S; t < 4 * US_PER_S; t += 13 * US_PER_MS) {
        struct sensor_reading r = sim_sensor(s, g, t);
        int64_t at = t / (100 * US_PER_MS) * 100 * US_PER_MS;
        CHECK_EQ(r.updated_us, at);
        int64_t want_uj = sim_true_energy_uj(g, at) - sim_true_energy_uj(g, at - 25 * US_PER_MS);
        CHECK_EQ(r.instant_mw, want_uj / 25);
    }
}

/* Time between the 10 % and 90 % points of a step from 100 W to 700 W, as the average shows it. */
static void average_rises_in_0_8_to_0_9_s(void)
{
    for (int64_t offset_ms = 0; offset_ms < 100; offset_ms += 9) {
        char text[200];
        (void) snprintf(text, sizeof(text),
                        "gpus 1\nspread 0%%\nphase held for=%" PRId64
                        "ms power=100W noise=0W\nphase work power=700W noise=0W limit=800W",
                        5000 + offset_ms);
        AUTO(sim_scenario) struct sim_scenario *s = parse(text);
        int64_t at_10 = -1, at_90 = -1;
        for (int64_t t = 5 * US_PER_S; t < 8 * US_PER_S; t += US_PER_MS) {
            int64_t mw = sim_sensor(s, &s->gpus[0], t).average_mw;
            at_10 = at_10 < 0 && mw >= 160000 ? t : at_10;
            at_90 = at_90 < 0 && mw >= 640000 ? t : at_90;
        }
        CHECK(at_90 - at_10 >= 800 * US_PER_MS && at_90 - at_10 <= 900 * US_PER_MS);
    }
}

/* Work that beats in time with the sensor: instant readings are all wrong, energy is right. */
static void phase_lock_fools_the_instant_reading_only(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("gpus 1\nsensor phase=0ms\n"
              "phase work noise=0W power=600W low=200W period=100ms duty=25% shift=25ms");
    const struct sim_gpu *g = &s->gpus[0];
    int64_t sum_mw = 0, n = 0;
    for (int64_t t = 10 * US_PER_S; t < 70 * US_PER_S; t += 103 * US_PER_MS, n++)
        sum_mw += sim_sensor(s, g, t).instant_mw;
    CHECK_EQ(sum_mw / n, 600000); /* the truth is 300 W */
    int64_t counter =
        sim_energy_counter_uj(s, g, 70 * US_PER_S) - sim_energy_counter_uj(s, g, 10 * US_PER_S);
    CHECK(llabs(counter - INT64_C(18000000000)) <= counter / 1000);
    CHECK_EQ(sim_sensor(s, g, 50 * US_PER_S).average_mw, 300000);
}

static void ga100_has_no_average(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s = parse("gpus 2\nboard a100\nboard v100 gpus=1\nphase work");
    CHECK_EQ(sim_sensor(s, &s->gpus[0], 5 * US_PER_S).average_mw, -1);
    CHECK_EQ(sim_sensor(s, &s->gpus[1], 5 * US_PER_S).average_mw, -1);
    CHECK_EQ(s->gpus[1].sensor.window_us, 10000);
}

static void faults_of_sensors(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("gpus 4\nspread 0%\nphase held for=20s noise=0W\nphase work noise=0W\n"
              "fault stuck gpus=0 from=15s to=30s\nfault late gpus=1 delay=3s\n"
              "fault energy-reset gpus=2 from=25s\n"
              "fault reload from=40s to=45s order=3,2,1,0");
    CHECK_EQ(sim_sensor(s, &s->gpus[0], 29 * US_PER_S).instant_mw, 122000);
    CHECK(sim_sensor(s, &s->gpus[0], 29 * US_PER_S).updated_us > 28 * US_PER_S);
    CHECK_EQ(sim_sensor(s, &s->gpus[0], 31 * US_PER_S).instant_mw, 592000);
    CHECK_EQ(sim_sensor(s, &s->gpus[1], 22 * US_PER_S).instant_mw, 122000);
    CHECK(sim_sensor(s, &s->gpus[1], 22 * US_PER_S).updated_us <= 19 * US_PER_S);
    CHECK(sim_energy_counter_uj(s, &s->gpus[2], 26 * US_PER_S) < 600 * UJ_PER_J);
    CHECK(sim_energy_counter_uj(s, &s->gpus[3], 26 * US_PER_S) > 5000 * UJ_PER_J);
    CHECK(sim_energy_counter_uj(s, &s->gpus[3], 46 * US_PER_S) < 600 * UJ_PER_J);
    bool down = false;
    CHECK_EQ(sim_generation(s, 39 * US_PER_S, &down), 0);
    CHECK_EQ(sim_generation(s, 41 * US_PER_S, &down), 1);
    CHECK(down);
    CHECK_EQ(sim_generation(s, 45 * US_PER_S, &down), 1);
    CHECK(!down);
    CHECK_EQ(sim_slot_of_index(s, 0, 46 * US_PER_S), 3);
    CHECK_EQ(sim_index_of_slot(s, 1, 46 * US_PER_S), 2);
    CHECK_EQ(sim_index_of_slot(s, 1, 20 * US_PER_S), 1);
}

static void smoothing_holds_the_floor(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("gpus 1\nboard b300\nspread 0%\nsmoothing floor=500W hold=20s down=4s\n"
              "phase work for=10s\nphase spin noise=0W");
    const struct sim_gpu *g = &s->gpus[0];
    CHECK_EQ(sim_mean(g, SIM_POWER_MW, 25 * US_PER_S, US_PER_S), 500000);
    int64_t falling = sim_mean(g, SIM_POWER_MW, 32 * US_PER_S, 100 * US_PER_MS);
    CHECK(falling > 300000 && falling < 450000);
    CHECK_EQ(sim_mean(g, SIM_POWER_MW, 40 * US_PER_S, US_PER_S), 249000);
    CHECK_EQ(sim_mean(g, SIM_UTIL_PERMILLE, 25 * US_PER_S, US_PER_S), 1000);
}

static void mistakes_are_named(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "gpus 0", "line 1, column 6: '0' is no number of GPUs" },
        { "gpus 73", "'73' is no number of GPUs" },
        { "gpus 2\nphase work gpus=2", "line 2, column 17: '2' names GPUs" },
        { "phase nap", "'nap' is none of idle" },
        { "phase work power=600", "'600' is no power" },
        { "phase work power=-5W", "'-5W' is no power" },
        { "phase work for=5", "'5' is no duration" },
        { "phase work for=0s", "has no length" },
        { "phase work low=100W", "no period" },
        { "phase work util=101%", "'101%' is no share" },
        { "phase work nvlink=5", "'5' is no rate" },
        { "phase work colour=red", "'colour' is no setting" },
        { "phase work util=1% util=2%", "given twice" },
        { "phase idle\nphase work", "line 2" },
        { "board toaster", "'toaster' is no board" },
        { "driver 580", "is no driver version" },
        { "fault dstate gpus=0", "needs path=" },
        { "fault reload from=1s", "needs to=" },
        { "fault reload from=1s to=2s order=0,0", "named twice" },
        { "fault block from=5s to=4s", "ends before it begins" },
        { "sensor", "needs phase=" },
        { "mig instances=8", "1 to 7" },
        { "spread 50%", "between 0% and 30%" },
        { "=3", "is no line of a scenario" },
        { "nonsense", "'nonsense' is no line" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sim_scenario *s = NULL;
        struct err e = { 0 };
        CHECK(sim_parse("test", str_from(rows[i].text), &s, &e) < 0);
        CHECK_HAS(e.text, rows[i].want);
        CHECK(s == NULL);
        sim_free(s);
    }
}

/* Settings hold wherever they stand, the last one wins, and quoting keeps blanks together. */
static void settings_and_quotes(void)
{
    AUTO(sim_scenario)
    struct sim_scenario *s =
        parse("phase work gpus=3  # comment\r\nboard h200 product=\"NVIDIA Strange Board\"\n"
              "gpus 2\ngpus 4\n\n  # only a comment\ndriver 550.54.14\ncuda 12.4");
    CHECK_EQ(s->gpus_n, 4);
    CHECK_TEXT(s->gpus[1].product, "NVIDIA Strange Board");
    CHECK_EQ(s->driver_number, 550054);
    CHECK_EQ(s->cuda, 12040);
    CHECK_EQ(sim_phase_at(&s->gpus[3], US_PER_S, NULL)->kind, SIM_WORK);
    CHECK_EQ(sim_phase_at(&s->gpus[0], US_PER_S, NULL)->kind, SIM_IDLE);
}

static void random_scenarios_parse_and_differ(void)
{
    int64_t bare_lo = INT64_MAX, bare_hi = 0;
    uint32_t without_row = 0, spin_below_held = 0, units = 0;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        AUTO(strbuf) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        sim_random(seed, 8, &a);
        sim_random(seed, 8, &b);
        CHECK_TEXT(strbuf_text(&a), strbuf_text(&b));
        AUTO(sim_scenario) struct sim_scenario *s = parse(strbuf_text(&a));
        for (uint32_t i = 0; i < s->gpus_n; i++, units++) {
            const struct sim_gpu *g = &s->gpus[i];
            int64_t table = g->board->level_w[SIM_IDLE];
            bare_lo = MIN(bare_lo, g->level_mw[SIM_IDLE] / table);
            bare_hi = MAX(bare_hi, g->level_mw[SIM_IDLE] / table);
            without_row += strcmp(g->product, g->board->product) != 0;
            spin_below_held += g->level_mw[SIM_SPIN] < g->level_mw[SIM_HELD];
            CHECK(g->level_mw[SIM_WORK] > g->level_mw[SIM_SPIN]);
        }
    }
    CHECK_EQ(units, 2000);
    CHECK(bare_lo < 880 && bare_hi > 1120); /* permille of the board's own row */
    CHECK(without_row > 200 && without_row < 600);
    CHECK(spin_below_held > 50);
}

/* Records as a recorder would write them, and back as GPUs that do the same. */
static void write_record(struct codec_writer *w, struct strbuf *out, struct record r)
{
    CHECK_EQ(codec_write(w, &r, out, NULL), 0);
}

static void write_trace(struct strbuf *out)
{
    AUTO(codec_writer) struct codec_writer *w = codec_writer_new();
    struct record header = { .kind = RECORD_HEADER, .mono_us = 5 * US_PER_S };
    header.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .tool = STR("test") };
    write_record(w, out, header);
    struct record gpu = { .kind = RECORD_ENTITY, .mono_us = 5 * US_PER_S };
    gpu.u.entity = (struct entity){ .id = 0,
                                    .kind = ENTITY_GPU,
                                    .parent = ENTITY_NONE,
                                    .key = STR("GPU-0123"),
                                    .name = STR("NVIDIA H100 PCIe"),
                                    .driver = STR("570.86.15") };
    write_record(w, out, gpu);
    struct record process = { .kind = RECORD_ENTITY, .mono_us = 7 * US_PER_S };
    int64_t energy_uj = 1000000;
    for (int64_t i = 0; i <= 10; i++) {
        int64_t power_mw = i <= 4 ? 100000 : 600000;
        energy_uj += power_mw * 1000;
        struct obs obs[] = {
            { METRIC_POWER_INSTANT_MW, OBS_VALUE, 123456, 0 }, /* a sensor that lies */
            { METRIC_ENERGY_UJ, OBS_VALUE, energy_uj, 0 },
            { METRIC_UTIL_GPU_PERMILLE, i == 3 ? OBS_ABSENT : OBS_VALUE, i == 3 ? 0 : 1000, 0 },
        };
        struct record sample = { .kind = RECORD_SAMPLE, .mono_us = (5 + i) * US_PER_S };
        sample.u.sample = (struct sample){ .entity = 0, .n = ARRAY_SIZE(obs), .obs = obs };
        if (i == 2) {
            process.u.entity = (struct entity){ .id = 1,
                                                .kind = ENTITY_PROCESS,
                                                .parent = 0,
                                                .index = 4711,
                                                .key = STR("pid:4711@1") };
            write_record(w, out, process);
        }
        write_record(w, out, sample);
        write_record(w, out, (struct record){ .kind = RECORD_TICK, .mono_us = sample.mono_us });
    }
    write_record(w, out,
                 (struct record){ .kind = RECORD_GONE, .mono_us = 16 * US_PER_S, .u.gone = 1 });
}

static void traces_are_replayed(void)
{
    AUTO(strbuf) struct strbuf text = STRBUF_INIT;
    AUTO(sim_scenario) struct sim_scenario *s = NULL;
    struct err e = { 0 };
    write_trace(&text);
    strbuf_addz(&text, "garbage\ntorn");
    CHECK_EQ(sim_parse_trace("t", strbuf_str(&text), &s, &e), 0);
    CHECK_EQ(s->gpus_n, 1);
    CHECK_TEXT(s->gpus[0].uuid, "GPU-0123");
    CHECK_TEXT(s->gpus[0].product, "NVIDIA H100 PCIe");
    CHECK_EQ(s->driver_number, 570086);
    CHECK_EQ(sim_mean(&s->gpus[0], SIM_POWER_MW, 4 * US_PER_S, US_PER_S), 100000);
    CHECK_EQ(sim_mean(&s->gpus[0], SIM_POWER_MW, 6 * US_PER_S, US_PER_S), 600000);
    CHECK_EQ(sim_mean(&s->gpus[0], SIM_POWER_MW, 100 * US_PER_S, US_PER_S), 600000);
    CHECK_EQ(sim_mean(&s->gpus[0], SIM_UTIL_PERMILLE, 3 * US_PER_S, US_PER_S), 1000);
    CHECK_EQ(s->processes_n, 1);
    CHECK_EQ(s->processes[0].pid, 4711);
    CHECK_EQ(s->processes[0].from_us, 2 * US_PER_S);
    CHECK_EQ(s->processes[0].to_us, 11 * US_PER_S);
    struct sim_scenario *none = NULL;
    CHECK_EQ(sim_parse_trace("t", STR("hello\nworld\n"), &none, &e), -EINVAL);
    CHECK_HAS(e.text, "no GPU in it");
}

static const struct tap_case cases[] = {
    { "the integral is the sum of its parts", integral_is_the_sum_of_its_parts },
    { "the integral has no jumps", integral_has_no_jumps },
    { "instant is 25 ms in every 100 ms", instant_is_a_window },
    { "the average rises in 0.8 to 0.9 s", average_rises_in_0_8_to_0_9_s },
    { "a phase-locked load fools instant, not energy", phase_lock_fools_the_instant_reading_only },
    { "GA100 and Volta have no average", ga100_has_no_average },
    { "faults of sensors, counters and order", faults_of_sensors },
    { "power smoothing holds its floor", smoothing_holds_the_floor },
    { "mistakes are named with their place", mistakes_are_named },
    { "settings, comments, quotes", settings_and_quotes },
    { "random scenarios parse and differ", random_scenarios_parse_and_differ },
    { "native traces are replayed", traces_are_replayed },
};
TAP_MAIN(cases)
