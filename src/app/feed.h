/* SPDX-License-Identifier: Apache-2.0 */
/* Records from wherever: a trace file or the live node, behind one call. */
#ifndef WATTGATE_APP_FEED_H
#define WATTGATE_APP_FEED_H

#include "base/err.h"
#include "base/strbuf.h"
#include "core/telemetry/record.h"

struct feed;

struct feed_options {
    const char *path;    /* a trace, "-" for stdin, or NULL: live */
    const char *format;  /* of the trace; NULL: detected */
    int64_t interval_us; /* the rest is for live feeds, see app/live.h */
    int64_t deadline_us;
    const char *sysroot;
    const char *nvml_library;
};

int feed_open(const struct feed_options *o, struct feed **ret, struct err *err) MUST_CHECK;
/* 1 and a record, borrowed until the next call; 0 at the end or after an interrupt. */
int feed_next(struct feed *f, const struct record **ret, struct err *err) MUST_CHECK;
bool feed_is_live(const struct feed *f);
/* True when SIGINT or SIGTERM ended the feed. Both end it in order while a feed is open. */
bool feed_interrupted(void);
/* Adds what the reader dropped or found torn as sentences to `out`; nothing when all was well. */
void feed_complaints(const struct feed *f, struct strbuf *out);
void feed_close(struct feed *f);
static inline UNUSED void feed_auto(struct feed **f)
{
    feed_close(*f);
}

#endif
