/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of single formats share. */
#ifndef WATTGATE_TRACE_READER_H
#define WATTGATE_TRACE_READER_H

#include "trace/trace.h"

/* Counts something that made no sense; the first such text is kept for the report. */
void trace_dropped(struct trace *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What a file of no known format looks like ("a PNG image"), for its refusal; never NULL. */
const char *trace_looks_like(struct str head);

extern const struct trace_format native_format;

#endif
