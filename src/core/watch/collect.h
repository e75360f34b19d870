/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of one node to the seconds of its job: which GPU, which process and which
 * descendants belong to a rank, and what they show between two ticks. Pure. */
#ifndef WATTGATE_CORE_WATCH_COLLECT_H
#define WATTGATE_CORE_WATCH_COLLECT_H

#include "base/err.h"
#include "core/telemetry/record.h"
#include "core/watch/second.h"

struct collect;

/* Of the job its ranks' pids and devices are used; they are copied. A device that is "" or wrong is
 * found by the driver's process list. NULL when memory is out. */
struct collect *collect_new(const struct watch_job *job);
void collect_free(struct collect *c);
/* Takes the next record: 1 when a second is complete, 0, or -ENOMEM. */
int collect_take(struct collect *c, const struct record *r, struct err *err) MUST_CHECK;
/* The latest complete one; borrowed until the next call. */
const struct job_second *collect_second(const struct collect *c);
/* The rank's device as the stream names it; "" while none is known. */
const char *collect_device(const struct collect *c, uint32_t rank_at);

DEFINE_AUTO_PTR(collect)

#endif
