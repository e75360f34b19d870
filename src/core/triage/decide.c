/* SPDX-License-Identifier: Apache-2.0 */
/* The rule, as rows. A row matches when every signal is among the values that it allows; the
 * first match wins; the last rows match anything. docs/dev/triage.md tells it in words. */
#include "core/triage/triage-priv.h"

#define ANY 0xff
#define IS(value) (1u << (value))
#define NOT(value) (0xffu & ~(1u << (value)))

/* of links */
#define QUIET (IS(AMOUNT_UNKNOWN) | IS(AMOUNT_NONE))
#define MOVING (IS(AMOUNT_SOME) | IS(AMOUNT_MUCH))

/* of utilisation: without gaps, as far as it is known */
#define STEADY (IS(UTIL_BUSY) | IS(UTIL_UNKNOWN))

#define C(name) CANDIDATE(STATE_##name)
#define STALLED (C(CHECKPOINT) | C(DEADLOCK) | CANDIDATE_WAIT)
#define SLOW (C(COMMUNICATION) | C(STARVED) | C(UNDERFED))

struct row {
    const char *id;
    uint8_t power, util, flat, mem, link, owner, sm, near, host, still;
    enum state state;
    uint32_t candidates;
};

/* One row a line is the point. */
/* clang-format off */
static const struct row rows[] = {
/* id                     power              util              flat           mem                 link                owner              sm                 near            host                still */
{ "high.compute",         IS(CLASS_HIGH),    ANY,              ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_COMPUTE, 0 },

{ "none.owner",           IS(CLASS_NONE) | IS(CLASS_LOW),
                                             IS(UTIL_ZERO) | IS(UTIL_UNKNOWN),
                                                               ANY,           ANY,                ANY,                IS(AMOUNT_NONE),   ANY,               ANY,            ANY,                ANY, STATE_IDLE, 0 },
{ "low.ghost",            IS(CLASS_LOW),     NOT(UTIL_ZERO),   ANY,           NOT(AMOUNT_SOME),   QUIET,   IS(AMOUNT_NONE),   ANY,               ANY,            ANY,                ANY, STATE_IDLE, 0 },

{ "low.held",             IS(CLASS_LOW),     IS(UTIL_ZERO),    NOT(FLAT_NO),  NOT(AMOUNT_SOME),   QUIET,   IS(AMOUNT_SOME),   NOT(AMOUNT_SOME),  ANY,            NOT(HOST_LOADING),  ANY, STATE_HELD, 0 },
{ "low.held-loading",     IS(CLASS_LOW),     IS(UTIL_ZERO),    ANY,           ANY,                ANY,                IS(AMOUNT_SOME),   ANY,               ANY,            IS(HOST_LOADING),   ANY, STATE_UNRESOLVED, C(HELD) | C(STARVED) },
{ "low.near-bare",        IS(CLASS_LOW),     IS(UTIL_ZERO),    NOT(FLAT_NO),  NOT(AMOUNT_SOME),   QUIET,   IS(AMOUNT_UNKNOWN),NOT(AMOUNT_SOME),  IS(NEAR_BARE),  ANY,                ANY, STATE_IDLE, 0 },
{ "low.near-held",        IS(CLASS_LOW),     IS(UTIL_ZERO),    NOT(FLAT_NO),  NOT(AMOUNT_SOME),   QUIET,   IS(AMOUNT_UNKNOWN),NOT(AMOUNT_SOME),  IS(NEAR_HELD),  ANY,                ANY, STATE_HELD, 0 },
{ "low.unused",           IS(CLASS_LOW),     IS(UTIL_ZERO),    NOT(FLAT_NO),  NOT(AMOUNT_SOME),   QUIET,   IS(AMOUNT_UNKNOWN),NOT(AMOUNT_SOME),  ANY,            ANY,                ANY, STATE_UNRESOLVED, C(IDLE) | C(HELD) | C(STARVED) },
{ "low.unused-moving",    IS(CLASS_LOW),     IS(UTIL_ZERO),    ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(HELD) | SLOW | C(IDLE) },

{ "low.work",             IS(CLASS_LOW),     STEADY,   ANY,           ANY,                ANY,                NOT(AMOUNT_NONE),  IS(AMOUNT_SOME),   ANY,            ANY,                ANY, STATE_UNDERFED, 0 },
{ "low.traffic",          IS(CLASS_LOW),     STEADY,   ANY,           ANY,                IS(AMOUNT_MUCH),    NOT(AMOUNT_NONE),  IS(AMOUNT_NONE),   ANY,            NOT(HOST_LOADING),  ANY, STATE_COMMUNICATION, 0 },
{ "low.moving",           IS(CLASS_LOW),     IS(UTIL_BUSY),    ANY,           IS(AMOUNT_SOME),    ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, SLOW | CANDIDATE_WAIT },
{ "low.moving-link",      IS(CLASS_LOW),     IS(UTIL_BUSY),    ANY,           ANY,                MOVING,    ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, SLOW | CANDIDATE_WAIT },
{ "low.writing",          IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  IS(AMOUNT_NONE),    ANY,                ANY,               ANY,               ANY,            IS(HOST_WRITING),   ANY, STATE_CHECKPOINT, 0 },
{ "low.writing-link",     IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  ANY,                IS(AMOUNT_NONE),    ANY,               ANY,               ANY,            IS(HOST_WRITING),   ANY, STATE_CHECKPOINT, 0 },
{ "low.still",            IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  IS(AMOUNT_NONE),    ANY,                NOT(AMOUNT_NONE),  ANY,               ANY,            IS(HOST_STILL),     NOT(STILL_SHORT), STATE_DEADLOCK, 0 },
{ "low.still-link",       IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  ANY,                IS(AMOUNT_NONE),    NOT(AMOUNT_NONE),  ANY,               ANY,            IS(HOST_STILL),     NOT(STILL_SHORT), STATE_DEADLOCK, 0 },
{ "low.still-blind",      IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  IS(AMOUNT_NONE),    ANY,                NOT(AMOUNT_NONE),  ANY,               ANY,            IS(HOST_UNKNOWN),   IS(STILL_BLIND_LONG), STATE_DEADLOCK, 0 },
{ "low.still-blind-link", IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_YES),  ANY,                IS(AMOUNT_NONE),    NOT(AMOUNT_NONE),  ANY,               ANY,            IS(HOST_UNKNOWN),   IS(STILL_BLIND_LONG), STATE_DEADLOCK, 0 },
{ "low.stalled",          IS(CLASS_LOW),     IS(UTIL_BUSY),    NOT(FLAT_NO),  IS(AMOUNT_NONE),    ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED },
{ "low.stalled-link",     IS(CLASS_LOW),     IS(UTIL_BUSY),    NOT(FLAT_NO),  ANY,                IS(AMOUNT_NONE),    ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED },
{ "low.snapshot",         IS(CLASS_LOW),     IS(UTIL_BUSY),    IS(FLAT_UNKNOWN),ANY,              ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED },
{ "low.busy",             IS(CLASS_LOW),     IS(UTIL_BUSY),    ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED | SLOW },
{ "low.gappy-loading",    IS(CLASS_LOW),     IS(UTIL_BETWEEN), ANY,           ANY,                QUIET,   ANY,               NOT(AMOUNT_SOME),  ANY,            IS(HOST_LOADING),   ANY, STATE_STARVED, 0 },
{ "low.gappy",            IS(CLASS_LOW),     IS(UTIL_BETWEEN), ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, SLOW | C(HELD) | CANDIDATE_WAIT },
{ "low.no-util",          IS(CLASS_LOW),     ANY,              ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(IDLE) | C(HELD) | STALLED | SLOW },

