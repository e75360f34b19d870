/* SPDX-License-Identifier: Apache-2.0 */
/* Which watts are low for this very board in this very job. */
#include "core/watch/watch-priv.h"

#define PERMILLE 1000
/* Of the moving watts the lowest twentieth: a step down of 19 for each step up of 1 settles there.
 */
#define QUANTILE_DOWN 19
#define HELD_SECONDS 5
/* A job whose moving level is this close to the held one cannot be told from a standstill by watts:
 * its bytes decide alone. */
#define SEPARABLE_PERMILLE 90

static int32_t share(int64_t range_mw, uint32_t permille)
{
    return (int32_t) (range_mw * permille / PERMILLE);
}

static void set_low(const struct watch_rules *k, struct rank_state *r)
{
    r->low_mw = -1;
    if (r->held_mw < 0 || r->range_mw <= 0)
        return;
    int32_t over = share(r->range_mw, k->low_most_permille);
    if (r->moving_mw >= 0) {
        int32_t way = r->moving_mw - r->held_mw;
        if (way < share(r->range_mw, SEPARABLE_PERMILLE))
            return;
        over = CLAMP(share(way, k->low_share_permille), share(r->range_mw, k->low_least_permille),
                     over);
    }
    r->low_mw = r->held_mw + over;
}

void levels_start(const struct watch_rules *k, const struct watch_rank *about, struct rank_state *r)
{
    *r = (struct rank_state){ .held_mw = -1, .moving_mw = -1, .exit_code = 255, .launches = -1 };
    r->has_gpu = about->device[0] != '\0';
    int64_t held = about->held_mw >= 0 ? about->held_mw : about->bare_mw;
    if (held < 0 || about->limit_mw <= held || about->limit_mw > INT32_MAX)
        return;
    r->held_mw = (int32_t) held;
    r->range_mw = (int32_t) (about->limit_mw - held);
    set_low(k, r);
}

/* A context that does nothing shows the board's own held level, which a table misses by a sixth. */
static void learn_held(const struct rank_second *s, struct rank_state *r)
{
    int32_t limit = r->held_mw + r->range_mw;
    if (s->power_mw >= limit - r->range_mw / 2)
        return;
    r->held_seconds++;
    if (r->held_seconds == HELD_SECONDS)
        r->held_mw = s->power_mw;
    else if (r->held_seconds > HELD_SECONDS)
        r->held_mw += (s->power_mw - r->held_mw) / 8;
    r->range_mw = limit - r->held_mw;
}

static void learn_moving(const struct rank_second *s, struct rank_state *r)
{
    int32_t step = MAX(r->range_mw / 4000, 1);
    if (r->moving_mw < 0)
        r->moving_mw = s->power_mw;
    else
        r->moving_mw += s->power_mw < r->moving_mw ? -QUANTILE_DOWN * step : step;
}

void levels_learn(const struct watch_rules *k, const struct rank_second *s, struct rank_state *r)
{
    if (!look_watts(s) || r->held_mw < 0)
        return;
    bool bytes = s->known & (WATCH_MEM | WATCH_LINK);
    if ((r->flags & RANK_MOVES) && bytes)
        learn_moving(s, r);
    else if ((r->flags & RANK_SILENT) && bytes && (s->known & WATCH_UTIL))
        learn_held(s, r);
    else
        return;
    set_low(k, r);
}
