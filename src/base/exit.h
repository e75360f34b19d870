/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses of every command; wattgate(1) documents them. */
#ifndef WATTGATE_BASE_EXIT_H
#define WATTGATE_BASE_EXIT_H

enum exit_status {
    EXIT_PASS = 0,        /* pass, healthy, or done */
    EXIT_REJECT = 1,      /* reject, hang, or different */
    EXIT_USAGE = 2,       /* the command line is wrong */
    EXIT_UNDECIDED = 3,   /* could not be decided from what was readable */
    EXIT_ENVIRONMENT = 4, /* the environment failed: file, driver, memory */
};

#endif
