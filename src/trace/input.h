/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a trace: a regular file, a pipe or stdin, plain or compressed (zstd, gzip), UTF-8 or
 * UTF-16 with a byte order mark (converted). Memory stays flat: a line longer than LINE_MAX_BYTES
 * is given out cut, with `cut` set. */
#ifndef WATTGATE_TRACE_INPUT_H
#define WATTGATE_TRACE_INPUT_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define LINE_MAX_BYTES (1u << 20)

struct trace_input;

/* A directory, a device or an unreadable file is refused with its reason. */
int input_open(const char *path, struct trace_input **ret, struct err *err) MUST_CHECK;
/* Over bytes in memory, borrowed; for tests and fuzzing. `name` appears in messages. */
int input_from_memory(const char *name, struct str bytes, struct trace_input **ret,
                      struct err *err) MUST_CHECK;
void input_close(struct trace_input *in);
const char *input_name(const struct trace_input *in);
/* The first bytes (at most TRACE_PROBE_BYTES), without consuming them. */
struct str input_head(struct trace_input *in);

struct line {
    struct str text; /* without its line end (LF or CR LF) */
    uint64_t number; /* from 1 */
    uint64_t offset; /* of its first byte in the decoded input */
    bool cut;        /* longer than LINE_MAX_BYTES: the rest was skipped */
    bool torn;       /* the last line, without a line end */
};

/* 1 and the next line, borrowed until the next call; 0 at the end; negative on a read error. */
int input_line(struct trace_input *in, struct line *ret, struct err *err) MUST_CHECK;
/* 1 and the next run of bytes for readers that are not line based; 0 at the end. */
int input_bytes(struct trace_input *in, struct str *ret, struct err *err) MUST_CHECK;

/* Why the input ends before its end ("the zstd data ends in the middle; ..."), or NULL. Known once
 * the end was reached. A plain file that ends without a line end says so by line.torn instead. */
const char *input_torn(const struct trace_input *in);

static inline UNUSED void trace_input_auto(struct trace_input **in)
{
    input_close(*in);
}

#endif
