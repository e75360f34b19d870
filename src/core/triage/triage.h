/* SPDX-License-Identifier: Apache-2.0 */
/* From observations to states: what each GPU was doing, and how sure that is. Pure and total:
 * records go in, episodes and findings come out through the sink, in an order that depends on
 * nothing but the records. docs/dev/triage.md tells the rule in words. */
#ifndef WATTGATE_CORE_TRIAGE_TRIAGE_H
#define WATTGATE_CORE_TRIAGE_TRIAGE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "core/board/board.h"
#include "core/telemetry/record.h"

enum state {
    STATE_UNKNOWN = 0,   /* nothing can be said */
    STATE_COMPUTE,       /* near what the board or the job draws when working */
    STATE_UNDERFED,      /* working, far below what the board can draw, without a stall */
    STATE_COMMUNICATION, /* moving bytes between GPUs */
    STATE_STARVED,       /* waiting for data */
    STATE_CHECKPOINT,    /* waiting while bytes are written */
    STATE_DEADLOCK,      /* waiting, and nothing moved for long enough */
    STATE_HELD,          /* a context without work */
    STATE_IDLE,          /* no context */
    STATE_UNRESOLVED,    /* one of `candidates` */
    STATE_LOST,          /* the device stopped answering */
    STATE_COUNT
};

/* Bits of `candidates`: 1 << a state, and CANDIDATE_WAIT, any long wait of a healthy job. */
#define CANDIDATE(state) (UINT32_C(1) << (state))
#define CANDIDATE_WAIT (UINT32_C(1) << STATE_COUNT)

enum confidence {
    CONFIDENCE_NONE = 0,
    CONFIDENCE_SNAPSHOT, /* one or few samples: what this moment looks like */
    CONFIDENCE_LOW,      /* anchors only by table, by fraction of the limit, or not at all */
    CONFIDENCE_HIGH,     /* anchors learned on this unit, a full window */
    CONFIDENCE_COUNT
};

enum finding_kind {
    FINDING_NONE = 0,
    FINDING_GHOST_LATCH,      /* utilisation latched high, nobody owns the GPU */
    FINDING_CAPPED,           /* the enforced limit is well below the default */
    FINDING_SMOOTHING_FLOOR,  /* power smoothing keeps watts up without work */
    FINDING_FAULTED_BOARD,    /* fields read as errors, or the driver reports a fault */
    FINDING_EMPTY_ALLOCATION, /* a process holds memory for long and never works */
    FINDING_STUCK_SENSOR,     /* power does not change while other readings do */
    FINDING_METRICS_VANISHED, /* a device or a metric that was there is gone */
    FINDING_XID,
    FINDING_CLOCKS_DISAGREE, /* energy counter against integrated power */
    FINDING_THROTTLED,       /* hardware or thermal slowdown, power brake */
    FINDING_WINDOW_SKEW,     /* high watts at utilisation 0: the two windows differ */
    FINDING_DEVICE_LOST,
    FINDING_WORKER_STUCK, /* the sampler of this device hangs in the driver */
    FINDING_BLIND,        /* the node's driver answers nobody */
    FINDING_TIME,         /* time went back or jumped in the stream */
    FINDING_ODD_ONE_OUT,  /* few GPUs are held while many stall: where to look first */
    FINDING_READER,       /* the reader dropped or kept something odd */
    FINDING_COUNT
};

#define EVIDENCE_MAX 6

struct evidence {
    const char *rule; /* id of a row of data/rules/triage.yaml */
    char detail[240]; /* the numbers compared */
};

struct episode {
    uint32_t device;          /* dense number of the device, see struct triage_device */
    int64_t start_us, end_us; /* stream time */
    enum state state;
    uint32_t candidates; /* CANDIDATE bits; 0 unless state is UNRESOLVED */
    enum confidence confidence;
    int64_t power_mw; /* median; -1 when no power was readable */
    uint32_t samples;
    uint32_t n_evidence;
    struct evidence evidence[EVIDENCE_MAX];
};

struct finding {
    uint32_t device; /* or ENTITY_NONE: about the node or the stream */
    int64_t at_us;   /* stream time when it was found */
    enum finding_kind kind;
    struct evidence evidence;
};

enum calibration {
    CALIBRATION_NONE = 0,
    CALIBRATION_LIMIT_FRACTION,
    CALIBRATION_TABLE,
    CALIBRATION_LEARNED,
    CALIBRATION_COUNT
};

#define STRIP_SLOTS 60

