/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded telemetry out. */
#ifndef WATTGATE_TRACE_WRITER_H
#define WATTGATE_TRACE_WRITER_H

#include "base/err.h"
#include "core/telemetry/record.h"

enum trace_output { OUTPUT_NATIVE, OUTPUT_CSV, OUTPUT_JSONL };

/* What becomes of a PATH that is there. A file that is no native trace is never gone on with. */
enum writer_start {
    WRITER_TRUNCATE = 0,
    WRITER_RESUME, /* go on: a torn last line is dropped, a new header follows */
    WRITER_NEW,    /* refuse unless it is empty */
};

struct trace_writer_options {
    enum trace_output output;
    bool zstd;         /* native only */
    int64_t max_bytes; /* of all files together; 0 no bound. The oldest file goes first */
    uint32_t keep;     /* files kept when rotating: PATH, PATH.1 ... ; 0 means 1 */
    enum writer_start start;
    const char *input; /* what is being read: never written onto. NULL: nothing */
};

struct trace_writer;

/* PATH "-" is stdout. A regular file is locked: a second writer is refused, with the first one's
 * process. When PATH is resumed and then removed or renamed by others, a new file is begun. */
int trace_writer_open(const char *path, const struct trace_writer_options *options,
                      struct trace_writer **ret, struct err *err) MUST_CHECK;
/* Records are written at each RECORD_TICK, in one write(2): a killed writer loses at most what
 * came since the last tick, and a reader loses at most a torn last line. */
int trace_writer_add(struct trace_writer *w, const struct record *r, struct err *err) MUST_CHECK;
/* Writes what is pending and closes; the writer is gone in any case. */
int trace_writer_close(struct trace_writer *w, struct err *err) MUST_CHECK;

#endif
