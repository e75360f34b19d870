/* SPDX-License-Identifier: Apache-2.0 */
/* Use case: keep the telemetry of this node in a trace file (or rewrite a trace in another form).
 */
#ifndef WATTGATE_APP_RECORD_H
#define WATTGATE_APP_RECORD_H

#include "app/intake.h"
#include "base/opt.h"

/* In the order of the words of --output-format. */
enum record_form { RECORD_FORM_NATIVE, RECORD_FORM_CSV, RECORD_FORM_JSONL };

struct record_request {
    const struct opt_common *common;
    struct intake_options intake;
    const char *output; /* path or "-" */
    uint32_t form;      /* enum record_form */
    bool zstd;
    bool truncate;     /* start anew instead of going on with the file */
    int64_t max_bytes; /* of all files together; 0 no bound */
    uint32_t keep;     /* files when rotating */
    int64_t for_us;    /* 0: until interrupted */
};

int app_record(const struct record_request *rq);

#endif
