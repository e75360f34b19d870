/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/gpu_metrics.h"

#include <errno.h>
#include <string.h>

/* Where a field lies, and what its raw unit is. */
struct place {
    uint16_t offset; /* 0: not in this revision (the header is there) */
    uint8_t width;   /* bytes of one element */
    uint8_t count;   /* elements; of clocks the highest counts, of bytes the sum */
    int32_t scale;   /* raw unit to the unit of the field's name; negative: divide */
};

struct layout {
    uint8_t format, content;
    uint16_t size;
    struct place place[GM_COUNT];
};

/* Raw units. */
#define CELSIUS 1000 /* to m°C */
#define CENTI_C 10
#define PERCENT 10 /* to permille */
#define CENTI_PERCENT (-10)
#define WATT 1000
#define MILLIWATT 1
#define MHZ 1
#define KIB 1024 /* the driver says "KiloBytes" */

/* Field order and sizes: the structures gpu_metrics_vX_Y of the Linux kernel's
 * drivers/gpu/drm/amd/include/kgd_pp_interface.h, with natural alignment. Left out on purpose:
 *  - power and activity of 2.0 to 2.3, activity of 3.0: W or mW, percent or centipercent by
 *    firmware, and nothing in the file tells which; hwmon and gpu_busy_percent do.
 *  - energy of 1.0 is 32 bits wide.
 *  - PCIe bandwidth: its unit changed between revisions and it does not tell the directions apart.
 */

/* clang-format off */
#define TEMPS_1_X(at)                                                                              \
    [GM_TEMP_EDGE_MC] = { at, 2, 1, CELSIUS },                                                     \
    [GM_TEMP_HOTSPOT_MC] = { (at) + 2, 2, 1, CELSIUS },                                            \
    [GM_TEMP_MEM_MC] = { (at) + 4, 2, 1, CELSIUS },                                                \
    [GM_GFX_PERMILLE] = { (at) + 12, 2, 1, PERCENT },                                              \
    [GM_MEM_PERMILLE] = { (at) + 14, 2, 1, PERCENT },                                              \
    [GM_POWER_AVERAGE_MW] = { (at) + 18, 2, 1, WATT },                                             \
    [GM_CLOCK_GFX_MHZ] = { 54, 2, 1, MHZ },                                                        \
    [GM_CLOCK_MEM_MHZ] = { 58, 2, 1, MHZ },                                                        \
    [GM_THROTTLE_ASIC] = { 68, 4, 1, 1 }

#define START_MI300                                                                                \
    [GM_TEMP_HOTSPOT_MC] = { 4, 2, 1, CELSIUS },                                                   \
    [GM_TEMP_MEM_MC] = { 6, 2, 1, CELSIUS },                                                       \
    [GM_POWER_CURRENT_MW] = { 10, 2, 1, WATT },                                                    \
    [GM_GFX_PERMILLE] = { 12, 2, 1, PERCENT },                                                     \
    [GM_MEM_PERMILLE] = { 14, 2, 1, PERCENT }

#define LIMITS_AT(at)                                                                              \
    [GM_LIMIT_PROCHOT] = { at, 4, 1, 1 },                                                          \
    [GM_LIMIT_POWER] = { (at) + 4, 4, 1, 1 },                                                      \
    [GM_LIMIT_TEMP] = { (at) + 8, 4, 1, 1 },                                                       \
    [GM_LIMIT_TEMP_VR] = { (at) + 12, 4, 1, 1 },                                                   \
    [GM_LIMIT_TEMP_MEM] = { (at) + 16, 4, 1, 1 }

#define LINKS_AT(at)                                                                               \
    [GM_LINK_READ_BYTES] = { at, 8, 8, KIB },                                                      \
    [GM_LINK_WRITE_BYTES] = { (at) + 64, 8, 8, KIB }

#define CLOCKS_AT(at)                                                                              \
    [GM_CLOCK_GFX_MHZ] = { at, 2, 8, MHZ },                                                        \
    [GM_CLOCK_MEM_MHZ] = { (at) + 40, 2, 1, MHZ }

#define APU_2_X                                                                                    \
    [GM_TEMP_GFX_MC] = { 4, 2, 1, CENTI_C },                                                       \
    [GM_CLOCK_GFX_MHZ] = { 76, 2, 1, MHZ },                                                        \
    [GM_CLOCK_MEM_MHZ] = { 80, 2, 1, MHZ },                                                        \
    [GM_THROTTLE_ASIC] = { 108, 4, 1, 1 }

