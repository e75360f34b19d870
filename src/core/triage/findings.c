/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong or odd but no state. Each is told once, until it is over. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define FROZEN_LEAST 64             /* equal readings before a sensor is suspected */
#define FROZEN_TEMP_MC 8000         /* temperature that must have moved meanwhile */
#define FROZEN_UTIL_PERMILLE 300    /* or utilisation */
#define DISAGREE_US (60 * US_PER_S) /* energy and power are compared over this long */
#define DISAGREE_PERMILLE 100

/* NVML clock event reason bits that mean trouble: HW slowdown, SW thermal, HW thermal, brake. */
#define TROUBLE_REASONS (0x8 | 0x20 | 0x40 | 0x80)

static void tell(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
                 const char *fmt, va_list args) PRINTF_LIKE(5, 0);

static void tell(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
                 const char *fmt, va_list args)
{
    struct finding f = { .device = d ? d->number : ENTITY_NONE, .at_us = t->now_us, .kind = kind };
    f.evidence.rule = rule;
    char text[512];
    vsnprintf(text, sizeof(text), fmt, args);
    str_plain(str_copy_words(f.evidence.detail, sizeof(f.evidence.detail), str_from(text)));
    if (t->sink.finding)
        t->sink.finding(t->sink.arg, &f);
}

void find(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tell(t, d, kind, rule, fmt, args);
    va_end(args);
}

void find_once(struct triage *t, struct device *d, enum finding_kind kind, const char *rule,
               const char *fmt, ...)
{
    if (d->said.done[kind])
        return;
    d->said.done[kind] = true;
    va_list args;
    va_start(args, fmt);
    tell(t, d, kind, rule, fmt, args);
    va_end(args);
}

static void over(struct device *d, enum finding_kind kind)
{
    d->said.done[kind] = false;
    d->said.since_us[kind] = 0;
}

/* True once the condition has held for need_us. */
static bool lasts(struct triage *t, struct device *d, enum finding_kind kind, bool holds,
                  int64_t need_us)
{
    if (!holds) {
        over(d, kind);
        return false;
    }
    if (!d->said.since_us[kind])
        d->said.since_us[kind] = t->now_us ? t->now_us : 1;
    return t->now_us - d->said.since_us[kind] >= need_us;
}

static void faults(struct triage *t, struct device *d, const struct readings *s)
{
    static const struct {
        enum metric metric;
        const char *rule, *words;
    } rows[] = {
        { METRIC_REMAP_FAILURE, "fault.remap", "row remapping failed" },
        { METRIC_FABRIC_UNHEALTHY, "fault.fabric", "the fabric reports the GPU unhealthy" },
        { METRIC_RECOVERY_ACTION, "fault.recovery", "the driver asks for a recovery action" },
    };
    int64_t value, per_s, delta;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (got(s, rows[i].metric, &value) && value > 0)
            find_once(t, d, FINDING_FAULTED_BOARD, rows[i].rule, "%s (%" PRId64 ")", rows[i].words,
                      value);
    if (got(s, METRIC_ECC_UNCORRECTED, &value) &&
        rate_add(&d->ecc, t->now_us, value, &per_s, &delta) && delta > 0)
        find_once(t, d, FINDING_FAULTED_BOARD, "fault.ecc",
                  "%" PRId64 " new uncorrectable ECC errors", delta);
}

static void errors(struct triage *t, struct device *d, const struct readings *s)
{
    bool power_bad =
        bit_of(s->named, METRIC_POWER_DRAW_MW) && s->status[METRIC_POWER_DRAW_MW] == OBS_ERROR;
    if (s->errors > 1 || (s->errors && power_bad))
        find_once(t, d, FINDING_FAULTED_BOARD, "fault.errors",
                  "%" PRIu32 " readings answer with an error, the first is %s", s->errors,
                  metric_info(s->first_error)->name);
}

