/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor.h"
#include "base/exit.h"
#include "cli/commands.h"

#include <stdio.h>

struct doctor_conf {
    struct opt_common common;
    int64_t deadline_us;
    const char *sysroot, *nvml;
};

static const struct opt rows[] = {
    OPT(struct doctor_conf, deadline_us, "deadline", 0, OPT_DURATION, "5s", "TIME",
        "how long a driver may take to answer"),
    OPT(struct doctor_conf, sysroot, "sysroot", 0, OPT_STRING, "/", "DIR",
        "read /proc and /sys below this directory"),
    OPT(struct doctor_conf, nvml, "nvml-library", 0, OPT_STRING, NULL, "FILE",
        "the NVML library to load"),
};

static int run(const void *conf, char **args, size_t n)
{
    const struct doctor_conf *c = conf;
    if (n) {
        fprintf(stderr, "wattgate doctor: '%s' is too much; there are no arguments\n", args[0]);
        return EXIT_USAGE;
    }
    struct doctor_request rq = {
        .common = &c->common,
        .sysroot = c->sysroot,
        .nvml_library = c->nvml,
        .deadline_us = c->deadline_us,
    };
    return app_doctor(&rq);
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "what can I measure on this machine, what not, why, and what would fix it?",
    .arguments = "",
    .about = "Tries every source of telemetry and every privilege that a later rung of watching\n"
             "needs. Changes nothing, sends no signal. A driver that hangs is left alone.\n"
             "\n"
             "Exit status: 0 the watts of some device can be read, 2 usage, 3 of none, 4 the\n"
             "environment failed.",
    .examples = "wattgate doctor|one line a capability: yes, partly or no, why, and the remedy\n"
                "wattgate doctor --json|the same as JSON lines\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct doctor_conf),
    .run = run,
};