/* What is known of one device so far; borrowed, valid until the next call on the triage. */
struct triage_device {
    uint32_t entity; /* id in the stream (of its latest generation) */
    int32_t index;
    char key[64], name[64]; /* UUID or "index:N"; product or "" */
    bool is_node;           /* a node power log: watts without states */
    uint32_t mig_instances; /* it is divided into: watts and state are the whole board's */
    enum state state;       /* of the open episode */
    uint32_t candidates;
    int64_t since_us;                /* start of the open episode */
    int64_t power_mw;                /* latest, -1 not readable */
    int64_t util_permille;           /* latest, -1 not readable */
    int64_t limit_mw;                /* enforced, -1 not known */
    int64_t anchor_mw[ANCHOR_COUNT]; /* in force, -1 not known */
    enum calibration anchor_from[ANCHOR_COUNT];
    enum calibration calibration;
    uint64_t samples;
    int64_t first_us, last_us;
    int64_t us_by_state[STATE_COUNT];
    int64_t power_mean_mw, power_min_mw, power_max_mw; /* -1 not readable */
    int64_t util_mean_permille;                        /* -1 not readable */
    int64_t energy_uj;                                 /* over the stream; -1 not readable */
    bool energy_from_counter;                          /* else integrated from power */
    int64_t energy_error_permille; /* bound of the energy's error, -1 not known */
    enum metric power_metric;      /* which kind of reading the watts are */
    /* The whole stream cut into at most STRIP_SLOTS equal slots: mean watts (-1 none) and the
     * state that held longest. */
    uint32_t slots;
    int64_t slot_power_mw[STRIP_SLOTS];
    enum state slot_state[STRIP_SLOTS];
};

struct triage_sink {
    /* Borrowed for the call. Either may be NULL. */
    void (*episode)(void *arg, const struct episode *e);
    void (*finding)(void *arg, const struct finding *f);
    void *arg;
};

/* Thresholds, read from data/rules/triage.yaml by tables/. See that file for each one's reason. */
struct triage_rules {
    int64_t window_us;              /* what a decision looks at */
    uint32_t window_samples;        /* fewest samples for more than a snapshot */
    uint32_t low_permille;          /* of the range: at or below is LOW */
    int64_t low_margin_mw;          /* over the held level: at or below is LOW */
    uint32_t high_permille;         /* of the range: at or above is HIGH */
    uint32_t high_of_work_permille; /* of the learned working level: at or above is HIGH */
    uint32_t hysteresis_permille;   /* of the range */
    uint32_t util_busy_permille;    /* at or above: spinning or working all the time */
    uint32_t util_zero_permille;    /* at or below: nothing ran */
    uint32_t flat_permille;         /* of the range: spread of LOW watts that still is flat */
    uint32_t quiet_mem_permille;    /* memory utilisation at or below is none */
    int64_t quiet_link_bps;         /* link traffic at or below is none */
    int64_t much_link_bps;          /* at or above: the job is moving data */
    uint32_t busy_sm_permille;      /* SM activity at or above is work */
    uint32_t busy_tensor_permille;  /* tensor activity at or above is work */
    int64_t min_mem_bytes;          /* device memory above this belongs to somebody */
    int64_t deadlock_us;            /* stillness with host signals seen */
    int64_t deadlock_blind_us;      /* stillness without host signals */
    int64_t lost_us;                /* silence of a device */
    int64_t empty_allocation_us;
    int64_t stuck_sensor_us;
    uint32_t capped_permille; /* of the default limit: enforced below is capped */
    int64_t min_episode_us;   /* shorter ones are joined to their neighbour */
};

struct triage;

/* Both are borrowed for the life of the triage. NULL when memory is out. */
struct triage *triage_new(const struct triage_rules *rules, const struct board_set *boards,
                          const struct triage_sink *sink);
void triage_free(struct triage *t);
/* The product to assume for devices whose input names none ("H200", "b300-sxm"); before the first
 * record. -ENOENT when the tables have no such board. */
int triage_assume_product(struct triage *t, struct str product, struct err *err) MUST_CHECK;
/* Anchors that `wattgate calibrate` learned for a device key, before its first sample. A value of
 * -1 is not known. */
int triage_set_anchors(struct triage *t, struct str key, const int64_t anchor_mw[ANCHOR_COUNT],
                       struct err *err) MUST_CHECK;
/* Takes the next record. -ENOMEM, -EINVAL for a stream that breaks a rule of record.h. */
int triage_feed(struct triage *t, const struct record *r, struct err *err) MUST_CHECK;
/* Closes every open episode. The devices stay readable; nothing can be fed afterwards. */
int triage_finish(struct triage *t, struct err *err) MUST_CHECK;

size_t triage_devices(const struct triage *t);
const struct triage_device *triage_device(const struct triage *t, size_t i);
/* Wall time of a stream time; -1 when the stream has no clock. */
int64_t triage_wall_us(const struct triage *t, int64_t stream_us);

const char *state_name(enum state s);
const char *confidence_name(enum confidence c);
const char *finding_name(enum finding_kind k);
const char *calibration_name(enum calibration c);
/* "checkpoint|deadlock|wait" */
void candidates_add(struct strbuf *out, uint32_t candidates);

DEFINE_AUTO_PTR(triage)

#endif
