/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that asks the time. With WATTGATE_CLOCK=PATH it follows the virtual clock of that
 * file (sys/vclock.h), so that a simulated hour passes in a minute. */
#ifndef WATTGATE_SYS_CLOCK_H
#define WATTGATE_SYS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_us(void); /* CLOCK_BOOTTIME: goes on through suspend */
int64_t clock_wall_us(void);
/* The boot id of the kernel, or "" where it is hidden. */
void clock_boot_id(char *buf, size_t cap);
/* Sleeps until the monotonic time or a signal. */
void clock_sleep_until_us(int64_t mono_us);
/* Real microseconds until the monotonic time, for the time-outs of poll and timers; 0 when it has
 * passed. On a virtual clock this is less than the difference of the times. */
int64_t clock_wait_us(int64_t mono_us);

#endif
