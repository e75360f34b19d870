/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this source share. */
#ifndef WATTGATE_SOURCE_NVML_PRIV_H
#define WATTGATE_SOURCE_NVML_PRIV_H

#include "source/nvml/nvml-fields.h"
#include "source/nvml/nvml.h"
#include "source/source.h"
#include "sys/worker.h"

enum {
    NVML_GPUS_MAX = GPU_SET_MAX,
    NVML_MIGS_MAX = 8,        /* instances of one GPU */
    NVML_PROCESSES_MAX = 256, /* of one GPU that are followed; all are counted */
};

struct nvml_mig {
    bool used;
    uint32_t entity;
    uint32_t gpu_instance, compute_instance;
    struct nvml_device *device;
    struct nvml_gpm_sample *gpm[2];
    int64_t gpm_us;
    char uuid[NVML_UUID_BYTES];
};

struct nvml_followed {
    uint32_t pid, entity;
    int64_t start;        /* clock ticks after boot, 0 not known */
    int64_t memory_bytes; /* -1 not known */
    bool seen;
};

struct nvml_gpu {
    bool present;  /* found by the latest enumeration */
    bool declared; /* its entity was told */
    int last_code; /* of the latest failed or done round, to tell changes */
    uint32_t index, entity, generation;
    struct nvml_device *device;
    char uuid[NVML_UUID_BYTES], name[NVML_NAME_BYTES], bus[32];
    bool fields_work;  /* the batch call answers at all */
    uint64_t links;    /* bit i: link i counts bytes for itself (fifth generation) */
    int64_t energy_uj; /* latest, -1 none: going back means the driver was reloaded */
    bool gpm_works;
    struct nvml_gpm_sample *gpm[2]; /* the earlier and the later */
    int64_t gpm_us;                 /* when the later was taken; 0 never */
    bool is_mig;
    struct nvml_mig migs[NVML_MIGS_MAX];
    struct nvml_followed *processes;
    size_t processes_n;
};

struct nvml_source {
    struct source base;
    struct nvml_api api;
    void *lib;
    bool initialised;
    struct nvml_driver driver;
    char *sysroot;
    struct gpu_set skip_gpus;
    struct worker_pulse *pulse;
    int64_t interval_us;
    struct nvml_gpu gpus[NVML_GPUS_MAX];
    uint32_t gpus_n;
    uint32_t next_entity;
    struct nvml_event_set *events;
    uint64_t polls;
    int64_t retry_us, retry_after_us; /* when to initialise again, and the pause before the next */
    bool down;                        /* the driver went away; devices are reported as lost */
    struct nvml_gpm_request *gpm;     /* scratch, large */
};

/* One sample under construction. */
struct nvml_reading {
    struct obs obs[SAMPLE_MAX];
    uint32_t n;
    int64_t wall_us;
    int64_t latency_us; /* slowest value, -1 none told */
    int worst;          /* a code that concerns the device as a whole, or NVML_OK */
};

/* How much is read in this poll. */
enum nvml_depth { NVML_TICK = 0, NVML_SLOW, NVML_RARE };

void nvml_add(struct nvml_reading *r, enum metric m, int code, int64_t value);
void nvml_add_status(struct nvml_reading *r, enum metric m, enum obs_status status);

/* nvml-gpu.c: what every poll reads of a GPU, and what is asked less often by plain calls. */
void nvml_read_gpu(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                   struct nvml_reading *r);
/* Finds out once which fields and links this GPU has. */
void nvml_probe_gpu(struct nvml_source *s, struct nvml_gpu *g);
void nvml_read_memory(struct nvml_source *s, struct nvml_device *d, bool total,
                      struct nvml_reading *r);

/* nvml-gpm.c */
void nvml_gpm_open(struct nvml_source *s, struct nvml_gpu *g);
void nvml_gpm_close(struct nvml_source *s, struct nvml_gpu *g);
void nvml_gpm_read(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct nvml_reading *r);
void nvml_gpm_read_mig(struct nvml_source *s, struct nvml_gpu *g, struct nvml_mig *m,
                       int64_t mono_us, struct nvml_reading *r);

/* nvml-processes.c: appends entities, samples and departures; the count goes into `r`. */
int nvml_read_processes(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                        struct record_queue *out, struct nvml_reading *r);
void nvml_forget_processes(struct nvml_gpu *g);

/* nvml-mig.c */
int nvml_find_migs(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct record_queue *out);
int nvml_read_migs(struct nvml_source *s, struct nvml_gpu *g, enum nvml_depth depth,
                   int64_t mono_us, struct record_queue *out);
int nvml_drop_migs(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                   struct record_queue *out);

/* nvml-devices.c: finding devices, keeping identities over a reload of the driver. */
int nvml_start(struct nvml_source *s, struct err *err) MUST_CHECK;
void nvml_stop(struct nvml_source *s);
/* Takes a new handle of a GPU that does not answer; true when it is the same one. */
bool nvml_retake(struct nvml_source *s, struct nvml_gpu *g);
/* True when the handle still leads to the GPU that it was taken for. */
bool nvml_is_same(struct nvml_source *s, const struct nvml_gpu *g);
/* Declares what was found anew; says goodbye to what it was before. */
int nvml_declare(struct nvml_source *s, int64_t mono_us, struct record_queue *out);
/* Ends the present generation of a GPU and declares the next. */
int nvml_next_generation(struct nvml_source *s, struct nvml_gpu *g, int64_t mono_us,
                         struct record_queue *out);

int nvml_emit_sample(uint32_t entity, const struct nvml_reading *r, int64_t mono_us,
                     struct record_queue *out);
int nvml_emit_note(uint32_t entity, const char *key, const char *text, int64_t mono_us,
                   struct record_queue *out);
int nvml_emit_gone(uint32_t entity, int64_t mono_us, struct record_queue *out);

#endif
