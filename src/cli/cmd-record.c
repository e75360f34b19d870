/* SPDX-License-Identifier: Apache-2.0 */
#include "app/record.h"
#include "base/exit.h"
#include "cli/commands.h"
#include "cli/usage.h"

#define MAX_SIZE_LEAST (64 << 10) /* less would rotate at every other round of a large node */

struct record_conf {
    struct opt_common common;
    bool zstd, truncate;
    uint32_t output_format, keep;
    int64_t for_us, interval_us, deadline_us, max_bytes;
    const char *from, *format, *sysroot, *nvml;
};

static const struct opt rows[] = {
    OPT(struct record_conf, for_us, "for", 0, OPT_DURATION, "0s", "TIME",
        "stop after this time; 0s: when interrupted"),
    OPT_FROM(struct record_conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "100ms", "TIME",
             "time between two samples, 100ms or more"),
    OPT_FROM(struct record_conf, deadline_us, "deadline", 0, OPT_DURATION, "3s", "100ms", "TIME",
             "a driver silent for longer is stuck"),
    OPT(struct record_conf, output_format, "output-format", 0, OPT_CHOICE, "native",
        "native|csv|jsonl", "what to write; only native replays exactly"),
    OPT(struct record_conf, max_bytes, "max-size", 0, OPT_SIZE, "1GiB", "SIZE",
        "of all files together; the oldest goes first; 0B: no bound"),
    OPT_FROM(struct record_conf, keep, "keep", 0, OPT_U32, "4", "1", "N",
             "files when rotating: FILE, FILE.1 ... FILE.N-1"),
    OPT(struct record_conf, zstd, "zstd", 'z', OPT_FLAG, NULL, NULL,
        "compress; still readable after a crash"),
    OPT(struct record_conf, truncate, "truncate", 0, OPT_FLAG, NULL, NULL,
        "start FILE anew instead of going on with it (or, with --from, refusing it)"),
    OPT(struct record_conf, from, "from", 0, OPT_STRING, NULL, "TRACE",
        "rewrite this trace instead of recording this node"),
    OPT(struct record_conf, format, "format", 0, OPT_STRING, NULL, "NAME",
        "read TRACE as this format instead of detecting it"),
    OPT(struct record_conf, sysroot, "sysroot", 0, OPT_STRING, NULL, "DIR",
        "read /proc and /sys below this directory"),
    OPT(struct record_conf, nvml, "nvml-library", 0, OPT_STRING, NULL, "FILE",
        "the NVML library to load"),
};

static int run(const void *conf, char **args, size_t n)
{
    const struct record_conf *c = conf;
    if (n != 1)
        return usage_refuse("record", "name one FILE to write, or - for standard output");
    if (c->max_bytes && c->max_bytes < MAX_SIZE_LEAST)
        return usage_refuse("record", "--max-size: 64KiB or more, or 0B for no bound");
    if (c->zstd && c->output_format != RECORD_FORM_NATIVE)
        return usage_refuse("record", "--zstd goes with --output-format native only");
    struct record_request rq = {
        .common = &c->common,
        .intake = { .path = c->from,
                    .format = c->format,
                    .interval_us = c->interval_us,
                    .deadline_us = c->deadline_us,
                    .sysroot = c->sysroot,
                    .nvml_library = c->nvml },
        .output = args[0],
        .form = c->output_format,
        .zstd = c->zstd,
        .truncate = c->truncate,
        .max_bytes = c->from ? 0 : c->max_bytes,
        .keep = c->keep,
        .for_us = c->for_us,
    };
    int status = usage_check_intake("record", &rq.intake);
    return status == EXIT_PASS ? app_record(&rq) : status;
}

const struct command cmd_record = {
    .name = "record",
    .summary = "keep the telemetry of this node in a trace file",
    .arguments = "FILE",
    .about =
        "Samples every GPU of this node (and what the host tells about their processes, disks\n"
        "and links) and writes it to FILE, flushed at every sample. A FILE that is there is\n"
        "gone on with. SIGKILL loses at most the last line.\n"
        "\n"
        "Exit status: 0 done, 2 usage, 4 the driver or the file failed.",
    .examples = "wattgate record node.wgt|record at 1 Hz until Ctrl-C, at most 1 GiB\n"
                "wattgate record --zstd --for 1h node.wgt.zst|one hour, compressed\n"
                "wattgate record --from node.wgt --output-format csv node.csv|a table for people\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct record_conf),
    .run = run,
};
