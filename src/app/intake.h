/* SPDX-License-Identifier: Apache-2.0 */
/* Records from wherever: a trace file or the live node, behind one call. */
#ifndef WATTGATE_APP_INTAKE_H
#define WATTGATE_APP_INTAKE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "core/telemetry/record.h"

struct intake;

struct intake_options {
    const char *path;    /* a trace, "-" for stdin, or NULL: live */
    const char *format;  /* of the trace; NULL: detected */
    int64_t interval_us; /* the rest is for live intakes, see app/live.h */
    int64_t deadline_us;
    const char *sysroot;
    const char *nvml_library;
    const int32_t *pids; /* see app/live.h */
    uint32_t n_pids;
};

/* A mistake of the user's that needs no look at anything: -EINVAL and what would be right. */
int intake_check(const struct intake_options *o, struct err *err) MUST_CHECK;
int intake_open(const struct intake_options *o, struct intake **ret, struct err *err) MUST_CHECK;
/* 1 and a record, borrowed until the next call; 0 at the end or after an interrupt. */
int intake_next(struct intake *f, const struct record **ret, struct err *err) MUST_CHECK;
bool intake_is_live(const struct intake *f);
/* Live: devices may still be found, be it slowly. */
bool intake_is_opening(const struct intake *f);
/* True when SIGINT or SIGTERM ended it; both end an open intake in order. */
bool intake_interrupted(void);
/* Adds what the reader dropped or found torn as sentences to `out`; nothing when all was well. */
void intake_complaints(const struct intake *f, struct strbuf *out);
void intake_close(struct intake *f);
static inline UNUSED void intake_auto(struct intake **f)
{
    intake_close(*f);
}

#endif
