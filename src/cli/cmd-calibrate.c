/* SPDX-License-Identifier: Apache-2.0 */
#include "app/calibrate.h"
#include "base/exit.h"
#include "cli/commands.h"
#include "cli/usage.h"

struct calibrate_conf {
    struct opt_common common;
    bool show, dry_run;
    int64_t for_us, interval_us;
    const char *from, *format, *calibration, *sysroot, *nvml;
};

static const struct opt rows[] = {
    OPT(struct calibrate_conf, from, "from", 0, OPT_STRING, NULL, "TRACE",
        "learn from this recorded trace instead of this node"),
    OPT(struct calibrate_conf, format, "format", 0, OPT_STRING, NULL, "NAME",
        "read TRACE as this format instead of detecting it"),
    OPT(struct calibrate_conf, for_us, "for", 0, OPT_DURATION, "60s", "TIME",
        "live: how long to look"),
    OPT_FROM(struct calibrate_conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "100ms",
             "TIME", "live: time between two samples, 100ms or more"),
    OPT(struct calibrate_conf, show, "show", 0, OPT_FLAG, NULL, NULL,
        "print the levels that are kept and learn nothing"),
    OPT(struct calibrate_conf, dry_run, "dry-run", 'n', OPT_FLAG, NULL, NULL,
        "print what was learned and keep nothing"),
    OPT(struct calibrate_conf, calibration, "calibration", 0, OPT_STRING, NULL, "FILE",
        "keep the levels in this file"),
    OPT(struct calibrate_conf, sysroot, "sysroot", 0, OPT_STRING, NULL, "DIR",
        "live: read /proc and /sys below this directory"),
    OPT(struct calibrate_conf, nvml, "nvml-library", 0, OPT_STRING, NULL, "FILE",
        "live: the NVML library to load"),
};

static int run(const void *conf, char **args, size_t n)
{
    const struct calibrate_conf *c = conf;
    if (n)
        return usage_refuse("calibrate", "'%s' is too much; a trace goes with --from", args[0]);
    struct calibrate_request rq = {
        .common = &c->common,
        .intake = { .path = c->from,
                    .format = c->format,
                    .interval_us = c->interval_us,
                    .sysroot = c->sysroot,
                    .nvml_library = c->nvml },
        .store = c->calibration,
        .show = c->show,
        .dry_run = c->dry_run,
        .for_us = c->for_us,
    };
    int status = usage_check_intake("calibrate", &rq.intake);
    return status == EXIT_PASS ? app_calibrate(&rq) : status;
}

const struct command cmd_calibrate = {
    .name = "calibrate",
    .summary = "what are this unit's watts bare, with a context held, spinning, working?",
    .arguments = "",
    .about =
        "Learns the power levels of each GPU of this node (or of a trace) and keeps them for\n"
        "wattgate triage. A level is learned only when its state was really seen: bare idle\n"
        "only while no process owns the GPU. A kept level expires when the driver, the power\n"
        "limit or power smoothing changes.\n"
        "\n"
        "Exit status: 0 some level was learned or shown, 2 usage, 3 none was seen, 4 the input\n"
        "or the driver failed.",
    .examples = "wattgate calibrate|look at this node for a minute and keep what was seen\n"
                "wattgate calibrate --from week.wgt|learn from a recording\n"
                "wattgate calibrate --show|what is kept\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct calibrate_conf),
    .run = run,
};
