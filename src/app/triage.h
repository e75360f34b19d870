/* SPDX-License-Identifier: Apache-2.0 */
/* Use case: what are (live) or were (trace) these GPUs doing? */
#ifndef WATTGATE_APP_TRIAGE_H
#define WATTGATE_APP_TRIAGE_H

#include "app/intake.h"
#include "base/opt.h"

struct triage_request {
    const struct opt_common *common;
    struct intake_options intake;
    bool follow;        /* say each change of state as it happens; live: go on until interrupted */
    bool episodes;      /* list them below the picture */
    int64_t for_us;     /* live: how long to look */
    const char *board;  /* product to assume where the input names none, or NULL */
    const char *record; /* also write the records to this trace, or NULL */
    const char *calibration; /* file of kept levels, or NULL: the default one */
};

/* Exit status: 0 done · 1 a device ends in deadlock or is lost · 3 nothing could be named · 4. */
int app_triage(const struct triage_request *rq);
/* One line a trace format: name and help. */
void app_list_formats(struct strbuf *out);

#endif
