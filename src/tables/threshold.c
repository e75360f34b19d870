/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of data/rules as fields of a struct: each with its value and its reason. */
#include "tables/threshold.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

int threshold_permille(struct str s, int64_t *ret)
{
    return str_ends(s, " permille") ? parse_i64(str_sub(s, 0, s.n - 9), ret) : -EINVAL;
}

int threshold_samples(struct str s, int64_t *ret)
{
    return str_ends(s, " samples") ? parse_i64(str_sub(s, 0, s.n - 8), ret) : -EINVAL;
}

int threshold_rate(struct str s, int64_t *ret)
{
    return str_ends(s, "/s") ? parse_size_bytes(str_sub(s, 0, s.n - 2), ret) : -EINVAL;
}

static const struct threshold *find(const struct threshold_set *set, struct str name)
{
    for (size_t i = 0; i < set->n; i++)
        if (str_is(name, set->rows[i].name))
            return &set->rows[i];
    return NULL;
}

static int read_one(struct yaml_file *f, const struct threshold *field, const yaml_node_t *map,
                    void *to)
{
    struct str text = { NULL, 0 }, why;
    int64_t value = 0;
    int r = node_keys(f, map, "value why");
    if (r == 0)
        r = node_text(f, node_get(f, map, "value"), "value", &text);
    if (r == 0)
        r = node_text(f, node_get(f, map, "why"), "why (the reason of the value)", &why);
    if (r < 0)
        return r;
    if (field->parse(text, &value) < 0 || value < 0 || value > INT64_C(1) << 50 ||
        (field->size == sizeof(uint32_t) && value > UINT32_MAX))
        return node_fail(f, map, "%s: '%.*s' is no such quantity", field->name, STR_ARG(text));
    char *at = (char *) to + field->offset;
    uint32_t small = (uint32_t) value;
    if (field->size == sizeof(small))
        memcpy(at, &small, sizeof(small));
    else
        memcpy(at, &value, sizeof(value));
    return 0;
}

int thresholds_read(struct yaml_file *f, const yaml_node_t *map, const struct threshold_set *set,
                    void *to)
{
    struct str name;
    yaml_node_t *value;
    uint64_t seen = 0;
    for (size_t i = 0; node_pair(f, map, i, &name, &value); i++) {
        const struct threshold *field = find(set, name);
        if (!field)
            return node_fail(f, value, "no threshold is called '%.*s'", STR_ARG(name));
        int r = read_one(f, field, value, to);
        if (r < 0)
            return r;
        seen |= UINT64_C(1) << (field - set->rows);
    }
    for (size_t i = 0; i < set->n; i++)
        if (!(seen >> i & 1))
            return node_fail(f, map, "threshold '%s' is missing", set->rows[i].name);
    return 0;
}
