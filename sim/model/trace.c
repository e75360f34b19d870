/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded native trace as a scenario. */
#include "sim/model/model.h"

#include <errno.h>

int sim_parse_trace(const char *name, struct str text, struct sim_scenario **ret, struct err *err)
{
    (void) text;
    (void) ret;
    return err_set(err, -ENOSYS, "%s: traces cannot be replayed yet", name);
}