static const struct layout layouts[] = {
    { 1, 0, 80, { TEMPS_1_X(16), [GM_ENERGY_TICKS] = { 36, 4, 1, 1 } } },
    { 1, 1, 96, { TEMPS_1_X(4), [GM_ENERGY_TICKS] = { 24, 8, 1, 1 } } },
    { 1, 2, 104, { TEMPS_1_X(4), [GM_ENERGY_TICKS] = { 24, 8, 1, 1 } } },
    { 1, 3, 120, { TEMPS_1_X(4), [GM_ENERGY_TICKS] = { 24, 8, 1, 1 },
                   [GM_THROTTLE_BITS] = { 112, 8, 1, 1 } } },
    { 1, 4, 288, { START_MI300, [GM_ENERGY_TICKS] = { 24, 8, 1, 1 },
                   [GM_THROTTLE_ASIC] = { 40, 4, 1, 1 }, LINKS_AT(104), CLOCKS_AT(240) } },
    { 1, 5, 360, { START_MI300, [GM_ENERGY_TICKS] = { 88, 8, 1, 1 },
                   [GM_THROTTLE_ASIC] = { 104, 4, 1, 1 }, LINKS_AT(176), CLOCKS_AT(312) } },
    { 1, 6, 1664, { START_MI300, [GM_ENERGY_TICKS] = { 16, 8, 1, 1 }, LIMITS_AT(36), LINKS_AT(128),
                    CLOCKS_AT(264) } },
    /* An earlier form of 1.6, without the statistics of partitions. */
    { 1, 6, 384, { START_MI300, [GM_ENERGY_TICKS] = { 88, 8, 1, 1 }, LIMITS_AT(108),
                   [GM_THROTTLE_ASIC] = { 128, 4, 1, 1 }, LINKS_AT(200), CLOCKS_AT(336) } },
    { 1, 7, 2208, { START_MI300, [GM_ENERGY_TICKS] = { 24, 8, 1, 1 }, LIMITS_AT(44), LINKS_AT(136),
                    CLOCKS_AT(296) } },
    { 1, 8, 3872, { START_MI300, [GM_ENERGY_TICKS] = { 24, 8, 1, 1 }, LIMITS_AT(44), LINKS_AT(136),
                    CLOCKS_AT(296) } },
    { 2, 0, 120, { [GM_TEMP_GFX_MC] = { 16, 2, 1, CENTI_C }, [GM_CLOCK_GFX_MHZ] = { 80, 2, 1, MHZ },
                   [GM_CLOCK_MEM_MHZ] = { 84, 2, 1, MHZ }, [GM_THROTTLE_ASIC] = { 112, 4, 1, 1 } } },
    { 2, 1, 120, { APU_2_X } },
    { 2, 2, 128, { APU_2_X, [GM_THROTTLE_BITS] = { 120, 8, 1, 1 } } },
    { 2, 3, 152, { APU_2_X, [GM_THROTTLE_BITS] = { 120, 8, 1, 1 } } },
    { 2, 4, 168, { APU_2_X, [GM_THROTTLE_BITS] = { 120, 8, 1, 1 },
                   [GM_GFX_PERMILLE] = { 28, 2, 1, CENTI_PERCENT },
                   [GM_POWER_AVERAGE_MW] = { 40, 2, 1, MILLIWATT } } },
    { 3, 0, 264, { [GM_TEMP_GFX_MC] = { 4, 2, 1, CENTI_C },
                   [GM_POWER_AVERAGE_MW] = { 112, 4, 1, MILLIWATT },
                   [GM_CLOCK_GFX_MHZ] = { 174, 2, 1, MHZ }, [GM_CLOCK_MEM_MHZ] = { 186, 2, 1, MHZ },
                   [GM_LIMIT_PROCHOT] = { 228, 4, 1, 1 }, [GM_LIMIT_POWER] = { 236, 4, 1, 1 },
                   [GM_LIMIT_TEMP] = { 248, 4, 1, 1 } } },
};
/* clang-format on */

/* The first row of a revision. */
static const struct layout *find_revision(uint8_t format, uint8_t content)
{
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        if (layouts[i].format == format && layouts[i].content == content)
            return &layouts[i];
    return NULL;
}

static const struct layout *find_layout(uint8_t format, uint8_t content, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        if (layouts[i].format == format && layouts[i].content == content && layouts[i].size == size)
            return &layouts[i];
    return NULL;
}

size_t gpu_metrics_size(uint8_t format, uint8_t content)
{
    const struct layout *l = find_revision(format, content);
    return l ? l->size : 0;
}

/* Little endian, as the driver runs only on such machines. False for all ones: not measured. */
static bool load(const uint8_t *at, uint8_t width, uint64_t *ret)
{
    uint64_t v = 0, ones = width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t) at[i] << (8 * i);
    *ret = v;
    return v != ones;
}

