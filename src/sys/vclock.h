/* SPDX-License-Identifier: Apache-2.0 */
/* One virtual time for many processes: a small file that all of them map. It runs at a multiple of
 * real time, or stands still until someone steps it. Programs that follow it are told its path by
 * the environment variable WATTGATE_CLOCK. */
#ifndef WATTGATE_SYS_VCLOCK_H
#define WATTGATE_SYS_VCLOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct vclock;

struct vclock_setup {
    uint32_t speed_num, speed_den; /* virtual seconds in num/den real seconds; 0/0 means 1/1 */
    bool stepped;                  /* stands still; moved by vclock_step() alone */
    int64_t start_mono_us;         /* virtual monotonic time at creation; negative: the real one */
    int64_t start_wall_us;         /* virtual wall time at creation; negative: the real one */
};

/* Writes a new clock file; an existing file is replaced. The clock runs from now on. */
int vclock_create(const char *path, const struct vclock_setup *setup, struct err *err) MUST_CHECK;
int vclock_open(const char *path, struct vclock **ret, struct err *err) MUST_CHECK;
/* The clock of $WATTGATE_CLOCK, opened once in this process; NULL when the variable is unset or the
 * file is no clock (*ret_bad, unless NULL, tells the two apart). Never freed. */
struct vclock *vclock_from_env(bool *ret_bad);
void vclock_free(struct vclock *c);
DEFINE_AUTO_PTR(vclock)

int64_t vclock_mono_us(const struct vclock *c);
int64_t vclock_wall_us(const struct vclock *c);
int64_t vclock_start_us(const struct vclock *c); /* virtual monotonic time at creation */
bool vclock_is_stepped(const struct vclock *c);
/* Real microseconds from now until the virtual time, for poll timeouts; 0 when it has passed. A
 * stepped clock gives at most 10 ms, since nobody knows when it will be stepped. */
int64_t vclock_wait_us(const struct vclock *c, int64_t mono_us);
/* Sleeps until the virtual time or a signal. */
void vclock_sleep_until_us(const struct vclock *c, int64_t mono_us);
/* Moves a stepped clock forward and wakes the sleepers; -EINVAL on a clock that runs by itself. */
int vclock_step(struct vclock *c, int64_t by_us, struct err *err) MUST_CHECK;

#endif
