/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on simulated GPUs: finds the stand-in library, writes scenario and clock into a
 * private directory, and tells the program by its environment. */
#ifndef WATTGATE_APP_SIM_H
#define WATTGATE_APP_SIM_H

#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_options {
    const char *scenario; /* a built-in name, "random", or a file */
    const char *trace;    /* NULL, or a native trace that is replayed instead */
    const char *board;    /* NULL: as the scenario says */
    const char *driver;   /* NULL: as the scenario says */
    uint32_t gpus;        /* 0: as the scenario says */
    uint32_t seed;        /* 0: as the scenario says */
    const char *speed;    /* "x60", "60", "x1/2" */
    bool stepped;         /* the clock stands still until a test moves it */
    const char *log;      /* NULL, or where the stand-in writes what it was asked in vain */
};

/* Runs argv[0] with its arguments and waits. *ret_status is what the program exited with; 128 + n
 * when signal n ended it; 126 and 127 when it could not be run or was not found. */
int sim_run(const struct sim_options *options, char **argv, int *ret_status,
            struct err *err) MUST_CHECK;
/* The text of the scenario that sim_run() would use, checked. */
int sim_scenario(const struct sim_options *options, struct strbuf *out, struct err *err) MUST_CHECK;
/* Names of the built-in scenarios and what they are; keys of the boards. */
void sim_list_scenarios(struct strbuf *out);
int sim_list_boards(struct strbuf *out, struct err *err) MUST_CHECK;

#endif