static bool scaled(uint64_t raw, int32_t scale, int64_t *ret)
{
    if (raw > INT64_MAX)
        return false;
    if (scale >= 0)
        return !__builtin_mul_overflow((int64_t) raw, scale, ret);
    *ret = ((int64_t) raw - scale / 2) / -scale;
    return true;
}

static bool read_place(const uint8_t *bytes, const struct place *p, bool sum, int64_t *ret)
{
    int64_t total = 0;
    bool any = false;
    for (unsigned i = 0; i < p->count; i++) {
        uint64_t raw;
        int64_t v;
        if (!load(bytes + p->offset + (size_t) i * p->width, p->width, &raw))
            continue;
        if (!scaled(raw, p->scale, &v))
            return false;
        if (!sum)
            total = any ? MAX(total, v) : v;
        else if (__builtin_add_overflow(total, v, &total))
            return false;
        any = true;
    }
    if (any)
        *ret = total;
    return any;
}

int gpu_metrics_decode(const uint8_t *bytes, size_t n, struct gpu_metrics *ret, struct err *err)
{
    if (n < 4)
        return err_set(err, -EINVAL, "gpu_metrics: %zu bytes, too short for its header", n);
    size_t size = (size_t) bytes[0] | (size_t) bytes[1] << 8;
    uint8_t format = bytes[2], content = bytes[3];
    if (!find_revision(format, content))
        return err_set(err, -ENOTSUP, "gpu_metrics: revision %u.%u is not known to this version",
                       format, content);
    const struct layout *l = find_layout(format, content, size);
    if (!l)
        return err_set(err, -EINVAL, "gpu_metrics: revision %u.%u with %zu bytes, expected %zu",
                       format, content, size, gpu_metrics_size(format, content));
    if (n < size)
        return err_set(err, -EINVAL, "gpu_metrics: cut at byte %zu of %zu", n, size);
    struct gpu_metrics m = { .format = format, .content = content };
    m.energy_is_32bit = l->place[GM_ENERGY_TICKS].width == 4;
    for (unsigned f = 0; f < GM_COUNT; f++)
        if (l->place[f].offset)
            m.have[f] =
                read_place(bytes, &l->place[f], f == GM_LINK_READ_BYTES || f == GM_LINK_WRITE_BYTES,
                           &m.value[f]);
    *ret = m;
    return 0;
}

bool gpu_metrics_energy_uj(int64_t ticks, int64_t *ret_uj)
{
    /* 10^6 / 2^16 = 15625 / 1024, exactly. */
    int64_t whole;
    if (ticks < 0 || __builtin_mul_overflow(ticks / 1024, 15625, &whole))
        return false;
    return !__builtin_add_overflow(whole, ticks % 1024 * 15625 / 1024, ret_uj);
}

/* Clock event reasons, as NVML numbers them. */
#define REASON_POWER_CAP 0x4
#define REASON_SW_THERMAL 0x20
#define REASON_HW_THERMAL 0x40

int64_t gpu_metrics_reasons(uint64_t bits)
{
    static const struct {
        unsigned from, to;
        int64_t reason;
    } groups[] = {
        { 0, 7, REASON_POWER_CAP },    /* package power */
        { 16, 23, REASON_POWER_CAP },  /* current */
        { 32, 43, REASON_SW_THERMAL }, /* temperatures that the firmware regulates */
        { 44, 47, REASON_HW_THERMAL }, /* VRHOT, PROCHOT: signals from the board */
    };
    int64_t reasons = 0;
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        for (unsigned b = groups[i].from; b <= groups[i].to; b++)
            if (bits >> b & 1)
                reasons |= groups[i].reason;
    return reasons;
}

int64_t gpu_metrics_reasons_since(const struct gpu_metrics *last, const struct gpu_metrics *now)
{
    static const struct {
        enum gm_field field;
        int64_t reason;
    } causes[] = {
        { GM_LIMIT_PROCHOT, REASON_HW_THERMAL },  { GM_LIMIT_POWER, REASON_POWER_CAP },
        { GM_LIMIT_TEMP, REASON_SW_THERMAL },     { GM_LIMIT_TEMP_VR, REASON_SW_THERMAL },
        { GM_LIMIT_TEMP_MEM, REASON_SW_THERMAL },
    };
    int64_t reasons = 0;
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
        enum gm_field f = causes[i].field;
        if (last->have[f] && now->have[f] && last->value[f] != now->value[f])
            reasons |= causes[i].reason;
    }
    return reasons;
}
