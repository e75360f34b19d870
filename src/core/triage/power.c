/* SPDX-License-Identifier: Apache-2.0 */
/* Anchors in force, power classes, and what a stream itself teaches about a unit. */
#include "core/triage/triage-priv.h"

#include "base/units.h"

#define LEARN_IDLE_US (30 * US_PER_S) /* a bare or held level must have lasted this long */
#define LEARN_WORK_US (60 * US_PER_S)
#define HELD_MARGIN_PERMILLE 40 /* of the range: the margin over the held level at most */

/* The level of a table row: the middle of what was seen over units and hosts. */
static int64_t table_mw(const struct board *b, enum anchor a)
{
    if (!b || b->anchor[a].grade == GRADE_NONE)
        return -1;
    return (b->anchor[a].lo_mw + b->anchor[a].hi_mw) / 2;
}

void anchors_refresh(const struct triage *t, struct device *d)
{
    (void) t;
    struct triage_device *p = &d->pub;
    bool any_learned = false;
    for (unsigned a = 0; a < ANCHOR_COUNT; a++) {
        int64_t table = table_mw(d->board, (enum anchor) a);
        p->anchor_mw[a] = d->learned_mw[a] >= 0 ? d->learned_mw[a] : table;
        p->anchor_from[a] = d->learned_mw[a] >= 0 ? CALIBRATION_LEARNED
                            : table >= 0          ? CALIBRATION_TABLE
                                                  : CALIBRATION_NONE;
        any_learned = any_learned || d->learned_mw[a] >= 0;
    }
    bool idle_learned = d->learned_mw[ANCHOR_BARE] >= 0 || d->learned_mw[ANCHOR_HELD] >= 0;
    if (any_learned && idle_learned)
        p->calibration = CALIBRATION_LEARNED;
    else if (p->anchor_mw[ANCHOR_BARE] >= 0)
        p->calibration = CALIBRATION_TABLE;
    else
        p->calibration = p->limit_mw > 0 ? CALIBRATION_LIMIT_FRACTION : CALIBRATION_NONE;
}

/* The limit is read from the device; a table's is used only where the input tells none. */
static int64_t limit_mw(const struct device *d)
{
    if (d->pub.limit_mw > 0)
        return d->pub.limit_mw;
    return d->board && d->board->limit_mw > 0 ? d->board->limit_mw : -1;
}

/* The lowest level: bare idle, or held where only that was learned. */
static int64_t floor_mw(const struct device *d)
{
    if (d->pub.anchor_mw[ANCHOR_BARE] >= 0)
        return d->pub.anchor_mw[ANCHOR_BARE];
    return d->learned_mw[ANCHOR_HELD];
}

int64_t device_range_mw(const struct device *d)
{
    int64_t floor = floor_mw(d), limit = limit_mw(d);
    return floor >= 0 && limit > floor ? limit - floor : -1;
}

/* Highest held level to count with: learned on the unit, else the table's upper end. */
static int64_t held_high_mw(const struct device *d)
{
    if (d->learned_mw[ANCHOR_HELD] >= 0)
        return d->learned_mw[ANCHOR_HELD];
    if (d->board && d->board->anchor[ANCHOR_HELD].grade != GRADE_NONE)
        return d->board->anchor[ANCHOR_HELD].hi_mw;
    return -1;
}

static int64_t floor_high_mw(const struct device *d)
{
    if (d->learned_mw[ANCHOR_BARE] < 0 && d->board &&
        d->board->anchor[ANCHOR_BARE].grade != GRADE_NONE)
        return d->board->anchor[ANCHOR_BARE].hi_mw;
    return floor_mw(d);
}

enum power_class classify(const struct triage *t, const struct device *d, int64_t power_mw,
                          int64_t *ret_low_mw, int64_t *ret_high_mw)
{
    const struct triage_rules *k = t->rules;
    int64_t range = device_range_mw(d);
    *ret_low_mw = *ret_high_mw = -1;
    if (range < 0 || power_mw < 0)
        return CLASS_NONE;
    int64_t low = floor_high_mw(d) + range * k->low_permille / 1000;
    int64_t margin = MIN(k->low_margin_mw, range * HELD_MARGIN_PERMILLE / 1000);
    int64_t held = held_high_mw(d);
    if (held >= 0)
        low = MAX(low, held + margin);
    int64_t high = floor_mw(d) + range * k->high_permille / 1000;
    int64_t work = d->learned_mw[ANCHOR_WORK];
    if (work >= 0)
        high = MIN(high, work * k->high_of_work_permille / 1000);
    high = MAX(high, low + 1);
    *ret_low_mw = low;
    *ret_high_mw = high;
    int64_t slack = range * k->hysteresis_permille / 1000;
    low += d->class == CLASS_LOW ? slack : 0;
    high -= d->class == CLASS_HIGH ? slack : 0;
    if (power_mw <= low)
        return CLASS_LOW;
    return power_mw >= high ? CLASS_HIGH : CLASS_MID;
}

/* Counts how long the anchor's state has held; true once that is long enough. */
static bool held_long(struct device *d, enum anchor a, bool holds, int64_t dt_us, int64_t need_us)
{
    d->learning_us[a] = holds ? d->learning_us[a] + dt_us : 0;
    return holds && d->learning_us[a] >= need_us;
}

/* A level is taken only when its state was seen by signals other than the watts themselves. A
 * recording that starts under load sees neither an empty process list nor utilisation 0. */
void learn(const struct triage *t, struct device *d, const struct signals *s,
           const struct track_view *power, int64_t dt_us)
{
    bool steady = s->flat == FLAT_YES && power->n >= t->rules->window_samples;
    bool quiet = s->util == UTIL_ZERO && steady && s->mem != AMOUNT_SOME && s->link != AMOUNT_SOME;
    bool bare = quiet && s->owner == AMOUNT_NONE && s->power != CLASS_HIGH;
    bool held =
        quiet && s->owner == AMOUNT_SOME && s->power != CLASS_HIGH && s->host != HOST_LOADING;
    bool spin = steady && s->util == UTIL_BUSY && s->mem == AMOUNT_NONE && s->link == AMOUNT_NONE &&
                s->power == CLASS_LOW && s->owner != AMOUNT_NONE;
    bool work = s->util != UTIL_ZERO && s->power == CLASS_HIGH &&
                (s->mem == AMOUNT_SOME || s->sm == AMOUNT_SOME);
    bool seen[ANCHOR_COUNT] = {
        [ANCHOR_BARE] = held_long(d, ANCHOR_BARE, bare, dt_us, LEARN_IDLE_US),
        [ANCHOR_HELD] = held_long(d, ANCHOR_HELD, held, dt_us, LEARN_IDLE_US),
        [ANCHOR_SPIN] = held_long(d, ANCHOR_SPIN, spin, dt_us, LEARN_IDLE_US),
        [ANCHOR_WORK] = held_long(d, ANCHOR_WORK, work, dt_us, LEARN_WORK_US),
    };
    bool changed = false;
    for (unsigned a = 0; a < ANCHOR_COUNT; a++) {
        if (!seen[a])
            continue;
        int64_t old = d->learned_mw[a];
        /* the first sight is taken whole, later ones move it by a sixteenth */
        d->learned_mw[a] = old < 0 ? power->median : old + (power->median - old) / 16;
        changed = changed || d->learned_mw[a] != old;
    }
    if (changed)
        anchors_refresh(t, d);
}
