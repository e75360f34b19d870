/* SPDX-License-Identifier: Apache-2.0 */
/* gen-trace FILE GPUS SECONDS: a native trace at 1 Hz of GPUs that compute, wait and checkpoint;
 * synthetic, deterministic, for measuring only. */
#include "base/parse.h"
#include "base/units.h"
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void add(struct trace_writer *w, const struct record *r)
{
    struct err e;
    if (trace_writer_add(w, r, &e) < 0) {
        fprintf(stderr, "gen-trace: %s\n", e.text);
        exit(1);
    }
}

static void add_start(struct trace_writer *w, uint32_t gpus)
{
    struct record header = { .kind = RECORD_HEADER };
    header.u.header = (struct stream_header){ .clock = CLOCK_STEADY,
                                              .tool = STR("gen-trace"),
                                              .host = STR("bench"),
                                              .boot_id = STR("bench"),
                                              .wall_offset_us = INT64_C(1700000000000000),
                                              .interval_us = US_PER_S };
    add(w, &header);
    for (uint32_t g = 0; g < gpus; g++) {
        char key[64];
        snprintf(key, sizeof(key), "GPU-00000000-0000-0000-0000-%012u", g);
        struct record r = { .kind = RECORD_ENTITY };
        r.u.entity = (struct entity){ .id = g,
                                      .kind = ENTITY_GPU,
                                      .parent = ENTITY_NONE,
                                      .index = (int32_t) g,
                                      .key = str_from(key),
                                      .name = STR("NVIDIA B300 SXM6 AC"),
                                      .driver = STR("580.95.05") };
        add(w, &r);
    }
}

static void add_sample(struct trace_writer *w, uint32_t gpu, int64_t t_us, uint32_t *rng)
{
    int64_t minute = t_us / (60 * US_PER_S) % 20;
    bool waiting = minute == 18 || minute == 19;
    int64_t noise = random_next(rng) % 20000;
    struct obs obs[] = {
        { .metric = METRIC_POWER_INSTANT_MW,
          .value = (waiting ? 245000 : 860000) + noise + gpu * 1500 },
        { .metric = METRIC_POWER_LIMIT_MW, .value = 1100000 },
        { .metric = METRIC_UTIL_GPU_PERMILLE, .value = 1000 },
        { .metric = METRIC_UTIL_MEM_PERMILLE, .value = waiting ? 0 : 420 },
        { .metric = METRIC_CLOCK_SM_MHZ, .value = waiting ? 2032 : 1850 },
        { .metric = METRIC_MEM_USED_BYTES, .value = INT64_C(250) << 30 },
        { .metric = METRIC_PROCESS_COUNT, .value = 1 },
    };
    struct record r = { .kind = RECORD_SAMPLE, .mono_us = t_us };
    r.u.sample = (struct sample){ gpu, (uint32_t) (sizeof(obs) / sizeof(obs[0])), obs };
    add(w, &r);
}

int main(int argc, char **argv)
{
    uint32_t gpus, seconds, rng = 1;
    struct err e;
    struct trace_writer *w;
    const struct trace_writer_options options = { .output = OUTPUT_NATIVE };
    if (argc != 4 || parse_u32(str_from(argv[2]), &gpus) < 0 ||
        parse_u32(str_from(argv[3]), &seconds) < 0) {
        fputs("usage: gen-trace FILE GPUS SECONDS\n", stderr);
        return 2;
    }
    if (trace_writer_open(argv[1], &options, &w, &e) < 0) {
        fprintf(stderr, "gen-trace: %s\n", e.text);
        return 1;
    }
    add_start(w, gpus);
    for (uint32_t s = 1; s <= seconds; s++) {
        for (uint32_t g = 0; g < gpus; g++)
            add_sample(w, g, s * US_PER_S, &rng);
        struct record tick = { .kind = RECORD_TICK, .mono_us = s * US_PER_S };
        add(w, &tick);
    }
    return trace_writer_close(w, &e) < 0;
}
