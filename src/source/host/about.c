/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"
#include "source/host/parse.h"

#include "base/parse.h"
#include "sys/rootdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19

static bool has_sys_ptrace(int root_fd)
{
    char buf[4096];
    struct str text, value;
    uint64_t caps;
    return kfile_read_text(root_fd, "proc/self/status", buf, sizeof(buf), &text) == 0 &&
           status_line(text, "CapEff", &value) && parse_hex_u64(value, &caps) == 0 &&
           (caps >> CAP_SYS_PTRACE_BIT & 1);
}

struct counts {
    size_t processes, hidden, fd_denied, io_denied;
};

static void look_at(int root_fd, const char *pid, struct counts *c)
{
    char path[64], buf[2048];
    struct str text;
    size_t n;
    struct pid_stat s;
    c->processes++;
    snprintf(path, sizeof(path), "proc/%.16s/stat", pid);
    if (kfile_read_text(root_fd, path, buf, sizeof(buf), &text) < 0) {
        c->hidden++;
        return;
    }
    if (pid_stat_parse(text, &s) < 0 || pid_stat_is_kernel(&s))
        return;
    snprintf(path, sizeof(path), "proc/%.16s/fd", pid);
    int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    c->fd_denied += fd < 0 && errno == EACCES;
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof(path), "proc/%.16s/io", pid);
    int r = kfile_read(root_fd, path, buf, sizeof(buf), &n);
    c->io_denied += r == -EACCES || r == -EPERM;
}

static struct counts count_processes(int root_fd)
{
    struct counts c = { 0 };
    int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            look_at(root_fd, e->d_name, &c);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return c;
}

/* hidepid of the mount of /proc; 0 when not given. */
static unsigned hidepid(int root_fd)
{
    char buf[16384];
    struct str text, line;
    if (kfile_read_text(root_fd, "proc/self/mountinfo", buf, sizeof(buf), &text) < 0)
        return 0;
    while (str_split(&text, '\n', &line)) {
        ptrdiff_t at = str_find(line, "hidepid=");
        if (str_find(line, " - proc ") < 0 || at < 0)
            continue;
        struct str value = str_sub(line, (size_t) at + 8, line.n);
        /* Old kernels print the number, new ones the word. */
        if (str_starts(value, "1") || str_starts(value, "noaccess"))
            return 1;
        if (str_starts(value, "2") || str_starts(value, "invisible"))
            return 2;
        if (str_starts(value, "4") || str_starts(value, "ptraceable"))
            return 4;
    }
    return 0;
}

static void about_processes(int root_fd, struct capability_list *out)
{
    struct counts c = count_processes(root_fd);
    unsigned hide = hidepid(root_fd);
    bool privileged = has_sys_ptrace(root_fd);
    char why[160] = "";
    if (hide && !privileged)
        snprintf(why, sizeof(why), "/proc is mounted with hidepid=%u: processes of others hidden",
                 hide);
    else if (c.hidden)
        snprintf(why, sizeof(why), "%zu of %zu processes cannot be read", c.hidden, c.processes);
    capability_add(out, "host.processes",
                   !c.processes || c.hidden == c.processes ? ABILITY_NO
                   : *why                                  ? ABILITY_PARTLY
                                                           : ABILITY_YES,
                   c.processes ? why : "no process is visible in /proc",
                   *why ? "mount /proc with gid=GROUP for the watching group, or run as root" : "");
    const char *grant = "run as the job's user, or give CAP_SYS_PTRACE (setcap cap_sys_ptrace+ep)";
    snprintf(why, sizeof(why), "%zu of %zu processes of other users: /proc/PID/fd denied",
             c.fd_denied, c.processes);
    capability_add(out, "host.gpu_holders", c.fd_denied ? ABILITY_PARTLY : ABILITY_YES,
                   c.fd_denied ? why : "", c.fd_denied ? grant : "");
    snprintf(why, sizeof(why), "%zu of %zu processes: /proc/PID/io denied", c.io_denied,
             c.processes);
    capability_add(out, "host.process_io", c.io_denied ? ABILITY_PARTLY : ABILITY_YES,
                   c.io_denied ? why : "", c.io_denied ? grant : "");
}

