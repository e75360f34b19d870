/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include "base/units.h"
#include "exports.h"
#include "sys/vclock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GENERATIONS 8 /* handles kept apart; later reloads use the places again */

static struct {
    struct sim_scenario *scenario;
    const struct vclock *clock; /* NULL: real time from the first use on */
    int64_t start_us;           /* monotonic time of scenario time 0 */
    int64_t wall_offset_us;     /* wall = scenario time + this */
    _Atomic int users;
    _Atomic uint32_t generation; /* at init */
    _Atomic uint64_t calls;
} state;

static struct nvml_device handles[GENERATIONS][SIM_GPUS_MAX][1 + SIM_MIG_MAX];

static int64_t real_us(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return 0;
    return (int64_t) ts.tv_sec * US_PER_S + ts.tv_nsec / NS_PER_US;
}

static int64_t mono_us(void)
{
    return state.clock ? vclock_mono_us(state.clock) : real_us(CLOCK_BOOTTIME);
}

int64_t sim_now_us(void)
{
    return MAX(mono_us() - state.start_us, 0);
}

int64_t wall_from_sim_us(int64_t t_us)
{
    return t_us + state.wall_offset_us;
}

int64_t sim_from_wall_us(int64_t wall_us)
{
    return wall_us - state.wall_offset_us;
}

void sim_sleep_until_us(int64_t t_us)
{
    if (state.clock) {
        vclock_sleep_until_us(state.clock, state.start_us + t_us);
        return;
    }
    int64_t until_us = state.start_us + t_us;
    struct timespec ts = { .tv_sec = until_us / US_PER_S,
                           .tv_nsec = until_us % US_PER_S * NS_PER_US };
    (void) clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &ts, NULL);
}

void state_log(const char *what, const char *detail)
{
    const char *path = getenv("WATTGATE_SIM_LOG");
    if (!path || !*path)
        return;
    char line[700];
    int n = snprintf(line, sizeof(line), "%d %s %s\n", (int) getpid(), what, detail);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    if (n > 0)
        (void) !write(fd, line, MIN((size_t) n, sizeof(line) - 1));
    close(fd);
}

static char *read_file(const char *path, size_t *ret_n, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > 64 << 20) {
        err_sys(err, fd < 0 ? errno : EFBIG, "scenario '%s'", path);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *text = malloc((size_t) st.st_size + 1);
    size_t n = 0;
    ssize_t got = 0;
    while (text && n < (size_t) st.st_size &&
           (got = read(fd, text + n, (size_t) st.st_size - n)) > 0)
        n += (size_t) got;
    close(fd);
    *ret_n = n;
    return text;
}

static void load_scenario(void)
{
    const char *path = getenv("WATTGATE_SIM");
    const char *trace = getenv("WATTGATE_SIM_TRACE");
    bool is_trace = trace && *trace;
    if (is_trace)
        path = trace;
    if (!path || !*path) {
        state_log("scenario", "WATTGATE_SIM is not set");
        return;
    }
    struct err err = { 0 };
    size_t n = 0;
    char *text = read_file(path, &n, &err);
    int r = -EIO;
    if (text && is_trace)
        r = sim_parse_trace(path, (struct str){ text, n }, &state.scenario, &err);
    else if (text)
        r = sim_parse(path, (struct str){ text, n }, &state.scenario, &err);
    if (r < 0)
        state_log("scenario", err.text);
    free(text);
}

static bool is_hidden(const char *name, void *arg)
{
    const struct sim_scenario *s = arg;
    if (export_since(name) > s->driver_number)
        return true;
    for (size_t i = 0; i < s->faults_n; i++)
        if (s->faults[i].kind == FAULT_MISSING && sim_call_matches(s->faults[i].call, name))
            return true;
    return false;
}

__attribute__((constructor)) static void state_load(void)
{
    bool bad = false;
    load_scenario();
    state.clock = vclock_from_env(&bad);
    if (bad)
        state_log("clock", "WATTGATE_CLOCK is no clock file; real time is used");
    state.start_us = state.clock ? vclock_start_us(state.clock) : real_us(CLOCK_BOOTTIME);
    int64_t wall_us = state.clock ? vclock_wall_us(state.clock) : real_us(CLOCK_REALTIME);
    state.wall_offset_us = wall_us - (mono_us() - state.start_us);
    for (uint32_t gen = 0; gen < GENERATIONS; gen++)
        for (uint32_t slot = 0; slot < SIM_GPUS_MAX; slot++)
            for (int32_t m = 0; m <= SIM_MIG_MAX; m++)
                handles[gen][slot][m] = (struct nvml_device){ slot, gen, m - 1 };
    if (state.scenario)
        hide_names(is_hidden, state.scenario);
}

const struct sim_scenario *state_scenario(void)
{
    return state.scenario;
}

const struct nvml_device *state_handle(uint32_t slot, int32_t mig)
{
    return &handles[atomic_load(&state.generation) % GENERATIONS][slot][mig + 1];
}

static _Noreturn void block_for_ever(void)
{
    for (;;)
        pause();
}

