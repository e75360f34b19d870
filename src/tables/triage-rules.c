/* SPDX-License-Identifier: Apache-2.0 */
/* data/rules/triage.yaml as struct triage_rules: all thresholds, each with its reason. */
#include "tables/rules.h"

#include "base/parse.h"
#include "tables/threshold.h"

#include <errno.h>

static const struct threshold rows[] = {
    THRESHOLD(triage_rules, window_us, parse_duration_us),
    THRESHOLD(triage_rules, window_samples, threshold_samples),
    THRESHOLD(triage_rules, low_permille, threshold_permille),
    THRESHOLD(triage_rules, low_margin_mw, parse_power_mw),
    THRESHOLD(triage_rules, high_permille, threshold_permille),
    THRESHOLD(triage_rules, high_of_work_permille, threshold_permille),
    THRESHOLD(triage_rules, hysteresis_permille, threshold_permille),
    THRESHOLD(triage_rules, util_busy_permille, threshold_permille),
    THRESHOLD(triage_rules, util_zero_permille, threshold_permille),
    THRESHOLD(triage_rules, flat_permille, threshold_permille),
    THRESHOLD(triage_rules, quiet_mem_permille, threshold_permille),
    THRESHOLD(triage_rules, quiet_link_bps, threshold_rate),
    THRESHOLD(triage_rules, much_link_bps, threshold_rate),
    THRESHOLD(triage_rules, busy_sm_permille, threshold_permille),
    THRESHOLD(triage_rules, busy_tensor_permille, threshold_permille),
    THRESHOLD(triage_rules, min_mem_bytes, parse_size_bytes),
    THRESHOLD(triage_rules, deadlock_us, parse_duration_us),
    THRESHOLD(triage_rules, deadlock_blind_us, parse_duration_us),
    THRESHOLD(triage_rules, lost_us, parse_duration_us),
    THRESHOLD(triage_rules, empty_allocation_us, parse_duration_us),
    THRESHOLD(triage_rules, stuck_sensor_us, parse_duration_us),
    THRESHOLD(triage_rules, capped_permille, threshold_permille),
    THRESHOLD(triage_rules, min_episode_us, parse_duration_us),
};

static const struct threshold_set thresholds = { rows, ARRAY_SIZE(rows) };

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

int triage_rules_parse(const char *name, struct str content, struct triage_rules *ret,
                       struct err *err)
{
    struct yaml_file f;
    struct triage_rules rules = { 0 };
    int r = yaml_file_load(&f, name, content, err);
    yaml_node_t *root = r == 0 ? yaml_file_root(&f) : NULL;
    if (r == 0)
        r = node_keys(&f, root, "thresholds rules");
    if (r == 0)
        r = thresholds_read(&f, node_get(&f, root, "thresholds"), &thresholds, &rules);
    if (r == 0)
        r = check(&f, root, &rules);
    yaml_file_done(&f);
    if (r == 0)
        *ret = rules;
    return r;
}