static void about_wchan(int root_fd, struct capability_list *out)
{
    char buf[64];
    struct str text;
    int r = kfile_read_text(root_fd, "proc/self/wchan", buf, sizeof(buf), &text);
    bool ok = r == 0;
    capability_add(out, "host.wchan", ok ? ABILITY_YES : ABILITY_NO, ok ? "" : "no /proc/PID/wchan",
                   ok ? "" : "use a kernel with CONFIG_KALLSYMS");
}

/* Stacks of a running job need ptrace; nothing here does, but later evidence will. */
static void about_ptrace(int root_fd, struct capability_list *out)
{
    int64_t scope = 0;
    int r = kfile_read_i64(root_fd, "proc/sys/kernel/yama/ptrace_scope", &scope);
    char why[160] = "";
    if (r == 0 && scope > 0)
        snprintf(why, sizeof(why), "yama ptrace_scope is %lld", (long long) scope);
    bool privileged = has_sys_ptrace(root_fd);
    enum ability a = r < 0 || scope <= 0 ? ABILITY_YES
                     : scope >= 3        ? ABILITY_NO
                     : privileged        ? ABILITY_YES
                                         : ABILITY_PARTLY;
    capability_add(out, "host.ptrace", a, a == ABILITY_YES ? "" : why,
                   a == ABILITY_NO       ? "scope 3 holds until the next boot"
                   : a == ABILITY_PARTLY ? "sysctl kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE"
                                         : "");
}

static void about_psi(int root_fd, struct capability_list *out)
{
    char buf[512];
    struct str text;
    int64_t some, full;
    int r = kfile_read_text(root_fd, "proc/pressure/io", buf, sizeof(buf), &text);
    if (r == 0)
        r = psi_parse(text, &some, &full);
    const char *why = "", *remedy = "";
    if (r == -ENOENT) {
        why = "no /proc/pressure: kernel older than 4.20, or built without CONFIG_PSI";
        remedy = "boot a kernel with PSI";
    } else if (r == -EOPNOTSUPP) {
        why = "PSI is built in and switched off";
        remedy = "boot with psi=1";
    } else if (r < 0) {
        why = strerror(-r);
    }
    capability_add(out, "host.psi", r == 0 ? ABILITY_YES : ABILITY_NO, why, remedy);
}

/* A file that is there or not. */
static void about_path(int root_fd, const char *id, const char *path, const char *why,
                       const char *remedy, struct capability_list *out)
{
    bool ok = faccessat(root_fd, path, R_OK, 0) == 0;
    const char *because = errno == EACCES ? "no permission" : why;
    capability_add(out, id, ok ? ABILITY_YES : ABILITY_NO, ok ? "" : because, ok ? "" : remedy);
}

void host_about(const struct source_env *env, struct capability_list *out)
{
    struct err err = { 0 };
    int root_fd = -1;
    if (rootdir_open(env->sysroot, &root_fd, &err) < 0) {
        capability_add(out, "host.processes", ABILITY_NO, err.text, "mount /proc");
        return;
    }
    about_processes(root_fd, out);
    about_wchan(root_fd, out);
    about_ptrace(root_fd, out);
    about_psi(root_fd, out);
    about_path(root_fd, "host.cpu", "proc/stat", "no /proc/stat", "mount /proc", out);
    about_path(root_fd, "host.dirty", "proc/meminfo", "no /proc/meminfo", "mount /proc", out);
    about_path(root_fd, "host.mountstats", "proc/self/mountstats", "no /proc/self/mountstats",
               "mount /proc", out);
    about_path(root_fd, "host.network", "proc/net/dev", "no /proc/net/dev", "mount /proc", out);
    about_path(root_fd, "host.infiniband", "sys/class/infiniband",
               "no InfiniBand or RoCE device, or its class is hidden from this container",
               "load the driver, or mount /sys/class/infiniband", out);
    close(root_fd);
}