/* Write `text` to a file; used on files of kernel interfaces. */
static void write_file(const char *dir, const char *name, const char *text)
{
    char path[320];
    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int) sizeof(path))
        return;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void) !write(fd, text, strlen(text));
    close(fd);
}

/* A task in a frozen cgroup v1 freezer is in state D until it is thawed, whatever signals come. On
 * another path a write does the same while that file system is frozen or its server is silent. */
static _Noreturn void block_in_kernel(const struct sim_fault *f)
{
    struct stat st;
    char pid[16];
    state_log("dstate", f->path);
    if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode)) {
        (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
        write_file(f->path, "cgroup.procs", pid);
        write_file(f->path, "freezer.state", "FROZEN");
    } else {
        int fd = open(f->path, O_RDWR | O_CLOEXEC);
        char byte = 0;
        if (fd >= 0) {
            (void) !pread(fd, &byte, 1, 0);
            (void) !pwrite(fd, &byte, 1, 0);
            (void) fsync(fd);
        }
    }
    block_for_ever(); /* thawed, or no privilege: still no answer */
}

/* Faults that delay: most calls take delay_us, one in a hundred up to tail_us. */
static void apply_latency(struct call *c, const struct sim_fault *f)
{
    uint64_t n = atomic_fetch_add(&state.calls, 1);
    uint64_t u = sim_hash((uint64_t) c->t_us, n, (uint64_t) getpid()) % 100;
    c->latency_us = f->delay_us / 2 + f->delay_us * (int64_t) u / 100;
    if (u == 99)
        c->latency_us = f->tail_us;
    if (!state.clock || !vclock_is_stepped(state.clock))
        sim_sleep_until_us(c->t_us + c->latency_us);
}

static int apply_faults(struct call *c, const char *name, uint32_t slot)
{
    for (size_t i = 0; i < c->s->faults_n; i++) {
        const struct sim_fault *f = &c->s->faults[i];
        if (c->t_us < f->from_us || c->t_us >= f->to_us || !sim_call_matches(f->call, name))
            continue;
        if (slot != UINT32_MAX ? !sim_has_gpu(f->gpus, slot) : f->call[0] == '*')
            continue; /* system calls are meant only when named */
        if (f->kind == FAULT_LATENCY)
            apply_latency(c, f);
        else if (f->kind == FAULT_BLOCK)
            block_for_ever();
        else if (f->kind == FAULT_DSTATE)
            block_in_kernel(f);
        else if (f->kind == FAULT_ERROR)
            return (int) f->code;
    }
    return NVML_SUCCESS;
}

static int begin(struct call *c, const char *name)
{
    *c = (struct call){ .s = state.scenario };
    if (!c->s || atomic_load(&state.users) <= 0)
        return NVML_UNINITIALIZED;
    if (export_since(name) > c->s->driver_number)
        return NVML_FUNCTION_NOT_FOUND;
    c->t_us = sim_now_us();
    return NVML_SUCCESS;
}

int call_system(struct call *c, const char *name)
{
    int r = begin(c, name);
    return r ? r : apply_faults(c, name, UINT32_MAX);
}

static bool is_handle(const struct nvml_device *d)
{
    uintptr_t at = (uintptr_t) d, from = (uintptr_t) &handles[0][0][0];
    return at >= from && at < from + sizeof(handles) && (at - from) % sizeof(*d) == 0;
}

int call_device(struct call *c, const char *name, const struct nvml_device *device, int flags)
{
    bool down = false;
    int r = begin(c, name);
    if (r)
        return r;
    if (!is_handle(device) || device->slot >= c->s->gpus_n)
        return NVML_INVALID_ARGUMENT;
    uint32_t generation = sim_generation(c->s, c->t_us, &down);
    if (down || generation != atomic_load(&state.generation) ||
        device->generation != generation % GENERATIONS)
        return NVML_GPU_IS_LOST; /* a handle from before the driver was reloaded */
    c->device = device;
    c->g = &c->s->gpus[device->slot];
    if ((r = apply_faults(c, name, device->slot)))
        return r;
    c->phase = sim_phase_at(c->g, c->t_us, NULL);
    if ((device->mig >= 0 && !(flags & CALL_MIG)) ||
        (c->s->personality == SIM_VGPU && (flags & CALL_NO_VGPU)) ||
        (c->s->personality == SIM_GEFORCE && (flags & CALL_NO_GEFORCE)))
        return NVML_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

int state_init(const char *name)
{
    bool down = false;
    if (!state.scenario)
        return NVML_DRIVER_NOT_LOADED;
    struct call c = { .s = state.scenario, .t_us = sim_now_us() };
    int r = apply_faults(&c, name, UINT32_MAX);
    if (r)
        return r;
    uint32_t generation = sim_generation(c.s, c.t_us, &down);
    if (down)
        return NVML_DRIVER_NOT_LOADED;
    if (atomic_fetch_add(&state.users, 1) == 0)
        atomic_store(&state.generation, generation);
    return NVML_SUCCESS;
}

int state_shutdown(const char *name)
{
    struct call c;
    int r = call_system(&c, name);
    if (r)
        return r;
    atomic_fetch_sub(&state.users, 1);
    return NVML_SUCCESS;
}
