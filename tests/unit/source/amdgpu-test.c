/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/amdgpu.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world world;

/* skip: a GPU to leave out, or -1 */
static struct source *start(const char *root, int skip)
{
    struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    gpu_set_add(&env.skip_gpus, skip);
    struct source *src = NULL;
    struct err err = { 0 };
    CHECK_EQ(amdgpu_source.open(&env, &src, &err), 0);
    CHECK_TEXT(err.text, "");
    if (!src)
        exit(1);
    memset(&world, 0, sizeof(world));
    world_poll(&world, src, 1000000);
    return src;
}

static const char *sysroot(const char *name)
{
    static char path[600];
    snprintf(path, sizeof(path), "tests/sysroots/%s", name);
    const char *full = tap_source_path(path);
    snprintf(path, sizeof(path), "%s", full);
    return path;
}

/* ---- gpu_metrics ---- */

static void put_le(uint8_t *at, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        at[i] = (uint8_t) (v >> (8 * i));
}

static void make(uint8_t *bytes, uint8_t format, uint8_t content, size_t size)
{
    memset(bytes, 0xff, GPU_METRICS_BYTES_MAX);
    put_le(bytes, size, 2);
    bytes[2] = format;
    bytes[3] = content;
}

static void metrics_sizes(void)
{
    static const struct {
        uint8_t format, content;
        size_t size;
    } rows[] = { { 1, 0, 80 },   { 1, 1, 96 },   { 1, 2, 104 },  { 1, 3, 120 },
                 { 1, 4, 288 },  { 1, 5, 360 },  { 1, 6, 1664 }, { 1, 6, 384 },
                 { 1, 7, 2208 }, { 1, 8, 3872 }, { 2, 0, 120 },  { 2, 1, 120 },
                 { 2, 2, 128 },  { 2, 3, 152 },  { 2, 4, 168 },  { 3, 0, 264 } };
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct gpu_metrics m;
        struct err err = { 0 };
        make(bytes, rows[i].format, rows[i].content, rows[i].size);
        CHECK_EQ(gpu_metrics_decode(bytes, rows[i].size, &m, &err), 0);
        for (unsigned f = 0; f < GM_COUNT; f++)
            CHECK(!m.have[f]); /* all ones: nothing was measured */
        CHECK_EQ(gpu_metrics_decode(bytes, rows[i].size - 1, &m, &err), -EINVAL);
        CHECK_HAS(err.text, "cut at byte");
        make(bytes, rows[i].format, rows[i].content, rows[i].size + 8);
        CHECK_EQ(gpu_metrics_decode(bytes, sizeof(bytes), &m, &err), -EINVAL);
        CHECK_HAS(err.text, "expected");
        make(bytes, rows[i].format, rows[i].content, 0); /* no size is not every size */
        CHECK_EQ(gpu_metrics_decode(bytes, 4, &m, &err), -EINVAL);
        CHECK_HAS(err.text, "expected");
    }
}

static void metrics_refused(void)
{
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    struct gpu_metrics m = { .format = 77 };
    struct err err = { 0 };
    make(bytes, 1, 9, 40);
    CHECK_EQ(gpu_metrics_decode(bytes, 40, &m, &err), -ENOTSUP);
    CHECK_HAS(err.text, "1.9");
    make(bytes, 4, 0, 40);
    CHECK_EQ(gpu_metrics_decode(bytes, 40, &m, &err), -ENOTSUP);
    CHECK_EQ(gpu_metrics_decode(bytes, 3, &m, &err), -EINVAL);
    CHECK_EQ(gpu_metrics_decode(bytes, 0, &m, &err), -EINVAL);
    CHECK_EQ(m.format, 77); /* written only on success */
}

