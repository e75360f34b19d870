/* SPDX-License-Identifier: Apache-2.0 */
/* One file of data/boards/ as a struct board. Every value must carry its source. */
#include "tables/boards.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *word;
    enum grade grade;
} grades[] = {
    { "constant", GRADE_CONSTANT },
    { "text", GRADE_TEXT },
    { "screen", GRADE_SCREEN },
    { "measured", GRADE_MEASURED },
};

static int read_source(struct yaml_file *f, const yaml_node_t *map)
{
    struct str text = { NULL, 0 };
    return node_text(f, node_get(f, map, "source"), "source (where the value comes from)", &text);
}

static int read_quantity(struct yaml_file *f, const yaml_node_t *map, const char *key,
                         int (*parse)(struct str, int64_t *), int64_t *ret)
{
    struct str text = { NULL, 0 };
    const yaml_node_t *at = node_get(f, map, key);
    int r = node_text(f, at ? at : map, key, &text);
    if (r < 0)
        return r;
    if (!at || parse(text, ret) < 0 || *ret < 0)
        return node_fail(f, at, "%s: '%.*s' is no quantity with its unit", key, STR_ARG(text));
    return 0;
}

static int read_grade(struct yaml_file *f, const yaml_node_t *map, enum grade *ret)
{
    struct str text = { NULL, 0 };
    const yaml_node_t *at = node_get(f, map, "grade");
    int r = node_text(f, at ? at : map, "grade", &text);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(grades); i++)
        if (str_is(text, grades[i].word)) {
            *ret = grades[i].grade;
            return 0;
        }
    return node_fail(f, at, "grade '%.*s' is none of constant, text, screen, measured",
                     STR_ARG(text));
}

static int read_anchor(struct yaml_file *f, const yaml_node_t *map, struct anchor_range *ret)
{
    struct anchor_range a = { 0 };
    int r = node_keys(f, map, "low high grade source note");
    if (r == 0)
        r = read_quantity(f, map, "low", parse_power_mw, &a.lo_mw);
    if (r == 0)
        r = read_quantity(f, map, "high", parse_power_mw, &a.hi_mw);
    if (r == 0)
        r = read_grade(f, map, &a.grade);
    if (r == 0)
        r = read_source(f, map);
    if (r < 0)
        return r;
    if (a.lo_mw > a.hi_mw)
        return node_fail(f, map, "low is above high");
    *ret = a;
    return 0;
}

/* Levels rise from bare to held to work; spin may overlap held, as it does on real boards. */
static int check_order(struct yaml_file *f, const yaml_node_t *map, const struct board *b)
{
    static const enum anchor rising[] = { ANCHOR_BARE, ANCHOR_HELD, ANCHOR_WORK };
    const struct anchor_range *before = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(rising); i++) {
        const struct anchor_range *a = &b->anchor[rising[i]];
        if (a->grade == GRADE_NONE)
            continue;
        if (before && (a->lo_mw < before->lo_mw || a->hi_mw < before->hi_mw))
            return node_fail(f, map, "the level of '%s' is below the one before it",
                             anchor_name(rising[i]));
        before = a;
    }
    if (b->anchor[ANCHOR_SPIN].grade != GRADE_NONE && b->anchor[ANCHOR_BARE].grade != GRADE_NONE &&
        b->anchor[ANCHOR_SPIN].hi_mw < b->anchor[ANCHOR_BARE].lo_mw)
        return node_fail(f, map, "the level of 'spin' is below 'bare'");
    return 0;
}

static int read_anchors(struct yaml_file *f, const yaml_node_t *map, struct board *b)
{
    struct str name;
    yaml_node_t *value;
    if (!map)
        return 0;
    int r = node_keys(f, map, "bare held spin work");
    for (size_t i = 0; r == 0 && node_pair(f, map, i, &name, &value); i++) {
        enum anchor a;
        if (!anchor_from_name(name, &a))
            return node_fail(f, value, "no such level");
        r = read_anchor(f, value, &b->anchor[a]);
    }
    return r < 0 ? r : check_order(f, map, b);
}

