/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor-rungs.h"

#include "base/parse.h"
#include "sys/rootdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bits of /proc/self/status CapEff, from capabilities(7). */
enum { CAP_BIT_KILL = 5, CAP_BIT_PTRACE = 19, CAP_BIT_SYS_ADMIN = 21, CAP_BIT_SYSLOG = 34 };

static uint64_t effective_capabilities(void)
{
    char buf[8192];
    struct str text, line;
    uint64_t bits = 0;
    int root;
    if (rootdir_open("/", &root, NULL) < 0)
        return 0;
    int r = rootdir_read(root, buf, sizeof(buf), &text, NULL, "proc/self/status");
    close(root);
    while (r == 0 && str_split(&text, '\n', &line))
        if (str_starts(line, "CapEff:") &&
            parse_hex_u64(str_trim(str_sub(line, 7, line.n)), &bits) < 0)
            bits = 0;
    return bits;
}

static bool has_capability(int bit)
{
    return effective_capabilities() >> bit & 1;
}

static bool in_path(const char *program)
{
    char full[PATH_MAX];
    struct str rest = str_from(getenv("PATH")), dir;
    while (str_split(&rest, ':', &dir)) {
        int n = snprintf(full, sizeof(full), "%.*s/%s", STR_ARG(dir), program);
        if (n > 0 && (size_t) n < sizeof(full) && access(full, X_OK) == 0)
            return true;
    }
    return false;
}

static int64_t read_setting(const char *path)
{
    int root;
    int64_t value = -1;
    if (rootdir_open("/", &root, NULL) < 0)
        return -1;
    if (rootdir_read_i64(root, &value, NULL, "%s", path) < 0)
        value = -1;
    close(root);
    return value;
}

static void processes(struct capability_list *out)
{
    if (has_capability(CAP_BIT_PTRACE))
        capability_add(out, "observe.processes", ABILITY_YES, "every user's processes", "");
    else
        capability_add(out, "observe.processes", ABILITY_PARTLY,
                       "I/O bytes, open files and environment of your own processes only",
                       "run as the job's user, or with CAP_SYS_PTRACE");
}

static void kernel_log(struct capability_list *out)
{
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        capability_add(out, "observe.kernel_log", ABILITY_YES, "/dev/kmsg: Xid, hung tasks", "");
        return;
    }
    char why[160];
    snprintf(why, sizeof(why), "/dev/kmsg: %s", strerror(errno));
    capability_add(out, "observe.kernel_log", ABILITY_NO, why,
                   "run as root or with CAP_SYSLOG (kernel.dmesg_restrict)");
}

static void python_stacks(struct capability_list *out)
{
    bool tool = in_path("py-spy");
    int64_t scope = read_setting("proc/sys/kernel/yama/ptrace_scope");
    bool allowed = has_capability(CAP_BIT_PTRACE) || scope <= 0;
    if (tool && allowed)
        capability_add(out, "evidence.python_stacks", ABILITY_YES, "py-spy, ptrace allowed", "");
    else if (!tool)
        capability_add(out, "evidence.python_stacks", ABILITY_NO, "py-spy is not in PATH",
                       "pip install py-spy");
    else
        capability_add(out, "evidence.python_stacks", ABILITY_NO,
                       "kernel.yama.ptrace_scope forbids looking into other processes",
                       "run with CAP_SYS_PTRACE, or set kernel.yama.ptrace_scope=0");
}

static void kernel_stacks(struct capability_list *out)
{
    int fd = open("/proc/self/stack", O_RDONLY | O_CLOEXEC);
    char byte;
    bool ok = fd >= 0 && read(fd, &byte, 1) >= 0;
    if (fd >= 0)
        close(fd);
    if (ok && has_capability(CAP_BIT_SYS_ADMIN))
        capability_add(out, "evidence.kernel_stacks", ABILITY_YES, "/proc/PID/stack", "");
    else
        capability_add(out, "evidence.kernel_stacks", ABILITY_NO,
                       "/proc/PID/stack cannot be read; state and wchan still can",
                       "run as root with CAP_SYS_ADMIN");
}

static void terminate(struct capability_list *out)
{
    if (has_capability(CAP_BIT_KILL))
        capability_add(out, "act.terminate", ABILITY_YES, "signals to every user's processes", "");
    else
        capability_add(out, "act.terminate", ABILITY_PARTLY, "signals to your own processes only",
                       "run as the job's user, or with CAP_KILL");
}

static void cgroup_kill(struct capability_list *out)
{
    bool unified = access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;
    bool writable = access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0;
    if (unified && writable)
        capability_add(out, "act.cgroup_kill", ABILITY_YES, "cgroup v2, writable", "");
    else
        capability_add(out, "act.cgroup_kill", ABILITY_NO,
                       unified ? "the cgroup v2 tree is not writable"
                               : "no cgroup v2 tree at /sys/fs/cgroup",
                       "process groups are used instead; else run as root on cgroup v2");
}

static void slurm(struct capability_list *out)
{
    bool tool = in_path("scontrol");
    capability_add(out, "act.requeue", tool ? ABILITY_PARTLY : ABILITY_NO,
                   tool ? "scontrol is there; Slurm lets users requeue their own jobs"
                        : "scontrol is not in PATH",
                   tool ? "" : "outside Slurm an exec hook acts instead");
    capability_add(out, "act.drain", tool && geteuid() == 0 ? ABILITY_PARTLY : ABILITY_NO,
                   tool ? "draining needs a Slurm operator (not asked here)"
                        : "scontrol is not in PATH",
                   tool ? "run as SlurmUser, root or an operator account" : "");
}

/* One row a rung; each adds its own lines. */
static void (*const rungs[])(struct capability_list *out) = {
    processes, kernel_log, python_stacks, kernel_stacks, terminate, cgroup_kill, slurm,
};

void doctor_rungs(struct capability_list *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(rungs); i++)
        rungs[i](out);
}