/* A marker written at the offset of each field, as the kernel's header gives it. */
static void metrics_offsets(void)
{
    static const struct {
        uint8_t format, content;
        size_t size, offset;
        unsigned width;
        enum gm_field field;
        uint64_t raw;
        int64_t want;
    } rows[] = {
        { 1, 0, 80, 36, 4, GM_ENERGY_TICKS, 65536, 65536 },
        { 1, 0, 80, 16, 2, GM_TEMP_EDGE_MC, 41, 41000 },
        { 1, 1, 96, 24, 8, GM_ENERGY_TICKS, UINT64_C(1) << 40, INT64_C(1) << 40 },
        { 1, 1, 96, 22, 2, GM_POWER_AVERAGE_MW, 290, 290000 },
        { 1, 2, 104, 54, 2, GM_CLOCK_GFX_MHZ, 1502, 1502 },
        { 1, 3, 120, 112, 8, GM_THROTTLE_BITS, 1, 1 },
        { 1, 3, 120, 16, 2, GM_GFX_PERMILLE, 100, 1000 },
        { 1, 4, 288, 10, 2, GM_POWER_CURRENT_MW, 750, 750000 },
        { 1, 4, 288, 24, 8, GM_ENERGY_TICKS, 5, 5 },
        { 1, 4, 288, 280, 2, GM_CLOCK_MEM_MHZ, 1300, 1300 },
        { 1, 5, 360, 88, 8, GM_ENERGY_TICKS, 5, 5 },
        { 1, 5, 360, 176, 8, GM_LINK_READ_BYTES, 3, 3072 },
        { 1, 5, 360, 326, 2, GM_CLOCK_GFX_MHZ, 2100, 2100 }, /* the eighth die */
        { 1, 6, 1664, 16, 8, GM_ENERGY_TICKS, 5, 5 },
        { 1, 6, 1664, 40, 4, GM_LIMIT_POWER, 9, 9 },
        { 1, 6, 1664, 255 - 7, 8, GM_LINK_WRITE_BYTES, 2, 2048 },
        { 1, 6, 384, 112, 4, GM_LIMIT_POWER, 9, 9 },
        { 1, 7, 2208, 24, 8, GM_ENERGY_TICKS, 5, 5 },
        { 1, 7, 2208, 200, 8, GM_LINK_WRITE_BYTES, 1, 1024 },
        { 1, 8, 3872, 48, 4, GM_LIMIT_POWER, 9, 9 },
        { 1, 8, 3872, 336, 2, GM_CLOCK_MEM_MHZ, 1900, 1900 },
        { 2, 0, 120, 16, 2, GM_TEMP_GFX_MC, 4825, 48250 },
        { 2, 1, 120, 76, 2, GM_CLOCK_GFX_MHZ, 400, 400 },
        { 2, 4, 168, 40, 2, GM_POWER_AVERAGE_MW, 15500, 15500 },
        { 2, 4, 168, 28, 2, GM_GFX_PERMILLE, 3712, 371 }, /* centipercent */
        { 3, 0, 264, 112, 4, GM_POWER_AVERAGE_MW, 54321, 54321 },
        { 3, 0, 264, 236, 4, GM_LIMIT_POWER, 4, 4 },
    };
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct gpu_metrics m;
        make(bytes, rows[i].format, rows[i].content, rows[i].size);
        put_le(bytes + rows[i].offset, rows[i].raw, rows[i].width);
        CHECK_EQ(gpu_metrics_decode(bytes, rows[i].size, &m, NULL), 0);
        if (!m.have[rows[i].field] || m.value[rows[i].field] != rows[i].want)
            tap_note("row %zu: revision %u.%u", i, rows[i].format, rows[i].content);
        CHECK(m.have[rows[i].field]);
        CHECK_EQ(m.value[rows[i].field], rows[i].want);
        for (unsigned f = 0; f < GM_COUNT; f++)
            CHECK(f == (unsigned) rows[i].field || !m.have[f]);
    }
}

static void energy_is_exact(void)
{
    int64_t uj = -1;
    CHECK(gpu_metrics_energy_uj(0, &uj));
    CHECK_EQ(uj, 0);
    CHECK(gpu_metrics_energy_uj(1, &uj)); /* 15.2587890625 uJ */
    CHECK_EQ(uj, 15);
    CHECK(gpu_metrics_energy_uj(65536, &uj));
    CHECK_EQ(uj, 1000000);
    CHECK(gpu_metrics_energy_uj(INT64_C(65536) * 123456789, &uj));
    CHECK_EQ(uj, INT64_C(123456789) * 1000000);
    uj = 7;
    CHECK(!gpu_metrics_energy_uj(INT64_MAX, &uj));
    CHECK(!gpu_metrics_energy_uj(-1, &uj));
    CHECK_EQ(uj, 7);
}

