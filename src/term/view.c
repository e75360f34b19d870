/* SPDX-License-Identifier: Apache-2.0 */
#include "term/view.h"

#include "base/units.h"
#include "base/utf8.h"
#include "term/look.h"

#include <stdlib.h>
#include <string.h>

#define FIXED_COLUMNS 44 /* of a device line: everything but sparkline and strip */
#define STRIP_LEAST 8u

/* Columns given to the sparkline and to the strip, each. */
static unsigned strip_columns(const struct view_options *o)
{
    unsigned columns = MAX(o->columns, FIXED_COLUMNS + 2 * STRIP_LEAST);
    return MIN((columns - FIXED_COLUMNS) / 2, (unsigned) STRIP_SLOTS);
}

/* Slots [*from, *to) of the device that column c of `columns` shows. */
static void column_slots(const struct triage_device *d, unsigned c, unsigned columns,
                         uint32_t *from, uint32_t *to)
{
    *from = d->slots * c / columns;
    *to = MAX(d->slots * (c + 1) / columns, *from + 1);
    *to = MIN(*to, d->slots);
}

static int64_t column_power(const struct triage_device *d, uint32_t from, uint32_t to)
{
    int64_t sum = 0, n = 0;
    for (uint32_t i = from; i < to; i++)
        if (d->slot_power_mw[i] >= 0) {
            sum += d->slot_power_mw[i];
            n++;
        }
    return n ? sum / n : -1;
}

/* The state that most slots of the column hold; of two with as many, the later one. */
static enum state column_state(const struct triage_device *d, uint32_t from, uint32_t to)
{
    unsigned count[STATE_COUNT] = { 0 };
    enum state best = STATE_UNKNOWN;
    for (uint32_t i = from; i < to; i++) {
        enum state s = d->slot_state[i];
        if (++count[s] >= count[best])
            best = s;
    }
    return best;
}

static void add_sparkline(const struct triage_device *d, int64_t full_mw, unsigned columns,
                          bool ascii, struct strbuf *out)
{
    static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const letters[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
    unsigned shown = MIN(columns, d->slots);
    for (unsigned c = 0; c < shown; c++) {
        uint32_t from, to;
        column_slots(d, c, shown, &from, &to);
        int64_t mw = column_power(d, from, to);
        if (mw < 0)
            strbuf_addc(out, ' ');
        else
            strbuf_addz(out, (ascii ? letters : blocks)[CLAMP(mw * 8 / full_mw, 0, 7)]);
    }
    strbuf_addn(out, ' ', columns - shown);
}

static void add_strip(const struct triage_device *d, unsigned columns, bool color,
                      struct strbuf *out)
{
    unsigned shown = MIN(columns, d->slots);
    const char *style = "";
    for (unsigned c = 0; c < shown; c++) {
        uint32_t from, to;
        column_slots(d, c, shown, &from, &to);
        const struct state_look *look = state_look(column_state(d, from, to));
        if (color && strcmp(style, look->style) != 0)
            strbuf_addf(out, "\033[0;%sm", style = look->style);
        strbuf_addc(out, look->letter);
    }
    if (color && shown)
        strbuf_addz(out, "\033[0m");
    strbuf_addn(out, ' ', columns - shown);
}

/* What the sparklines are drawn against: the limit when known, else the highest watts seen. */
static int64_t full_scale_mw(const struct triage *t)
{
    int64_t limit = 0, seen = 0;
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        limit = MAX(limit, d->limit_mw);
        seen = MAX(seen, d->power_max_mw);
    }
    return MAX(MAX(limit, seen), 1);
}

static void add_padded(struct strbuf *out, const char *text, unsigned columns)
{
    size_t n = utf8_columns(str_from(text));
    strbuf_addz(out, text);
    if (n < columns)
        strbuf_addn(out, ' ', columns - n);
}

