/* SPDX-License-Identifier: Apache-2.0 */
/* triage-rate SECONDS: GPU-samples a second of CPU through the triage alone, from memory: 16 GPUs
 * at 1 Hz, 7 metrics a sample. */
#include "base/parse.h"
#include "base/units.h"
#include "tables/tables.h"

#include <stdio.h>
#include <time.h>

#define GPUS 16

static int feed(struct triage *t, const struct record *r)
{
    struct err e;
    int result = triage_feed(t, r, &e);
    if (result < 0)
        fprintf(stderr, "triage-rate: %s\n", e.text);
    return result;
}

static int start(struct triage *t)
{
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .interval_us = US_PER_S };
    int result = feed(t, &r);
    for (uint32_t g = 0; g < GPUS && result == 0; g++) {
        char key[32];
        snprintf(key, sizeof(key), "GPU-%u", g);
        r = (struct record){ .kind = RECORD_ENTITY };
        r.u.entity = (struct entity){ .id = g,
                                      .kind = ENTITY_GPU,
                                      .parent = ENTITY_NONE,
                                      .index = (int32_t) g,
                                      .key = str_from(key),
                                      .name = STR("NVIDIA B300 SXM6 AC") };
        result = feed(t, &r);
    }
    return result;
}

static int second(struct triage *t, int64_t s)
{
    bool waiting = s / 60 % 20 >= 18;
    int result = 0;
    struct record r = { .mono_us = s * US_PER_S };
    for (uint32_t g = 0; g < GPUS && result == 0; g++) {
        struct obs obs[] = {
            { .metric = METRIC_POWER_INSTANT_MW,
              .value = (waiting ? 245000 : 860000) + (s * 7919 + g * 104729) % 20000 },
            { .metric = METRIC_POWER_LIMIT_MW, .value = 1100000 },
            { .metric = METRIC_UTIL_GPU_PERMILLE, .value = 1000 },
            { .metric = METRIC_UTIL_MEM_PERMILLE, .value = waiting ? 0 : 420 },
            { .metric = METRIC_CLOCK_SM_MHZ, .value = waiting ? 2032 : 1850 },
            { .metric = METRIC_MEM_USED_BYTES, .value = INT64_C(250) << 30 },
            { .metric = METRIC_PROCESS_COUNT, .value = 1 },
        };
        r.kind = RECORD_SAMPLE;
        r.u.sample = (struct sample){ g, sizeof(obs) / sizeof(obs[0]), obs };
        result = feed(t, &r);
    }
    r.kind = RECORD_TICK;
    return result == 0 ? feed(t, &r) : result;
}

int main(int argc, char **argv)
{
    struct tables tables;
    struct err e;
    uint32_t seconds = 0;
    const struct triage_sink sink = { NULL, NULL, NULL };
    if (argc != 2 || parse_u32(str_from(argv[1]), &seconds) < 0 ||
        tables_load(NULL, &tables, &e) < 0) {
        fputs("usage: triage-rate SECONDS\n", stderr);
        return 2;
    }
    struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    if (!t || start(t) < 0)
        return 1;
    clock_t before = clock();
    for (int64_t s = 1; s <= seconds; s++)
        if (second(t, s) < 0)
            return 1;
    double used = (double) (clock() - before) / CLOCKS_PER_SEC;
    printf("%.2f million GPU-samples a second of CPU\n", seconds * (double) GPUS / used / 1e6);
    triage_free(t);
    tables_done(&tables);
    return 0;
}
