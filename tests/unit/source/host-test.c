/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"
#include "source/host/parse.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world world;

static struct source *open_host(const char *root)
{
    struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    struct source *src = NULL;
    struct err err = { 0 };
    CHECK_EQ(host_source.open(&env, &src, &err), 0);
    if (!src)
        exit(1);
    memset(&world, 0, sizeof(world));
    return src;
}

static struct source *start(const char *root)
{
    struct source *src = open_host(root);
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

/* ---- parsers ---- */

#define TAIL " 1 1 0 -1 4194304 1 2 3 4 7 8 0 0 20 0 5 0 123456 1000 1"

static void stat_lines(void)
{
    static const struct {
        const char *text;
        int code;
        const char *comm;
        char state;
    } rows[] = {
        { "12 (python) R 11" TAIL, 0, "python", 'R' },
        { "12 ((a b ) ( c d) ) D 11" TAIL, 0, "(a b ) ( c d) ", 'D' },
        { "12 (new\nline) S 11" TAIL, 0, "new\nline", 'S' },
        { "12 (x) y) Z 11" TAIL "\n#!/bin/sh\n", 0, "x) y", 'Z' },
        { "12 () S 11" TAIL, 0, "", 'S' },
        { "12 (python R 11" TAIL, -EINVAL, "", 0 },
        { "12 python S 11" TAIL, -EINVAL, "", 0 },
        { "(python) S 11" TAIL, -EINVAL, "", 0 },
        { "-1 (python) S 11" TAIL, -EINVAL, "", 0 },
        { "12 (python) SS 11" TAIL, -EINVAL, "", 0 },
        { "12 (python) S 11 1 1 1 0 -1 4194304 1 2", -EINVAL, "", 0 },
        { "12 (p) S 11 1 1 0 -1 0 1 2 3 4 9223372036854775807 8 0 0 20 0 5 0 1", -ERANGE, "", 0 },
        { "12 (p) S 11 1 1 0 -1 0 1 2 3 4 99999999999999999999 8 0 0 20 0 5 0 1", -EINVAL, "", 0 },
        { "99999999999 (p) S 11" TAIL, -EINVAL, "", 0 },
        { "", -EINVAL, "", 0 },
        { ")(", -EINVAL, "", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct pid_stat s = { .pid = 77 };
        char comm[64];
        int r = pid_stat_parse(str_from(rows[i].text), &s);
        if (r != rows[i].code)
            tap_note("row %zu", i);
        CHECK_EQ(r, rows[i].code);
        CHECK_EQ(s.pid, r == 0 ? 12 : 77);
        CHECK_EQ(s.state, rows[i].state);
        CHECK_TEXT(str_copy(comm, sizeof(comm), s.comm), rows[i].comm);
    }
}

static void stat_numbers(void)
{
    struct pid_stat s;
    CHECK_EQ(
        pid_stat_parse(STR("12 (a) S 11 1 1 0 -1 2129984 1 2 3 4 7 8 0 0 20 0 5 0 123456 0"), &s),
        0);
    CHECK_EQ(s.ppid, 11);
    CHECK_EQ(s.cpu_us, 150000);
    CHECK_EQ(s.threads, 5);
    CHECK_EQ(s.start_ticks, 123456);
    CHECK(pid_stat_is_kernel(&s));
}

static void small_files(void)
{
    int64_t a = -7, b = -7;
    CHECK_EQ(pid_io_parse(STR("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8\n"), &a, &b), 0);
    CHECK_EQ(a, 4096);
    CHECK_EQ(b, 8);
    CHECK_EQ(pid_io_parse(STR("read_bytes: 4096\n"), &a, &b), -ENODATA);
    CHECK_EQ(pid_io_parse(STR("read_bytes: x\nwrite_bytes: 1"), &a, &b), -EINVAL);
    CHECK_EQ(pid_io_parse(STR("read_bytes: -1\nwrite_bytes: 1"), &a, &b), -ERANGE);
    CHECK_EQ(pid_io_parse(STR(""), &a, &b), -ENODATA);
    CHECK_EQ(a, 4096);
    CHECK_EQ(psi_parse(STR("some avg10=0.00 total=5\nfull avg10=0.00 total=4\n"), &a, &b), 0);
    CHECK_EQ(a, 5);
    CHECK_EQ(b, 4);
    CHECK_EQ(psi_parse(STR("some avg10=100.00 avg60=900.00 total=6\n"), &a, &b), 0);
    CHECK_EQ(a, 6);
    CHECK_EQ(b, -1); /* an old kernel has no full line for the CPU */
    CHECK_EQ(psi_parse(STR("full total=4\n"), &a, &b), -EINVAL);
    CHECK_EQ(psi_parse(STR("some avg10=1\n"), &a, &b), -EINVAL);
    CHECK_EQ(psi_parse(STR("some total=1e9\n"), &a, &b), -EINVAL);
    CHECK_EQ(cpu_stat_parse(STR("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n"), &a, &b), 0);
    CHECK_EQ(a, (1 + 2 + 3 + 6 + 7) * 10000);
    CHECK_EQ(b, 50000);
    CHECK_EQ(cpu_stat_parse(STR("cpu  1 2 3\n"), &a, &b), -EINVAL);
    CHECK_EQ(cpu_stat_parse(STR("cpu0 1 2 3 4\n"), &a, &b), -EINVAL);
    CHECK_EQ(cpu_stat_parse(STR("cpu 9223372036854775807 1 3 4\n"), &a, &b), -ERANGE);
    CHECK_EQ(meminfo_dirty(STR("MemFree: 1 kB\nDirty:   2 kB\n"), &a), 0);
    CHECK_EQ(a, 2048);
    CHECK_EQ(meminfo_dirty(STR("Dirty: 2 MB\n"), &a), -EINVAL);
    CHECK_EQ(meminfo_dirty(STR("Dirty: 9223372036854775807 kB\n"), &a), -ERANGE);
    CHECK_EQ(meminfo_dirty(STR("MemFree: 1 kB\n"), &a), -ENODATA);
}

static void net_lines(void)
{
    struct str rest = STR("Inter-| Receive | Transmit\n face |bytes\n"
                          "eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                          "broken line\nshort: 1 2 3\neth0:1: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n");
    struct net_dev d;
    CHECK_EQ(net_dev_next(&rest, &d), 1);
    CHECK(str_is(d.name, "eth0"));
    CHECK_EQ(d.rx_bytes, 1);
    CHECK_EQ(d.tx_bytes, 9);
    CHECK_EQ(d.errors, 14);
    CHECK_EQ(net_dev_next(&rest, &d), -EINVAL);
    CHECK_EQ(net_dev_next(&rest, &d), -EINVAL);
    CHECK_EQ(net_dev_next(&rest, &d), 1);
    CHECK(str_is(d.name, "eth0:1"));
    CHECK_EQ(net_dev_next(&rest, &d), 0);
}

static void nfs_odd(void)
{
    struct str rest = STR("garbage\n"
                          "device a mounted on /1 with fstype nfs statvers=2.0\n"
                          "\tper-op statistics\n\tREAD: 1 1 1 1 1 1 1 1\n"
                          "device b mounted on /with\\040blank with fstype nfs4 statvers=1.1\n"
                          "\tREAD: 9 9 9 9 9 9 9 9\n" /* before the section: not an operation */
                          "\tper-op statistics\n\tREAD: 1 2 3 4 x\n\tWRITE: 1 2 3 4 5 6 7 8 9\n"
                          "device tmpfs mounted on /tmp with fstype tmpfs\n"
                          "device c mounted on /3 with fstype nfs statvers=1.0");
    struct nfs_mount m;
    CHECK_EQ(nfs_mount_next(&rest, &m), 1);
    CHECK(str_is(m.path, "/1") && !m.supported);
    CHECK_EQ(nfs_mount_next(&rest, &m), 1);
    CHECK(str_is(m.path, "/with\\040blank") && m.supported && m.broken);
    CHECK(!m.read.valid && m.write.valid);
    CHECK_EQ(m.write.sent_bytes, 4);
    CHECK_EQ(m.write.rtt_us, 7000);
    CHECK_EQ(m.write.queue_us, 6000);
    CHECK_EQ(nfs_mount_next(&rest, &m), 1);
    CHECK(str_is(m.path, "/3") && !m.read.valid && !m.broken);
    CHECK_EQ(nfs_mount_next(&rest, &m), 0);
}

/* ---- a node ---- */

static void node_values(void)
{
    struct source *src = start(sysroot("node-nfs-ib"));
    struct thing *n = world_find(&world, "node-17");
    CHECK(n == &world.things[0]);
    CHECK_EQ(world_value(n, METRIC_PSI_CPU_SOME_US), 111);
    CHECK_EQ(world_value(n, METRIC_PSI_IO_SOME_US), 222);
    CHECK_EQ(world_value(n, METRIC_PSI_IO_FULL_US), 221);
    CHECK_EQ(world_value(n, METRIC_PSI_MEMORY_SOME_US), 333);
    CHECK_EQ(world_value(n, METRIC_PSI_MEMORY_FULL_US), 332);
    CHECK_EQ(world_value(n, METRIC_NODE_CPU_BUSY_US), 1331 * 10000);
    CHECK_EQ(world_value(n, METRIC_NODE_CPU_IOWAIT_US), 4000 * 10000);
    CHECK_EQ(world_value(n, METRIC_NODE_DIRTY_BYTES), 2048 * 1024);
    host_source.close(src);
}

static void mounts_and_links(void)
{
    struct source *src = start(sysroot("node-nfs-ib"));
    struct thing *m = world_find(&world, "/mnt/data");
    CHECK(m && m->kind == ENTITY_MOUNT);
    CHECK_TEXT(m->name, "192.0.2.9:/data");
    CHECK_EQ(world_value(m, METRIC_NFS_READ_OPS), 500);
    CHECK_EQ(world_value(m, METRIC_NFS_READ_BYTES), 524288000);
    CHECK_EQ(world_value(m, METRIC_NFS_READ_RTT_US), 9000000);
    CHECK_EQ(world_value(m, METRIC_NFS_READ_QUEUE_US), 70000);
    CHECK_EQ(world_value(m, METRIC_NFS_WRITE_BYTES), 20971520);
    CHECK_EQ(world_value(world_find(&world, "/home"), METRIC_NFS_READ_OPS), 0);
    struct thing *e = world_find(&world, "net:eth0");
    CHECK(e && e->kind == ENTITY_LINK);
    CHECK_EQ(world_value(e, METRIC_LINK_RX_BYTES), 123456);
    CHECK_EQ(world_value(e, METRIC_LINK_TX_BYTES), 654321);
    CHECK_EQ(world_value(e, METRIC_LINK_ERRORS), 3);
    CHECK_EQ(world_value(e, METRIC_LINK_DOWNED), 3);
    CHECK_EQ(world_value(e, METRIC_LINK_ACTIVE), 1);
    CHECK(!world_find(&world, "net:lo"));
    CHECK(!world_find(&world, "net:veth12a"));
    struct thing *ib = world_find(&world, "mlx5_0/1"), *down = world_find(&world, "mlx5_1/1");
    CHECK_TEXT(ib->name, "InfiniBand 400 Gb/sec (4X NDR)");
    CHECK_EQ(world_value(ib, METRIC_LINK_RX_BYTES), 4000);
    CHECK_EQ(world_value(ib, METRIC_LINK_TX_BYTES), 8000);
    CHECK_EQ(world_value(ib, METRIC_LINK_ERRORS), 17);
    CHECK_EQ(world_value(ib, METRIC_LINK_DOWNED), 1);
    CHECK_EQ(world_value(ib, METRIC_LINK_ACTIVE), 1);
    CHECK_EQ(world_value(down, METRIC_LINK_ACTIVE), 0);
    host_source.close(src);
}

static void processes_of_the_job(void)
{
    struct source *src = start(sysroot("node-nfs-ib"));
    struct thing *rank = world_find(&world, "pid:1000@1000");
    struct thing *kfd = world_find(&world, "pid:1001@1001");
    struct thing *stuck = world_find(&world, "pid:1010@1010");
    CHECK(rank && kfd && stuck);
    CHECK_EQ(rank->kind, ENTITY_PROCESS);
    CHECK_EQ(rank->index, 1000);
    CHECK_TEXT(rank->name, "python (rank 0) x");
    CHECK_EQ(rank->parent, ENTITY_NONE); /* the launcher holds no GPU */
    CHECK(&world.things[stuck->parent] == rank);
    CHECK_EQ(world_value(rank, METRIC_PROC_STATE), 'R');
    CHECK_EQ(world_value(rank, METRIC_PROC_CPU_US), 70050 * 10000);
    CHECK_EQ(world_value(rank, METRIC_PROC_READ_BYTES), 4096);
    CHECK_EQ(world_value(rank, METRIC_PROC_WRITE_BYTES), 8192);
    CHECK_EQ(world_value(rank, METRIC_PROC_THREADS), 7);
    CHECK_EQ(world_value(stuck, METRIC_PROC_STATE), 'D');
    CHECK_TEXT(stuck->note_key, "wchan");
    CHECK_TEXT(stuck->note, "rpc_wait_bit_killable");
    CHECK_EQ(rank->notes, 0);
    /* Not: the launcher, kernel threads, daemons, ourselves. */
    CHECK(!world_find(&world, "pid:900@900"));
    CHECK(!world_find(&world, "pid:100@90"));
    CHECK(!world_find(&world, "pid:1200@1200"));
    world_poll(&world, src, 2000000);
    CHECK_EQ(stuck->notes, 1); /* only when it changes */
    CHECK_EQ(rank->samples, 2);
    host_source.close(src);
}

static void processes_change(void)
{
    const char *root = tree_copy("node-nfs-ib");
    struct source *src = start(root);
    struct thing *stuck = world_find(&world, "pid:1010@1010");
    tree_text(root, "proc/1010/wchan", "nfs_wait_on_request");
    world_poll(&world, src, 2000000);
    CHECK_TEXT(stuck->note, "nfs_wait_on_request");
    tree_remove(root, "proc/1011");
    world_poll(&world, src, 3000000);
    CHECK(world_find(&world, "pid:1011@1011")->gone);
    /* The number of the rank is given to another process. */
    tree_text(root, "proc/1000/stat", "1000 (bash) S 1 1 1 0 -1 0 1 2 3 4 7 8 0 0 20 0 5 0 5555 1");
    tree_remove(root, "proc/1000/fd/17");
    world_poll(&world, src, 4000000);
    CHECK(world_find(&world, "pid:1000@1000")->gone);
    CHECK(!stuck->gone); /* its children stay watched */
    tree_link(root, "proc/1000/fd/3", "/dev/dri/renderD128");
    world_poll(&world, src, 20000000);
    world_poll(&world, src, 40000000);
    CHECK(world_find(&world, "pid:1000@5555") != NULL);
    host_source.close(src);
    tree_done();
}

static void many_processes_in_turn(void)
{
    const char *root = tree_new();
    char path[64], text[256];
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof(path), "proc/%d/stat", 1000 + i);
        snprintf(text, sizeof(text), "%d (w) S %d" TAIL, 1000 + i, i ? 1000 : 1);
        tree_text(root, path, text);
    }
    tree_link(root, "proc/1000/fd/3", "/dev/nvidia7");
    struct source *src = start(root);
    for (int k = 2; k <= 9; k++)
        world_poll(&world, src, k * INT64_C(1000000));
    unsigned told = 0, least = 99, most = 0;
    for (uint32_t i = 0; i < world.n; i++)
        if (world.things[i].kind == ENTITY_PROCESS && world.things[i].index != 1000) {
            told++;
            least = MIN(least, world.things[i].samples);
            most = MAX(most, world.things[i].samples);
        }
    CHECK_EQ(told, 59);
    CHECK(least >= 1 && most <= 2);
    CHECK_EQ(world_find(&world, "pid:1000@123456")->samples, 9);
    host_source.close(src);
    tree_done();
}

static void never_faster_than_a_second(void)
{
    struct source *src = start(sysroot("node-nfs-ib"));
    unsigned records = world.records;
    world_poll(&world, src, 1100000);
    world_poll(&world, src, 1899999);
    CHECK_EQ(world.records, records);
    world_poll(&world, src, 1900000);
    CHECK(world.records > records);
    unsigned mounts = world_find(&world, "/mnt/data")->samples;
    CHECK_EQ(mounts, 1); /* slow */
    world_poll(&world, src, 11000000);
    CHECK_EQ(world_find(&world, "/mnt/data")->samples, 2);
    host_source.close(src);
}

/* ---- what is missing ---- */

static void missing_files(void)
{
    const char *root = tree_new();
    tree_text(root, "proc/meminfo", "MemFree: 1 kB\n");
    struct source *src = start(root);
    struct thing *n = &world.things[0];
    CHECK_TEXT(n->key, "node");
    CHECK_EQ(world_status(n, METRIC_PSI_IO_SOME_US), OBS_ABSENT);
    CHECK_EQ(world_status(n, METRIC_NODE_CPU_BUSY_US), OBS_ABSENT);
    CHECK_EQ(world_status(n, METRIC_NODE_DIRTY_BYTES), OBS_ABSENT);
    CHECK_EQ(world.n, 1);
    host_source.close(src);
    tree_remove(root, "proc");
    struct source_env env = { .sysroot = root };
    struct err err = { 0 };
    CHECK_EQ(host_source.open(&env, &src, &err), -ENODEV);
    CHECK_HAS(err.text, "/proc");
    host_source.close(NULL);
    tree_done();
}

static void bad_files(void)
{
    const char *root = tree_copy("node-nfs-ib");
    tree_text(root, "proc/pressure/io", "some avg10=");
    tree_text(root, "proc/pressure/cpu", "");
    tree_text(root, "proc/stat", "cpu -1 2 3 4 5");
    tree_text(root, "proc/meminfo", "Dirty: many kB");
    tree_text(root, "proc/1000/io", "read_bytes: 1\nwrite_bytes: -2");
    tree_text(root, "proc/1001/stat", "1001 (py");
    tree_text(root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
              "9223372036854775807\n");
    tree_text(root, "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "N/A (no PMA)\n");
    struct source *src = start(root);
    struct thing *n = &world.things[0], *ib = world_find(&world, "mlx5_0/1");
    CHECK_EQ(world_status(n, METRIC_PSI_IO_SOME_US), OBS_ERROR);
    CHECK_EQ(world_status(n, METRIC_PSI_IO_FULL_US), OBS_ERROR);
    CHECK_EQ(world_status(n, METRIC_PSI_CPU_SOME_US), OBS_ERROR);
    CHECK_EQ(world_status(n, METRIC_NODE_CPU_BUSY_US), OBS_ERROR);
    CHECK_EQ(world_status(n, METRIC_NODE_DIRTY_BYTES), OBS_ERROR);
    CHECK_EQ(world_status(world_find(&world, "pid:1000@1000"), METRIC_PROC_READ_BYTES), OBS_ERROR);
    CHECK(!world_find(&world, "pid:1001@1001"));                 /* no identity, no entity */
    CHECK_EQ(world_status(ib, METRIC_LINK_RX_BYTES), OBS_ERROR); /* times 4 does not fit */
    CHECK_EQ(world_value(ib, METRIC_LINK_TX_BYTES), 8000);
    CHECK_EQ(world_status(ib, METRIC_LINK_DOWNED), OBS_ERROR);
    host_source.close(src);
    tree_done();
}

static void mount_goes(void)
{
    const char *root = tree_copy("node-nfs-ib");
    struct source *src = start(root);
    tree_text(root, "proc/self/mountstats",
              "device 192.0.2.9:/home mounted on /home with fstype nfs statvers=9.0\n");
    world_poll(&world, src, 20000000);
    CHECK(world_find(&world, "/mnt/data")->gone);
    CHECK(!world_find(&world, "/home")->gone);
    CHECK_EQ(world_status(world_find(&world, "/home"), METRIC_NFS_READ_OPS), OBS_UNSUPPORTED);
    host_source.close(src);
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
    struct capability_list l = { 0 };
    struct source_env env = { .sysroot = sysroot("node-nfs-ib") };
    host_source.about(&env, &l);
    CHECK_EQ(ability(&l, "host.processes")->ability, ABILITY_PARTLY);
    CHECK_HAS(ability(&l, "host.processes")->why, "hidepid=2");
    CHECK_EQ(ability(&l, "host.ptrace")->ability, ABILITY_PARTLY);
    CHECK_HAS(ability(&l, "host.ptrace")->why, "yama");
    CHECK_EQ(ability(&l, "host.psi")->ability, ABILITY_YES);
    CHECK_EQ(ability(&l, "host.infiniband")->ability, ABILITY_YES);
    capability_list_done(&l);
    env.sysroot = tree_new();
    host_source.about(&env, &l);
    CHECK_EQ(ability(&l, "host.psi")->ability, ABILITY_NO);
    CHECK_HAS(ability(&l, "host.psi")->why, "CONFIG_PSI");
    CHECK_EQ(ability(&l, "host.processes")->ability, ABILITY_NO);
    CHECK_EQ(ability(&l, "host.infiniband")->ability, ABILITY_NO);
    for (size_t i = 0; i < l.n; i++)
        CHECK(l.items[i].ability == ABILITY_YES || *l.items[i].why);
    capability_list_done(&l);
    tree_done();
}

/* This machine, whatever it is: nothing may break. */
static void live(void)
{
    struct source *src = start("/");
    world_poll(&world, src, 3000000);
    CHECK(world.things[0].samples == 2);
    CHECK(world_value(&world.things[0], METRIC_NODE_CPU_BUSY_US) > 0);
    host_source.close(src);
}

static const struct tap_case cases[] = {
    { "stat: names with brackets, blanks, newlines", stat_lines },
    { "stat: numbers", stat_numbers },
    { "io, pressure, cpu, meminfo", small_files },
    { "net/dev lines", net_lines },
    { "mountstats that are odd", nfs_odd },
    { "a node's own values", node_values },
    { "mounts, network, InfiniBand", mounts_and_links },
    { "processes that hold a GPU, and their children", processes_of_the_job },
    { "processes that change, end, are replaced", processes_change },
    { "many children are read in turn", many_processes_in_turn },
    { "rates", never_faster_than_a_second },
    { "files that are missing", missing_files },
    { "files that are broken", bad_files },
    { "a mount goes", mount_goes },
    { "abilities", abilities },
    { "this machine", live },
};

TAP_MAIN(cases)
