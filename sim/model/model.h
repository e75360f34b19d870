/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated GPUs do: a scenario, and every physical quantity as a function of time in
 * closed form. Nothing here asks the time or depends on who asks, so all processes that read the
 * same scenario agree. Times are microseconds since the start of the scenario. */
#ifndef WATTGATE_SIM_MODEL_H
#define WATTGATE_SIM_MODEL_H

#include "base/err.h"
#include "base/str.h"
#include "core/board/sensor.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_GPUS_MAX 72
#define SIM_FOREVER INT64_MAX
#define SIM_MIG_MAX 7

enum sim_arch {
    SIM_ARCH_UNKNOWN = 0,
    SIM_ARCH_VOLTA,
    SIM_ARCH_GA100,
    SIM_ARCH_AMPERE,
    SIM_ARCH_ADA,
    SIM_ARCH_HOPPER,
    SIM_ARCH_BLACKWELL,
    SIM_ARCH_COUNT
};

struct sim_arch_info {
    const char *name;
    const struct sensor_spec *sensor;
    uint32_t nvml_arch;             /* as the driver numbers it */
    uint32_t major, minor;          /* compute capability */
    bool gpm, tlimit, nvlink_bytes; /* GPM metrics; T.Limit temperatures; NVLink byte counters */
};

const struct sim_arch_info *sim_arch_info(enum sim_arch a);
const char *sim_arch_name(enum sim_arch a);
bool sim_arch_from_name(struct str name, enum sim_arch *ret);

/* What a GPU physically does. Why it does so (deadlock, checkpoint, pipeline) it cannot know. */
enum sim_kind {
    SIM_UNKNOWN = 0,
    SIM_IDLE,  /* no context */
    SIM_HELD,  /* a context, no kernel */
    SIM_SPIN,  /* a small kernel that waits for others */
    SIM_COPY,  /* traffic between GPUs */
    SIM_LOAD,  /* data from the host, little else */
    SIM_WRITE, /* data to the host, little else */
    SIM_WORK,  /* arithmetic */
    SIM_KIND_COUNT
};

const char *sim_kind_name(enum sim_kind k);
bool sim_kind_from_name(struct str name, enum sim_kind *ret);

/* Quantities whose integral over time is known exactly. */
enum sim_channel {
    SIM_POWER_MW = 0,
    SIM_UTIL_PERMILLE,
    SIM_MEM_UTIL_PERMILLE,
    SIM_SM_PERMILLE,
    SIM_OCCUPANCY_PERMILLE,
    SIM_TENSOR_PERMILLE,
    SIM_DRAM_PERMILLE,
    SIM_NVLINK_TX_BPS,
    SIM_NVLINK_RX_BPS,
    SIM_PCIE_TX_BPS,
    SIM_PCIE_RX_BPS,
    SIM_CAPPED_PERMILLE, /* share of time held down by the power limit */
    SIM_CHANNEL_COUNT
};

/* One stretch of a GPU's life. Within it every channel is `high` during the first high_us of each
 * period and `low` for the rest; power carries noise on top, and glides in from the level before.
 */
struct sim_phase {
    enum sim_kind kind;
    int64_t start_us, length_us; /* the last one may be SIM_FOREVER long */
    int64_t high[SIM_CHANNEL_COUNT], low[SIM_CHANNEL_COUNT];
    int64_t before[SIM_CHANNEL_COUNT];    /* integral up to start_us, in the channel's unit */
    int64_t period_us, high_us, shift_us; /* period 0: always high */
    int64_t noise_mw;                     /* standard deviation of 40 ms cells */
    int64_t glide_us, glide_mw;           /* power starts glide_mw above its level */
    int64_t limit_mw;                     /* enforced limit */
    int64_t memory_bytes;
    uint32_t sm_clock_mhz;
};

struct sim_board {
    const char *key;     /* "h100" */
    const char *product; /* as the driver spells it */
    enum sim_arch arch;
    int32_t limit_w, limit_min_w, limit_max_w;
    int32_t level_w[SIM_KIND_COUNT];
    int32_t memory_gib, sm_clock_mhz, sm_clock_idle_mhz, memory_clock_mhz;
    int32_t nvlinks;
    uint32_t pci_device; /* vendor in the low half */
    bool fan;            /* has a fan of its own */
};

extern const struct sim_board sim_boards[];
extern const size_t sim_boards_n;
const struct sim_board *sim_board_find(struct str key);

struct sim_gpu {
    const struct sim_board *board;
    enum sim_arch arch;
    char product[96];
    char uuid[48], serial[24];
    uint32_t slot; /* position on the node; what the index is after the first driver load */
    uint64_t seed;
    int64_t limit_mw, memory_bytes;
    int64_t level_mw[SIM_KIND_COUNT]; /* of this unit */
    struct sensor_spec sensor;
    uint32_t mig;                                   /* instances; 0: MIG is off */
    int64_t floor_mw, floor_hold_us, floor_down_us; /* power smoothing; floor 0: off */
    struct sim_phase *phases;
    size_t phases_n, phases_cap;
    size_t loop_from; /* first phase of the part that repeats; phases_n: none does */
    int64_t loop_us;
    int64_t loop_sum[SIM_CHANNEL_COUNT];
};

enum sim_pid { SIM_PID_GIVEN = 0, SIM_PID_SELF, SIM_PID_LAUNCHER };

struct sim_process {
    uint64_t gpus[2]; /* bit set over slots */
    enum sim_pid which;
    uint32_t pid;
    int64_t memory_bytes; /* 0: all that the phase uses */
    int64_t from_us, to_us;
    bool graphics;
};

