/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points that read and write: every trace format, the writers, the tables, kept levels, the
 * sources over captured trees, and a triage from end to end. */
#include "app/calibration.h"
#include "fault.h"
#include "source/amdgpu/amdgpu.h"
#include "source/host/host.h"
#include "tables/tables.h"
#include "tap.h"
#include "trace/trace.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[64];

static const char *in_scratch(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    return path;
}

/* ---- traces in ---- */

static int read_all(const char *path, const char *format, struct err *err)
{
    struct trace *t;
    const struct record *r;
    char whole[600];
    snprintf(whole, sizeof(whole), "%s", path[0] == '/' ? path : tap_source_path(path));
    int result = trace_open(whole, format, &t, err);
    if (result < 0)
        return result;
    while ((result = trace_next(t, &r, err)) > 0)
        continue;
    trace_close(t);
    return result;
}

#define READER(name, format, file)                                                                 \
    static int run_##name(struct err *err)                                                         \
    {                                                                                              \
        return read_all("tests/fuzz/corpus/" file, format, err);                                   \
    }                                                                                              \
    static const struct fault_entry name##_entry = { #name,                                        \
                                                     FAULT_MEMORY | FAULT_READ | FAULT_OPEN,       \
                                                     run_##name };
READER(csv, "csv", "trace-csv/one")
READER(dcgm, "dcgm", "trace-dcgm/one")
READER(dmon, "dmon", "trace-dmon/one")
READER(jsonl, "jsonl", "trace-jsonl/one")
READER(mlperf, "mlperf-power", "trace-mlperf/one")
READER(native, "native", "trace-native/one")
READER(prometheus, "prometheus", "trace-prometheus/one")
READER(rocm, "rocm-json", "trace-rocm/one")
READER(amd_smi, "rocm-json", "trace-rocm/amd")
READER(table, "nvidia-smi-table", "trace-table/one")
READER(xml, "nvidia-smi-xml", "trace-xml/one")

/* ---- traces out ---- */

static int write_some(struct trace_writer *w, struct err *err)
{
    const struct obs obs[] = { { METRIC_POWER_INSTANT_MW, OBS_VALUE, 312000, 0 } };
    struct record header = { .kind = RECORD_HEADER };
    header.u.header = (struct stream_header){ .clock = CLOCK_STEADY, .host = STR("node") };
    struct record entity = { .kind = RECORD_ENTITY };
    entity.u.entity =
        (struct entity){ .kind = ENTITY_GPU, .parent = ENTITY_NONE, .key = STR("GPU-1") };
    int r = trace_writer_add(w, &header, err);
    if (r == 0)
        r = trace_writer_add(w, &entity, err);
    for (int64_t s = 1; r == 0 && s <= 40; s++) {
        struct record sample = { .kind = RECORD_SAMPLE, .mono_us = s * 1000000 };
        sample.u.sample = (struct sample){ 0, ARRAY_SIZE(obs), obs };
        struct record tick = { .kind = RECORD_TICK, .mono_us = s * 1000000 };
        r = trace_writer_add(w, &sample, err);
        if (r == 0)
            r = trace_writer_add(w, &tick, err);
    }
    return r;
}

static int write_trace(const char *name, const struct trace_writer_options *o, struct err *err)
{
    struct trace_writer *w;
    struct err close_error = { 0 };
    int r = trace_writer_open(in_scratch(name), o, &w, err);
    if (r < 0)
        return r;
    r = write_some(w, err);
    int closed = trace_writer_close(w, &close_error);
    if (r == 0 && closed < 0)
        *err = close_error;
    return r < 0 ? r : closed;
}

#define WRITER(name, ...)                                                                          \
    static int run_##name(struct err *err)                                                         \
    {                                                                                              \
        const struct trace_writer_options options = { __VA_ARGS__ };                               \
        return write_trace(#name, &options, err);                                                  \
    }                                                                                              \
    static const struct fault_entry name##_entry = { #name,                                        \
                                                     FAULT_MEMORY | FAULT_WRITE | FAULT_OPEN,      \
                                                     run_##name };
WRITER(write_native, .output = OUTPUT_NATIVE)
WRITER(write_packed, .output = OUTPUT_NATIVE, .zstd = true)
WRITER(write_rotated, .output = OUTPUT_NATIVE, .max_bytes = 1000, .keep = 3)
WRITER(write_resumed, .output = OUTPUT_NATIVE, .start = WRITER_RESUME)
WRITER(write_csv, .output = OUTPUT_CSV)
WRITER(write_jsonl, .output = OUTPUT_JSONL)

/* Whatever failed, what was written can be read: nothing but a torn end is missing. */
static void written_reads_back(void)
{
    static const char *const names[] = { "write_native", "write_rotated", "write_resumed" };
    const struct fault_entry *const entries[] = { &write_native_entry, &write_rotated_entry,
                                                  &write_resumed_entry };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct err e = { 0 };
        fault_sweep(entries[i]);
        CHECK_EQ(read_all(in_scratch(names[i]), "native", &e), 0);
        CHECK_TEXT(e.text, "");
    }
}

