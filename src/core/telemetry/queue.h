/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that owns copies of records (with their strings and observations), for producers that
 * make several at once: a poll of a source, an XML document, a row with many devices. */
#ifndef WATTGATE_CORE_TELEMETRY_QUEUE_H
#define WATTGATE_CORE_TELEMETRY_QUEUE_H

#include "base/err.h"
#include "core/telemetry/record.h"

struct record_queue;

struct record_queue *record_queue_new(void); /* NULL when memory is out */
void record_queue_free(struct record_queue *q);
/* Copies the record; -ENOMEM. */
int record_queue_add(struct record_queue *q, const struct record *r) MUST_CHECK;
/* 1 and the oldest record, borrowed until the next call on the queue; 0 when empty. */
int record_queue_next(struct record_queue *q, const struct record **ret);
bool record_queue_is_empty(const struct record_queue *q);
DEFINE_AUTO_PTR(record_queue)

#endif
