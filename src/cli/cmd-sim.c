/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sim.h"
#include "base/exit.h"
#include "base/opt.h"

#include <errno.h>
#include <stdio.h>

struct sim_conf {
    struct opt_common common;
    struct sim_options sim;
    bool list, boards, print;
};

static const struct opt rows[] = {
    OPT(struct sim_conf, sim.scenario, "scenario", 's', OPT_STRING, "healthy-8gpu", "NAME|FILE",
        "what the GPUs do: a built-in name, random, or a file"),
    OPT(struct sim_conf, sim.trace, "trace", 't', OPT_STRING, NULL, "FILE",
        "replay a native trace instead"),
    OPT(struct sim_conf, sim.gpus, "gpus", 'n', OPT_U32, NULL, "N", "number of GPUs, 1 to 72"),
    OPT(struct sim_conf, sim.board, "board", 'b', OPT_STRING, NULL, "NAME",
        "board of all GPUs, see --boards"),
    OPT(struct sim_conf, sim.driver, "driver", 0, OPT_STRING, NULL, "VERSION",
        "driver whose functions and field ids are played"),
    OPT(struct sim_conf, sim.speed, "speed", 'x', OPT_STRING, "x1", "xN",
        "virtual seconds in a real one"),
    OPT(struct sim_conf, sim.stepped, "stepped", 0, OPT_FLAG, NULL, NULL,
        "the clock stands still until a test moves it"),
    OPT(struct sim_conf, sim.seed, "seed", 0, OPT_U32, NULL, "N",
        "units differ by this; the whole scenario, if it is random"),
    OPT(struct sim_conf, sim.log, "log", 0, OPT_STRING, NULL, "FILE",
        "append calls that the simulation does not model"),
    OPT(struct sim_conf, list, "list", 'l', OPT_FLAG, NULL, NULL, "list the built-in scenarios"),
    OPT(struct sim_conf, boards, "boards", 0, OPT_FLAG, NULL, NULL, "list the boards"),
    OPT(struct sim_conf, print, "print", 'p', OPT_FLAG, NULL, NULL,
        "print the scenario instead of running a program"),
};

static int fail(const struct err *e)
{
    fprintf(stderr, "wattgate sim: %s\n", e->text);
    return e->code == -EINVAL ? EXIT_USAGE : EXIT_ENVIRONMENT;
}

static int print(const struct sim_conf *conf)
{
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    struct err e = { 0 };
    int r = 0;
    if (conf->list)
        sim_list_scenarios(&out);
    else if (conf->boards)
        r = sim_list_boards(&out, &e);
    else
        r = sim_scenario(&conf->sim, &out, &e);
    if (r < 0)
        return fail(&e);
    fputs(strbuf_text(&out), stdout);
    return EXIT_PASS;
}

static int run(const void *arg, char **args, size_t n)
{
    const struct sim_conf *conf = arg;
    struct err e = { 0 };
    int status = EXIT_PASS;
    if (conf->list || conf->boards || conf->print)
        return print(conf);
    if (n == 0) {
        (void) err_set(&e, -EINVAL,
                       "give a program to run: wattgate sim [options] -- CMD [ARG...]");
        return fail(&e);
    }
    return sim_run(&conf->sim, args, &status, &e) < 0 ? fail(&e) : status;
}

const struct command cmd_sim;
const struct command cmd_sim = {
    .name = "sim",
    .summary = "Run any NVML program against simulated GPUs.",
    .arguments = "-- CMD [ARG...]",
    .about = "Runs CMD with a stand-in for the NVIDIA management library, so that this\n"
             "machine seems to have GPUs that do what a scenario or a recorded trace says.\n"
             "Programs need no change; wattgate itself follows the virtual clock. The exit\n"
             "status is that of CMD. Nothing of the machine is changed.",
    .examples = "wattgate sim -s hang-8gpu -- wattgate triage|name the state of a hung node\n"
                "wattgate sim -x x60 -- wattgate triage --follow|an hour in a minute\n"
                "wattgate sim -s nvl72 -- nvitop -1|show 72 GPUs to another program\n"
                "wattgate sim -s random --seed 7 --print|see what a seed draws\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct sim_conf),
    .run = run,
};
