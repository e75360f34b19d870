/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in as a program meets it: loaded by dlopen, told by the environment. For the cases of
 * one test program; each runs in a process of its own. */
#ifndef WATTGATE_TESTS_SIM_RIG_H
#define WATTGATE_TESTS_SIM_RIG_H

#include "base/defs.h"
#include "base/units.h"
#include "sys/vclock.h"
#include "tap.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scenario_path[64], clock_path[64];
static struct vclock *the_clock;
static void *library;

static UNUSED const char *library_path(void)
{
    static char path[PATH_MAX + 32];
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[MAX(n, 0)] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    (void) snprintf(path, sizeof(path), "%s/../sim/libnvidia-ml.so.1", self);
    return path;
}

static UNUSED void remove_files(void)
{
    unlink(scenario_path);
    unlink(clock_path);
}

/* Writes the scenario and a stepped clock; the library is loaded by load(). */
static UNUSED void stage(const char *text)
{
    (void) snprintf(scenario_path, sizeof(scenario_path), "/tmp/wattgate-nvml-%d.sim",
                    (int) getpid());
    (void) snprintf(clock_path, sizeof(clock_path), "/tmp/wattgate-nvml-%d.clock", (int) getpid());
    FILE *f = fopen(scenario_path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    struct vclock_setup setup = { .stepped = true,
                                  .start_mono_us = 1000 * US_PER_S,
                                  .start_wall_us = INT64_C(1700000000) * US_PER_S };
    CHECK_EQ(vclock_create(clock_path, &setup, NULL), 0);
    CHECK_EQ(vclock_open(clock_path, &the_clock, NULL), 0);
    setenv("WATTGATE_SIM", scenario_path, 1);
    setenv("WATTGATE_CLOCK", clock_path, 1);
    unsetenv("WATTGATE_SIM_PID");
}

static UNUSED void load(void)
{
    library = dlopen(library_path(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        tap_note("%s", dlerror());
    CHECK(library != NULL);
}

static UNUSED void step_s(int64_t seconds)
{
    CHECK_EQ(vclock_step(the_clock, seconds * US_PER_S, NULL), 0);
}

static UNUSED void *symbol(const char *name)
{
    return dlsym(library, name);
}

/* Calls a function of NVML by name. */
#define CALL(name, types, ...)                                                                     \
    (__extension__({                                                                               \
        void *call_at = symbol(#name);                                                             \
        int(*call_fn) types = NULL;                                                                \
        CHECK(call_at != NULL);                                                                    \
        memcpy(&call_fn, &call_at, sizeof(call_fn));                                               \
        call_fn(__VA_ARGS__);                                                                      \
    }))

static UNUSED void *device(unsigned index)
{
    void *d = NULL;
    CHECK_EQ(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), index, &d), 0);
    return d;
}

static UNUSED void start(const char *text)
{
    stage(text);
    load();
    CHECK_EQ(CALL(nvmlInit_v2, (void), ), 0);
    remove_files();
}

static UNUSED unsigned power_mw(unsigned index)
{
    unsigned mw = 0;
    CHECK_EQ(CALL(nvmlDeviceGetPowerUsage, (void *, unsigned *), device(index), &mw), 0);
    return mw;
}

static UNUSED int power_result(void *d)
{
    unsigned mw = 0;
    return CALL(nvmlDeviceGetPowerUsage, (void *, unsigned *), d, &mw);
}

static UNUSED unsigned long long energy_mj(unsigned index)
{
    unsigned long long mj = 0;
    CHECK_EQ(CALL(nvmlDeviceGetTotalEnergyConsumption, (void *, unsigned long long *),
                  device(index), &mj),
             0);
    return mj;
}

struct field_value {
    unsigned id, scope;
    long long wall_us, latency_us;
    unsigned type;
    int result;
    union {
        unsigned u;
        unsigned long long ull;
    } value;
};

static UNUSED struct field_value get_field(unsigned index, unsigned id, unsigned scope)
{
    struct field_value v = { .id = id, .scope = scope };
    CHECK_EQ(
        CALL(nvmlDeviceGetFieldValues, (void *, int, struct field_value *), device(index), 1, &v),
        0);
    return v;
}

#endif