static void throttle_bits(void)
{
    CHECK_EQ(gpu_metrics_reasons(0), 0);
    CHECK_EQ(gpu_metrics_reasons(1), 0x4);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 7), 0x4);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 8), 0);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 16), 0x4);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 36), 0x20);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 44), 0x40);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 47), 0x40);
    CHECK_EQ(gpu_metrics_reasons(UINT64_C(1) << 57), 0);
}

static void clock_levels(void)
{
    static const struct {
        const char *text;
        int code;
        int64_t now, max;
    } rows[] = {
        { "0: 500Mhz\n1: 1700Mhz *", 0, 1700, 1700 },
        { "S: 19Mhz *\n0: 500Mhz\n1: 2100Mhz", 0, 19, 2100 },
        { "0: 132Mhz *", 0, 132, 132 },
        { "0: 500Mhz\n1: 1700Mhz", -ENODATA, 0, 0 },
        { "", -ENODATA, 0, 0 },
        { "0: fastMhz *", -EINVAL, 0, 0 },
        { "500Mhz *", -EINVAL, 0, 0 },
        { "0: 500", -EINVAL, 0, 0 },
        { "0: 99999999999999999999Mhz *", -ERANGE, 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t now = 0, max = 0;
        CHECK_EQ(amdgpu_clock_levels(str_from(rows[i].text), &now, &max), rows[i].code);
        CHECK_EQ(now, rows[i].now);
        CHECK_EQ(max, rows[i].max);
    }
}

/* ---- machines ---- */

static void mi300x(void)
{
    struct source *src = start(sysroot("mi300x-8"), -1);
    CHECK_EQ(world.n, 8);
    struct thing *g = world_find(&world, "a1b2c30000000003");
    CHECK(g != NULL);
    CHECK_EQ(g->index, 3);
    CHECK_EQ(g->kind, ENTITY_GPU);
    CHECK_TEXT(g->name, "AMD Instinct MI300X OAM");
    CHECK_TEXT(g->bus, "0000:65:00.0");
    CHECK_TEXT(g->driver, "6.8.5");
    CHECK_EQ(world_value(g, METRIC_POWER_INSTANT_MW), 144000);
    CHECK_EQ(world_status(g, METRIC_POWER_AVERAGE_MW), OBS_ABSENT); /* the kinds stay apart */
    CHECK_EQ(world_status(g, METRIC_POWER_DRAW_MW), -1);
    CHECK_EQ(world_value(g, METRIC_POWER_LIMIT_MW), 750000);
    CHECK_EQ(world_value(g, METRIC_POWER_LIMIT_DEFAULT_MW), 750000);
    CHECK_EQ(world_value(g, METRIC_UTIL_GPU_PERMILLE), 300);
    CHECK_EQ(world_value(g, METRIC_UTIL_MEM_PERMILLE), 30);
    CHECK_EQ(world_value(g, METRIC_MEM_TOTAL_BYTES), 206141652992);
    CHECK_EQ(world_value(g, METRIC_MEM_USED_BYTES), INT64_C(4) << 30);
    CHECK_EQ(world_value(g, METRIC_ENERGY_UJ), INT64_C(4000) * 1000000);
    CHECK_EQ(world_value(g, METRIC_TEMP_GPU_MC), 45000);
    CHECK_EQ(world_value(g, METRIC_TEMP_MEM_MC), 38000);
    CHECK_EQ(world_value(g, METRIC_CLOCK_SM_MHZ), 1303); /* the fastest die */
    CHECK_EQ(world_value(g, METRIC_CLOCK_SM_MAX_MHZ), 2100);
    CHECK_EQ(world_value(g, METRIC_CLOCK_MEM_MHZ), 900);
    CHECK_EQ(world_value(g, METRIC_NVLINK_RX_BYTES), 3000 * 1024);
    CHECK_EQ(world_value(g, METRIC_NVLINK_TX_BYTES), 60 * 1024);
    CHECK_EQ(world_status(g, METRIC_THROTTLE_REASONS), -1); /* needs two readings */
    world_poll(&world, src, 2000000);
    CHECK_EQ(world_value(g, METRIC_THROTTLE_REASONS), 0);
    CHECK_EQ(g->notes, 0);
    amdgpu_source.close(src);
}

static void mi250x(void)
{
    struct source *src = start(sysroot("mi250x"), -1);
    struct thing *first = world_find(&world, "b2000000000000c1");
    struct thing *second = world_find(&world, "b2000000000000c6");
    CHECK(first && second);
    CHECK_TEXT(first->driver, "linux 6.1.0-rocm");
    CHECK_EQ(world_value(first, METRIC_POWER_AVERAGE_MW), 93500);
    CHECK_EQ(world_status(first, METRIC_POWER_INSTANT_MW), OBS_ABSENT);
    CHECK_EQ(world_value(first, METRIC_THROTTLE_REASONS), 0x24);
    CHECK_EQ(world_value(first, METRIC_ENERGY_UJ), 2000000);
    /* The second die reads 0 W, which no board draws: it cannot tell. */
    CHECK_EQ(world_status(second, METRIC_POWER_AVERAGE_MW), OBS_UNSUPPORTED);
    CHECK_EQ(world_status(second, METRIC_POWER_LIMIT_MW), OBS_UNSUPPORTED);
    CHECK_EQ(world_status(second, METRIC_ENERGY_UJ), OBS_UNSUPPORTED);
    CHECK_EQ(world_value(second, METRIC_UTIL_GPU_PERMILLE), 1000);
    amdgpu_source.close(src);
}

static void mi100_wraps(void)
{
    const char *root = tree_copy("mi100");
    struct source *src = start(root, -1);
    struct thing *g = world_find(&world, "0000:83:00.0"); /* no unique_id */
    CHECK(g != NULL);
    CHECK_TEXT(g->name, "AMD GPU 1002:738C");
    CHECK_EQ(world_value(g, METRIC_POWER_AVERAGE_MW), 36000);
    int64_t before = world_value(g, METRIC_ENERGY_UJ);
    CHECK_EQ(before, INT64_C(65535) * 1000000);
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    make(bytes, 1, 0, 80);
    put_le(bytes + 36, 65536, 4); /* the 32-bit counter went round */
    tree_put(root, "sys/class/drm/card0/device/gpu_metrics", bytes, 80);
    world_poll(&world, src, 2000000);
    CHECK_EQ(world_value(g, METRIC_ENERGY_UJ), before + 2000000);
    amdgpu_source.close(src);
    tree_done();
}

static void apus(void)
{
    struct source *src = start(sysroot("apu"), -1);
    struct thing *g = &world.things[0];
    CHECK_TEXT(g->key, "0000:04:00.0"); /* unique_id 0 is none */
    CHECK_EQ(world_value(g, METRIC_POWER_AVERAGE_MW), 15000);
    CHECK_EQ(world_value(g, METRIC_UTIL_GPU_PERMILLE), 370);
    CHECK_EQ(world_value(g, METRIC_TEMP_GPU_MC), 48250);
    CHECK_EQ(world_value(g, METRIC_CLOCK_SM_MHZ), 400);
    CHECK_EQ(world_value(g, METRIC_THROTTLE_REASONS), 0);
    CHECK_EQ(world_status(g, METRIC_UTIL_MEM_PERMILLE), OBS_ABSENT);
    CHECK_EQ(world_status(g, METRIC_ENERGY_UJ), OBS_UNSUPPORTED);
    amdgpu_source.close(src);
    src = start(sysroot("apu-3"), -1);
    CHECK_EQ(world_value(g, METRIC_POWER_AVERAGE_MW), 54321);
    CHECK_EQ(world_value(g, METRIC_UTIL_GPU_PERMILLE), 810);
    CHECK_EQ(world_value(g, METRIC_TEMP_GPU_MC), 51500);
    amdgpu_source.close(src);
}

static void limits_that_grow(void)
{
    const char *root = tree_copy("apu-3");
    struct source *src = start(root, -1);
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    make(bytes, 3, 0, 264);
    put_le(bytes + 228, 0, 4);
    put_le(bytes + 236, 11, 4); /* one more than before: package power */
    put_le(bytes + 248, 0, 4);
    tree_put(root, "sys/class/drm/card0/device/gpu_metrics", bytes, 264);
    world_poll(&world, src, 2000000);
    CHECK_EQ(world_value(&world.things[0], METRIC_THROTTLE_REASONS), 0x4);
    amdgpu_source.close(src);
    tree_done();
}

/* ---- what goes wrong ---- */

#define DEVICE "sys/class/drm/card0/device/"

static void bad_files(void)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        { "", OBS_ERROR },
        { "N/A\n", OBS_ERROR },
        { "-5\n", OBS_ERROR },
        { "12 34\n", OBS_ERROR },
        { "99999999999999999999999999\n", OBS_ERROR },
        { "9223372036854775807\n", OBS_VALUE }, /* huge, and a number all the same */
        { "0\n", OBS_UNSUPPORTED },
        { "15000000\n", OBS_VALUE },
        { "1500000000000000000000000000000000000000000000000000000000000000000000000\n",
          OBS_ERROR },
    };
    const char *root = tree_copy("apu");
    struct source *src = start(root, -1);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        tree_text(root, DEVICE "hwmon/hwmon1/power1_average", rows[i].text);
        world_poll(&world, src, (int64_t) (i + 2) * 1000000);
        CHECK_EQ(world_status(&world.things[0], METRIC_POWER_AVERAGE_MW), rows[i].status);
    }
    tree_text(root, DEVICE "gpu_busy_percent", "101\n");
    world_poll(&world, src, 50000000);
    CHECK_EQ(world_status(&world.things[0], METRIC_UTIL_GPU_PERMILLE), OBS_ERROR);
    amdgpu_source.close(src);
    tree_done();
}

