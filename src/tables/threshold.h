/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of data/rules as fields of a struct: each with its value and its reason. */
#ifndef WATTGATE_TABLES_THRESHOLD_H
#define WATTGATE_TABLES_THRESHOLD_H

#include "tables/node.h"

struct threshold {
    const char *name;
    size_t offset, size; /* of an int64_t or a uint32_t */
    int (*parse)(struct str, int64_t *);
};

#define THRESHOLDS_MAX 64

struct threshold_set {
    const struct threshold *rows; /* at most THRESHOLDS_MAX */
    size_t n;
};

#define THRESHOLD(type, name, parse)                                                               \
    {                                                                                              \
#name, offsetof(struct type, name), sizeof(((struct type *) 0)->name), parse               \
    }

/* "20 permille", "5 samples", "20MB/s". */
int threshold_permille(struct str s, int64_t *ret);
int threshold_samples(struct str s, int64_t *ret);
int threshold_rate(struct str s, int64_t *ret);

/* Every row must be there, and nothing else: {value, why} each. */
int thresholds_read(struct yaml_file *f, const yaml_node_t *map, const struct threshold_set *set,
                    void *to) MUST_CHECK;

#endif
