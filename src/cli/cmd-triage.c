/* SPDX-License-Identifier: Apache-2.0 */
#include "app/triage.h"
#include "base/exit.h"
#include "cli/commands.h"
#include "cli/usage.h"

#include <stdio.h>

struct triage_conf {
    struct opt_common common;
    bool follow, episodes, formats;
    int64_t for_us, interval_us, deadline_us;
    const char *format, *board, *record, *calibration, *sysroot, *nvml;
};

static const struct opt rows[] = {
    OPT(struct triage_conf, follow, "follow", 'f', OPT_FLAG, NULL, NULL,
        "say each change of state as it happens; live: until interrupted"),
    OPT(struct triage_conf, episodes, "episodes", 'e', OPT_FLAG, NULL, NULL,
        "list every episode with its evidence"),
    OPT(struct triage_conf, for_us, "for", 0, OPT_DURATION, "15s", "TIME",
        "live: how long to look, at least 10 samples"),
    OPT_FROM(struct triage_conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "100ms", "TIME",
             "live: time between two samples, 100ms or more"),
    OPT_FROM(struct triage_conf, deadline_us, "deadline", 0, OPT_DURATION, "3s", "100ms", "TIME",
             "live: a driver silent for longer is stuck"),
    OPT(struct triage_conf, format, "format", 0, OPT_STRING, NULL, "NAME",
        "read the traces as this format instead of detecting it"),
    OPT(struct triage_conf, formats, "formats", 0, OPT_FLAG, NULL, NULL,
        "list the trace formats that can be read"),
    OPT(struct triage_conf, board, "board", 0, OPT_STRING, NULL, "NAME",
        "the product to assume where the input names none, such as H200"),
    OPT(struct triage_conf, record, "record", 0, OPT_STRING, NULL, "FILE",
        "also keep the telemetry in this trace"),
    OPT(struct triage_conf, calibration, "calibration", 0, OPT_STRING, NULL, "FILE",
        "levels kept by wattgate calibrate"),
    OPT(struct triage_conf, sysroot, "sysroot", 0, OPT_STRING, NULL, "DIR",
        "live: read /proc and /sys below this directory"),
    OPT(struct triage_conf, nvml, "nvml-library", 0, OPT_STRING, NULL, "FILE",
        "live: the NVML library to load"),
};

static struct triage_request request(const struct triage_conf *c, const char *path)
{
    return (struct triage_request){
        .common = &c->common,
        .intake = { .path = path,
                    .format = c->format,
                    .interval_us = c->interval_us,
                    .deadline_us = c->deadline_us,
                    .sysroot = c->sysroot,
                    .nvml_library = c->nvml },
        .follow = c->follow,
        .episodes = c->episodes,
        .for_us = c->for_us,
        .board = c->board,
        .record = c->record,
        .calibration = c->calibration,
    };
}

/* Of several traces: the environment's failure first, then a hang, then what is undecided. */
static int worse(int a, int b)
{
    static const int order[] = { EXIT_PASS, EXIT_UNDECIDED, EXIT_REJECT, EXIT_ENVIRONMENT };
    int rank_a = 0, rank_b = 0;
    for (int i = 0; i < (int) ARRAY_SIZE(order); i++) {
        rank_a = order[i] == a ? i : rank_a;
        rank_b = order[i] == b ? i : rank_b;
    }
    return rank_a > rank_b ? a : b;
}

static int list_formats(void)
{
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    app_list_formats(&out);
    fputs(strbuf_text(&out), stdout);
    return EXIT_PASS;
}

static int run(const void *conf, char **args, size_t n)
{
    const struct triage_conf *c = conf;
    if (c->formats)
        return list_formats();
    struct triage_request live = request(c, NULL);
    int status = usage_check_intake("triage", &live.intake);
    if (status != EXIT_PASS)
        return status;
    if (n > 1 && c->record)
        return usage_refuse("triage", "--record goes with one TRACE");
    if (!n)
        return app_triage(&live);
    for (size_t i = 0; i < n; i++) {
        struct triage_request rq = request(c, args[i]);
        if (n > 1 && !c->common.json)
            printf("%s%s\n", i ? "\n" : "", args[i]);
        status = worse(status, app_triage(&rq));
    }
    return status;
}

const struct command cmd_triage = {
    .name = "triage",
    .summary = "what are (live) or were (trace) these GPUs doing, second by second?",
    .arguments = "[TRACE...]",
    .about =
        "Tells compute, communication, starvation, checkpoint or deadlock, held and idle GPUs\n"
        "apart by board watts and the signals that split what watts cannot. Without TRACE it\n"
        "looks at this node. A TRACE is a file or - in any format of --formats.\n"
        "\n"
        "Exit status: 0 done, 1 a device ends in deadlock or is lost, 2 usage, 3 nothing could\n"
        "be named, 4 the input or the driver failed.",
    .examples = "wattgate triage|look at this node for 15 s, then say what its GPUs do\n"
                "wattgate triage --follow --json|watch on, one JSON object a line\n"
                "nvidia-smi -q -x | wattgate triage -|one moment, from what you already have\n"
                "wattgate triage gpu-power.csv|the states of a recorded nvidia-smi CSV\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct triage_conf),
    .run = run,
};
