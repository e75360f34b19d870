/* SPDX-License-Identifier: Apache-2.0 */
#include "app/calibration.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *temp_path(const char *name)
{
    static char path[256];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/wattgate-test-%d/%s", dir ? dir : "/tmp", (int) getpid(),
             name);
    return path;
}

static struct calibration_entry entry(const char *key, int64_t bare, int64_t held)
{
    struct calibration_entry e = { .limit_mw = 1100000, .smoothing = 0, .learned_us = 5 };
    str_copy(e.key, sizeof(e.key), str_from(key));
    str_copy(e.name, sizeof(e.name), STR("NVIDIA B300"));
    str_copy(e.driver, sizeof(e.driver), STR("580.95"));
    e.anchor_mw[ANCHOR_BARE] = bare;
    e.anchor_mw[ANCHOR_HELD] = held;
    e.anchor_mw[ANCHOR_SPIN] = e.anchor_mw[ANCHOR_WORK] = -1;
    return e;
}

static void round_trip(void)
{
    AUTO(calibration_store) struct calibration_store s = { 0 }, back = { 0 };
    struct calibration_entry a = entry("GPU-a", 180000, -1), b = entry("GPU-b", 99000, 240000);
    struct err e;
    CHECK_EQ(calibration_put(&s, &a), 0);
    CHECK_EQ(calibration_put(&s, &b), 0);
    const char *path = temp_path("deep/store.json");
    CHECK_EQ(calibration_save(path, &s, &e), 0);
    CHECK_EQ(calibration_load(path, &back, &e), 0);
    CHECK_EQ(back.n, 2);
    const struct calibration_entry *found = calibration_find(&back, STR("GPU-b"));
    CHECK(found != NULL);
    if (found) {
        CHECK_EQ(found->anchor_mw[ANCHOR_HELD], 240000);
        CHECK_EQ(found->anchor_mw[ANCHOR_SPIN], -1);
        CHECK_TEXT(found->driver, "580.95");
    }
    CHECK(calibration_find(&back, STR("GPU-c")) == NULL);
}

static void unseen_levels_are_kept(void)
{
    AUTO(calibration_store) struct calibration_store s = { 0 };
    struct calibration_entry first = entry("GPU-a", 180000, 240000);
    struct calibration_entry later = entry("GPU-a", -1, 238000);
    CHECK_EQ(calibration_put(&s, &first), 0);
    CHECK_EQ(calibration_put(&s, &later), 0);
    CHECK_EQ(s.n, 1);
    CHECK_EQ(s.items[0].anchor_mw[ANCHOR_BARE], 180000);
    CHECK_EQ(s.items[0].anchor_mw[ANCHOR_HELD], 238000);
    later.limit_mw = 900000; /* other conditions: nothing old may survive */
    CHECK_EQ(calibration_put(&s, &later), 0);
    CHECK_EQ(s.items[0].anchor_mw[ANCHOR_BARE], -1);
}

static void expiry(void)
{
    char why[128];
    struct calibration_entry e = entry("GPU-a", 180000, -1);
    CHECK(!calibration_expired(&e, STR("580.95"), 1100000, 0, why, sizeof(why)));
    CHECK_HAS(calibration_expired(&e, STR("590.1"), 1100000, 0, why, sizeof(why)), "driver");
    CHECK_HAS(calibration_expired(&e, STR("580.95"), 900000, 0, why, sizeof(why)), "limit");
    CHECK_HAS(calibration_expired(&e, STR("580.95"), 1100000, 1, why, sizeof(why)), "smoothing");
}

static void bad_files(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "end of file" },
        { "{", "line" },
        { "[]", "schema" },
        { "{\"schema\":\"wattgate.calibration/2\",\"devices\":[]}", "calibration/2" },
        { "{\"schema\":\"wattgate.calibration/1\",\"devices\":[{}]}", "names no device" },
        { "{\"schema\":\"wattgate.calibration/1\",\"devices\":7}", "no calibration file" },
    };
    AUTO(calibration_store) struct calibration_store s = { 0 };
    struct err e;
    const char *path = temp_path("bad.json");
    CHECK_EQ(calibration_save(path, &s, &e), 0); /* makes the folder */
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        FILE *f = fopen(path, "w");
        CHECK(f != NULL);
        if (!f)
            return;
        fputs(rows[i].text, f);
        fclose(f);
        CHECK(calibration_load(path, &s, &e) < 0);
        CHECK_HAS(e.text, rows[i].want);
    }
    CHECK_EQ(calibration_load(temp_path("absent.json"), &s, &e), 0);
    CHECK_EQ(s.n, 0);
}

static void the_old_file_survives(void)
{
    AUTO(calibration_store) struct calibration_store s = { 0 }, back = { 0 };
    struct calibration_entry a = entry("GPU-a", 1, 2), odd = entry("GPU-\xff", 1, 2);
    struct err e;
    const char *path = temp_path("kept.json");
    CHECK_EQ(calibration_put(&s, &a), 0);
    CHECK_EQ(calibration_save(path, &s, &e), 0);
    CHECK_EQ(calibration_put(&s, &odd), 0); /* no UTF-8: cannot be written */
    CHECK(calibration_save(path, &s, &e) < 0);
    CHECK_EQ(calibration_load(path, &back, &e), 0);
    CHECK_EQ(back.n, 1);
}

static const struct tap_case cases[] = {
    { "a store is read back", round_trip },
    { "levels not seen this time are kept", unseen_levels_are_kept },
    { "an entry expires with its conditions", expiry },
    { "bad files are refused by name", bad_files },
    { "a failed save leaves the old file", the_old_file_survives },
};
TAP_MAIN(cases)
