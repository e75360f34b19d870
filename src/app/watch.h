/* SPDX-License-Identifier: Apache-2.0 */
/* Use case: stand beside this job, and say when it stops making progress. Nothing is ever sent to
 * the job. */
#ifndef WATTGATE_APP_WATCH_H
#define WATTGATE_APP_WATCH_H

#include "app/intake.h"
#include "base/opt.h"
#include "jobs/discover.h"

struct watch_request {
    const struct opt_common *common;
    struct intake_options intake; /* a path: a trace that the watch recorded, replayed */
    struct job_selector job;      /* else */
    bool explain;                 /* print what was found, and end */
    int64_t for_us;               /* 0: until the job ends or an interrupt */
    const char *record;           /* also write the records to this trace, or NULL */
};

/* Exit status: 0 the job ended or was healthy when the watch ended · 1 a hang stands · 3 nothing
 * that decides can be read · 4 no such job, or the driver failed. */
int app_watch(const struct watch_request *rq);

#endif
