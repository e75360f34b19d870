/* SPDX-License-Identifier: Apache-2.0 */
/* Use case: what can be measured on this machine, what not, why, and what would fix it? */
#ifndef WATTGATE_APP_DOCTOR_H
#define WATTGATE_APP_DOCTOR_H

#include "base/opt.h"

struct doctor_request {
    const struct opt_common *common;
    const char *sysroot;
    const char *nvml_library; /* NULL: the loader's search */
    int64_t deadline_us;      /* for each source: its driver may hang */
};

/* Exit status: 0 some device's watts can be read · 3 none · 4. */
int app_doctor(const struct doctor_request *rq);

#endif