static void frozen_sensor(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t mw = 0, temp = -1, util = -1;
    if (d->pub.power_metric == METRIC_UNKNOWN || !got(s, d->pub.power_metric, &mw))
        return;
    (void) got(s, METRIC_TEMP_GPU_MC, &temp);
    (void) got(s, METRIC_UTIL_GPU_PERMILLE, &util);
    if (mw != d->frozen_mw || !d->frozen_n) {
        if (d->stuck_sensor)
            over(d, FINDING_STUCK_SENSOR);
        d->stuck_sensor = false;
        d->frozen_mw = mw;
        d->frozen_since_us = t->now_us;
        d->frozen_temp_mc = temp;
        d->frozen_other = util;
        d->frozen_n = 1;
        return;
    }
    d->frozen_n++;
    int64_t temp_moved = temp < 0 || d->frozen_temp_mc < 0 ? 0 : temp - d->frozen_temp_mc;
    int64_t util_moved = util < 0 || d->frozen_other < 0 ? 0 : util - d->frozen_other;
    bool moved = temp_moved >= FROZEN_TEMP_MC || temp_moved <= -FROZEN_TEMP_MC ||
                 util_moved >= FROZEN_UTIL_PERMILLE || util_moved <= -FROZEN_UTIL_PERMILLE;
    if (!moved || d->frozen_n < FROZEN_LEAST ||
        t->now_us - d->frozen_since_us < t->rules->stuck_sensor_us)
        return;
    d->stuck_sensor = true;
    find_once(t, d, FINDING_STUCK_SENSOR, "sensor.frozen",
              "%" PRId64 " mW in %" PRIu32 " readings while temperature moved %+" PRId64
              " m\302\260C and utilisation %+" PRId64 " permille",
              mw, d->frozen_n, temp_moved, util_moved);
}

static void settings(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t value;
    int64_t limit = d->pub.limit_mw, usual = d->limit_default_mw;
    if (limit > 0 && usual > 0) {
        if (limit * 1000 < usual * t->rules->capped_permille)
            find_once(t, d, FINDING_CAPPED, "limit.capped",
                      "enforced %" PRId64 " W, default %" PRId64 " W", limit / MW_PER_W,
                      usual / MW_PER_W);
        else
            over(d, FINDING_CAPPED);
    }
    if (d->smoothing)
        find_once(t, d, FINDING_SMOOTHING_FLOOR, "smoothing.on", "power smoothing is enabled");
    else
        over(d, FINDING_SMOOTHING_FLOOR);
    if (got(s, METRIC_THROTTLE_REASONS, &value)) {
        bool trouble = (value & TROUBLE_REASONS) != 0;
        if (lasts(t, d, FINDING_THROTTLED, trouble, t->rules->window_us))
            find_once(t, d, FINDING_THROTTLED, "clocks.throttled",
                      "clock event reasons 0x%" PRIx64 " for over %" PRId64 " s", (uint64_t) value,
                      t->rules->window_us / US_PER_S);
    }
}

/* Exporters repeat the last Xid for ever; 0 is none. */
static void events(struct triage *t, struct device *d, const struct readings *s)
{
    int64_t xid;
    if (!got(s, METRIC_XID, &xid))
        return;
    if (xid > 0 && xid != d->said.since_us[FINDING_XID])
        find(t, d, FINDING_XID, "xid.reported", "Xid %" PRId64, xid);
    d->said.since_us[FINDING_XID] = xid;
}

static void vanished(struct triage *t, struct device *d, const struct readings *s)
{
    enum metric m = d->pub.power_metric;
    if (m == METRIC_UNKNOWN || !bit_of(s->named, m))
        return;
    if (s->status[m] == OBS_VALUE) {
        d->power_was_there = true;
        over(d, FINDING_METRICS_VANISHED);
    } else if (d->power_was_there && s->status[m] != OBS_TIMED_OUT && s->status[m] != OBS_LOST) {
        find_once(t, d, FINDING_METRICS_VANISHED, "power.vanished",
                  "power was readable and now is %s", obs_status_name(s->status[m]));
    }
}

