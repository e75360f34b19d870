/* SPDX-License-Identifier: Apache-2.0 */
/* What every function of the stand-in starts with: which scenario, what time, which device, and
 * whether a fault acts on this call. */
#ifndef WATTGATE_SIM_NVML_STATE_H
#define WATTGATE_SIM_NVML_STATE_H

#include "../model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Return values, as the driver numbers them. */
enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_MEMORY = 20,
    NVML_NO_DATA = 21,
    NVML_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

/* Defines an exported function together with its prototype. Those who call it found it by name. */
#define API(name, ...)                                                                             \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    __attribute__((visibility("default"))) int name(__VA_ARGS__)

/* What a handle points to; opaque to callers. A reload of the driver makes all of them stale. */
struct nvml_device {
    uint32_t slot;
    uint32_t generation;
    int32_t mig; /* instance number, or -1 for the whole GPU */
};

enum call_flags {
    CALL_MIG = 1,        /* works on a MIG instance too */
    CALL_NO_VGPU = 2,    /* virtual GPUs cannot tell */
    CALL_NO_GEFORCE = 4, /* GeForce boards cannot tell */
};

struct call {
    const struct sim_scenario *s;
    const struct sim_gpu *g; /* NULL for calls about the system */
    const struct nvml_device *device;
    const struct sim_phase *phase; /* of g, at t_us */
    int64_t t_us;                  /* since the start of the scenario */
    int64_t latency_us;            /* added by a fault */
};

/* NVML_SUCCESS, or what the function has to return at once. Does not come back when a fault blocks
 * the call. `name` is __func__. */
int call_system(struct call *c, const char *name);
int call_device(struct call *c, const char *name, const struct nvml_device *device, int flags);
/* Wall time of a scenario time, microseconds since 1970. */
int64_t wall_from_sim_us(int64_t t_us);
int64_t sim_from_wall_us(int64_t wall_us);
int64_t sim_now_us(void);
/* Sleeps until the scenario time. */
void sim_sleep_until_us(int64_t t_us);

int state_init(const char *name);
int state_shutdown(const char *name);
/* The scenario, also before init; NULL when there is none. */
const struct sim_scenario *state_scenario(void);
const struct nvml_device *state_handle(uint32_t slot, int32_t mig);
/* One line for WATTGATE_SIM_LOG. */
void state_log(const char *what, const char *detail);

/* Takes names out of the table by which dlsym finds them, as if the library were older. */
void hide_names(bool (*hidden)(const char *name, void *arg), void *arg);

/* Process ids that own a context on the device now; at most `cap` are stored, all are counted. */
struct owner {
    int64_t memory_bytes;
    uint32_t pid;
    bool graphics;
};
uint32_t owners_find(const struct call *c, struct owner *ret, uint32_t cap);
uint64_t mig_memory_bytes(const struct sim_gpu *g);
uint64_t used_memory_bytes(const struct call *c);
/* Values shared between calls and field ids. */
int64_t power_draw_mw(const struct call *c);
uint32_t link_count(const struct call *c);
uint32_t permille_to_percent(int64_t permille);

#endif
