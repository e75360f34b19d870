/* SPDX-License-Identifier: Apache-2.0 */
/* data/rules/watch.yaml as struct watch_rules. */
#include "tables/rules.h"

#include "base/parse.h"
#include "tables/threshold.h"

#include <errno.h>

#define ROW(name, parse) THRESHOLD(watch_rules, name, parse)

static const struct threshold rows[] = {
    ROW(low_least_permille, threshold_permille),
    ROW(low_most_permille, threshold_permille),
    ROW(low_share_permille, threshold_permille),
    ROW(quiet_mem_permille, threshold_permille),
    ROW(quiet_link_bps, threshold_rate),
    ROW(spin_util_permille, threshold_permille),
    ROW(silent_util_permille, threshold_permille),
    ROW(busy_cpu_permille, threshold_permille),
    ROW(busy_helpers_permille, threshold_permille),
    ROW(busy_write_bps, threshold_rate),
    ROW(busy_socket_bps, threshold_rate),
    ROW(worked_us, parse_duration_us),
    ROW(after_write_us, parse_duration_us),
    ROW(blind_us, parse_duration_us),
    ROW(suspect_factor_permille, threshold_permille),
    ROW(alert_factor_permille, threshold_permille),
    ROW(act_factor_permille, threshold_permille),
    ROW(clock_most_us, parse_duration_us),
};

static const struct threshold_set thresholds = { rows, ARRAY_SIZE(rows) };

static int read_duration(struct yaml_file *f, const yaml_node_t *map, const char *key, int64_t *ret)
{
    struct str text;
    int r = node_text(f, node_get(f, map, key), key, &text);
    if (r < 0)
        return r;
    if (parse_duration_us(text, ret) < 0 || *ret < 0)
        return node_fail(f, map, "%s: '%.*s' is no duration", key, STR_ARG(text));
    return 0;
}

static int read_clock(struct yaml_file *f, const yaml_node_t *map, struct stall_clock *c)
{
    struct str why;
    int r = node_keys(f, map, "suspect alert act startup why");
    if (r == 0)
        r = node_text(f, node_get(f, map, "why"), "why (the reason of the clock)", &why);
    if (r == 0)
        r = read_duration(f, map, "suspect", &c->suspect_us);
    if (r == 0)
        r = read_duration(f, map, "alert", &c->alert_us);
    if (r == 0)
        r = read_duration(f, map, "act", &c->act_us);
    if (r == 0)
        r = read_duration(f, map, "startup", &c->startup_us);
    if (r < 0)
        return r;
    if (!c->suspect_us || c->suspect_us > c->alert_us)
        return node_fail(f, map, "0 < suspect <= alert is broken");
    if (c->act_us && c->act_us <= c->alert_us)
        return node_fail(f, map, "act must be 0 (never) or above alert");
    return 0;
}

static int read_clocks(struct yaml_file *f, const yaml_node_t *map, struct watch_rules *k)
{
    struct str name;
    yaml_node_t *value;
    enum stall stall;
    for (size_t i = 0; node_pair(f, map, i, &name, &value); i++) {
        if (!stall_from_name(name, &stall) || stall == STALL_NONE)
            return node_fail(f, value, "no look of a standstill is called '%.*s'", STR_ARG(name));
        int r = read_clock(f, value, &k->clock[stall]);
        if (r < 0)
            return r;
    }
    for (unsigned i = STALL_NONE + 1; i < STALL_COUNT; i++)
        if (!k->clock[i].alert_us)
            return node_fail(f, map, "the clocks of '%s' are missing", stall_name((enum stall) i));
    return 0;
}

static int check(const struct yaml_file *f, const yaml_node_t *at, const struct watch_rules *k)
{
    if (k->low_least_permille > k->low_most_permille)
        return node_fail(f, at, "low_least_permille must not be above low_most_permille");
    if (k->silent_util_permille >= k->spin_util_permille)
        return node_fail(f, at, "silent_util_permille must be below spin_util_permille");
    return 0;
}

int watch_rules_parse(const char *name, struct str content, struct watch_rules *ret,
                      struct err *err)
{
    struct yaml_file f;
    struct watch_rules rules = { 0 };
    int r = yaml_file_load(&f, name, content, err);
    yaml_node_t *root = r == 0 ? yaml_file_root(&f) : NULL;
    if (r == 0)
        r = node_keys(&f, root, "thresholds clocks");
    if (r == 0)
        r = thresholds_read(&f, node_get(&f, root, "thresholds"), &thresholds, &rules);
    if (r == 0)
        r = read_clocks(&f, node_get(&f, root, "clocks"), &rules);
    if (r == 0)
        r = check(&f, root, &rules);
    yaml_file_done(&f);
    if (r == 0)
        *ret = rules;
    return r;
}
