/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch.h"
#include "base/exit.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/usage.h"

struct watch_conf {
    struct opt_common common;
    bool explain;
    uint32_t pid;
    int64_t for_us, interval_us, deadline_us;
    const char *cmd, *slurm, *cgroup, *from, *record, *sysroot, *nvml;
};

static const struct opt rows[] = {
    OPT(struct watch_conf, pid, "pid", 'p', OPT_U32, NULL, "PID",
        "the job is this process (torchrun, mpirun, ...) and its descendants"),
    OPT(struct watch_conf, cmd, "cmd", 'c', OPT_STRING, NULL, "TEXT",
        "the job is every process whose command line holds this, and their descendants"),
    OPT(struct watch_conf, slurm, "slurm-job", 'j', OPT_STRING, NULL, "ID",
        "the job is what this Slurm job runs on this node"),
    OPT(struct watch_conf, cgroup, "cgroup", 0, OPT_STRING, NULL, "PATH",
        "the job is what is in the control group whose path ends so"),
    OPT(struct watch_conf, from, "from", 0, OPT_STRING, NULL, "TRACE",
        "the job of a trace that watch --record kept: the same verdicts again"),
    OPT(struct watch_conf, explain, "explain", 'x', OPT_FLAG, NULL, NULL,
        "print what was found of the job, what was not, and end"),
    OPT(struct watch_conf, for_us, "for", 0, OPT_DURATION, "0s", "TIME",
        "end after this time; 0s: when the job ends, or when interrupted"),
    OPT_FROM(struct watch_conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "100ms", "TIME",
             "time between two samples, 100ms or more"),
    OPT_FROM(struct watch_conf, deadline_us, "deadline", 0, OPT_DURATION, "3s", "100ms", "TIME",
             "a driver silent for longer is stuck"),
    OPT(struct watch_conf, record, "record", 0, OPT_STRING, NULL, "FILE",
        "also keep the telemetry in this trace"),
    OPT(struct watch_conf, sysroot, "sysroot", 0, OPT_STRING, NULL, "DIR",
        "read /proc and /sys below this directory"),
    OPT(struct watch_conf, nvml, "nvml-library", 0, OPT_STRING, NULL, "FILE",
        "the NVML library to load"),
};

static int run(const void *conf, char **args, size_t n)
{
    const struct watch_conf *c = conf;
    if (n)
        return usage_refuse("watch",
                            "'%s' is too much; say --pid, --cmd, --slurm-job, --cgroup or --from",
                            args[0]);
    if (!!c->pid + !!c->cmd + !!c->slurm + !!c->cgroup + !!c->from != 1)
        return usage_refuse("watch",
                            "say which job: one of --pid, --cmd, --slurm-job, --cgroup, --from");
    if (c->pid > INT32_MAX || (c->cmd && !*c->cmd) || (c->cgroup && !*c->cgroup))
        return usage_refuse("watch", "that can be no job");
    struct watch_request rq = {
        .common = &c->common,
        .intake = { .path = c->from,
                    .interval_us = c->interval_us,
                    .deadline_us = c->deadline_us,
                    .sysroot = c->sysroot,
                    .nvml_library = c->nvml },
        .job = { .pid = (int32_t) c->pid,
                 .command = c->cmd,
                 .slurm = c->slurm,
                 .cgroup = c->cgroup },
        .explain = c->explain,
        .for_us = c->for_us,
        .record = c->record,
    };
    return app_watch(&rq);
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "stand beside this job; tell me when it stops making progress",
    .arguments = "",
    .about =
        "Finds the ranks of a running job by the environment of its processes (torchrun, srun,\n"
        "mpirun), and their GPUs by the driver's process list. Then it says, a line a change,\n"
        "whether the job makes progress by watts, memory and link traffic, processes and what\n"
        "they write; and when nothing moves any more: since when, in which way, and through\n"
        "whom. It only looks: nothing is ever sent to the job.\n"
        "\n"
        "Exit status: 0 the job ended or was healthy at the end, 1 a hang stands, 2 usage,\n"
        "3 nothing that decides can be read, 4 no such job, or the driver failed.",
    .examples =
        "wattgate watch --pid 4242|the job that this torchrun started\n"
        "wattgate watch --cmd train.py --explain|what is found of it, and what is not\n"
        "wattgate watch --slurm-job $SLURM_JOB_ID --json|beside a Slurm job, for programs\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct watch_conf),
    .run = run,
};
