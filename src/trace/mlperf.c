/* SPDX-License-Identifier: Apache-2.0 */
/* Node power logs of MLPerf training: a node metered at the wall, watts without states. */
#include "trace/feed.h"
#include "trace/formats.h"
#include "trace/quantity.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

struct mlperf {
    struct feed feed; /* first */
};

#define MARK ":::MLLOG "

static void take_reading(struct mlperf *m, const json_t *o, uint64_t line)
{
    const json_t *watts = json_object_get(o, "value"), *ms = json_object_get(o, "time_ms");
    const char *host = json_string_value(json_object_get(json_object_get(o, "metadata"), "host"));
    struct obs reading = { .metric = METRIC_NODE_POWER_MW };
    if (!json_is_number(watts) || !json_is_integer(ms) || json_integer_value(ms) < 0 ||
        json_integer_value(ms) > STAMP_MAX_MS ||
        quantity_from_double(QUANTITY_POWER_W, json_number_value(watts), &reading) < 0) {
        trace_dropped(&m->feed.trace, "line %" PRIu64 ": a power_reading without watts or time",
                      line);
        return;
    }
    char key[160];
    snprintf(key, sizeof(key), "node:%s", host ? host : "0");
    feed_at(&m->feed, (struct stamp){ (int64_t) json_integer_value(ms) * 1000, true }, line);
    struct entity e = {
        .kind = ENTITY_NODE, .parent = ENTITY_NONE, .index = -1, .key = str_from(key)
    };
    reading.metric = METRIC_NODE_POWER_MW;
    feed_sample(&m->feed, feed_entity(&m->feed, &e), &reading, 1);
    feed_tick(&m->feed);
}

static int mlperf_step(struct feed *f, struct err *err)
{
    struct line line;
    json_error_t problem;
    int r = input_line(f->in, &line, err);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    if (!str_starts(line.text, MARK) || str_find(line.text, "\"power_reading\"") < 0)
        return 1;
    struct str text = str_sub(line.text, sizeof(MARK) - 1, line.text.n);
    json_t *o = json_loadb(text.p, text.n, 0, &problem);
    if (!o) {
        f->trace.report.torn |= line.torn;
        trace_dropped(&f->trace, "line %" PRIu64 ", column %d: %.120s", line.number,
                      problem.column + (int) sizeof(MARK) - 1, problem.text);
        return 1;
    }
    take_reading((struct mlperf *) f, o, line.number);
    json_decref(o);
    return 1;
}

static int mlperf_probe(struct str head)
{
    return str_find(head, MARK) >= 0 && str_find(head, "\"power_") >= 0 ? 90 : 0;
}

static int mlperf_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&mlperf_format, sizeof(struct mlperf), mlperf_step, in, ret, err);
}

const struct trace_format mlperf_format = {
    .name = "mlperf-power",
    .help = "node power logs of MLPerf training (:::MLLOG power_reading)",
    .probe = mlperf_probe,
    .open = mlperf_open,
    .next = feed_next,
    .close = feed_close,
};
