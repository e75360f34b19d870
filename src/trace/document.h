/* SPDX-License-Identifier: Apache-2.0 */
/* A whole JSON document of bounded size. */
#ifndef WATTGATE_TRACE_DOCUMENT_H
#define WATTGATE_TRACE_DOCUMENT_H

#include "trace/feed.h"

#include <jansson.h>

#define DOCUMENT_MAX_BYTES ((size_t) 128 << 20)

/* Reads all of the input; *ret is the caller's. A document that is cut or malformed gives line and
 * column; one above the size is refused with what to do. */
int document_load(struct feed *f, json_t **ret, struct err *err) MUST_CHECK;

#endif
