/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a file, a pipe, stdin or memory, decompressed (gzip, zstd) on the way. Private to
 * trace/input.c. */
#ifndef WATTGATE_TRACE_BYTES_H
#define WATTGATE_TRACE_BYTES_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct bytes;

int bytes_open(const char *path, struct bytes **ret, struct err *err) MUST_CHECK;
/* Borrows the memory. */
struct bytes *bytes_from_memory(const char *name, struct str memory);
void bytes_free(struct bytes *b);
const char *bytes_name(const struct bytes *b);
/* Up to `cap` decoded bytes: how many, 0 at the end, negative on an error. A compressed stream that
 * breaks after it gave something ends there, and bytes_torn() says how. */
ptrdiff_t bytes_read(struct bytes *b, char *dst, size_t cap, struct err *err);
const char *bytes_torn(const struct bytes *b); /* NULL unless torn */
/* Whether the next read would wait for a writer longer than `wait_ms`. */
bool bytes_would_wait(const struct bytes *b, int wait_ms);
DEFINE_AUTO_PTR(bytes)

#endif
