/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded telemetry in: one interface over many file formats. */
#ifndef WATTGATE_TRACE_TRACE_H
#define WATTGATE_TRACE_TRACE_H

#include "base/err.h"
#include "core/telemetry/record.h"

struct trace;
struct trace_input; /* bytes: file, pipe, decompressed; see trace/input.h */

/* What a reader kept and what it could not use. Printed at the end, never silent. */
struct trace_report {
    const char *format;   /* "native", "nvidia-smi csv", ... */
    uint64_t lines;       /* lines, elements or documents seen */
    uint64_t samples;     /* RECORD_SAMPLEs given out */
    uint64_t dropped;     /* lines or values that made no sense */
    char first_drop[200]; /* "line 7, column 12: 'abc' is no power", or "" */
    bool torn;            /* the input ends in the middle of a record; all before it was kept */
};

/* Reader of one format. `probe` looks at the first bytes (up to TRACE_PROBE_BYTES) and says how
 * sure it is: 0 not mine, 100 certain. It never allocates. `open` takes the input over on success.
 * `next` gives 1 and a record borrowed until the next call, 0 at the end, negative on an error
 * after which nothing more can be read. A line that makes no sense is counted in the report, and
 * reading goes on; only an input of which nothing can be used is an error. */
struct trace_format {
    const char *name;
    const char *help; /* one line for `wattgate triage --formats` */
    int (*probe)(struct str head);
    int (*open)(struct trace_input *in, struct trace **ret, struct err *err);
    int (*next)(struct trace *t, const struct record **ret, struct err *err);
    void (*close)(struct trace *t); /* frees the input too; NULL is allowed */
};

/* Embedded first in every reader's private struct. */
struct trace {
    const struct trace_format *format;
    struct trace_report report;
};

#define TRACE_PROBE_BYTES 8192

extern const struct trace_format *const trace_formats[]; /* ends with NULL */

/* Opens a file ("-" is stdin), detects its format (or takes the one called `format` unless that is
 * NULL) and reads its beginning. A file of no known format is refused with what it looks like. */
int trace_open(const char *path, const char *format, struct trace **ret,
               struct err *err) MUST_CHECK;
/* -EINVAL, with the known names, when no format is called so. */
int trace_check_format(const char *name, struct err *err) MUST_CHECK;
int trace_next(struct trace *t, const struct record **ret, struct err *err) MUST_CHECK;
const struct trace_report *trace_report(const struct trace *t);
void trace_close(struct trace *t);
static inline UNUSED void trace_auto(struct trace **t)
{
    trace_close(*t);
}

#endif
