/* SPDX-License-Identifier: Apache-2.0 */
#include "source/skeleton/skeleton.h"
#include "world.h"

#include <errno.h>
#include <string.h>

static struct world world;

static void reads_and_says_why_not(void)
{
    const char *root = tree_new();
    struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    struct source *src = NULL;
    struct err err = { 0 };
    CHECK_EQ(skeleton_source.open(&env, &src, &err), -ENODEV);
    CHECK_HAS(err.text, "/proc/uptime");
    CHECK(src == NULL);
    tree_text(root, "proc/uptime", "12.50 100.00\n");
    CHECK_EQ(skeleton_source.open(&env, &src, &err), 0);
    world_poll(&world, src, 1000000);
    CHECK_EQ(world_value(&world.things[0], METRIC_NODE_CPU_BUSY_US), 12500000);
    tree_text(root, "proc/uptime", "soon\n");
    world_poll(&world, src, 2000000);
    CHECK_EQ(world_status(&world.things[0], METRIC_NODE_CPU_BUSY_US), OBS_ERROR);
    tree_remove(root, "proc/uptime");
    world_poll(&world, src, 3000000);
    CHECK_EQ(world_status(&world.things[0], METRIC_NODE_CPU_BUSY_US), OBS_ABSENT);
    CHECK_EQ(world.n, 1);
    skeleton_source.close(src);
    skeleton_source.close(NULL);
    tree_done();
}

static void about(void)
{
    struct source_env env = { .sysroot = "/nonexistent" };
    struct capability_list l = { 0 };
    skeleton_source.about(&env, &l);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.items[0].ability, ABILITY_NO);
    CHECK_HAS(l.items[0].why, "/nonexistent");
    capability_list_done(&l);
}

static void the_table(void)
{
    bool has_skeleton = false, has_host = false;
    for (size_t i = 0; source_table[i]; i++) {
        CHECK(source_table[i]->name && source_table[i]->open && source_table[i]->poll);
        CHECK(source_table[i]->close && source_table[i]->about);
        has_skeleton |= source_table[i] == &skeleton_source;
        has_host |= !strcmp(source_table[i]->name, "host");
    }
    CHECK(!has_skeleton && has_host);
}

static const struct tap_case cases[] = {
    { "reads, and says why not", reads_and_says_why_not },
    { "abilities without open", about },
    { "the table of sources", the_table },
};

TAP_MAIN(cases)
