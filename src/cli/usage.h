/* SPDX-License-Identifier: Apache-2.0 */
/* How a command refuses what the user asked for. */
#ifndef WATTGATE_CLI_USAGE_H
#define WATTGATE_CLI_USAGE_H

#include "app/intake.h"

/* Prints "wattgate COMMAND: ..." on stderr and gives EXIT_USAGE. */
int usage_refuse(const char *command, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* EXIT_PASS, or what usage_refuse() gives when the intake cannot be meant so. */
int usage_check_intake(const char *command, const struct intake_options *o);

#endif