static void bad_metrics_are_noted_once(void)
{
    const char *root = tree_copy("apu");
    tree_put(root, DEVICE "gpu_metrics", "\x80\x00\x02\x02 cut", 8);
    struct source *src = start(root, -1);
    world_poll(&world, src, 2000000);
    struct thing *g = &world.things[0];
    CHECK_EQ(g->notes, 1);
    CHECK_TEXT(g->note_key, "gpu_metrics");
    CHECK_HAS(g->note, "cut at byte 8 of 128");
    CHECK_EQ(world_value(g, METRIC_POWER_AVERAGE_MW), 15000); /* the rest goes on */
    CHECK_EQ(world_value(g, METRIC_CLOCK_SM_MHZ), 400);
    amdgpu_source.close(src);
    tree_done();
}

static void metrics_are_binary(void)
{
    /* A blank (0x20) as the last byte belongs to the file. */
    const char *root = tree_copy("apu");
    static uint8_t bytes[GPU_METRICS_BYTES_MAX];
    make(bytes, 2, 2, 128);
    put_le(bytes + 120, UINT64_C(0x2000000000000000), 8);
    tree_put(root, DEVICE "gpu_metrics", bytes, 128);
    struct source *src = start(root, -1);
    CHECK_EQ(world.things[0].notes, 0);
    CHECK_EQ(world_value(&world.things[0], METRIC_THROTTLE_REASONS), 0);
    amdgpu_source.close(src);
    tree_done();
}

