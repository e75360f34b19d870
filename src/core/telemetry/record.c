/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/record.h"

#include "base/defs.h"

static const char *const kind_names[] = {
    [ENTITY_UNKNOWN] = "unknown", [ENTITY_NODE] = "node",       [ENTITY_GPU] = "gpu",
    [ENTITY_MIG] = "mig",         [ENTITY_PROCESS] = "process", [ENTITY_RANK] = "rank",
    [ENTITY_MOUNT] = "mount",     [ENTITY_LINK] = "link",       [ENTITY_LOG] = "log",
    [ENTITY_WORKER] = "worker",
};
_Static_assert(ARRAY_SIZE(kind_names) == ENTITY_KIND_COUNT, "every kind needs a name");

static const char *const status_names[] = {
    [OBS_VALUE] = "value",   [OBS_ABSENT] = "absent",       [OBS_UNSUPPORTED] = "unsupported",
    [OBS_DENIED] = "denied", [OBS_TIMED_OUT] = "timed_out", [OBS_STALE] = "stale",
    [OBS_ERROR] = "error",   [OBS_LOST] = "lost",
};
_Static_assert(ARRAY_SIZE(status_names) == OBS_STATUS_COUNT, "every status needs a name");

static const char *const clock_names[] = {
    [CLOCK_NONE] = "none",
    [CLOCK_WALL] = "wall",
    [CLOCK_STEADY] = "monotonic",
};
_Static_assert(ARRAY_SIZE(clock_names) == STREAM_CLOCK_COUNT, "every clock needs a name");

static const char *const anchor_names[] = {
    [ANCHOR_BARE] = "bare",
    [ANCHOR_HELD] = "held",
    [ANCHOR_SPIN] = "spin",
    [ANCHOR_WORK] = "work",
};
_Static_assert(ARRAY_SIZE(anchor_names) == ANCHOR_COUNT, "every anchor needs a name");

static bool find_name(const char *const *names, size_t n, struct str name, unsigned *ret)
{
    for (unsigned i = 0; i < n; i++)
        if (str_is(name, names[i])) {
            *ret = i;
            return true;
        }
    return false;
}

const char *entity_kind_name(enum entity_kind k)
{
    return kind_names[(unsigned) k < ENTITY_KIND_COUNT ? k : ENTITY_UNKNOWN];
}

const char *obs_status_name(enum obs_status s)
{
    return status_names[(unsigned) s < OBS_STATUS_COUNT ? s : OBS_ERROR];
}

const char *stream_clock_name(enum stream_clock c)
{
    return clock_names[(unsigned) c < STREAM_CLOCK_COUNT ? c : CLOCK_NONE];
}

const char *anchor_name(enum anchor a)
{
    return (unsigned) a < ANCHOR_COUNT ? anchor_names[a] : "unknown";
}

bool entity_kind_from_name(struct str name, enum entity_kind *ret)
{
    unsigned i = 0;
    bool found = find_name(kind_names, ARRAY_SIZE(kind_names), name, &i);
    *ret = (enum entity_kind) i;
    return found;
}

bool obs_status_from_name(struct str name, enum obs_status *ret)
{
    unsigned i = 0;
    bool found = find_name(status_names, ARRAY_SIZE(status_names), name, &i);
    *ret = (enum obs_status) i;
    return found;
}

bool stream_clock_from_name(struct str name, enum stream_clock *ret)
{
    unsigned i = 0;
    bool found = find_name(clock_names, ARRAY_SIZE(clock_names), name, &i);
    *ret = (enum stream_clock) i;
    return found;
}

bool anchor_from_name(struct str name, enum anchor *ret)
{
    unsigned i = 0;
    bool found = find_name(anchor_names, ARRAY_SIZE(anchor_names), name, &i);
    *ret = (enum anchor) i;
    return found;
}

const struct obs *sample_find(const struct sample *s, enum metric m)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->obs[i].metric == m)
            return &s->obs[i];
    return NULL;
}

bool sample_get(const struct sample *s, enum metric m, int64_t *ret)
{
    const struct obs *o = sample_find(s, m);
    if (!o || o->status != OBS_VALUE)
        return false;
    *ret = o->value;
    return true;
}
