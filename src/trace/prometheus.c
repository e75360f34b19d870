/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus answers to a query of DCGM series: /api/v1/query_range (matrix) or query
 * (vector). Series lie one behind another; they are merged by time. */
#include "trace/dcgm-rows.h"
#include "trace/document.h"
#include "trace/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct point {
    int64_t time_us;
    uint32_t device; /* in `devices` */
    uint32_t row;
    struct obs obs;
};

struct prometheus {
    struct feed feed; /* first */
    struct dcgm_labels *devices;
    size_t n_devices;
    struct point *points;
    size_t n, cap, at;
    bool loaded;
};

static int add_point(struct prometheus *p, const struct point *point)
{
    if (p->n == p->cap) {
        size_t cap = MAX(p->cap * 2, (size_t) 1024);
        struct point *grown = realloc(p->points, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        p->points = grown;
        p->cap = cap;
    }
    p->points[p->n++] = *point;
    return 0;
}

static int find_device(struct prometheus *p, const struct dcgm_labels *l, uint32_t *ret)
{
    for (size_t i = 0; i < p->n_devices; i++)
        if (memcmp(&p->devices[i], l, sizeof(*l)) == 0) {
            *ret = (uint32_t) i;
            return 0;
        }
    if (p->n_devices >= DCGM_DEVICES_MAX)
        return -E2BIG;
    struct dcgm_labels *grown = realloc(p->devices, (p->n_devices + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    p->devices = grown;
    p->devices[p->n_devices] = *l;
    *ret = (uint32_t) p->n_devices++;
    return 0;
}

static void drop(struct prometheus *p, size_t series, const char *what)
{
    trace_dropped(&p->feed.trace, "series %zu: %s", series, what);
}

/* [time, "value"] */
static int take_point(struct prometheus *p, size_t series, const struct dcgm_row *row,
                      uint32_t device, const json_t *pair)
{
    const json_t *time = json_array_get(pair, 0);
    const char *text = json_string_value(json_array_get(pair, 1));
    double t = json_number_value(time);
    struct point point = { .device = device };
    if (!json_is_number(time) || !(t > 0 && t < 7.3e9) || !text ||
        quantity_parse(row->quantity, (struct str){ NULL, 0 }, str_from(text), &point.obs) < 0) {
        drop(p, series, "a point is no pair of a time and a value that its metric can have");
        return 0;
    }
    point.obs.metric = row->metric;
    point.time_us = (int64_t) (t * 1000.0 + 0.5) * 1000; /* Prometheus keeps milliseconds */
    return add_point(p, &point);
}

static int take_series(struct prometheus *p, size_t number, json_t *series)
{
    json_t *metric = json_object_get(series, "metric"), *value, *pair;
    const char *name = json_string_value(json_object_get(metric, "__name__")), *key;
    const struct dcgm_row *row = name ? dcgm_row_find(str_from(name)) : NULL;
    struct dcgm_labels labels;
    uint32_t device = 0;
    size_t i;
    if (!row) {
        drop(p, number, name ? "no metric of DCGM that is known" : "it has no name (__name__)");
        return 0;
    }
    memset(&labels, 0, sizeof(labels)); /* compared as bytes */
    labels.index = -1;
    json_object_foreach(metric, key, value) if (json_is_string(value))
        dcgm_label(&labels, str_from(key), str_from(json_string_value(value)));
    if (!labels.uuid[0] && labels.index < 0) {
        drop(p, number, "no label says which GPU (UUID, gpu)");
        return 0;
    }
    int r = find_device(p, &labels, &device);
    json_t *one = json_object_get(series, "value"), *many = json_object_get(series, "values");
    if (r == 0 && json_is_array(one))
        r = take_point(p, number, row, device, one);
    json_array_foreach(many, i, pair) if (r == 0) r = take_point(p, number, row, device, pair);
    return r;
}

static int by_time(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (int) x->obs.metric - (int) y->obs.metric;
}

static int load(struct prometheus *p, struct err *err)
{
    json_t *root = NULL, *series;
    size_t i;
    int r = document_load(&p->feed, &root, err);
    if (r < 0)
        return r;
    const char *status = json_string_value(json_object_get(root, "status"));
    json_t *result = json_object_get(json_object_get(root, "data"), "result");
    if (status && strcmp(status, "success") != 0)
        r = err_set(err, -EINVAL, "'%s': Prometheus answered '%.40s': %.200s",
                    input_name(p->feed.in), status,
                    json_string_value(json_object_get(root, "error"))
                        ? json_string_value(json_object_get(root, "error"))
                        : "no reason given");
    json_array_foreach(result, i, series) if (r == 0)
    {
        r = take_series(p, i + 1, series);
        if (r < 0)
            err_sys(err, -r, "read '%s', series %zu", input_name(p->feed.in), i + 1);
    }
    json_decref(root);
    if (r == 0 && p->n)
        qsort(p->points, p->n, sizeof(*p->points), by_time);
    return r;
}

/* One time of all devices. */
static int prometheus_step(struct feed *f, struct err *err)
{
    struct prometheus *p = (struct prometheus *) f;
    struct dcgm_scrape scrape = { 0 };
    if (!p->loaded) {
        p->loaded = true;
        int r = load(p, err);
        if (r < 0)
            return r;
    }
    if (p->at == p->n)
        return 0;
    int64_t now = p->points[p->at].time_us;
    feed_at(f, (struct stamp){ now, true }, 0);
    for (; p->at < p->n && p->points[p->at].time_us == now; p->at++) {
        const struct point *point = &p->points[p->at];
        struct dcgm_device *d = dcgm_scrape_device(&scrape, &p->devices[point->device]);
        if (!d) {
            dcgm_scrape_done(&scrape);
            return err_sys(err, ENOMEM, "read '%s'", input_name(f->in));
        }
        obs_list_add(&d->obs, point->obs.metric, &point->obs, false);
    }
    dcgm_scrape_feed(&scrape, f);
    dcgm_scrape_done(&scrape);
    return 1;
}

static void prometheus_done(struct feed *f)
{
    struct prometheus *p = (struct prometheus *) f;
    free(p->devices);
    free(p->points);
}

static int prometheus_probe(struct str head)
{
    struct str text = str_trim(head);
    return text.n && text.p[0] == '{' && str_find(text, "\"status\"") >= 0 &&
                   str_find(text, "\"data\"") >= 0
               ? 85
               : 0;
}

static int prometheus_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    int r = feed_open(&prometheus_format, sizeof(struct prometheus), prometheus_step, in, ret, err);
    if (r == 0)
        ((struct prometheus *) *ret)->feed.done = prometheus_done;
    return r;
}

const struct trace_format prometheus_format = {
    .name = "prometheus",
    .help = "JSON of a Prometheus query (query_range or query) for DCGM series",
    .probe = prometheus_probe,
    .open = prometheus_open,
    .next = feed_next,
    .close = feed_close,
};
