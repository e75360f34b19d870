/* SPDX-License-Identifier: Apache-2.0 */
#include "app/calibration.h"

#include "sys/file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA "wattgate.calibration/1"

int calibration_default_path(char *buf, size_t cap, struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (state && *state == '/')
        n = snprintf(buf, cap, "%s/wattgate/calibration.json", state);
    else if (geteuid() == 0)
        n = snprintf(buf, cap, "/var/lib/wattgate/calibration.json");
    else if (home && *home)
        n = snprintf(buf, cap, "%s/.local/state/wattgate/calibration.json", home);
    else
        return err_set(err, -ENOENT, "no HOME to keep calibrations in; use --calibration FILE");
    if (n < 0 || (size_t) n >= cap)
        return err_set(err, -ENAMETOOLONG, "the path of the calibration file is too long");
    return 0;
}

void calibration_store_done(struct calibration_store *s)
{
    free(s->items);
    *s = (struct calibration_store){ NULL, 0 };
}

static void read_text(const json_t *o, const char *key, char *buf, size_t cap)
{
    const char *text = json_string_value(json_object_get(o, key));
    str_copy(buf, cap, str_from(text));
}

static int64_t read_known(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : -1;
}

static void read_entry(const json_t *o, struct calibration_entry *e)
{
    *e = (struct calibration_entry){ 0 };
    read_text(o, "device", e->key, sizeof(e->key));
    read_text(o, "name", e->name, sizeof(e->name));
    read_text(o, "driver", e->driver, sizeof(e->driver));
    e->limit_mw = read_known(o, "limit_mw");
    e->smoothing = read_known(o, "smoothing");
    e->learned_us = read_known(o, "learned_us");
    const json_t *anchors = json_object_get(o, "anchors_mw");
    for (unsigned a = 0; a < ANCHOR_COUNT; a++)
        e->anchor_mw[a] = read_known(anchors, anchor_name((enum anchor) a));
}

static int read_store(const char *path, const json_t *root, struct calibration_store *ret,
                      struct err *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *devices = json_object_get(root, "devices");
    if (!schema || strcmp(schema, SCHEMA) != 0 || !json_is_array(devices))
        return err_set(err, -EINVAL,
                       "'%s' is no calibration file of this version (schema '%s', "
                       "want '" SCHEMA "'); move it away to start anew",
                       path, schema ? schema : "none");
    AUTO(calibration_store) struct calibration_store s = { NULL, 0 };
    for (size_t i = 0; i < json_array_size(devices); i++) {
        struct calibration_entry e;
        read_entry(json_array_get(devices, i), &e);
        if (!e.key[0])
            return err_set(err, -EINVAL, "'%s': entry %zu names no device", path, i);
        if (calibration_put(&s, &e) < 0)
            return err_sys(err, ENOMEM, "'%s'", path);
    }
    *ret = s;
    s = (struct calibration_store){ NULL, 0 };
    return 0;
}

int calibration_load(const char *path, struct calibration_store *ret, struct err *err)
{
    json_error_t problem;
    FILE *f = fopen(path, "re");
    if (!f && errno == ENOENT) {
        *ret = (struct calibration_store){ NULL, 0 };
        return 0;
    }
    if (!f)
        return err_sys(err, errno, "open the kept levels '%s'", path);
    struct stat st;
    bool folder = fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode);
    json_t *root = folder ? NULL : json_loadf(f, JSON_REJECT_DUPLICATES, &problem);
    fclose(f);
    if (folder)
        return err_sys(err, EISDIR, "read the kept levels '%s'", path);
    if (!root)
        return err_set(err, -EINVAL,
                       "'%s' holds no kept levels (line %d: %s); remove it and calibrate anew",
                       path, problem.line, problem.text);
    int r = read_store(path, root, ret, err);
    json_decref(root);
    return r;
}

static json_t *known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *entry_json(const struct calibration_entry *e)
{
    json_t *anchors = json_object();
    for (unsigned a = 0; a < ANCHOR_COUNT; a++)
        json_object_set_new(anchors, anchor_name((enum anchor) a), known(e->anchor_mw[a]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "device", e->key, "name", e->name,
                     "driver", e->driver, "limit_mw", known(e->limit_mw), "smoothing",
                     known(e->smoothing), "learned_us", known(e->learned_us), "anchors_mw",
                     anchors);
}

int calibration_save(const char *path, const struct calibration_store *s, struct err *err)
{
    json_t *devices = json_array();
    int bad = 0;
    for (size_t i = 0; i < s->n; i++)
        bad |= json_array_append_new(devices, entry_json(&s->items[i]));
    json_t *root = json_pack("{s:s, s:o}", "schema", SCHEMA, "devices", devices);
    char *text = root && !bad ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return err_set(err, -ENOMEM, "calibration '%s': a text that is no UTF-8, or no memory",
                       path);
    int r = file_replace(path, str_from(text), err);
    free(text);
    return r;
}

const struct calibration_entry *calibration_find(const struct calibration_store *s, struct str key)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(key, s->items[i].key))
            return &s->items[i];
    return NULL;
}

static bool same_conditions(const struct calibration_entry *a, const struct calibration_entry *b)
{
    return strcmp(a->driver, b->driver) == 0 && a->limit_mw == b->limit_mw &&
           a->smoothing == b->smoothing;
}

int calibration_put(struct calibration_store *s, const struct calibration_entry *e)
{
    for (size_t i = 0; i < s->n; i++) {
        struct calibration_entry *old = &s->items[i];
        if (strcmp(old->key, e->key) != 0)
            continue;
        struct calibration_entry merged = *e;
        for (unsigned a = 0; a < ANCHOR_COUNT && same_conditions(old, e); a++)
            if (merged.anchor_mw[a] < 0)
                merged.anchor_mw[a] = old->anchor_mw[a];
        *old = merged;
        return 0;
    }
    struct calibration_entry *items = realloc(s->items, (s->n + 1) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    s->items = items;
    s->items[s->n++] = *e;
    return 0;
}

const char *calibration_expired(const struct calibration_entry *e, struct str driver,
                                int64_t limit_mw, int64_t smoothing, char *buf, size_t cap)
{
    if (!str_is(driver, e->driver))
        snprintf(buf, cap, "the driver changed from %s to %.*s",
                 e->driver[0] ? e->driver : "an unknown one", STR_ARG(driver));
    else if (limit_mw != e->limit_mw)
        snprintf(buf, cap, "the power limit changed from %lld W to %lld W",
                 (long long) e->limit_mw / 1000, (long long) limit_mw / 1000);
    else if (smoothing != e->smoothing)
        snprintf(buf, cap, "power smoothing changed");
    else
        return NULL;
    return buf;
}
