/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the triage share. One struct device for each GPU or metered node. */
#ifndef WATTGATE_CORE_TRIAGE_PRIV_H
#define WATTGATE_CORE_TRIAGE_PRIV_H

#include "core/triage/triage.h"

/* ---- a sample, spread out so that each reading is found at once ---- */

struct readings {
    uint64_t have[(METRIC_COUNT + 63) / 64];
    int64_t value[METRIC_COUNT];
    enum obs_status status[METRIC_COUNT]; /* of what the sample names, see `named` */
    uint64_t named[(METRIC_COUNT + 63) / 64];
    uint32_t errors; /* readings that answer with an error */
    enum metric first_error;
    bool lost, timed_out;
};

static inline bool bit_of(const uint64_t *bits, enum metric m)
{
    return bits[m / 64] >> (m % 64) & 1;
}

/* As sample_get(). */
static inline bool got(const struct readings *s, enum metric m, int64_t *ret)
{
    if (!bit_of(s->have, m))
        return false;
    *ret = s->value[m];
    return true;
}

/* ---- window.c: the last seconds of one reading, in at most TRACK_SLOTS means ---- */

#define TRACK_SLOTS 16

struct track {
    int64_t at_us[TRACK_SLOTS]; /* start of each slot */
    int64_t sum[TRACK_SLOTS];
    int64_t value[TRACK_SLOTS]; /* sum / count */
    int32_t count[TRACK_SLOTS];
    uint32_t first, n;           /* ring */
    int64_t sorted[TRACK_SLOTS]; /* the n values in order */
};

struct track_view {
    uint32_t n;
    int64_t median, min, max, span_us;
};

void track_add(struct track *k, int64_t at_us, int64_t value, int64_t window_us);
/* False when nothing of the window is left at now_us. */
bool track_look(struct track *k, int64_t now_us, int64_t window_us, struct track_view *ret);
/* Only the highest; cheaper. */
bool track_max(struct track *k, int64_t now_us, int64_t window_us, int64_t *ret_max);
void track_clear(struct track *k);

/* A counter turned into a rate a second; a decrease (reset, wrap) gives nothing once. */
struct rate {
    int64_t last, last_us;
    bool seen;
};

bool rate_add(struct rate *r, int64_t at_us, int64_t value, int64_t *ret_per_s, int64_t *ret_delta);

/* ---- signals of a device as the rules see them ---- */

enum power_class { CLASS_NONE = 0, CLASS_LOW, CLASS_MID, CLASS_HIGH };
enum util_kind { UTIL_UNKNOWN = 0, UTIL_ZERO, UTIL_BETWEEN, UTIL_BUSY };
enum flatness { FLAT_UNKNOWN = 0, FLAT_YES, FLAT_NO };
enum amount { AMOUNT_UNKNOWN = 0, AMOUNT_NONE, AMOUNT_SOME, AMOUNT_MUCH };
enum near { NEAR_UNKNOWN = 0, NEAR_BARE, NEAR_HELD };
enum host_view {
    HOST_UNKNOWN = 0, /* no process of the GPU is seen from the host */
    HOST_STILL,       /* seen, and nothing moves */
    HOST_WRITING,     /* bytes are written, or a process waits in the kernel for a write */
    HOST_LOADING,     /* processes read or compute on the CPU */
    HOST_BLOCKED,     /* a process is in D state, not on a write */
};
enum stillness { STILL_SHORT = 0, STILL_LONG, STILL_BLIND_LONG };

struct signals {
    enum power_class power;
    enum util_kind util;
    enum flatness flat;
    enum amount mem;   /* memory controller traffic */
    enum amount link;  /* bytes between devices; MUCH is enough to be what the job does */
    enum amount owner; /* processes on the GPU */
    enum amount sm;    /* real work on the SMs: NONE is low, SOME is busy */
    enum near near;
    enum host_view host;
    enum stillness still;
    bool working;     /* no class, but well above any idle level by share of the limit */
    bool may_compute; /* MID may be full work on this board: flagged low-power */
    bool smoothing;
};