static void add_watts(struct strbuf *out, int64_t power_mw)
{
    if (power_mw < 0)
        strbuf_addf(out, "%6s", "-");
    else
        strbuf_addf(out, "%6lld", (long long) ((power_mw + 500) / MW_PER_W));
}

static void add_device(const struct triage_device *d, const struct view_options *o, int64_t full_mw,
                       struct strbuf *out)
{
    unsigned columns = strip_columns(o);
    const struct state_look *look = state_look(d->state);
    char name[5]; /* of a node, or of a GPU that the input gives no number */
    str_copy(name, sizeof(name), str_from(d->is_node ? d->key : "-"));
    if (d->is_node || d->index < 0)
        strbuf_addf(out, "%4s ", name);
    else
        strbuf_addf(out, "%4d ", d->index);
    add_sparkline(d, full_mw, columns, o->ascii, out);
    strbuf_addc(out, ' ');
    add_strip(d, columns, o->color, out);
    strbuf_addc(out, ' ');
    if (o->color)
        strbuf_addf(out, "\033[0;%sm", look->style);
    add_padded(out, d->is_node ? "" : look->word, 13);
    if (o->color)
        strbuf_addz(out, "\033[0m");
    add_watts(out, d->power_mean_mw);
    if (d->util_mean_permille < 0)
        strbuf_addf(out, "%5s ", "-");
    else
        strbuf_addf(out, "%5lld ", (long long) ((d->util_mean_permille + 5) / 10));
    AUTO(strbuf) struct strbuf energy = STRBUF_INIT;
    if (d->energy_uj < 0)
        strbuf_addz(&energy, "-");
    else
        view_energy(d->energy_uj, &energy);
    strbuf_addf(out, "%9s\n", strbuf_text(&energy));
}

static void add_heading(const struct view_options *o, struct strbuf *out)
{
    unsigned columns = strip_columns(o);
    strbuf_addz(out, " GPU ");
    add_padded(out, "watts", columns + 1);
    add_padded(out, "state", columns + 1);
    strbuf_addf(out, "%-13s%6s%6s%9s\n", "at the end", "W", "util%", "energy");
}

/* Alike: same product, limit and calibration, so that one title line serves them. */
static bool alike(const struct triage_device *a, const struct triage_device *b)
{
    return strcmp(a->name, b->name) == 0 && a->limit_mw == b->limit_mw &&
           a->calibration == b->calibration && a->power_metric == b->power_metric &&
           a->is_node == b->is_node;
}

static const char *calibration_words(enum calibration c)
{
    switch (c) {
    case CALIBRATION_LEARNED:
        return "calibrated on this unit";
    case CALIBRATION_TABLE:
        return "uncalibrated, levels by board table";
    case CALIBRATION_LIMIT_FRACTION:
        return "uncalibrated, levels by share of the limit";
    case CALIBRATION_NONE:
    case CALIBRATION_COUNT:
        break;
    }
    return "uncalibrated, no level known";
}

static const char *power_words(enum metric m)
{
    if (m == METRIC_POWER_INSTANT_MW)
        return "instant watts";
    if (m == METRIC_POWER_AVERAGE_MW)
        return "1 s average watts";
    return m == METRIC_POWER_DRAW_MW ? "watts of unstated kind" : "no watts";
}

static void add_group_title(const struct triage_device *d, size_t n, struct strbuf *out)
{
    if (d->is_node) {
        strbuf_addf(out, "%zu %s metered at the wall: watts without states\n", n,
                    n == 1 ? "node" : "nodes");
        return;
    }
    strbuf_addf(out, "%zu x %s", n, d->name[0] ? d->name : "GPU of unknown product");
    if (d->limit_mw >= 0) {
        strbuf_addz(out, ", limit ");
        strbuf_add_scaled(out, d->limit_mw, MW_PER_W, 0);
        strbuf_addz(out, " W");
    }
    strbuf_addf(out, "; %s; %s\n", power_words(d->power_metric), calibration_words(d->calibration));
}

