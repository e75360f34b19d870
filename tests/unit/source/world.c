/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_entity(struct world *w, const struct entity *e)
{
    CHECK(e->id < WORLD_ENTITIES);
    if (e->id >= WORLD_ENTITIES)
        return;
    struct thing *t = &w->things[e->id];
    CHECK(!t->known); /* an id is given out once */
    *t = (struct thing){ .known = true,
                         .kind = e->kind,
                         .parent = e->parent,
                         .generation = e->generation,
                         .index = e->index };
    CHECK(e->parent == ENTITY_NONE || (e->parent < w->n && w->things[e->parent].known));
    str_copy(t->key, sizeof(t->key), e->key);
    str_copy(t->name, sizeof(t->name), e->name);
    str_copy(t->driver, sizeof(t->driver), e->driver);
    str_copy(t->bus, sizeof(t->bus), e->bus);
    w->n = MAX(w->n, e->id + 1);
}

static struct thing *known(struct world *w, uint32_t id)
{
    CHECK(id < w->n && w->things[id].known && !w->things[id].gone);
    return &w->things[id < WORLD_ENTITIES ? id : 0];
}

static void take_sample(struct world *w, const struct sample *s)
{
    struct thing *t = known(w, s->entity);
    t->samples++;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct obs *o = &s->obs[i];
        CHECK(o->metric != METRIC_UNKNOWN);
        CHECK(o->status == OBS_VALUE || o->value == 0);
        for (uint32_t k = 0; k < i; k++)
            CHECK(s->obs[k].metric != o->metric);
        t->obs[o->metric] = *o;
    }
}

static void take(struct world *w, const struct record *r)
{
    w->records++;
    if (r->kind == RECORD_ENTITY) {
        take_entity(w, &r->u.entity);
    } else if (r->kind == RECORD_SAMPLE) {
        take_sample(w, &r->u.sample);
    } else if (r->kind == RECORD_GONE) {
        known(w, r->u.gone)->gone = true;
    } else if (r->kind == RECORD_NOTE) {
        struct thing *t = known(w, r->u.note.entity);
        str_copy(t->note, sizeof(t->note), r->u.note.text);
        str_copy(t->note_key, sizeof(t->note_key), r->u.note.key);
        t->notes++;
    } else {
        tap_note("record kind %d: a source makes entities, samples, notes and goodbyes",
                 (int) r->kind);
        CHECK(false);
    }
}

void world_poll(struct world *w, struct source *src, int64_t mono_us)
{
    AUTO(record_queue) struct record_queue *q = record_queue_new();
    struct err err = { 0 };
    const struct record *r;
    CHECK_EQ(src->ops->poll(src, mono_us, q, &err), 0);
    CHECK_TEXT(err.text, "");
    while (record_queue_next(q, &r) > 0) {
        CHECK_EQ(r->mono_us, mono_us);
        take(w, r);
    }
}

struct thing *world_find(struct world *w, const char *key)
{
    for (uint32_t i = w->n; i-- > 0;)
        if (w->things[i].known && !strcmp(w->things[i].key, key))
            return &w->things[i];
    return NULL;
}

int64_t world_value(const struct thing *t, enum metric m)
{
    if (!t || t->obs[m].metric != m || t->obs[m].status != OBS_VALUE) {
        tap_note("%s: no value of %s", t ? t->key : "(nothing)", metric_info(m)->name);
        CHECK(false);
        return INT64_MIN;
    }
    return t->obs[m].value;
}

int world_status(const struct thing *t, enum metric m)
{
    return t && t->obs[m].metric == m ? (int) t->obs[m].status : -1;
}

static char trees[4][64];
static unsigned n_trees;

const char *tree_new(void)
{
    CHECK(n_trees < 4);
    char *path = trees[n_trees++ & 3];
    snprintf(path, sizeof(trees[0]), "/tmp/wattgate-tree-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    return path;
}

static void shell(const char *verb, const char *a, const char *b)
{
    char command[1400];
    snprintf(command, sizeof(command), "%s '%s%s'", verb, a, b);
    CHECK_EQ(system(command), 0);
}

const char *tree_copy(const char *name)
{
    char from[600];
    const char *path = tree_new();
    snprintf(from, sizeof(from), "tests/sysroots/%s", name);
    snprintf(from, sizeof(from), "%s", tap_source_path(from));
    char into[700];
    snprintf(into, sizeof(into), "/.' '%s", path);
    shell("cp -R", from, into);
    return path;
}

static void full_path(char *buf, size_t cap, const char *root, const char *path)
{
    snprintf(buf, cap, "%s/%s", root, path);
    char *slash = strrchr(buf, '/');
    *slash = '\0';
    shell("mkdir -p", buf, "");
    *slash = '/';
}

void tree_put(const char *root, const char *path, const void *bytes, size_t n)
{
    char full[600];
    full_path(full, sizeof(full), root, path);
    FILE *f = fopen(full, "wb");
    CHECK(f != NULL);
    if (!f)
        return;
    CHECK_EQ(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

void tree_text(const char *root, const char *path, const char *text)
{
    tree_put(root, path, text, strlen(text));
}

void tree_link(const char *root, const char *path, const char *target)
{
    char full[600];
    full_path(full, sizeof(full), root, path);
    unlink(full);
    CHECK_EQ(symlink(target, full), 0);
}

void tree_remove(const char *root, const char *path)
{
    char below[600];
    snprintf(below, sizeof(below), "/%s", path);
    shell("rm -rf", root, below);
}

void tree_done(void)
{
    for (unsigned i = 0; i < n_trees; i++)
        shell("rm -rf", trees[i], "");
    n_trees = 0;
}