static void io_error_is_lost(void)
{
    const char *root = tree_copy("apu");
    struct source *src = start(root, -1);
    tree_link(root, DEVICE "hwmon/hwmon1/power1_average", "/proc/self/mem"); /* reads as EIO */
    world_poll(&world, src, 2000000);
    CHECK_EQ(world_status(&world.things[0], METRIC_POWER_AVERAGE_MW), OBS_LOST);
    CHECK_EQ(kfile_status(-ENODEV), OBS_LOST);
    CHECK_EQ(kfile_status(-EPERM), OBS_ERROR);
    CHECK_EQ(kfile_status(-EACCES), OBS_DENIED);
    CHECK_EQ(kfile_status(-ENOENT), OBS_ABSENT);
    CHECK_EQ(kfile_status(-ETIME), OBS_TIMED_OUT);
    CHECK_EQ(kfile_status(-EOPNOTSUPP), OBS_UNSUPPORTED);
    amdgpu_source.close(src);
    tree_done();
}

static void goes_and_comes_back(void)
{
    const char *root = tree_copy("mi250x");
    struct source *src = start(root, -1);
    CHECK_EQ(world.n, 2);
    tree_remove(root, "sys/class/drm/card1");
    world_poll(&world, src, 2000000);
    CHECK(!world.things[0].gone);
    CHECK(world.things[1].gone);
    CHECK_EQ(world_status(&world.things[1], METRIC_POWER_AVERAGE_MW), OBS_LOST);
    unsigned samples = world.things[1].samples;
    world_poll(&world, src, 3000000);
    CHECK_EQ(world.things[1].samples, samples);
    const char *again = tree_copy("mi250x");
    char from[200];
    snprintf(from, sizeof(from), "cp -R %s/sys/class/drm/card1 %s/sys/class/drm/card9", again,
             root);
    CHECK_EQ(system(from), 0);
    world_poll(&world, src, 30000000);
    CHECK_EQ(world.n, 3);
    CHECK_TEXT(world.things[2].key, world.things[1].key);
    CHECK_EQ(world.things[2].generation, 1);
    CHECK_EQ(world.things[2].index, 1);
    CHECK_EQ(world_value(&world.things[2], METRIC_UTIL_GPU_PERMILLE), 1000);
    amdgpu_source.close(src);
    tree_done();
}