enum sim_fault_kind {
    FAULT_UNKNOWN = 0,
    FAULT_LATENCY,      /* calls take longer */
    FAULT_BLOCK,        /* calls never come back */
    FAULT_DSTATE,       /* calls never come back, and the process cannot be killed */
    FAULT_STUCK,        /* power readings stand still */
    FAULT_ENERGY_RESET, /* the energy counter starts again at from_us */
    FAULT_ERROR,        /* calls give `code` */
    FAULT_FIELD,        /* one field value gives `code` */
    FAULT_LATE,         /* power readings are delay_us old and say so */
    FAULT_RELOAD,       /* the driver is reloaded; GPUs may come back in another order */
    FAULT_XID,
    FAULT_MISSING, /* the library lacks the function */
    FAULT_KIND_COUNT
};

const char *sim_fault_name(enum sim_fault_kind k);

struct sim_fault {
    enum sim_fault_kind kind;
    uint64_t gpus[2];
    int64_t from_us, to_us;
    char call[64]; /* function name; a trailing * matches the rest */
    uint32_t code; /* NVML return value, or Xid number */
    uint32_t field;
    int64_t delay_us, tail_us;   /* latency: median and 99th percentile */
    char path[256];              /* dstate: cgroup v1 freezer directory, or a file to write to */
    uint8_t order[SIM_GPUS_MAX]; /* reload: order[index] = slot */
};

enum sim_personality { SIM_DATACENTER = 0, SIM_GEFORCE, SIM_VGPU };

struct sim_scenario {
    char driver[32];
    uint32_t driver_number; /* major * 1000 + minor: 580.95.05 is 580095 */
    uint32_t cuda;          /* as the driver says it: 13000 is 13.0 */
    enum sim_personality personality;
    bool fabric; /* the GPUs of the node are part of one NVLink domain */
    uint32_t gpus_n;
    struct sim_gpu gpus[SIM_GPUS_MAX];
    struct sim_process *processes;
    size_t processes_n, processes_cap;
    struct sim_fault *faults;
    size_t faults_n, faults_cap;
};

/* Parses the text of a scenario (wattgate-sim(5)). Errors name `name`, line and column. */
int sim_parse(const char *name, struct str text, struct sim_scenario **ret,
              struct err *err) MUST_CHECK;
/* The same from the text of a native trace: the GPUs do what was recorded, tick by tick. */
int sim_parse_trace(const char *name, struct str text, struct sim_scenario **ret,
                    struct err *err) MUST_CHECK;
void sim_free(struct sim_scenario *s);
static inline UNUSED void sim_scenario_auto(struct sim_scenario **s)
{
    sim_free(*s);
}

/* Used by what builds a scenario. */
struct sim_phase *sim_gpu_add_phase(struct sim_gpu *g, enum sim_kind kind, int64_t length_us);
void sim_phase_defaults(const struct sim_gpu *g, struct sim_phase *p);
/* Fixes starts and integrals after the phases are known. */
void sim_gpu_finish(struct sim_gpu *g);
int sim_gpu_init(struct sim_gpu *g, const struct sim_board *board, uint32_t slot, uint64_t seed,
                 int64_t spread_permille);

static inline bool sim_has_gpu(const uint64_t gpus[2], uint32_t slot)
{
    return gpus[slot / 64] >> (slot % 64) & 1;
}

/* Integral of the channel from 0 to t: microjoules, permille * us, bytes. */
int64_t sim_integral(const struct sim_gpu *g, enum sim_channel c, int64_t t_us);
/* Mean of the channel in its own unit over the window before t. */
int64_t sim_mean(const struct sim_gpu *g, enum sim_channel c, int64_t t_us, int64_t window_us);
/* The phase at t, and (unless NULL) since when. */
const struct sim_phase *sim_phase_at(const struct sim_gpu *g, int64_t t_us, int64_t *ret_since_us);
int64_t sim_temperature_mc(const struct sim_gpu *g, int64_t t_us);
/* energy_fn of core/board/sensor.h; arg is a struct sim_gpu. */
int64_t sim_true_energy_uj(const void *arg, int64_t t_us);

/* A fault of that kind that acts on the GPU at t (slot UINT32_MAX: on any), or NULL. */
const struct sim_fault *sim_fault_at(const struct sim_scenario *s, enum sim_fault_kind kind,
                                     uint32_t slot, int64_t t_us);
bool sim_call_matches(const char *pattern, const char *call);
/* Driver loads so far: 0 before the first reload. During a reload *ret_down is true. */
uint32_t sim_generation(const struct sim_scenario *s, int64_t t_us, bool *ret_down);
uint32_t sim_slot_of_index(const struct sim_scenario *s, uint32_t index, int64_t t_us);
uint32_t sim_index_of_slot(const struct sim_scenario *s, uint32_t slot, int64_t t_us);
/* What the energy counter shows at t, with resets. */
int64_t sim_energy_counter_uj(const struct sim_scenario *s, const struct sim_gpu *g, int64_t t_us);
/* Power as the board reports it at t, stuck and late sensors included. */
struct sensor_reading sim_sensor(const struct sim_scenario *s, const struct sim_gpu *g,
                                 int64_t t_us);

/* A number that depends on its inputs alone, well mixed. */
uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c);
/* Uniform in [lo, hi]. */
int64_t sim_draw(uint64_t seed, uint64_t what, int64_t lo, int64_t hi);

/* Writes a scenario of random units and random physical phases, drawn from the seed alone. */
struct strbuf;
void sim_random(uint64_t seed, uint32_t gpus, struct strbuf *out);

#endif
