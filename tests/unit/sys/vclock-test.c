/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "sys/clock.h"
#include "sys/vclock.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static const char *clock_path(void)
{
    (void) snprintf(path, sizeof(path), "/tmp/wattgate-vclock-%d", (int) getpid());
    return path;
}

static struct vclock *stepped(int64_t start_us)
{
    struct vclock_setup setup = { .stepped = true,
                                  .start_mono_us = start_us,
                                  .start_wall_us = 2 * start_us };
    struct vclock *c = NULL;
    CHECK_EQ(vclock_create(clock_path(), &setup, NULL), 0);
    CHECK_EQ(vclock_open(path, &c, NULL), 0);
    return c;
}

static void stands_until_stepped(void)
{
    AUTO(vclock) struct vclock *c = stepped(1000);
    CHECK_EQ(vclock_mono_us(c), 1000);
    CHECK_EQ(vclock_wall_us(c), 2000);
    CHECK_EQ(vclock_step(c, 500, NULL), 0);
    CHECK_EQ(vclock_mono_us(c), 1500);
    CHECK_EQ(vclock_wall_us(c), 2500);
    CHECK_EQ(vclock_start_us(c), 1000);
    CHECK_EQ(vclock_step(c, -1, NULL), -EINVAL);
    CHECK(vclock_wait_us(c, 1501) > 0);
    CHECK_EQ(vclock_wait_us(c, 1500), 0);
    unlink(path);
}

/* A process sleeps until a virtual time that only this one can bring about. */
static void step_wakes_another_process(void)
{
    AUTO(vclock) struct vclock *c = stepped(0);
    pid_t pid = fork();
    if (pid == 0) {
        struct vclock *own = NULL;
        if (vclock_open(path, &own, NULL) < 0)
            _exit(9);
        vclock_sleep_until_us(own, 30 * US_PER_S);
        _exit(vclock_mono_us(own) == 30 * US_PER_S ? 0 : 1);
    }
    for (int i = 0; i < 3; i++) {
        usleep(20000);
        CHECK_EQ(vclock_step(c, 10 * US_PER_S, NULL), 0);
    }
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    unlink(path);
}

static void runs_at_its_speed(void)
{
    struct vclock_setup setup = {
        .speed_num = 1000, .speed_den = 1, .start_mono_us = 0, .start_wall_us = 0
    };
    AUTO(vclock) struct vclock *c = NULL;
    CHECK_EQ(vclock_create(clock_path(), &setup, NULL), 0);
    CHECK_EQ(vclock_open(path, &c, NULL), 0);
    int64_t wait_us = vclock_wait_us(c, vclock_mono_us(c) + 3600 * US_PER_S);
    CHECK(wait_us > 3000 * US_PER_MS && wait_us <= 3600 * US_PER_MS);
    vclock_sleep_until_us(c, 20 * US_PER_S);
    CHECK(vclock_mono_us(c) >= 20 * US_PER_S);
    unlink(path);
}

static void clock_follows_the_environment(void)
{
    AUTO(vclock) struct vclock *c = stepped(77 * US_PER_S);
    setenv("WATTGATE_CLOCK", path, 1);
    CHECK_EQ(clock_mono_us(), 77 * US_PER_S);
    CHECK_EQ(clock_wall_us(), 154 * US_PER_S);
    CHECK_EQ(vclock_step(c, US_PER_S, NULL), 0);
    CHECK_EQ(clock_mono_us(), 78 * US_PER_S);
    clock_sleep_until_us(78 * US_PER_S); /* has come: must not wait for a step */
    CHECK_EQ(clock_wait_us(78 * US_PER_S), 0);
    unlink(path);
}

static void other_files_are_refused(void)
{
    struct err e = { 0 };
    struct vclock *c = NULL;
    CHECK_EQ(vclock_open("/nonexistent/clock", &c, &e), -ENOENT);
    CHECK_EQ(vclock_open("/proc/self/status", &c, &e), -EINVAL);
    CHECK_HAS(e.text, "/proc/self/status");
    CHECK(c == NULL);
    struct vclock_setup half = { .speed_num = 2 };
    CHECK_EQ(vclock_create(clock_path(), &half, &e), -EINVAL);
    CHECK(access(path, F_OK) < 0);
}

static const struct tap_case cases[] = {
    { "a stepped clock stands until stepped", stands_until_stepped },
    { "a step wakes sleepers of other processes", step_wakes_another_process },
    { "a clock runs at its speed", runs_at_its_speed },
    { "WATTGATE_CLOCK rules sys/clock", clock_follows_the_environment },
    { "other files are refused", other_files_are_refused },
};
TAP_MAIN(cases)
