/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/clock.h"

#include "base/str.h"
#include "base/units.h"
#include "sys/vclock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock_us(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return 0;
    return (int64_t) ts.tv_sec * US_PER_S + ts.tv_nsec / NS_PER_US;
}

int64_t clock_mono_us(void)
{
    const struct vclock *v = vclock_from_env(NULL);
    return v ? vclock_mono_us(v) : read_clock_us(CLOCK_BOOTTIME);
}

int64_t clock_wall_us(void)
{
    const struct vclock *v = vclock_from_env(NULL);
    return v ? vclock_wall_us(v) : read_clock_us(CLOCK_REALTIME);
}

void clock_boot_id(char *buf, size_t cap)
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    str_copy(buf, cap, str_trim((struct str){ text, n > 0 ? (size_t) n : 0 }));
}

int64_t clock_wait_us(int64_t mono_us)
{
    const struct vclock *v = vclock_from_env(NULL);
    if (v)
        return vclock_wait_us(v, mono_us);
    int64_t left_us = mono_us - read_clock_us(CLOCK_BOOTTIME);
    return left_us > 0 ? left_us : 0;
}

void clock_sleep_until_us(int64_t mono_us)
{
    const struct vclock *v = vclock_from_env(NULL);
    if (v) {
        vclock_sleep_until_us(v, mono_us);
        return;
    }
    struct timespec ts = { .tv_sec = mono_us / US_PER_S,
                           .tv_nsec = mono_us % US_PER_S * NS_PER_US };
    (void) clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &ts, NULL);
}