{ "mid.traffic",          IS(CLASS_MID),     STEADY,   ANY,           ANY,                IS(AMOUNT_MUCH),    ANY,               IS(AMOUNT_NONE),   ANY,            NOT(HOST_LOADING),  ANY, STATE_COMMUNICATION, 0 },
{ "mid.starved",          IS(CLASS_MID),     IS(UTIL_BETWEEN), ANY,           ANY,                IS(AMOUNT_NONE),    ANY,               NOT(AMOUNT_SOME),  ANY,            IS(HOST_LOADING),   ANY, STATE_STARVED, 0 },
{ "mid.work",             IS(CLASS_MID),     STEADY,   ANY,           ANY,                ANY,                ANY,               IS(AMOUNT_SOME),   ANY,            NOT(HOST_LOADING),  ANY, STATE_UNDERFED, 0 },
{ "mid.unused",           IS(CLASS_MID),     IS(UTIL_ZERO),    NOT(FLAT_NO),  ANY,                ANY,                NOT(AMOUNT_SOME),  ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(IDLE) | C(HELD) | SLOW },
{ "mid.unused-owned",     IS(CLASS_MID),     IS(UTIL_ZERO),    ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(HELD) | SLOW },
{ "mid.quiet",            IS(CLASS_MID),     IS(UTIL_BUSY),    IS(FLAT_YES),  IS(AMOUNT_NONE),    QUIET,   ANY,               NOT(AMOUNT_SOME),  ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED | SLOW },
{ "mid.quiet-link",       IS(CLASS_MID),     IS(UTIL_BUSY),    IS(FLAT_YES),  NOT(AMOUNT_SOME),   IS(AMOUNT_NONE),    ANY,               NOT(AMOUNT_SOME),  ANY,            ANY,                ANY, STATE_UNRESOLVED, STALLED | SLOW },
{ "mid.slow",             IS(CLASS_MID),     ANY,              ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, SLOW },