static void compare_clocks(struct triage *t, struct device *d)
{
    if (d->compared_us < DISAGREE_US || !d->energy_is_average)
        return;
    int64_t a = d->compared_counter_uj, b = d->compared_power_uj;
    int64_t apart = a > b ? a - b : b - a;
    if (apart / 1000 * 1000 > MAX(a, b) / 1000 * DISAGREE_PERMILLE)
        find_once(t, d, FINDING_CLOCKS_DISAGREE, "energy.disagree",
                  "counter %" PRId64 " J, integrated power %" PRId64 " J", a / UJ_PER_J,
                  b / UJ_PER_J);
}

void findings_sample(struct triage *t, struct device *d, const struct readings *s)
{
    faults(t, d, s);
    errors(t, d, s);
    frozen_sensor(t, d, s);
    settings(t, d, s);
    events(t, d, s);
    vanished(t, d, s);
    compare_clocks(t, d);
}

void findings_step(struct triage *t, struct device *d, const struct signals *s,
                   const struct verdict *v, const struct track_view *power)
{
    bool ghost = s->owner == AMOUNT_NONE && s->util == UTIL_BUSY && s->power == CLASS_LOW &&
                 s->mem != AMOUNT_SOME && s->link <= AMOUNT_NONE;
    bool settled = power->n >= t->rules->window_samples;
    if (!ghost)
        over(d, FINDING_GHOST_LATCH);
    else if (settled || t->clock == CLOCK_NONE)
        find_once(t, d, FINDING_GHOST_LATCH, "low.ghost",
                  "utilisation %" PRId64 " %% at %" PRId64 " W and no process on the GPU",
                  d->pub.util_permille / 10, power->median / MW_PER_W);
    bool skew = s->power == CLASS_HIGH && s->util == UTIL_ZERO;
    if (!skew)
        over(d, FINDING_WINDOW_SKEW);
    else
        find_once(t, d, FINDING_WINDOW_SKEW, "high.compute", "%" PRId64 " W at utilisation 0",
                  power->median / MW_PER_W);
    bool empty = v->state == STATE_HELD && d->mem_used_bytes > t->rules->min_mem_bytes;
    if (lasts(t, d, FINDING_EMPTY_ALLOCATION, empty, t->rules->empty_allocation_us))
        find_once(t, d, FINDING_EMPTY_ALLOCATION, v->rule,
                  "%" PRId64 " MiB held for %" PRId64 " s without work", d->mem_used_bytes >> 20,
                  (t->now_us - d->said.since_us[FINDING_EMPTY_ALLOCATION]) / US_PER_S);
}

#define ODD_US (30 * US_PER_S) /* how long the many and the few must both have stood still */

/* Spinning in a collective, by rule or by name. */
static bool stalls(const struct triage *t, const struct device *d)
{
    bool may = d->pub.state == STATE_DEADLOCK ||
               (d->pub.state == STATE_UNRESOLVED && d->pub.candidates & CANDIDATE(STATE_DEADLOCK));
    return may && d->still_since_us >= 0 && t->now_us - d->still_since_us >= ODD_US;
}

static bool rests(const struct triage *t, const struct device *d)
{
    return (d->pub.state == STATE_HELD || d->pub.state == STATE_LOST) &&
           t->now_us - d->pub.since_us >= ODD_US;
}

/* Measured hangs show it: the culprit is held or lost while its peers spin at 100 %. */
void findings_tick(struct triage *t)
{
    uint32_t many = 0, few = 0;
    for (size_t i = 0; i < t->n; i++) {
        many += stalls(t, t->devices[i]);
        few += rests(t, t->devices[i]);
    }
    if (!few || many < 2 || few * 2 > many) {
        t->odd_told = t->odd_told && many >= 2; /* the stall is over: tell the next one */
        return;
    }
    if (t->odd_told)
        return;
    t->odd_told = true;
    for (size_t i = 0; i < t->n; i++)
        if (rests(t, t->devices[i]))
            find(t, t->devices[i], FINDING_ODD_ONE_OUT, "peers.odd-one-out",
                 "%s while %" PRIu32 " GPUs spin without moving anything",
                 state_name(t->devices[i]->pub.state), many);
}
