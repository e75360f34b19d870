/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds bytes to one reader and takes all records that it makes of them. */
#ifndef WATTGATE_FUZZ_TRACE_FUZZ_H
#define WATTGATE_FUZZ_TRACE_FUZZ_H

#include "trace/input.h"
#include "trace/trace.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_reader(const struct trace_format *format, const uint8_t *data, size_t size)
{
    struct trace_input *in = NULL;
    struct trace *t = NULL;
    const struct record *r;
    struct err e;
    int64_t last_us = INT64_MIN;
    struct str bytes = { (const char *) data, size };
    (void) format->probe(bytes);
    if (input_from_memory("fuzz", bytes, &in, &e) < 0)
        return;
    if (format->open(in, &t, &e) < 0) {
        input_close(in);
        return;
    }
    while (format->next(t, &r, &e) > 0) {
        if (r->kind != RECORD_HEADER && r->mono_us < last_us)
            abort(); /* times of a stream never go back */
        last_us = r->mono_us;
    }
    format->close(t);
}

#define FUZZ_READER(format)                                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        fuzz_reader(&(format), data, size);                                                        \
        return 0;                                                                                  \
    }

#endif
