/* SPDX-License-Identifier: Apache-2.0 */
/* What flows from every source (live, trace, simulation) into every decision. A stream is a
 * sequence of records; feeding the same records gives the same verdicts, byte for byte.
 *
 * Order in a stream: one RECORD_HEADER first (again after a restart of the recorder), an
 * RECORD_ENTITY before the first sample of that entity, samples, then a RECORD_TICK that closes
 * each polling round. Times never go back within a stream; a reader that meets that says so. */
#ifndef WATTGATE_CORE_TELEMETRY_RECORD_H
#define WATTGATE_CORE_TELEMETRY_RECORD_H

#include "base/str.h"
#include "core/telemetry/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entity_kind {
    ENTITY_UNKNOWN = 0,
    ENTITY_NODE,
    ENTITY_GPU,
    ENTITY_MIG,     /* parent: the GPU */
    ENTITY_PROCESS, /* parent: the GPU that it owns a context on, or the process that started it */
    ENTITY_RANK,
    ENTITY_MOUNT,
    ENTITY_LINK,
    ENTITY_LOG,
    ENTITY_WORKER,
    ENTITY_KIND_COUNT
};

#define ENTITY_NONE UINT32_MAX
#define ENTITY_MAX 65536u /* ids are small: a stream with more entities than this is refused */

/* One thing that is observed. `id` is the number by which samples name it in this stream, given
 * out from 0 upwards; a device that comes back after a driver reload gets a new id, the same key
 * and the next generation. Strings are borrowed for the call. */
struct entity {
    uint32_t id;
    enum entity_kind kind;
    uint32_t parent;     /* id, or ENTITY_NONE */
    uint32_t generation; /* 0, then +1 for each driver reload */
    int32_t index;       /* GPU number as the tools print it, pid of a process, else -1 */
    struct str key;      /* identity: GPU UUID or "index:N"; "pid:N@START"; mount path; port */
    struct str name;     /* product or command name; empty when not known */
    struct str driver;   /* driver version; empty when not known */
    struct str bus;      /* PCI address; empty when not known */
};

enum obs_status {
    OBS_VALUE = 0,   /* `value` holds what was read */
    OBS_ABSENT,      /* the source has no such thing ([N/A], 0xFFFF) */
    OBS_UNSUPPORTED, /* the device cannot tell ([Not Supported]) */
    OBS_DENIED,      /* no permission */
    OBS_TIMED_OUT,   /* the query did not come back within its deadline */
    OBS_STALE,       /* `value` holds an older reading */
    OBS_ERROR,       /* the device answered with an error (ERR!, [Unknown Error]) */
    OBS_LOST,        /* the device does not answer any more */
    OBS_STATUS_COUNT
};

struct obs {
    enum metric metric;
    enum obs_status status;
    int64_t value;     /* in the metric's unit; 0 unless status is VALUE or STALE */
    int64_t device_us; /* the device's own stamp, us since 1970; 0 when it gave none */
};

#define SAMPLE_MAX 64 /* observations in one sample */

/* Some metrics of one entity at one time. */
struct sample {
    uint32_t entity;
    uint32_t n;
    const struct obs *obs; /* borrowed for the call */
};

/* How far times of the stream can be trusted. */
enum stream_clock {
    CLOCK_NONE = 0, /* the source states no time: a snapshot. mono_us counts samples only */
    CLOCK_WALL,     /* only wall time is known; it may step */
    CLOCK_STEADY,   /* monotonic, with its offset to wall time (time.h owns the other name) */
    STREAM_CLOCK_COUNT
};

struct stream_header {
    enum stream_clock clock;
    struct str tool;        /* who wrote it: "wattgate 0.1.0", "nvidia-smi csv" */
    struct str host;        /* empty when not known */
    struct str boot_id;     /* empty when not known */
    struct str tables;      /* digest of the board and rule tables used; empty when not recorded */
    int64_t wall_offset_us; /* wall = mono + this; 0 unless clock is STEADY */
    int64_t interval_us;    /* intended spacing of ticks; 0 when not known */
};

/* A board power level learned or stated for one GPU. */
enum anchor {
    ANCHOR_BARE = 0, /* no process */
    ANCHOR_HELD,     /* a context without work */
    ANCHOR_SPIN,     /* waiting inside a collective */
    ANCHOR_WORK,     /* the job's healthy level */
    ANCHOR_COUNT
};

struct anchor_value {
    uint32_t entity;
    enum anchor anchor;
    int64_t power_mw;
    struct str source; /* "learned", "table b300", ... */
};

/* A remark about an entity that is no number: wchan, why a worker was given up, a lost record. */
struct note {
    uint32_t entity; /* or ENTITY_NONE: about the stream */
    struct str key;  /* "wchan", "worker", "reader", ... */
    struct str text;
};

enum record_kind {
    RECORD_UNKNOWN = 0,
    RECORD_HEADER,
    RECORD_ENTITY,
    RECORD_GONE, /* u.gone: the entity went away */
    RECORD_SAMPLE,
    RECORD_TICK,  /* the polling round is complete */
    RECORD_CLOCK, /* u.wall_offset_us: the new offset of wall time */
    RECORD_ANCHOR,
    RECORD_NOTE,
    RECORD_KIND_COUNT
};

struct record {
    enum record_kind kind;
    int64_t mono_us; /* when; never goes back within a stream */
    union {
        struct stream_header header;
        struct entity entity;
        uint32_t gone;
        struct sample sample;
        int64_t wall_offset_us;
        struct anchor_value anchor;
        struct note note;
    } u;
};

const char *entity_kind_name(enum entity_kind k);
const char *obs_status_name(enum obs_status s);
const char *stream_clock_name(enum stream_clock c);
const char *anchor_name(enum anchor a);
/* 0 (UNKNOWN, VALUE, NONE) and false when nothing is called so. */
bool entity_kind_from_name(struct str name, enum entity_kind *ret);
bool obs_status_from_name(struct str name, enum obs_status *ret);
bool stream_clock_from_name(struct str name, enum stream_clock *ret);
bool anchor_from_name(struct str name, enum anchor *ret);

/* The observation of `m` in the sample, or NULL. */
const struct obs *sample_find(const struct sample *s, enum metric m);
/* True and the value when the sample holds a fresh value of `m`. */
bool sample_get(const struct sample *s, enum metric m, int64_t *ret);

#endif
