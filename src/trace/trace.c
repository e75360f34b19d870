/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include "base/strbuf.h"
#include "trace/input.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct trace_format *find_format(const char *name)
{
    for (size_t i = 0; trace_formats[i]; i++)
        if (strcmp(trace_formats[i]->name, name) == 0)
            return trace_formats[i];
    return NULL;
}

static int unknown_format(const char *name, struct err *err)
{
    AUTO(strbuf) struct strbuf known = STRBUF_INIT;
    for (size_t i = 0; trace_formats[i]; i++)
        strbuf_addf(&known, "%s'%s'", i ? ", " : "", trace_formats[i]->name);
    return err_set(err, -EINVAL, "there is no trace format '%s'; known are %s", name,
                   strbuf_text(&known));
}

int trace_check_format(const char *name, struct err *err)
{
    return find_format(name) ? 0 : unknown_format(name, err);
}

/* The surest format; of two equally sure ones the first of the table. */
static const struct trace_format *detect_format(struct str head)
{
    const struct trace_format *best = NULL;
    int best_sure = 0;
    for (size_t i = 0; trace_formats[i]; i++) {
        int sure = trace_formats[i]->probe(head);
        if (sure > best_sure) {
            best = trace_formats[i];
            best_sure = sure;
        }
    }
    return best;
}

/* An input that cannot even be begun is told apart from one of an unknown format. */
static int refuse(struct trace_input *in, struct str head, struct err *err)
{
    struct line line;
    if (!head.n) {
        int r = input_line(in, &line, err);
        if (r < 0)
            return r;
        const char *torn = input_torn(in);
        return err_set(err, -ENODATA, "'%s' holds nothing to read%s%s", input_name(in),
                       torn ? ": " : "", torn ? torn : "");
    }
    return err_set(err, -EINVAL,
                   "'%s' is no telemetry that can be read: it looks like %s; "
                   "'wattgate triage --formats' lists what can",
                   input_name(in), trace_looks_like(head));
}

int trace_open(const char *path, const char *format, struct trace **ret, struct err *err)
{
    const struct trace_format *f = format ? find_format(format) : NULL;
    if (format && !f)
        return unknown_format(format, err);
    AUTO(trace_input) struct trace_input *in = NULL;
    int r = input_open(path, &in, err);
    if (r < 0)
        return r;
    struct str head = input_head(in);
    if (!f)
        f = head.n ? detect_format(head) : NULL;
    if (!f)
        return refuse(in, head, err);
    struct trace *t = NULL;
    r = f->open(in, &t, err);
    if (r < 0)
        return r;
    (void) TAKE(in);
    t->format = f;
    if (!t->report.format)
        t->report.format = f->name;
    *ret = t;
    return 0;
}

int trace_next(struct trace *t, const struct record **ret, struct err *err)
{
    return t->format->next(t, ret, err);
}

const struct trace_report *trace_report(const struct trace *t)
{
    return &t->report;
}

void trace_close(struct trace *t)
{
    if (t)
        t->format->close(t);
}

void trace_dropped(struct trace *t, const char *fmt, ...)
{
    if (t->report.dropped++)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->report.first_drop, sizeof(t->report.first_drop), fmt, args);
    va_end(args);
}
