/* SPDX-License-Identifier: Apache-2.0 */
#include "core/triage/triage.h"

static const char *const state_names[] = {
    [STATE_UNKNOWN] = "unknown",   [STATE_COMPUTE] = "compute",
    [STATE_UNDERFED] = "underfed", [STATE_COMMUNICATION] = "communication",
    [STATE_STARVED] = "starved",   [STATE_CHECKPOINT] = "checkpoint",
    [STATE_DEADLOCK] = "deadlock", [STATE_HELD] = "held",
    [STATE_IDLE] = "idle",         [STATE_UNRESOLVED] = "unresolved",
    [STATE_LOST] = "lost",
};
_Static_assert(ARRAY_SIZE(state_names) == STATE_COUNT, "every state needs a name");

static const char *const confidence_names[] = {
    [CONFIDENCE_NONE] = "none",
    [CONFIDENCE_SNAPSHOT] = "snapshot",
    [CONFIDENCE_LOW] = "low",
    [CONFIDENCE_HIGH] = "high",
};
_Static_assert(ARRAY_SIZE(confidence_names) == CONFIDENCE_COUNT, "every confidence needs a name");

static const char *const finding_names[] = {
    [FINDING_NONE] = "none",
    [FINDING_GHOST_LATCH] = "ghost_latch",
    [FINDING_CAPPED] = "capped",
    [FINDING_SMOOTHING_FLOOR] = "smoothing_floor",
    [FINDING_FAULTED_BOARD] = "faulted_board",
    [FINDING_EMPTY_ALLOCATION] = "empty_allocation",
    [FINDING_STUCK_SENSOR] = "stuck_sensor",
    [FINDING_METRICS_VANISHED] = "metrics_vanished",
    [FINDING_XID] = "xid",
    [FINDING_CLOCKS_DISAGREE] = "clocks_disagree",
    [FINDING_THROTTLED] = "throttled",
    [FINDING_WINDOW_SKEW] = "window_skew",
    [FINDING_DEVICE_LOST] = "device_lost",
    [FINDING_WORKER_STUCK] = "worker_stuck",
    [FINDING_BLIND] = "blind",
    [FINDING_TIME] = "time",
    [FINDING_ODD_ONE_OUT] = "odd_one_out",
    [FINDING_READER] = "reader",
};
_Static_assert(ARRAY_SIZE(finding_names) == FINDING_COUNT, "every finding needs a name");

static const char *const calibration_names[] = {
    [CALIBRATION_NONE] = "none",
    [CALIBRATION_LIMIT_FRACTION] = "limit_fraction",
    [CALIBRATION_TABLE] = "table",
    [CALIBRATION_LEARNED] = "learned",
};
_Static_assert(ARRAY_SIZE(calibration_names) == CALIBRATION_COUNT, "every one needs a name");

const char *state_name(enum state s)
{
    return state_names[(unsigned) s < STATE_COUNT ? s : STATE_UNKNOWN];
}

const char *confidence_name(enum confidence c)
{
    return confidence_names[(unsigned) c < CONFIDENCE_COUNT ? c : CONFIDENCE_NONE];
}

const char *finding_name(enum finding_kind k)
{
    return finding_names[(unsigned) k < FINDING_COUNT ? k : FINDING_NONE];
}

const char *calibration_name(enum calibration c)
{
    return calibration_names[(unsigned) c < CALIBRATION_COUNT ? c : CALIBRATION_NONE];
}

void candidates_add(struct strbuf *out, uint32_t candidates)
{
    bool first = true;
    for (unsigned s = 0; s < STATE_COUNT; s++)
        if (candidates & CANDIDATE(s)) {
            strbuf_addf(out, "%s%s", first ? "" : "|", state_names[s]);
            first = false;
        }
    if (candidates & CANDIDATE_WAIT)
        strbuf_addf(out, "%swait", first ? "" : "|");
}
