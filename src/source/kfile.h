/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel files for sources that read hundreds of them a second. Unlike sys/rootdir.h nothing is
 * formatted when a read fails: most failures here are expected (a file that this kernel or this
 * device lacks) and become the status of an observation. */
#ifndef WATTGATE_SOURCE_KFILE_H
#define WATTGATE_SOURCE_KFILE_H

#include "base/str.h"
#include "core/telemetry/queue.h"

#include <stdint.h>

/* Reads a whole file below dir_fd, at most cap - 1 bytes, exactly as it is, and terminates it.
 * A negative errno value; -EMSGSIZE when it does not fit (buf then holds its first cap - 1 bytes).
 */
int kfile_read(int dir_fd, const char *path, char *buf, size_t cap, size_t *ret_n) MUST_CHECK;
/* The same, without leading and trailing blanks. */
int kfile_read_text(int dir_fd, const char *path, char *buf, size_t cap,
                    struct str *ret) MUST_CHECK;
/* The file must hold one whole number and nothing else. */
int kfile_read_i64(int dir_fd, const char *path, int64_t *ret) MUST_CHECK;

/* What a failed read says about the observation. */
enum obs_status kfile_status(int error);

/* Observations of one entity while they are gathered. */
struct gather {
    struct obs obs[SAMPLE_MAX];
    uint32_t n;
};

void gather_value(struct gather *g, enum metric m, int64_t value);
void gather_missing(struct gather *g, enum metric m, enum obs_status why);
/* The value when result is 0, else the status that the error stands for. */
void gather_result(struct gather *g, enum metric m, int result, int64_t value);
bool gather_has(const struct gather *g, enum metric m);
/* Appends the sample unless it is empty. */
int gather_flush(struct gather *g, uint32_t entity, int64_t mono_us,
                 struct record_queue *out) MUST_CHECK;

#endif