static void add_titles(const struct triage *t, struct strbuf *out)
{
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        size_t before = 0, n = 0;
        for (size_t k = 0; k < triage_devices(t); k++)
            if (alike(d, triage_device(t, k))) {
                n++;
                before += k < i;
            }
        if (!before)
            add_group_title(d, n, out);
    }
}

static int64_t states_total_us(const struct triage_device *d)
{
    int64_t total = 0;
    for (unsigned s = 0; s < STATE_COUNT; s++)
        total += d->us_by_state[s];
    return total;
}

/* "compute 38 %, deadlock 62 %", the largest first. */
static void add_shares(const int64_t us[STATE_COUNT], struct strbuf *out)
{
    int64_t total = 0;
    bool done[STATE_COUNT] = { false };
    for (unsigned s = 0; s < STATE_COUNT; s++)
        total += us[s];
    for (unsigned round = 0, shown = 0; total && round < STATE_COUNT; round++) {
        unsigned best = STATE_COUNT;
        for (unsigned s = 0; s < STATE_COUNT; s++)
            if (!done[s] && (best == STATE_COUNT || us[s] > us[best]))
                best = s;
        done[best] = true;
        if (us[best] <= 0)
            break;
        strbuf_addf(out, "%s%s ", shown++ ? ", " : "", state_look((enum state) best)->word);
        if (us[best] * 1000 < total * 5)
            strbuf_addz(out, "<1 %");
        else
            strbuf_addf(out, "%lld %%", (long long) ((us[best] * 100 + total / 2) / total));
    }
}

static void shares_text(const struct triage_device *d, struct strbuf *out)
{
    if (states_total_us(d) > 0)
        add_shares(d->us_by_state, out);
    else
        strbuf_addf(out, "one moment only: %s", state_look(d->state)->word);
    if (d->state == STATE_UNRESOLVED) {
        strbuf_addz(out, " (at the end: ");
        candidates_add(out, d->candidates);
        strbuf_addc(out, ')');
    }
}

/* One line for each different share text, naming the GPUs that have it. */
static void add_time_by_state(const struct triage *t, struct strbuf *out)
{
    size_t n = triage_devices(t);
    struct strbuf *texts = calloc(n + 1, sizeof(*texts));
    uint32_t *numbers = calloc(n + 1, sizeof(*numbers));
    for (size_t i = 0; texts && numbers && i < n; i++)
        if (!triage_device(t, i)->is_node)
            shares_text(triage_device(t, i), &texts[i]);
    for (size_t i = 0; texts && numbers && i < n; i++) {
        size_t alike_n = 0;
        bool first = texts[i].n > 0;
        for (size_t k = 0; first && k < n; k++) {
            if (!str_eq(strbuf_str(&texts[i]), strbuf_str(&texts[k])))
                continue;
            first = k >= i;
            numbers[alike_n++] = (uint32_t) MAX(triage_device(t, k)->index, 0);
        }
        if (!first)
            continue;
        strbuf_addz(out, alike_n > 1 ? "GPUs " : "GPU ");
        view_ranges(numbers, alike_n, out);
        strbuf_addf(out, ": %s\n", strbuf_text(&texts[i]));
    }
    for (size_t i = 0; texts && i < n; i++)
        strbuf_done(&texts[i]);
    free(texts);
    free(numbers);
}

static void add_said(const struct triage *t, struct strbuf *out)
{
    int64_t util = 0, n = 0, us[STATE_COUNT] = { 0 }, energy_uj = 0, energy_n = 0;
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        if (d->energy_uj >= 0) {
            energy_uj += d->energy_uj;
            energy_n++;
        }
        if (d->is_node)
            continue;
        if (d->util_mean_permille >= 0) {
            util += d->util_mean_permille;
            n++;
        }
        for (unsigned s = 0; s < STATE_COUNT; s++)
            us[s] += d->us_by_state[s];
    }
    AUTO(strbuf) struct strbuf shares = STRBUF_INIT;
    add_shares(us, &shares);
    if (n)
        strbuf_addf(out, "utilisation said: %lld %% busy\n", (long long) ((util / n + 5) / 10));
    else
        strbuf_addz(out, "utilisation said: nothing (not in this input)\n");
    strbuf_addf(out, "watts say:        %s\n", shares.n ? strbuf_text(&shares) : "one moment only");
    if (energy_n && energy_uj > 0) {
        strbuf_addz(out, "energy:           ");
        view_energy(energy_uj, out);
        strbuf_addc(out, '\n');
    }
}

