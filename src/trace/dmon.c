/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi dmon: a heading names the columns, a second one their units; both come again every so
 * many lines. -o D and -o T put date and time in front. */
#include "trace/feed.h"
#include "trace/formats.h"
#include "trace/quantity.h"

#include "base/parse.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

#define COLUMNS_MAX 64
#define DAY_US (86400 * US_PER_S)

enum dmon_role { ROLE_IGNORED = 0, ROLE_METRIC, ROLE_GPU, ROLE_DATE, ROLE_TIME };

static const struct dmon_row {
    const char *name;
    enum dmon_role role;
    enum metric metric;
    enum quantity quantity;
} known[] = {
    { "gpu", ROLE_GPU, 0, 0 },
    { "Date", ROLE_DATE, 0, 0 },
    { "Time", ROLE_TIME, 0, 0 },
    { "pwr", ROLE_METRIC, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "gtemp", ROLE_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "temp", ROLE_METRIC, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "mtemp", ROLE_METRIC, METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C },
    { "sm", ROLE_METRIC, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "mem", ROLE_METRIC, METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "mclk", ROLE_METRIC, METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ },
    { "pclk", ROLE_METRIC, METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "fb", ROLE_METRIC, METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB },
    { "rxpci", ROLE_METRIC, METRIC_PCIE_RX_BPS, QUANTITY_RATE_MB },
    { "txpci", ROLE_METRIC, METRIC_PCIE_TX_BPS, QUANTITY_RATE_MB },
};

struct dmon {
    struct feed feed; /* first */
    const struct dmon_row *columns[COLUMNS_MAX];
    size_t n;
    int64_t day_us, last_us; /* of times without a date: midnights passed, the latest time */
};

/* Words stand between blanks or, with --format csv, between commas. */
static bool take_word(struct str *rest, struct str *ret)
{
    if (!rest->n || str_find_char(*rest, ',') < 0)
        return str_word(rest, ret);
    if (!str_split(rest, ',', ret))
        return false;
    *ret = str_trim(*ret);
    if (str_find_char(*rest, ',') < 0)
        *rest = str_trim(*rest); /* the last one has none behind it */
    return true;
}

static const struct dmon_row *find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_is_nocase(name, known[i].name))
            return &known[i];
    return NULL;
}

/* "#Date       Time        gpu    pwr  gtemp ...": true when it is one. */
static bool take_heading(struct dmon *d, struct str line)
{
    struct str rest = str_sub(line, 1, line.n), word;
    const struct dmon_row *columns[COLUMNS_MAX];
    size_t n = 0;
    bool gpu = false, power = false;
    while (n < COLUMNS_MAX && take_word(&rest, &word)) {
        columns[n] = find(word);
        gpu = gpu || (columns[n] && columns[n]->role == ROLE_GPU);
        power = power || (columns[n] && columns[n]->metric == METRIC_POWER_DRAW_MW);
        n++;
    }
    if (!gpu)
        return false; /* the line of units */
    for (size_t i = 0; i < n; i++)
        d->columns[i] = columns[i];
    d->n = n;
    if (!power && !d->feed.any)
        feed_note(&d->feed, ENTITY_NONE, "reader", "no column has watts; use dmon -s pucm");
    return true;
}

/* -o T alone states no day: times count from the first one's midnight. */
static void take_clock(struct dmon *d, struct str time, const struct line *line)
{
    char text[64];
    struct stamp stamp;
    snprintf(text, sizeof(text), "2000-01-01 %.*s", STR_ARG(time));
    if (stamp_parse(str_from(text), &stamp) < 0) {
        trace_dropped(&d->feed.trace, "line %" PRIu64 ": '%.*s' is no time", line->number,
                      STR_ARG(time));
        return;
    }
    int64_t us = stamp.wall_us % DAY_US;
    if (us + DAY_US / 2 < d->last_us)
        d->day_us += DAY_US;
    d->last_us = us;
    feed_at_relative(&d->feed, d->day_us + us, line->number);
}

static void take_time(struct dmon *d, struct str date, struct str time, const struct line *line)
{
    char text[64];
    struct stamp stamp;
    if (!time.n)
        return;
    if (!date.n) {
        take_clock(d, time, line);
        return;
    }
    snprintf(text, sizeof(text), "%.*s %.*s", STR_ARG(date), STR_ARG(time));
    if (stamp_parse(str_from(text), &stamp) == 0)
        feed_at(&d->feed, stamp, line->number);
    else
        trace_dropped(&d->feed.trace, "line %" PRIu64 ": '%s' is no time", line->number, text);
}

static void take_row(struct dmon *d, const struct line *line)
{
    struct str rest = line->text, word, date = { NULL, 0 }, time = date;
    struct obs_list obs = { .n = 0 };
    uint32_t gpu = 0;
    size_t i = 0;
    bool have_gpu = false;
    for (; i < d->n && take_word(&rest, &word); i++) {
        const struct dmon_row *c = d->columns[i];
        struct obs o = { 0 };
        if (!c)
            continue;
        if (c->role == ROLE_DATE)
            date = word;
        else if (c->role == ROLE_TIME)
            time = word;
        else if (c->role == ROLE_GPU)
            have_gpu = parse_u32(word, &gpu) == 0 && gpu < ENTITY_MAX;
        else if (str_is(word, "-"))
            obs_list_add(&obs, c->metric, &(struct obs){ .status = OBS_ABSENT }, false);
        else if (quantity_parse(c->quantity, (struct str){ NULL, 0 }, word, &o) == 0)
            obs_list_add(&obs, c->metric, &o, false);
        else
            trace_dropped(&d->feed.trace, "line %" PRIu64 ", column %zu (%s): '%.*s' is not %s",
                          line->number, i + 1, c->name, (int) MIN(word.n, 40), word.p,
                          quantity_name(c->quantity));
    }
    if (i < d->n || take_word(&rest, &word) || !have_gpu || line->torn || line->cut) {
        d->feed.trace.report.torn |= line->torn;
        trace_dropped(&d->feed.trace, "line %" PRIu64 ": not the %zu columns of the heading",
                      line->number, d->n);
        return;
    }
    take_time(d, date, time, line);
    uint32_t id =
        feed_gpu(&d->feed, (struct str){ NULL, 0 }, (int32_t) gpu, (struct str){ NULL, 0 },
                 (struct str){ NULL, 0 }, (struct str){ NULL, 0 });
    feed_sample(&d->feed, id, obs.obs, obs.n);
}

static int dmon_step(struct feed *f, struct err *err)
{
    struct dmon *d = (struct dmon *) f;
    struct line line;
    int r = input_line(f->in, &line, err);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    struct str text = str_trim(line.text);
    if (text.n && text.p[0] == '#')
        (void) take_heading(d, text);
    else if (text.n && d->n)
        take_row(d, &line);
    return 1;
}

static int dmon_probe(struct str head)
{
    struct str rest = head, line;
    while (rest.p && str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!line.n)
            continue;
        bool heading = line.p[0] == '#' && str_find(line, "gpu") >= 0 &&
                       (str_find(line, "pwr") >= 0 || str_find(line, "pclk") >= 0 ||
                        str_find(line, " sm ") >= 0);
        return heading ? 85 : 0;
    }
    return 0;
}

static int dmon_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&dmon_format, sizeof(struct dmon), dmon_step, in, ret, err);
}

const struct trace_format dmon_format = {
    .name = "dmon",
    .help = "nvidia-smi dmon, best with -s pucm -o DT",
    .probe = dmon_probe,
    .open = dmon_open,
    .next = feed_next,
    .close = feed_close,
};
