/* SPDX-License-Identifier: Apache-2.0 */
/* data/rules/triage.yaml as struct triage_rules: all thresholds, each with its reason. */
#include "tables/rules.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static int parse_permille(struct str s, int64_t *ret)
{
    return str_ends(s, " permille") ? parse_i64(str_sub(s, 0, s.n - 9), ret) : -EINVAL;
}

static int parse_count(struct str s, int64_t *ret)
{
    return str_ends(s, " samples") ? parse_i64(str_sub(s, 0, s.n - 8), ret) : -EINVAL;
}

static int parse_rate(struct str s, int64_t *ret)
{
    return str_ends(s, "/s") ? parse_size_bytes(str_sub(s, 0, s.n - 2), ret) : -EINVAL;
}

#define FIELD(name, parse)                                                                         \
    {                                                                                              \
#name, offsetof(struct triage_rules, name), sizeof(((struct triage_rules *) 0)->name),     \
            parse                                                                                  \
    }

static const struct field {
    const char *name;
    size_t offset, size;
    int (*parse)(struct str, int64_t *);
} fields[] = {
    FIELD(window_us, parse_duration_us),
    FIELD(window_samples, parse_count),
    FIELD(low_permille, parse_permille),
    FIELD(low_margin_mw, parse_power_mw),
    FIELD(high_permille, parse_permille),
    FIELD(high_of_work_permille, parse_permille),
    FIELD(hysteresis_permille, parse_permille),
    FIELD(util_busy_permille, parse_permille),
    FIELD(util_zero_permille, parse_permille),
    FIELD(flat_permille, parse_permille),
    FIELD(quiet_mem_permille, parse_permille),
    FIELD(quiet_link_bps, parse_rate),
    FIELD(much_link_bps, parse_rate),
    FIELD(busy_sm_permille, parse_permille),
    FIELD(busy_tensor_permille, parse_permille),
    FIELD(min_mem_bytes, parse_size_bytes),
    FIELD(deadlock_us, parse_duration_us),
    FIELD(deadlock_blind_us, parse_duration_us),
    FIELD(lost_us, parse_duration_us),
    FIELD(empty_allocation_us, parse_duration_us),
    FIELD(stuck_sensor_us, parse_duration_us),
    FIELD(capped_permille, parse_permille),
    FIELD(min_episode_us, parse_duration_us),
};

static const struct field *find_field(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (str_is(name, fields[i].name))
            return &fields[i];
    return NULL;
}

static int read_field(struct yaml_file *f, const struct field *field, const yaml_node_t *map,
                      struct triage_rules *rules)
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
    char *at = (char *) rules + field->offset;
    uint32_t small = (uint32_t) value;
    if (field->size == sizeof(small))
        memcpy(at, &small, sizeof(small));
    else
        memcpy(at, &value, sizeof(value));
    return 0;
}

static int read_thresholds(struct yaml_file *f, const yaml_node_t *map, struct triage_rules *rules)
{
    struct str name;
    yaml_node_t *value;
    bool seen[ARRAY_SIZE(fields)] = { false };
    for (size_t i = 0; node_pair(f, map, i, &name, &value); i++) {
        const struct field *field = find_field(name);
        if (!field)
            return node_fail(f, value, "no threshold is called '%.*s'", STR_ARG(name));
        int r = read_field(f, field, value, rules);
        if (r < 0)
            return r;
        seen[field - fields] = true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!seen[i])
            return node_fail(f, map, "threshold '%s' is missing", fields[i].name);
    return 0;
}

static int check(const struct yaml_file *f, const yaml_node_t *at, const struct triage_rules *k)
{
    if (k->low_permille >= k->high_permille)
        return node_fail(f, at, "low_permille must be below high_permille");
    if (k->util_zero_permille >= k->util_busy_permille)
        return node_fail(f, at, "util_zero_permille must be below util_busy_permille");
    if (k->quiet_link_bps >= k->much_link_bps)
        return node_fail(f, at, "quiet_link_bps must be below much_link_bps");
    if (!k->window_us || !k->window_samples || k->window_samples > 12)
        return node_fail(f, at, "a window has a length, and 1 to 12 samples");
    if (k->deadlock_us < k->window_us || k->deadlock_blind_us < k->deadlock_us)
        return node_fail(f, at, "window_us <= deadlock_us <= deadlock_blind_us is broken");
    return 0;
}

int rules_parse(const char *name, struct str content, struct triage_rules *ret, struct err *err)
{
    struct yaml_file f;
    struct triage_rules rules = { 0 };
    int r = yaml_file_load(&f, name, content, err);
    yaml_node_t *root = r == 0 ? yaml_file_root(&f) : NULL;
    if (r == 0)
        r = node_keys(&f, root, "thresholds rules");
    if (r == 0)
        r = read_thresholds(&f, node_get(&f, root, "thresholds"), &rules);
    if (r == 0)
        r = check(&f, root, &rules);
    yaml_file_done(&f);
    if (r == 0)
        *ret = rules;
    return r;
}