static void skipped(void)
{
    struct source *src = start(sysroot("mi300x-8"), 2);
    CHECK_EQ(world.n, 8);
    for (uint32_t i = 0; i < world.n; i++)
        CHECK_EQ(world.things[i].samples, i == 2 ? 0 : 1);
    amdgpu_source.close(src);
}

static void nothing_here(void)
{
    const char *root = tree_new();
    struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    struct source *src = NULL;
    struct err err = { 0 };
    CHECK_EQ(amdgpu_source.open(&env, &src, &err), -ENODEV);
    CHECK_HAS(err.text, "/sys/class/drm");
    tree_text(root, "sys/class/drm/card0/device/uevent", "DRIVER=nvidia\nPCI_SLOT_NAME=a\n");
    CHECK_EQ(amdgpu_source.open(&env, &src, &err), -ENODEV);
    CHECK_HAS(err.text, "amdgpu");
    CHECK(src == NULL);
    env.sysroot = "/nonexistent";
    CHECK_EQ(amdgpu_source.open(&env, &src, &err), -ENOENT);
    amdgpu_source.close(NULL);
    tree_done();
}

static const struct capability *ability(const struct capability_list *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->items[i].id, id))
            return &l->items[i];
    tap_note("no capability '%s'", id);
    exit(1);
}

static void abilities(void)
{
    struct source_env env = { .sysroot = sysroot("mi250x"), .interval_us = 1000000 };
    struct capability_list l = { 0 };
    amdgpu_source.about(&env, &l);
    CHECK_EQ(ability(&l, "amdgpu.power_average")->ability, ABILITY_YES);
    CHECK_EQ(ability(&l, "amdgpu.power_instant")->ability, ABILITY_NO);
    CHECK_HAS(ability(&l, "amdgpu.power_instant")->why, "average only");
    CHECK_EQ(ability(&l, "amdgpu.energy")->ability, ABILITY_PARTLY);
    CHECK_EQ(ability(&l, "amdgpu.link_bytes")->ability, ABILITY_NO);
    CHECK_HAS(ability(&l, "amdgpu.link_bytes")->why, "1.3");
    capability_list_done(&l);
    env.sysroot = "/nonexistent";
    amdgpu_source.about(&env, &l);
    CHECK_EQ(ability(&l, "amdgpu.device")->ability, ABILITY_NO);
    CHECK(*ability(&l, "amdgpu.device")->remedy);
    capability_list_done(&l);
}

static const struct tap_case cases[] = {
    { "gpu_metrics: sizes, all ones, truncation", metrics_sizes },
    { "gpu_metrics: unknown revisions are refused by name", metrics_refused },
    { "gpu_metrics: every revision at its own offsets", metrics_offsets },
    { "energy: 2^-16 J exactly, overflow refused", energy_is_exact },
    { "throttle bits as clock event reasons", throttle_bits },
    { "clock levels", clock_levels },
    { "8 x MI300X: input power, gpu_metrics 1.7", mi300x },
    { "MI250X: average power on the first die only", mi250x },
    { "MI100: a 32-bit energy counter wraps", mi100_wraps },
    { "APUs: revisions 2.2 and 3.0", apus },
    { "limits that grow are throttle reasons", limits_that_grow },
    { "empty, negative, huge, no number", bad_files },
    { "a cut gpu_metrics is noted once", bad_metrics_are_noted_once },
    { "gpu_metrics is not trimmed as text", metrics_are_binary },
    { "EIO is lost", io_error_is_lost },
    { "a card goes and comes back as the next generation", goes_and_comes_back },
    { "a skipped GPU is not touched", skipped },
    { "no card, another driver, no root", nothing_here },
    { "abilities", abilities },
};

TAP_MAIN(cases)