static int read_match(struct yaml_file *f, const yaml_node_t *list, struct board *b)
{
    const yaml_node_t *item;
    size_t i = 0;
    for (; (item = node_item(f, list, i)); i++) {
        struct str text = { NULL, 0 };
        int r = node_text(f, item, "a product name", &text);
        if (r < 0)
            return r;
        if (i == ARRAY_SIZE(b->match) || text.n >= sizeof(b->match[0]))
            return node_fail(f, item, "more than 8 patterns, or one of 64 bytes");
        str_copy(b->match[i], sizeof(b->match[i]), text);
    }
    return i ? 0 : node_fail(f, list, "match: no product name");
}

static int read_limit(struct yaml_file *f, const yaml_node_t *map, struct board *b)
{
    if (!map)
        return 0;
    int r = node_keys(f, map, "value source note");
    if (r == 0)
        r = read_quantity(f, map, "value", parse_power_mw, &b->limit_mw);
    return r == 0 ? read_source(f, map) : r;
}

static int read_sensor(struct yaml_file *f, const yaml_node_t *map, struct board *b)
{
    struct str draw = { NULL, 0 };
    int64_t update = 0, window = 0;
    if (!map)
        return 0;
    int r = node_keys(f, map, "draw update window source note");
    if (r == 0)
        r = node_text(f, node_get(f, map, "draw"), "draw", &draw);
    if (r == 0)
        r = read_quantity(f, map, "update", parse_duration_us, &update);
    if (r == 0)
        r = read_quantity(f, map, "window", parse_duration_us, &window);
    if (r == 0)
        r = read_source(f, map);
    if (r < 0)
        return r;
    if (!str_is(draw, "instant") && !str_is(draw, "average"))
        return node_fail(f, map, "draw is neither instant nor average");
    if (update > INT32_MAX || window > update)
        return node_fail(f, map, "window is longer than update");
    b->draw_kind = str_is(draw, "instant") ? POWER_KIND_INSTANT : POWER_KIND_AVERAGE;
    b->sensor_update_us = (int32_t) update;
    b->sensor_window_us = (int32_t) window;
    return 0;
}

static int parse_tflops(struct str s, int64_t *ret_gflops)
{
    return str_ends(s, " TFLOP/s") ? parse_scaled(str_sub(s, 0, s.n - 8), 1000, ret_gflops)
                                   : -EINVAL;
}

static int read_peak(struct yaml_file *f, const yaml_node_t *map, struct board *b)
{
    if (!map)
        return 0;
    int r = node_keys(f, map, "value source note");
    if (r == 0)
        r = read_quantity(f, map, "value", parse_tflops, &b->peak_bf16_gflops);
    return r == 0 ? read_source(f, map) : r;
}

static int read_low_power(struct yaml_file *f, const yaml_node_t *map, struct board *b)
{
    struct str text = { NULL, 0 };
    if (!map)
        return 0;
    int r = node_keys(f, map, "value source note");
    if (r == 0)
        r = node_text(f, node_get(f, map, "value"), "value", &text);
    if (r < 0)
        return r;
    b->low_power_compute = str_is(text, "true");
    return read_source(f, map);
}

static int read_board(struct yaml_file *f, struct board *b)
{
    struct str name = { NULL, 0 };
    yaml_node_t *root = yaml_file_root(f);
    int r = node_keys(f, root, "board match anchors limit sensor peak_bf16 low_power_compute note");
    if (r == 0)
        r = node_text(f, node_get(f, root, "board"), "board", &name);
    if (r < 0)
        return r;
    if (name.n >= sizeof(b->name))
        return node_fail(f, root, "a board's name is shorter than 32 bytes");
    str_copy(b->name, sizeof(b->name), name);
    r = read_match(f, node_get(f, root, "match"), b);
    if (r == 0)
        r = read_anchors(f, node_get(f, root, "anchors"), b);
    if (r == 0)
        r = read_limit(f, node_get(f, root, "limit"), b);
    if (r == 0)
        r = read_sensor(f, node_get(f, root, "sensor"), b);
    if (r == 0)
        r = read_peak(f, node_get(f, root, "peak_bf16"), b);
    return r == 0 ? read_low_power(f, node_get(f, root, "low_power_compute"), b) : r;
}

int board_parse(const char *name, struct str content, struct board *ret, struct err *err)
{
    struct yaml_file f;
    struct board b = { 0 };
    int r = yaml_file_load(&f, name, content, err);
    if (r == 0)
        r = read_board(&f, &b);
    yaml_file_done(&f);
    if (r == 0)
        *ret = b;
    return r;
}
