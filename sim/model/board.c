/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated boards are like. These rows are the simulator's own and on purpose not those
 * of data/boards/: a triage that was tuned on its own table would otherwise grade itself. */
#include "model.h"

static const struct sim_arch_info archs[] = {
    [SIM_ARCH_UNKNOWN] = { "unknown", &sensor_modern, 0xffffffff, 0, 0, false, false, false },
    [SIM_ARCH_VOLTA] = { "volta", &sensor_volta, 5, 7, 0, false, false, false },
    [SIM_ARCH_GA100] = { "ga100", &sensor_ga100, 7, 8, 0, false, false, false },
    [SIM_ARCH_AMPERE] = { "ampere", &sensor_modern, 7, 8, 6, false, false, false },
    [SIM_ARCH_ADA] = { "ada", &sensor_modern, 8, 8, 9, false, true, false },
    [SIM_ARCH_HOPPER] = { "hopper", &sensor_modern, 9, 9, 0, true, true, false },
    [SIM_ARCH_BLACKWELL] = { "blackwell", &sensor_modern, 10, 10, 0, true, true, true },
};
_Static_assert(ARRAY_SIZE(archs) == SIM_ARCH_COUNT, "an architecture lacks its row");

const struct sim_arch_info *sim_arch_info(enum sim_arch a)
{
    return &archs[a < SIM_ARCH_COUNT ? a : SIM_ARCH_UNKNOWN];
}

const char *sim_arch_name(enum sim_arch a)
{
    return sim_arch_info(a)->name;
}

bool sim_arch_from_name(struct str name, enum sim_arch *ret)
{
    for (enum sim_arch a = SIM_ARCH_VOLTA; a < SIM_ARCH_COUNT; a++)
        if (str_is(name, archs[a].name)) {
            *ret = a;
            return true;
        }
    return false;
}

static const char *const kind_names[] = {
    [SIM_UNKNOWN] = "unknown", [SIM_IDLE] = "idle", [SIM_HELD] = "held",   [SIM_SPIN] = "spin",
    [SIM_COPY] = "copy",       [SIM_LOAD] = "load", [SIM_WRITE] = "write", [SIM_WORK] = "work",
};
_Static_assert(ARRAY_SIZE(kind_names) == SIM_KIND_COUNT, "a kind of phase lacks its name");

const char *sim_kind_name(enum sim_kind k)
{
    return kind_names[k < SIM_KIND_COUNT ? k : SIM_UNKNOWN];
}

bool sim_kind_from_name(struct str name, enum sim_kind *ret)
{
    if (str_is(name, "wait"))
        name = STR("held");
    for (enum sim_kind k = SIM_IDLE; k < SIM_KIND_COUNT; k++)
        if (str_is(name, kind_names[k])) {
            *ret = k;
            return true;
        }
    return false;
}

/* Columns of level_w: -, idle, held, spin, copy, load, write, work. */
#define LEVELS(idle, held, spin, copy, load, write, work)                                          \
    {                                                                                              \
        0, idle, held, spin, copy, load, write, work                                               \
    }

const struct sim_board sim_boards[] = {
    { "v100", "Tesla V100-SXM2-32GB", SIM_ARCH_VOLTA, 300, 150, 300,
      LEVELS(42, 56, 66, 110, 62, 60, 262), 32, 1530, 135, 877, 6, 0x1db510de, false },
    { "a100", "NVIDIA A100-SXM4-80GB", SIM_ARCH_GA100, 400, 100, 400,
      LEVELS(57, 69, 86, 148, 78, 74, 345), 80, 1410, 210, 1593, 12, 0x20b210de, false },
    { "a10", "NVIDIA A10", SIM_ARCH_AMPERE, 150, 100, 150, LEVELS(17, 55, 60, 72, 58, 57, 141), 24,
      1695, 210, 6251, 0, 0x223610de, false },
    { "a6000", "NVIDIA RTX A6000", SIM_ARCH_AMPERE, 300, 100, 300,
      LEVELS(24, 72, 80, 105, 78, 76, 268), 48, 2100, 210, 8001, 4, 0x223010de, true },
    { "rtx4090", "NVIDIA GeForce RTX 4090", SIM_ARCH_ADA, 450, 150, 600,
      LEVELS(19, 58, 80, 128, 72, 68, 385), 24, 3105, 210, 10501, 0, 0x268410de, true },
    { "l40s", "NVIDIA L40S", SIM_ARCH_ADA, 350, 100, 350, LEVELS(35, 101, 108, 140, 106, 104, 318),
      48, 2520, 210, 9001, 0, 0x26b910de, false },
    { "h100", "NVIDIA H100 80GB HBM3", SIM_ARCH_HOPPER, 700, 200, 700,
      LEVELS(71, 122, 131, 225, 127, 126, 592), 80, 1980, 345, 2619, 18, 0x233010de, false },
    { "h200", "NVIDIA H200", SIM_ARCH_HOPPER, 700, 200, 700,
      LEVELS(76, 134, 142, 238, 139, 137, 584), 141, 1980, 345, 3201, 18, 0x233510de, false },
    { "b200", "NVIDIA B200", SIM_ARCH_BLACKWELL, 1000, 200, 1000,
      LEVELS(141, 190, 195, 305, 201, 199, 840), 180, 1965, 120, 3996, 18, 0x290110de, false },
    { "b300", "NVIDIA B300 SXM6 AC", SIM_ARCH_BLACKWELL, 1100, 200, 1100,
      LEVELS(181, 238, 249, 352, 252, 247, 905), 268, 2032, 120, 3996, 18, 0x318210de, false },
    { "gb200", "NVIDIA GB200", SIM_ARCH_BLACKWELL, 1200, 200, 1200,
      LEVELS(164, 214, 252, 345, 226, 222, 984), 186, 2062, 120, 3996, 18, 0x294110de, false },
    { "gb300", "NVIDIA GB300", SIM_ARCH_BLACKWELL, 1400, 500, 1600,
      LEVELS(205, 268, 292, 398, 281, 277, 1085), 277, 2032, 120, 3996, 18, 0x31c210de, false },
};
const size_t sim_boards_n = ARRAY_SIZE(sim_boards);

const struct sim_board *sim_board_find(struct str key)
{
    for (size_t i = 0; i < sim_boards_n; i++)
        if (str_is_nocase(key, sim_boards[i].key) || str_is(key, sim_boards[i].product))
            return &sim_boards[i];
    return NULL;
}