/* ---- tables and levels ---- */

static int run_tables(struct err *err)
{
    AUTO(tables) struct tables t = { 0 };
    int r = tables_load(NULL, &t, err);
    return r < 0 ? r : t.boards.n > 10 ? 0 : FAULT_WRONG;
}

static int run_levels(struct err *err)
{
    AUTO(calibration_store) struct calibration_store s = { 0 }, back = { 0 };
    const struct calibration_entry e = {
        .key = "GPU-1", .limit_mw = 700000, .smoothing = -1, .anchor_mw = { 70000, -1, -1, 500000 }
    };
    int r = calibration_put(&s, &e);
    if (r < 0)
        return err_set(err, r, "out of memory");
    r = calibration_save(in_scratch("levels.json"), &s, err);
    if (r == 0)
        r = calibration_load(in_scratch("levels.json"), &back, err);
    return r < 0 ? r : back.n == 1 ? 0 : FAULT_WRONG;
}

/* ---- sources ---- */

static int run_source(const struct source_ops *ops, const char *tree, struct err *err)
{
    char root[600];
    snprintf(root, sizeof(root), "%s", tap_source_path(tree));
    const struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    struct record_queue *q = record_queue_new();
    struct source *src = NULL;
    int r = q ? ops->open(&env, &src, err) : err_set(err, -ENOMEM, "out of memory");
    for (int64_t s = 1; r == 0 && s <= 3; s++)
        r = ops->poll(src, s * 60000000, q, err);
    ops->close(src);
    record_queue_free(q);
    return r;
}

static int run_amdgpu(struct err *err)
{
    return run_source(&amdgpu_source, "tests/sysroots/mi300x-8", err);
}

static int run_host(struct err *err)
{
    return run_source(&host_source, "tests/sysroots/node-nfs-ib", err);
}

/* ---- a triage from end to end ---- */

static int feed_all(struct triage *t, struct trace *in, struct err *err)
{
    const struct record *r;
    int result;
    while ((result = trace_next(in, &r, err)) > 0)
        if ((result = triage_feed(t, r, err)) < 0)
            return result;
    return result < 0 ? result : triage_finish(t, err);
}

static int run_triage(struct err *err)
{
    AUTO(tables) struct tables tables = { 0 };
    AUTO(trace) struct trace *in = NULL;
    const struct triage_sink sink = { NULL, NULL, NULL };
    char path[600];
    snprintf(path, sizeof(path), "%s", tap_source_path("tests/fuzz/corpus/trace-csv/one"));
    int r = tables_load(NULL, &tables, err);
    if (r == 0)
        r = trace_open(path, NULL, &in, err);
    if (r < 0)
        return r;
    AUTO(triage) struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    return t ? feed_all(t, in, err) : err_set(err, -ENOMEM, "out of memory");
}

#define ENTRY(name, set) static const struct fault_entry name##_entry = { #name, set, run_##name };
ENTRY(tables, FAULT_MEMORY)
ENTRY(levels, FAULT_MEMORY | FAULT_READ | FAULT_WRITE | FAULT_OPEN | FAULT_FOREIGN_BLOCKS)
/* A file that cannot be read is a reading that is missing, not a failure of the source. */
ENTRY(amdgpu, FAULT_MEMORY | FAULT_READ | FAULT_OPEN | FAULT_MAY_SURVIVE)
ENTRY(host, FAULT_MEMORY | FAULT_READ | FAULT_OPEN | FAULT_MAY_SURVIVE)
ENTRY(triage, FAULT_MEMORY | FAULT_READ | FAULT_OPEN)

#define CASES(row)                                                                                 \
    row(csv) row(dcgm) row(dmon) row(jsonl) row(mlperf) row(native) row(prometheus) row(rocm)      \
        row(amd_smi) row(table) row(xml) row(write_packed) row(write_csv) row(write_jsonl)         \
            row(tables) row(levels) row(amdgpu) row(host) row(triage)

#define CASE_FUNCTION(name)                                                                        \
    static void name##_case(void)                                                                  \
    {                                                                                              \
        fault_sweep(&name##_entry);                                                                \
    }
CASES(CASE_FUNCTION)

#define CASE_ROW(name) { #name, name##_case },
static const struct tap_case cases[] = {
    CASES(CASE_ROW){ "what was written before a fault reads back", written_reads_back },
};

int main(void)
{
    snprintf(scratch, sizeof(scratch), "/tmp/wattgate-fault-XXXXXX");
    if (!mkdtemp(scratch))
        return 1;
    int status = tap_run(cases, ARRAY_SIZE(cases));
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
    return system(command) == 0 ? status : 1;
}