struct verdict {
    enum state state;
    uint32_t candidates;
    const char *rule;
};

/* decide.c: total; every combination has a row. */
struct verdict decide(const struct signals *s);
/* Walks the rows: id and words, NULL past the last; for the documentation and its test. */
const char *decide_rule(size_t i);

/* ---- devices ---- */

#define HISTOGRAM_BINS 2048 /* 2 W below 2048 W, then 32 W */

struct histogram {
    uint32_t count[HISTOGRAM_BINS];
    uint32_t n;
};

void histogram_add(struct histogram *h, int64_t power_mw);
int64_t histogram_median_mw(const struct histogram *h); /* -1 when empty */
void histogram_clear(struct histogram *h);

struct open_episode {
    bool open;
    int64_t start_us;
    struct verdict verdict;
    enum confidence confidence;
    uint32_t samples;
    struct evidence evidence[EVIDENCE_MAX];
    uint32_t n_evidence;
};

struct strip {
    int64_t origin_us, width_us; /* width 0: nothing yet */
    int64_t power_sum[STRIP_SLOTS], power_n[STRIP_SLOTS];
    int64_t us[STRIP_SLOTS][STATE_COUNT];
};

struct said {
    bool done[FINDING_COUNT]; /* told, and not over yet */
    int64_t since_us[FINDING_COUNT];
};

struct device {
    struct triage_device pub;
    uint32_t number;
    bool gone, silent;
    const struct board *board;
    int64_t limit_default_mw;
    int64_t interval_us; /* shortest spacing of samples seen; 0 not yet */
    struct track power, util, mem, link, exchange, sm;
    struct rate energy, pcie_tx, pcie_rx, nvlink_tx, nvlink_rx, ecc;
    bool mem_seen, link_seen, sm_seen;
    enum amount owner;
    int64_t mem_used_bytes; /* -1 not known */
    bool smoothing;
    enum power_class class;
    int64_t still_since_us;            /* -1: moving */
    int64_t learning_us[ANCHOR_COUNT]; /* how long the state of an anchor has held */
    int64_t learned_mw[ANCHOR_COUNT];  /* -1 not */
    bool kept[ANCHOR_COUNT];           /* learned before this stream */
    /* episodes */
    struct open_episode now, next; /* `next` waits until it has lasted long enough */
    struct histogram watts, next_watts;
    struct strip strip;
    int64_t pending_from_us; /* time not yet given to a state starts here */
    /* totals */
    int64_t power_sum_mw, power_n, util_sum, util_n;
    int64_t integrated_uj, counter_uj, last_power_us, last_power_mw, energy_power_mw;
    bool energy_is_average;
    int64_t counter_span_us;
    uint32_t mig_seen;                                           /* a bit for each instance */
    int64_t compared_counter_uj, compared_power_uj, compared_us; /* where both were read, no gap */
    /* a frozen sensor */
    int64_t frozen_mw, frozen_since_us, frozen_temp_mc, frozen_other;
    uint32_t frozen_n;
    bool stuck_sensor;
    bool power_was_there;
    struct said said;
};

/* A process that the host or the driver shows. */
struct process {
    uint32_t entity;
    bool used;
    int32_t pid;
    uint32_t parent; /* entity, or ENTITY_NONE */
    uint32_t device; /* number of the device that it (or its parent) owns, or ENTITY_NONE */
    bool is_owner;   /* holds a context itself */
    bool host_seen;
    bool in_d, d_on_write;
    struct rate written, read, cpu;
    int64_t wrote_us, loaded_us; /* when it last did; -1 never */
};

