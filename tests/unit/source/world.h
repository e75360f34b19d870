/* SPDX-License-Identifier: Apache-2.0 */
/* What a source told, for tests: entities, their latest observations, notes. And small trees. */
#ifndef WATTGATE_TESTS_WORLD_H
#define WATTGATE_TESTS_WORLD_H

#include "source/source.h"
#include "tap.h"

#define WORLD_ENTITIES 1024

struct thing {
    bool known, gone;
    enum entity_kind kind;
    uint32_t parent, generation;
    int32_t index;
    char key[256], name[128], driver[64], bus[32];
    struct obs obs[METRIC_COUNT]; /* metric 0: never told */
    char note[256];               /* the latest */
    char note_key[32];
    unsigned notes, samples;
};

struct world {
    struct thing things[WORLD_ENTITIES];
    uint32_t n; /* highest id + 1 */
    unsigned records;
};

/* Polls once and takes everything in; checks the order that source.h demands. */
void world_poll(struct world *w, struct source *src, int64_t mono_us);
struct thing *world_find(struct world *w, const char *key); /* the latest of that key, or NULL */
/* The value, or a failed check. */
int64_t world_value(const struct thing *t, enum metric m);
/* The status; -1 when the metric was not told. */
int world_status(const struct thing *t, enum metric m);

/* A folder that lives until the case ends; tree_copy fills it from tests/sysroots/NAME. */
const char *tree_new(void);
const char *tree_copy(const char *name);
void tree_put(const char *root, const char *path, const void *bytes, size_t n);
void tree_text(const char *root, const char *path, const char *text);
void tree_link(const char *root, const char *path, const char *target);
void tree_remove(const char *root, const char *path);
void tree_done(void);

#endif
