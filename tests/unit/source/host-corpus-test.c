/* SPDX-License-Identifier: Apache-2.0 */
/* Real files of other people's machines, against what is known to be true of them. */
#include "source/host/host.h"
#include "source/host/parse.h"
#include "world.h"

#include "base/parse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char big[512 * 1024];

static const char *corpus(void)
{
    const char *path = tap_corpus();
    if (!path)
        tap_skip("the folder of real inputs is not present");
    return path;
}

static struct str load(const char *path)
{
    struct str text = { big, 0 };
    int fd = open(corpus(), O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    CHECK_EQ(kfile_read_text(fd, path, big, sizeof(big), &text), 0);
    close(fd);
    return text;
}

/* The expected value of a row of TRUTH.tsv: a copy, or the case ends. */
static const char *truth(const char *path, const char *kind)
{
    static char value[1024];
    static char table[1024 * 1024];
    struct str text, line, p, k, v;
    int fd = open(corpus(), O_RDONLY | O_DIRECTORY);
    CHECK_EQ(kfile_read_text(fd, "TRUTH.tsv", table, sizeof(table), &text), 0);
    close(fd);
    while (str_split(&text, '\n', &line))
        if (str_split(&line, '\t', &p) && str_is(p, path) && str_split(&line, '\t', &k) &&
            str_is(k, kind) && str_split(&line, '\t', &v))
            return str_copy(value, sizeof(value), v);
    tap_note("TRUTH.tsv has no row '%s' '%s'", path, kind);
    exit(1);
}

static const char *copied(struct str s)
{
    static char buf[256];
    return str_copy(buf, sizeof(buf), s);
}

static void process_stats(void)
{
    struct pid_stat s;
    CHECK_EQ(pid_stat_parse(load("proc/procfs-fixtures/proc/584/stat"), &s), 0);
    const char *want = truth("proc/procfs-fixtures/proc/584/stat", "comm");
    char quoted[128];
    snprintf(quoted, sizeof(quoted), "\"%s\"", copied(s.comm));
    CHECK_HAS(want, quoted);
    CHECK_HAS(want, "pid field 1020");
    CHECK_EQ(s.pid, 1020);
    CHECK_EQ(s.state, 'R');

    CHECK_EQ(pid_stat_parse(load("proc/procfs-fixtures/proc/26231/stat"), &s), 0);
    want = truth("proc/procfs-fixtures/proc/26231/stat", "state");
    CHECK_EQ(s.state, want[0]);
    CHECK_HAS(want, copied(s.comm));
    CHECK_EQ(s.pid, 26231);

    CHECK_EQ(pid_stat_parse(load("proc/procfs-fixtures/proc/26232/stat"), &s), 0);
    want = truth("proc/procfs-fixtures/proc/26232/stat", "comm");
    CHECK_HAS(want, copied(s.comm));
    CHECK_EQ(s.state, 'S');
    CHECK_EQ(s.pid, 33);
    CHECK(pid_stat_is_kernel(&s));

    int64_t threads = 0;
    CHECK_EQ(pid_stat_parse(load("proc/procfs-fixtures/proc/27079/stat"), &s), 0);
    CHECK_EQ(
        parse_i64(str_from(truth("proc/procfs-fixtures/proc/27079/stat", "threads")), &threads), 0);
    CHECK_EQ(s.threads, threads);

    struct str state;
    CHECK(status_line(load("proc/procfs-fixtures/proc/26231/status"), "State", &state));
    CHECK_HAS(truth("proc/procfs-fixtures/proc/26231/status", "state"), copied(state));
}

static int64_t pressure_total(const char *path)
{
    int64_t some = -1, full = -1;
    CHECK_EQ(psi_parse(load(path), &some, &full), 0);
    return some;
}

static void pressure(void)
{
    int64_t some, full;
    CHECK_HAS(truth("proc/procfs-fixtures/proc/pressure/cpu", "some_avg10"), "no full line");
    CHECK_EQ(psi_parse(load("proc/procfs-fixtures/proc/pressure/cpu"), &some, &full), 0);
    CHECK_EQ(full, -1);
    CHECK_HAS(truth("proc/node_exporter-fixtures/proc/pressure/cpu", "lines"), "full");
    CHECK_EQ(psi_parse(load("proc/node_exporter-fixtures/proc/pressure/cpu"), &some, &full), 0);
    CHECK(full >= 0);
    CHECK_EQ(psi_parse(load("proc/telegraf/pressure_io"), &some, &full), 0);
    int64_t want = 0;
    CHECK_EQ(parse_i64(str_from(truth("proc/telegraf/cgroup_io.pressure", "some_total_us")), &want),
             0);
    CHECK_EQ(pressure_total("proc/telegraf/cgroup_io.pressure"), want);

    char got[64];
    int64_t t1 = pressure_total("proc/sysstat-sequence/t1/pressure_io");
    int64_t t2 = pressure_total("proc/sysstat-sequence/t2/pressure_io");
    int64_t t3 = pressure_total("proc/sysstat-sequence/t3/pressure_io");
    snprintf(got, sizeof(got), "%lld %lld", (long long) (t2 - t1), (long long) (t3 - t2));
    CHECK_TEXT(got, truth("proc/sysstat-sequence/t?/pressure_io", "io_stall_us_between_snapshots"));
}

static void telegraf_mounts(void)
{
    struct str rest = load("proc/telegraf/mountstats");
    struct nfs_mount m;
    char paths[64] = "", read[64] = "";
    unsigned n = 0;
    while (nfs_mount_next(&rest, &m) > 0) {
        n++;
        size_t used = strlen(paths);
        str_copy(paths + used, MIN(sizeof(paths) - used, (size_t) 11), m.path);
        CHECK(m.supported && !m.broken && m.read.valid && m.write.valid);
        if (str_is(m.path, "/B"))
            snprintf(read, sizeof(read), "/B READ: %lld operations, %lld ms RTT",
                     (long long) m.read.ops, (long long) m.read.rtt_us / 1000);
        if (str_is(m.path, "/C") || str_is(m.path, "/D"))
            CHECK(m.read.ops == 0 && m.write.ops == 0);
    }
    CHECK_EQ(n, (unsigned) truth("proc/telegraf/mountstats", "nfs_mounts")[0] - '0');
    CHECK_TEXT(paths, "/A/B/C/D");
    CHECK_HAS(truth("proc/telegraf/mountstats", "read_op_rtt_exe_ms"), read);
    CHECK_HAS(truth("proc/telegraf/mountstats", "idle_mounts"), "/C and /D");
}

/* The flattened table as a tree: "sys-class-infiniband-h100.0/mlx5_0/ports/1/state<TAB>value". */
static const char *ib_tree(void)
{
    const char *root = tree_new();
    struct str text = load("proc/gpud/sys-class-infiniband.tsv"), line, from;
    str_split(&text, '\n', &line); /* heading */
    while (str_split(&text, '\n', &line)) {
        char path[300], value[300];
        if (!str_split(&line, '\t', &from))
            continue;
        ptrdiff_t slash = str_find_char(from, '/');
        if (slash < 0 || str_find(from, "/ports/") < 0)
            continue;
        snprintf(path, sizeof(path), "sys/class/infiniband/%.*s",
                 STR_ARG(str_sub(from, (size_t) slash + 1, from.n)));
        tree_text(root, path, str_copy(value, sizeof(value), line));
    }
    tree_text(root, "proc/uptime", "1 1\n");
    return root;
}

static void infiniband(void)
{
    static struct world world;
    const char *root = ib_tree();
    struct source_env env = { .sysroot = root, .interval_us = 1000000 };
    struct source *src = NULL;
    CHECK_EQ(host_source.open(&env, &src, NULL), 0);
    world_poll(&world, src, 1000000);
    unsigned ib = 0, ethernet = 0, downed = 0;
    for (uint32_t i = 0; i < world.n; i++) {
        struct thing *t = &world.things[i];
        if (t->kind != ENTITY_LINK)
            continue;
        bool is_ib = !strncmp(t->name, "InfiniBand 400 Gb/sec (4X NDR)", 30);
        ib += is_ib;
        ethernet += !strncmp(t->name, "Ethernet 200 Gb/sec", 19);
        CHECK_EQ(world_value(t, METRIC_LINK_ACTIVE), 1);
        if (world_value(t, METRIC_LINK_DOWNED) != 0) {
            downed++;
            CHECK_TEXT(t->key, "mlx5_1/1");
            CHECK_EQ(world_value(t, METRIC_LINK_DOWNED), 255);
        }
    }
    CHECK_HAS(truth("proc/gpud/sys-class-infiniband.tsv", "ports"), "8 InfiniBand");
    CHECK_HAS(truth("proc/gpud/sys-class-infiniband.tsv", "suspect_port"),
              "mlx5_1: link_downed 255");
    CHECK_EQ(ib, 8);
    CHECK_EQ(ethernet, 1);
    CHECK_EQ(downed, 1);
    host_source.close(src);
    tree_done();
}

static void other_files(void)
{
    int64_t a = 0, b = 0;
    static const char *const stats[] = { "proc/procfs-fixtures/proc/stat",
                                         "proc/sysstat-sequence/t1/stat" };
    for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
        CHECK_EQ(cpu_stat_parse(load(stats[i]), &a, &b), 0);
        CHECK(a > 0 && b > 0);
    }
    static const char *const meminfos[] = { "proc/procfs-fixtures/proc/meminfo",
                                            "proc/node_exporter-fixtures/proc/meminfo",
                                            "proc/sysstat-sequence/t3/meminfo" };
    for (size_t i = 0; i < ARRAY_SIZE(meminfos); i++)
        CHECK_EQ(meminfo_dirty(load(meminfos[i]), &a), 0);
    static const char *const nets[] = { "proc/procfs-fixtures/proc/net/dev",
                                        "proc/sysstat-sequence/t1/net_dev" };
    for (size_t i = 0; i < ARRAY_SIZE(nets); i++) {
        struct str rest = load(nets[i]);
        struct net_dev d;
        unsigned n = 0;
        int r;
        while ((r = net_dev_next(&rest, &d)) > 0)
            n++;
        CHECK_EQ(r, 0);
        CHECK(n >= 3);
    }
    CHECK_EQ(pid_io_parse(load("proc/sysstat-sequence/t1/pid_21342_io"), &a, &b), 0);
}

static const struct tap_case cases[] = {
    { "process stat and status", process_stats },
    { "pressure", pressure },
    { "NFS mounts among many others", telegraf_mounts },
    { "InfiniBand ports of an H100 node", infiniband },
    { "stat, meminfo, net/dev, io", other_files },
};

TAP_MAIN(cases)
