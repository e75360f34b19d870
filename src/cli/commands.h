/* SPDX-License-Identifier: Apache-2.0 */
/* One file a command; this is the list that main.c walks. */
#ifndef WATTGATE_CLI_COMMANDS_H
#define WATTGATE_CLI_COMMANDS_H

#include "base/opt.h"

extern const struct command cmd_doctor, cmd_record, cmd_triage, cmd_calibrate, cmd_watch, cmd_sim;

#endif