{ "none.unused",          IS(CLASS_NONE),    IS(UTIL_ZERO),    ANY,           ANY,                ANY,                IS(AMOUNT_SOME),   ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(HELD) | C(STARVED) },
{ "none.unused-unknown",  IS(CLASS_NONE),    IS(UTIL_ZERO),    ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNRESOLVED, C(IDLE) | C(HELD) | C(STARVED) },
{ "none.nothing",         ANY,               ANY,              ANY,           ANY,                ANY,                ANY,               ANY,               ANY,            ANY,                ANY, STATE_UNKNOWN, 0 },
};
/* clang-format on */

static bool allows(uint8_t mask, unsigned value)
{
    return mask >> value & 1;
}

static bool matches(const struct row *r, const struct signals *s)
{
    return allows(r->power, s->power) && allows(r->util, s->util) && allows(r->flat, s->flat) &&
           allows(r->mem, s->mem) && allows(r->link, s->link) && allows(r->owner, s->owner) &&
           allows(r->sm, s->sm) && allows(r->near, s->near) && allows(r->host, s->host) &&
           allows(r->still, s->still);
}

/* What a board or its settings add to a row: full work may look underfed, a stall like work. */
static void widen(const struct signals *s, struct verdict *v)
{
    if (s->power == CLASS_MID && s->may_compute && v->candidates & C(UNDERFED))
        v->candidates |= C(COMPUTE);
    if (s->power == CLASS_MID && s->may_compute && v->state == STATE_UNDERFED) {
        v->state = STATE_UNRESOLVED;
        v->candidates = C(UNDERFED) | C(COMPUTE);
    }
    if (s->power == CLASS_MID && s->smoothing && v->state == STATE_UNRESOLVED)
        v->candidates |= STALLED;
}

struct verdict decide(const struct signals *s)
{
    size_t i = 0;
    if (s->power == CLASS_NONE && s->working && s->owner == AMOUNT_SOME && s->util != UTIL_ZERO)
        return (struct verdict){ STATE_UNRESOLVED, C(COMPUTE) | SLOW, "none.working" };
    while (i + 1 < ARRAY_SIZE(rows) && !matches(&rows[i], s))
        i++;
    struct verdict v = { rows[i].state, rows[i].candidates, rows[i].id };
    widen(s, &v);
    return v;
}

const char *decide_rule(size_t i)
{
    if (i < ARRAY_SIZE(rows))
        return rows[i].id;
    return i == ARRAY_SIZE(rows) ? "none.working" : NULL;
}
