/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nvsmi-xml-rows.h"

#include <errno.h>

/* gpu_power_readings came with driver 535; before, power_readings held the same. The enforced limit
 * was called so until then, and is the current one since. */
const struct nvsmi_row nvsmi_rows[] = {
    { "power_readings/power_draw", METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "power_readings/instant_power_draw", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W },
    { "power_readings/average_power_draw", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/power_draw", METRIC_POWER_DRAW_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/instant_power_draw", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/average_power_draw", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W },
    { "power_readings/enforced_power_limit", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W },
    { "power_readings/current_power_limit", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W },
    { "power_readings/power_limit", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, .fallback = true },
    { "gpu_power_readings/enforced_power_limit", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/current_power_limit", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W },
    { "power_readings/default_power_limit", METRIC_POWER_LIMIT_DEFAULT_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/default_power_limit", METRIC_POWER_LIMIT_DEFAULT_MW, QUANTITY_POWER_W },
    { "power_readings/max_power_limit", METRIC_POWER_LIMIT_MAX_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/max_power_limit", METRIC_POWER_LIMIT_MAX_MW, QUANTITY_POWER_W },
    { "gpu_power_readings/total_energy_consumption", METRIC_ENERGY_UJ, QUANTITY_ENERGY_MJ },

    { "utilization/gpu_util", METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "utilization/memory_util", METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT },
    { "clocks/sm_clock", METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ },
    { "clocks/mem_clock", METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ },
    { "max_clocks/sm_clock", METRIC_CLOCK_SM_MAX_MHZ, QUANTITY_CLOCK_MHZ },
    { "fb_memory_usage/used", METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB },
    { "fb_memory_usage/total", METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB },
    { "temperature/gpu_temp", METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C },
    { "temperature/memory_temp", METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C },
    { "performance_state", METRIC_PSTATE, QUANTITY_PSTATE },
    { "pci/tx_util", METRIC_PCIE_TX_BPS, QUANTITY_RATE_KB },
    { "pci/rx_util", METRIC_PCIE_RX_BPS, QUANTITY_RATE_KB },

    { "clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap",
      METRIC_THROTTLE_POWER_NS, QUANTITY_TIME_NS },
    { "ecc_errors/aggregate/double_bit/total", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "ecc_errors/aggregate/sram_uncorrectable", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "ecc_errors/aggregate/sram_uncorrectable_parity", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "ecc_errors/aggregate/sram_uncorrectable_secded", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "ecc_errors/aggregate/dram_uncorrectable", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF },
    { "remapped_rows/remapped_row_pending", METRIC_REMAP_PENDING, QUANTITY_YES },
    { "remapped_rows/remapped_row_failure", METRIC_REMAP_FAILURE, QUANTITY_YES },
    { "gpu_recovery_action", METRIC_RECOVERY_ACTION, .words = WORDS_RECOVERY },
    { "fabric/health/summary", METRIC_FABRIC_UNHEALTHY, .words = WORDS_HEALTH },
    { "fabric/health/bandwidth", METRIC_FABRIC_UNHEALTHY, .words = WORDS_HEALTH },
    { "fabric/health/route_unhealthy", METRIC_FABRIC_UNHEALTHY, .words = WORDS_UNHEALTHY },
    { "mig_mode/current_mig", METRIC_MIG_ENABLED, QUANTITY_YES },
    { "power_smoothing", METRIC_SMOOTHING_ENABLED, QUANTITY_YES },
    { "power_smoothing/power_smoothing_state", METRIC_SMOOTHING_ENABLED, QUANTITY_YES },
    { "power_smoothing/state", METRIC_SMOOTHING_ENABLED, QUANTITY_YES },
    { NULL },
};

static const struct {
    enum word_list list;
    const char *word;
    int64_t value;
} words[] = {
    { WORDS_RECOVERY, "None", 0 },
    { WORDS_RECOVERY, "Reset", 1 },
    { WORDS_RECOVERY, "GPU Reset", 1 },
    { WORDS_RECOVERY, "Reboot", 2 },
    { WORDS_RECOVERY, "Node Reboot", 2 },
    { WORDS_RECOVERY, "Drain P2P", 3 },
    { WORDS_RECOVERY, "Drain and Reset", 4 },
    { WORDS_HEALTH, "Healthy", 0 },
    { WORDS_HEALTH, "Full", 0 },
    { WORDS_HEALTH, "Limited Capacity", 1 },
    { WORDS_HEALTH, "Unhealthy", 1 },
    { WORDS_HEALTH, "Degraded", 1 },
    { WORDS_UNHEALTHY, "False", 0 },
    { WORDS_UNHEALTHY, "True", 1 },
};

int nvsmi_word_parse(enum word_list list, struct str text, struct obs *ret)
{
    enum obs_status status;
    if (!text.n)
        return -ENODATA;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].list == list && str_is_nocase(text, words[i].word)) {
            ret->status = OBS_VALUE;
            ret->value = words[i].value;
            return 0;
        }
    if (!status_from_words(text, &status))
        return -EINVAL;
    ret->status = status;
    ret->value = 0;
    return 0;
}

int64_t nvsmi_throttle_bit(struct str reason)
{
    static const struct {
        const char *name;
        int64_t bit;
    } bits[] = {
        { "gpu_idle", 0x1 },
        { "applications_clocks_setting", 0x2 },
        { "sw_power_cap", 0x4 },
        { "hw_slowdown", 0x8 },
        { "sync_boost", 0x10 },
        { "sw_thermal_slowdown", 0x20 },
        { "hw_thermal_slowdown", 0x40 },
        { "hw_power_brake_slowdown", 0x80 },
        { "display_clocks_setting", 0x100 },
        { "display_clock_setting", 0x100 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
        if (str_is(reason, bits[i].name))
            return bits[i].bit;
    return 0;
}