static bool any_gpu(const struct triage *t)
{
    for (size_t i = 0; i < triage_devices(t); i++)
        if (!triage_device(t, i)->is_node)
            return true;
    return false;
}

/* Instances have no watts of their own, so no state can be told of one. */
static void add_divided(const struct triage *t, struct strbuf *out)
{
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        if (d->mig_instances)
            strbuf_addf(out,
                        "GPU %d is divided into %u MIG instance%s: watts and state are the whole "
                        "board's\n",
                        d->index, d->mig_instances, d->mig_instances == 1 ? "" : "s");
    }
}

void view_devices(const struct triage *t, const struct view_options *o, struct strbuf *out)
{
    int64_t full_mw = full_scale_mw(t);
    add_titles(t, out);
    add_heading(o, out);
    for (size_t i = 0; i < triage_devices(t); i++)
        add_device(triage_device(t, i), o, full_mw, out);
    state_legend(t, o->color, out);
    strbuf_addc(out, '\n');
    add_time_by_state(t, out);
    add_divided(t, out);
    if (any_gpu(t))
        add_said(t, out);
}

void view_episode(const struct triage *t, const struct episode *e, const struct view_options *o,
                  struct strbuf *out)
{
    const struct triage_device *d = triage_device(t, e->device);
    const struct state_look *look = state_look(e->state);
    view_time(t, e->start_us, out);
    strbuf_addf(out, "  GPU %d  ", d ? d->index : -1);
    if (o->color)
        strbuf_addf(out, "\033[0;%sm%s\033[0m", look->style, look->word);
    else
        strbuf_addz(out, look->word);
    if (e->state == STATE_UNRESOLVED) {
        strbuf_addc(out, '(');
        candidates_add(out, e->candidates);
        strbuf_addc(out, ')');
    }
    strbuf_addz(out, " for ");
    view_duration(e->end_us - e->start_us, out);
    if (e->power_mw >= 0) {
        strbuf_addz(out, ", ");
        strbuf_add_scaled(out, e->power_mw, MW_PER_W, 0);
        strbuf_addz(out, " W");
    }
    if (e->n_evidence)
        strbuf_addf(out, "  [%s: %s]", e->evidence[0].rule, e->evidence[0].detail);
    strbuf_addc(out, '\n');
}

void view_change(const struct triage *t, size_t i, enum state before, int64_t now_us,
                 const struct view_options *o, struct strbuf *out)
{
    const struct triage_device *d = triage_device(t, i);
    const struct state_look *look = state_look(d->state);
    view_time(t, now_us, out);
    strbuf_addf(out, "  GPU %d  ", d->index);
    if (before != STATE_UNKNOWN && before != d->state)
        strbuf_addf(out, "%s -> ", state_look(before)->word);
    if (o->color)
        strbuf_addf(out, "\033[0;%sm%s\033[0m", look->style, look->word);
    else
        strbuf_addz(out, look->word);
    if (d->state == STATE_UNRESOLVED) {
        strbuf_addc(out, '(');
        candidates_add(out, d->candidates);
        strbuf_addc(out, ')');
    }
    if (d->power_mw >= 0)
        strbuf_addf(out, ", %lld W", (long long) ((d->power_mw + 500) / MW_PER_W));
    if (d->util_permille >= 0)
        strbuf_addf(out, " at %lld %%", (long long) ((d->util_permille + 5) / 10));
    strbuf_addc(out, '\n');
}
