/* SPDX-License-Identifier: Apache-2.0 */
/* Use case: what are this unit's watts bare, with a context held, spinning, working? */
#ifndef WATTGATE_APP_CALIBRATE_H
#define WATTGATE_APP_CALIBRATE_H

#include "app/intake.h"
#include "base/opt.h"

struct calibrate_request {
    const struct opt_common *common;
    struct intake_options intake;
    const char *store; /* file of kept levels, or NULL: the default one */
    bool show;         /* print what is kept and learn nothing */
    bool dry_run;      /* learn, print, keep nothing */
    int64_t for_us;    /* live: how long to look */
};

/* Exit status: 0 some level was learned (or shown) · 3 none was seen · 4. */
int app_calibrate(const struct calibrate_request *rq);

#endif
