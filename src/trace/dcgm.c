/* SPDX-License-Identifier: Apache-2.0 */
/* Exposition text of dcgm-exporter: one scrape or many behind each other, with or without times,
 * with other text between. */
#include "trace/dcgm-rows.h"
#include "trace/formats.h"

#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct dcgm {
    struct feed feed; /* first */
    struct dcgm_scrape scrape;
    int64_t time_ms; /* of the scrape, -1 none stated */
};

/* name="value" with escapes \" \\ \n; takes one label and the comma behind it. */
static bool take_label(struct str *rest, struct str *ret_key, char *value, size_t cap)
{
    ptrdiff_t eq = str_find_char(*rest, '=');
    if (eq < 1 || (size_t) eq + 1 >= rest->n || rest->p[eq + 1] != '"')
        return false;
    *ret_key = str_trim(str_sub(*rest, 0, (size_t) eq));
    size_t i = (size_t) eq + 2, n = 0;
    for (; i < rest->n && rest->p[i] != '"'; i++) {
        char c = rest->p[i];
        if (c == '\\' && i + 1 < rest->n) {
            c = rest->p[++i];
            c = (char) (c == 'n' ? '\n' : c);
        }
        if (n + 1 < cap)
            value[n++] = c;
    }
    value[n] = '\0';
    if (i >= rest->n)
        return false;
    *rest = str_trim(str_sub(*rest, i + 1, rest->n));
    if (rest->n && rest->p[0] == ',')
        *rest = str_sub(*rest, 1, rest->n);
    return true;
}

/* The end of the labels: a brace outside quotes. */
static ptrdiff_t closing_brace(struct str s)
{
    bool quoted = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\' && quoted)
            i++;
        else if (s.p[i] == '"')
            quoted = !quoted;
        else if (s.p[i] == '}' && !quoted)
            return (ptrdiff_t) i;
    }
    return -1;
}

static void flush(struct dcgm *d, uint64_t line)
{
    if (!d->scrape.n)
        return;
    if (d->time_ms >= 0)
        feed_at(&d->feed, (struct stamp){ d->time_ms * 1000, true }, line);
    dcgm_scrape_feed(&d->scrape, &d->feed);
    d->time_ms = -1;
}

static int drop(struct dcgm *d, const struct line *line, const char *what)
{
    trace_dropped(&d->feed.trace, "line %" PRIu64 ": %s", line->number, what);
    return 1;
}

static int take_value(struct dcgm *d, const struct dcgm_row *row, const struct dcgm_labels *labels,
                      struct str value, int64_t time_ms, const struct line *line, struct err *err)
{
    struct obs o = { 0 };
    int r = quantity_parse(row->quantity, (struct str){ NULL, 0 }, value, &o);
    if (r < 0) {
        trace_dropped(&d->feed.trace, "line %" PRIu64 ": '%.*s' is not %s", line->number,
                      (int) MIN(value.n, 40), value.p ? value.p : "", quantity_name(row->quantity));
        return 1;
    }
    struct dcgm_device *device = dcgm_scrape_device(&d->scrape, labels);
    if (device && (obs_list_find(&device->obs, row->metric) ||
                   (time_ms >= 0 && d->time_ms >= 0 && time_ms != d->time_ms))) {
        flush(d, line->number); /* the same reading again: the next scrape has begun */
        device = dcgm_scrape_device(&d->scrape, labels);
    }
    if (!device)
        return err_set(err, -E2BIG, "'%s' line %" PRIu64 ": more than %d devices in one scrape",
                       input_name(d->feed.in), line->number, DCGM_DEVICES_MAX);
    if (time_ms >= 0)
        d->time_ms = time_ms;
    obs_list_add(&device->obs, row->metric, &o, false);
    return 1;
}

static int take_series(struct dcgm *d, const struct line *line, struct err *err)
{
    struct dcgm_labels labels;
    struct str text = str_trim(line->text), key, value, stamp;
    char buf[256];
    int64_t time_ms = -1;
    ptrdiff_t open = str_find_char(text, '{');
    struct str name = str_sub(text, 0, open < 0 ? text.n : (size_t) open);
    const struct dcgm_row *row = dcgm_row_find(str_trim(name));
    if (!row)
        return str_starts(text, "DCGM_") ? 1 : drop(d, line, "no metric of DCGM");
    ptrdiff_t close = open < 0 ? -1 : closing_brace(text);
    if (close < open || line->torn || line->cut)
        return drop(d, line, "the series ends in the middle");
    struct str inside = str_sub(text, (size_t) open + 1, (size_t) close);
    dcgm_labels_init(&labels);
    while (take_label(&inside, &key, buf, sizeof(buf)))
        dcgm_label(&labels, key, str_from(buf));
    if (inside.n)
        return drop(d, line, "a label makes no sense");
    if (!labels.uuid[0] && labels.index < 0)
        return drop(d, line, "no label says which GPU (UUID, gpu)");
    struct str rest = str_sub(text, (size_t) close + 1, text.n);
    if (!str_word(&rest, &value))
        return drop(d, line, "no value");
    if (str_word(&rest, &stamp) &&
        (parse_i64(stamp, &time_ms) < 0 || time_ms < 0 || time_ms > STAMP_MAX_MS))
        return drop(d, line, "the time is no number of milliseconds");
    return take_value(d, row, &labels, value, time_ms, line, err);
}

static int dcgm_step(struct feed *f, struct err *err)
{
    struct dcgm *d = (struct dcgm *) f;
    struct line line;
    int r = input_line(f->in, &line, err);
    if (r == 0)
        flush(d, f->trace.report.lines);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    f->trace.report.torn |= line.torn && str_starts(line.text, "DCGM_") && !line.text.n;
    struct str text = str_trim(line.text);
    if (!text.n || text.p[0] == '#')
        return 1;
    return take_series(d, &line, err);
}

static void dcgm_done(struct feed *f)
{
    dcgm_scrape_done(&((struct dcgm *) f)->scrape);
}

static int dcgm_probe(struct str head)
{
    return str_find(head, "DCGM_FI_") >= 0 && str_find_char(head, '{') >= 0 && head.p[0] != '{' &&
                   head.p[0] != '['
               ? 80
               : 0;
}

static int dcgm_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    int r = feed_open(&dcgm_format, sizeof(struct dcgm), dcgm_step, in, ret, err);
    if (r == 0) {
        struct dcgm *d = (struct dcgm *) *ret;
        d->feed.done = dcgm_done;
        d->time_ms = -1;
    }
    return r;
}

const struct trace_format dcgm_format = {
    .name = "dcgm",
    .help = "text of dcgm-exporter, one scrape or many",
    .probe = dcgm_probe,
    .open = dcgm_open,
    .next = feed_next,
    .close = feed_close,
};