struct triage {
    const struct triage_rules *rules;
    const struct board_set *boards;
    const struct board *assumed; /* for devices of unknown product, or NULL */
    struct triage_sink sink;
    struct device **devices;
    size_t n;
    struct process *processes;
    size_t n_processes;
    uint32_t *device_of; /* entity -> device number + 1; 0 none */
    size_t n_device_of;
    struct stored {
        char key[64];
        int64_t anchor_mw[ANCHOR_COUNT];
    } * stored;
    size_t n_stored;
    char node_key[64]; /* of the node that the stream is about; a device once it gives watts */
    enum stream_clock clock;
    int64_t interval_us;
    int64_t wall_offset_us; /* wall = stream time + this */
    int64_t shift_us;       /* stream time = mono + this; moves at a restart of the recorder */
    int64_t now_us;
    bool headed, finished;
    int64_t tick_us; /* spacing of the latest ticks, 0 not known */
    int64_t last_tick_us;
    struct readings in; /* the sample being taken */
    bool odd_told;
};

/* ---- devices.c ---- */
struct device *device_by_entity(const struct triage *t, uint32_t entity); /* NULL: none */
int device_bind(struct triage *t, uint32_t entity, const struct device *d) MUST_CHECK;
/* Finds the entity's device by its key, or adds it, and binds the entity to it. */
/* An instance of a device: told once, however often it is declared. */
void device_divided(struct triage *t, const struct entity *e);
int device_take(struct triage *t, const struct entity *e, struct err *err) MUST_CHECK;
/* window of this device: at least the rule's, and wide enough for its sampling */
int64_t device_window_us(const struct triage *t, const struct device *d);
int64_t device_gap_us(const struct triage *t, const struct device *d);

#define POWER_MAX_MW INT64_C(1000000000) /* a megawatt: more is no reading of a device or node */

/* ---- readings.c ---- */
/* True and the watts when the sample has some of the device's kind. */
bool readings_take(struct triage *t, struct device *d, const struct readings *s, int64_t *ret_mw);

/* ---- signals.c ---- */
void signals_look(struct triage *t, struct device *d, struct signals *s, struct track_view *power);
enum confidence signals_confidence(const struct triage *t, const struct device *d,
                                   const struct track_view *power);

/* ---- power.c ---- */
void anchors_refresh(const struct triage *t, struct device *d);
enum power_class classify(const struct triage *t, const struct device *d, int64_t power_mw,
                          int64_t *ret_low_mw, int64_t *ret_high_mw);
int64_t device_range_mw(const struct device *d); /* limit - bare; -1 not known */
void learn(const struct triage *t, struct device *d, const struct signals *s,
           const struct track_view *power, int64_t dt_us);

/* ---- host.c ---- */
int host_entity(struct triage *t, const struct entity *e);
void host_gone(struct triage *t, uint32_t entity);
void host_sample(struct triage *t, const struct sample *s);
void host_note(struct triage *t, const struct note *n);
enum host_view host_look(const struct triage *t, const struct device *d);

/* ---- episodes.c ---- */
void episode_step(struct triage *t, struct device *d, const struct verdict *v,
                  enum confidence confidence, const char *detail);
void episode_gap(struct triage *t, struct device *d);
void episode_power(struct device *d, int64_t at_us, int64_t power_mw);
void episode_finish(struct triage *t, struct device *d);
void strip_publish(struct device *d);

/* ---- findings.c ---- */
void findings_sample(struct triage *t, struct device *d, const struct readings *s);
/* At each tick: GPUs that differ from the many that stall. */
void findings_tick(struct triage *t);
void findings_step(struct triage *t, struct device *d, const struct signals *s,
                   const struct verdict *v, const struct track_view *power);
void find(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
          const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Once until forgotten. */
void find_once(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
               const char *fmt, ...) PRINTF_LIKE(5, 6);

/* ---- energy.c ---- */
void energy_sample(struct triage *t, struct device *d, const struct readings *s);
void energy_publish(const struct triage *t, struct device *d);

#endif
