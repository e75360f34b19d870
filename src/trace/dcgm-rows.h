/* SPDX-License-Identifier: Apache-2.0 */
/* DCGM's metric names, as dcgm-exporter and Prometheus give them, and the devices that they are
 * about. Shared by the readers of exposition text and of query results. */
#ifndef WATTGATE_TRACE_DCGM_ROWS_H
#define WATTGATE_TRACE_DCGM_ROWS_H

#include "trace/feed.h"
#include "trace/quantity.h"

struct dcgm_row {
    const char *name; /* without "DCGM_FI_" */
    enum metric metric;
    enum quantity quantity;
    bool of_board; /* a MIG instance repeats what its board reads */
};

/* NULL for a metric that is not known. */
const struct dcgm_row *dcgm_row_find(struct str name);

/* Labels of a series that say which device it is about. */
struct dcgm_labels {
    char uuid[128], name[128], driver[64], instance[64], host[128];
    int32_t index; /* -1: no such label */
};

void dcgm_labels_init(struct dcgm_labels *l);
void dcgm_label(struct dcgm_labels *l, struct str key, struct str value);

/* What one scrape tells of one device (a board, or a MIG instance of it). */
struct dcgm_device {
    struct dcgm_labels labels;
    struct obs_list obs;
};

struct dcgm_scrape {
    struct dcgm_device *devices; /* malloc'ed */
    size_t n, cap;
    uint32_t conflicts; /* repeats of a board's reading with another value */
};

#define DCGM_DEVICES_MAX 4096

/* The device of the labels; NULL when memory is out or there are too many. */
struct dcgm_device *dcgm_scrape_device(struct dcgm_scrape *s, const struct dcgm_labels *l);
/* Feeds all devices as one polling round and empties the scrape. */
void dcgm_scrape_feed(struct dcgm_scrape *s, struct feed *f);
void dcgm_scrape_done(struct dcgm_scrape *s);

#endif
