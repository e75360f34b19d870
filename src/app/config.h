/* SPDX-License-Identifier: Apache-2.0 */
/* The --config FILE of every command: a YAML mapping of long option names to values. */
#ifndef WATTGATE_APP_CONFIG_H
#define WATTGATE_APP_CONFIG_H

#include "base/opt.h"

/* Sets the rows of the command (and the common ones) that the file names. A name may stand at the
 * top, for every command, or below the command's own name. A sequence gives a list option several
 * values. Errors name file and line. The strings live until config_done(). */
int config_apply(const char *path, const struct command *cmd, void *conf,
                 struct err *err) MUST_CHECK;
void config_done(void);

#endif
