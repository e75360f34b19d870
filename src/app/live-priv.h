/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of live telemetry share. */
#ifndef WATTGATE_APP_LIVE_PRIV_H
#define WATTGATE_APP_LIVE_PRIV_H

#include "app/live.h"
#include "base/strbuf.h"
#include "core/telemetry/codec.h"
#include "core/telemetry/queue.h"
#include "source/source.h"
#include "sys/worker.h"

#include <signal.h>

enum {
    LIVE_SLOTS_MAX = 8,
    LIVE_RESTARTS_PER_HOUR = 10,
    LIVE_LINE_MAX = 1 << 20, /* a worker with a longer line has lost its mind */
};

/* What a worker says besides records: lines that begin with this byte, which no record does. */
#define LIVE_CONTROL '\001'
#define LIVE_SAYS_OPEN "open"
#define LIVE_SAYS_DONE "done"
#define LIVE_SAYS_FAIL "fail " /* code, blank, sentence */

/* One entity of the stream; its id is its place. */
struct live_entity {
    enum entity_kind kind;
    uint32_t slot, parent, generation;
    int32_t index;
    bool gone;
    bool seen;          /* declared by the present worker */
    char *key, *driver; /* NULL once gone, except for GPUs, which may come back */
};

enum slot_state {
    SLOT_OPENING = 0, /* a worker looks for devices */
    SLOT_READY,
    SLOT_PAUSED, /* the worker ended; the next starts at restart_us */
    SLOT_BLIND,  /* given up, unless the worker answers after all */
    SLOT_ABSENT, /* nothing to read on this machine */
    SLOT_STATE_COUNT
};

struct live_slot {
    const struct source_ops *ops;
    enum slot_state state;
    struct worker *worker;
    struct worker *abandoned; /* hung, left alone */
    struct codec_reader *reader;
    struct strbuf in;
    uint32_t *ids; /* stream id by the worker's own id; ENTITY_NONE where there is none */
    uint32_t ids_n;
    struct gpu_set hung_gpus; /* GPUs that nobody reads */
    struct gpu_set left_out;  /* those of them that the present worker was told to leave out */
    bool was_open;            /* some worker of this slot had devices */
    bool replaced;            /* the one replacement for a hung worker was made */
    bool retry_due;           /* the hung worker has ended: start one for all devices */
    bool asked;               /* in this round, and not yet answered */
    bool sweep_due;           /* what the new worker does not declare is gone */
    bool slow_told;           /* that this worker takes long to find its devices */
    int fail_code;
    char fail_text[256];
    int64_t restart_us; /* real time */
    int64_t hour_us;    /* start of the hour in which restarts are counted */
    unsigned restarts;
};

struct live {
    int64_t interval_us, deadline_us;
    char *sysroot, *nvml_library;
    int32_t *pids;
    uint32_t n_pids;
    struct live_slot slots[LIVE_SLOTS_MAX];
    uint32_t slots_n;
    struct live_entity *entities;
    uint32_t entities_n, entities_cap;
    bool full_told;
    struct record_queue *queue;
    int64_t last_us;        /* of the stream */
    int64_t wall_offset_us; /* as told last */
    bool round_open;
    int64_t round_us, next_round_us, close_us;
    int64_t planned_us; /* real time by which this side meant to look again */
    uint64_t random;
    int stop_fds[2];
    volatile sig_atomic_t stopped;
};

/* live-child.c: the worker's side. `arg` is a struct live_child. */
struct live_child {
    const struct source_ops *ops;
    struct source_env env;
};
int live_child_run(const struct worker_side *side, void *arg);

/* live-stream.c: from records of workers to the stream. */
int live_emit(struct live *l, struct record *r) MUST_CHECK;
int live_note(struct live *l, uint32_t entity, const char *key, const char *text) MUST_CHECK;
int live_accept(struct live *l, struct live_slot *s, const struct record *r) MUST_CHECK;
/* A new worker numbers its entities anew. */
void live_forget_ids(struct live *l, struct live_slot *s);
/* Says goodbye to what the new worker did not find again. */
int live_sweep(struct live *l, struct live_slot *s) MUST_CHECK;
/* The GPU with this number, or ENTITY_NONE. */
uint32_t live_find_gpu(const struct live *l, const struct live_slot *s, int32_t index);
/* An entity for a GPU that hung before it was declared; *ret stays as it is when none is free. */
int live_declare_hung(struct live *l, struct live_slot *s, int32_t index, uint32_t *ret) MUST_CHECK;
/* Samples that say "timed out" for every GPU that nobody reads now. */
int live_tell_unread(struct live *l) MUST_CHECK;
void live_free_entities(struct live *l);

/* live-slot.c: the life of a slot's worker. */
int live_slot_start(struct live *l, struct live_slot *s, struct err *err) MUST_CHECK;
void live_slot_ask(struct live_slot *s);
/* Takes what the worker said; never waits. */
int live_slot_read(struct live *l, struct live_slot *s) MUST_CHECK;
/* Judges silence, restarts what is due, reaps what came back. */
int live_slot_check(struct live *l, struct live_slot *s) MUST_CHECK;
/* Real microseconds until it has to be checked again. */
int64_t live_slot_wait_us(const struct live *l, const struct live_slot *s);
void live_slot_close(struct live_slot *s);

#endif
