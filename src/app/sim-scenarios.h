/* SPDX-License-Identifier: Apache-2.0 */
/* The scenarios of examples/scenarios, built in. */
#ifndef WATTGATE_APP_SIM_SCENARIOS_H
#define WATTGATE_APP_SIM_SCENARIOS_H

#include <stddef.h>

struct builtin_scenario {
    const char *name;
    const char *text; /* its first line is a comment that says what it is */
};

extern const struct builtin_scenario builtin_scenarios[];
extern const size_t builtin_scenarios_n;

#endif
