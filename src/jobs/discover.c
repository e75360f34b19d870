/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/discover.h"

#include "base/parse.h"
#include "sys/pidstat.h"
#include "sys/rootdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRON_BYTES ((size_t) 256 << 10)
#define DEPTH_MAX 64

struct proc {
    int32_t pid, ppid;
    uint64_t start_ticks;
    char comm[64];
    bool chosen, ours;
    int32_t rank; /* -1: none */
};

struct scan {
    int root_fd;
    struct proc *procs; /* by pid */
    size_t n, cap;
    char *text;
};

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const struct proc *) a)->pid, y = ((const struct proc *) b)->pid;
    return (x > y) - (x < y);
}

static struct proc *find_proc(const struct scan *s, int32_t pid)
{
    struct proc key = { .pid = pid };
    return s->n ? bsearch(&key, s->procs, s->n, sizeof(key), by_pid) : NULL;
}

static int add_proc(struct scan *s, const char *name)
{
    uint32_t pid;
    struct pid_stat stat;
    struct str text;
    if (name[0] < '1' || name[0] > '9' || parse_u32(str_from(name), &pid) < 0 || pid > INT32_MAX)
        return 0;
    if (rootdir_read(s->root_fd, s->text, ENVIRON_BYTES, &text, NULL, "proc/%u/stat", pid) < 0 ||
        pid_stat_parse(text, &stat) < 0 || pid_stat_is_kernel(&stat))
        return 0; /* it has ended */
    if (s->n == s->cap) {
        size_t cap = MAX(s->cap * 2, (size_t) 256);
        struct proc *grown = realloc(s->procs, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->procs = grown;
        s->cap = cap;
    }
    struct proc *p = &s->procs[s->n++];
    *p = (struct proc){
        .pid = stat.pid, .ppid = stat.ppid, .start_ticks = stat.start_ticks, .rank = -1
    };
    str_plain(str_copy(p->comm, sizeof(p->comm), stat.comm));
    return 0;
}

static int list(struct scan *s, struct err *err)
{
    int fd = openat(s->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int problem = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, problem, "list /proc");
    }
    int r = 0;
    for (struct dirent *e = readdir(dir); e && r == 0; e = readdir(dir))
        r = add_proc(s, e->d_name);
    closedir(dir);
    if (s->n)
        qsort(s->procs, s->n, sizeof(*s->procs), by_pid);
    return r < 0 ? err_sys(err, -r, "list /proc") : 0;
}

/* We, and what started us, are no job; neither is any other watcher. */
static void mark_ours(struct scan *s)
{
    struct proc *p = find_proc(s, getpid());
    for (unsigned depth = 0; p && depth < DEPTH_MAX; depth++) {
        p->ours = true;
        p = p->ppid > 1 ? find_proc(s, p->ppid) : NULL;
    }
    for (size_t i = 0; i < s->n; i++)
        s->procs[i].ours = s->procs[i].ours || strncmp(s->procs[i].comm, "wattgate", 8) == 0;
}

static bool descends_from(const struct scan *s, const struct proc *p, int32_t pid)
{
    for (unsigned depth = 0; p && depth < DEPTH_MAX; depth++) {
        if (p->pid == pid)
            return true;
        p = p->ppid > 1 ? find_proc(s, p->ppid) : NULL;
    }
    return false;
}

static bool command_has(const struct scan *s, const struct proc *p, const char *part)
{
    struct str text;
    if (p->ours || rootdir_read(s->root_fd, s->text, ENVIRON_BYTES, &text, NULL, "proc/%d/cmdline",
                                p->pid) < 0)
        return false;
    char *words = s->text + (text.p - s->text);
    for (size_t i = 0; i < text.n; i++)
        if (words[i] == '\0')
            words[i] = ' ';
    return str_find(text, part) >= 0;
}

static bool cgroup_is(const struct scan *s, const struct proc *p, const char *path)
{
    struct str rest, line;
    if (rootdir_read(s->root_fd, s->text, ENVIRON_BYTES, &rest, NULL, "proc/%d/cgroup", p->pid) < 0)
        return false;
    while (str_split(&rest, '\n', &line))
        if (str_ends(line, path))
            return true;
    return false;
}

static int environment(const struct scan *s, const struct proc *p, struct job_env *ret)
{
    struct str text;
    int r =
        rootdir_read(s->root_fd, s->text, ENVIRON_BYTES, &text, NULL, "proc/%d/environ", p->pid);
    if (r < 0)
        return r;
    job_env_read(text, ret);
    return 0;
}

static bool is_of_slurm(const struct scan *s, const struct proc *p, const char *job)
{
    struct str rest, entry;
    if (rootdir_read(s->root_fd, s->text, ENVIRON_BYTES, &rest, NULL, "proc/%d/environ", p->pid) <
        0)
        return false;
    while (rest.n && str_split(&rest, '\0', &entry))
        if (str_starts(entry, "SLURM_JOB_ID=") && str_is(str_sub(entry, 13, entry.n), job))
            return true;
    return false;
}

static void choose(struct scan *s, const struct job_selector *which)
{
    for (size_t i = 0; i < s->n; i++) {
        struct proc *p = &s->procs[i];
        if (which->pid)
            p->chosen = descends_from(s, p, which->pid);
        else if (which->command)
            p->chosen = command_has(s, p, which->command);
        else if (which->slurm)
            p->chosen = is_of_slurm(s, p, which->slurm);
        else if (which->cgroup)
            p->chosen = cgroup_is(s, p, which->cgroup);
        p->chosen = p->chosen && (!p->ours || p->pid == which->pid);
    }
    /* The descendants of those whose command line was meant belong to them. */
    for (size_t i = 0; which->command && i < s->n; i++) {
        const struct proc *up = &s->procs[i];
        for (unsigned depth = 0; up && !s->procs[i].chosen && depth < DEPTH_MAX; depth++) {
            s->procs[i].chosen = up->chosen && !s->procs[i].ours;
            up = up->ppid > 1 ? find_proc(s, up->ppid) : NULL;
        }
    }
}

static int by_rank(const void *a, const void *b)
{
    int32_t x = ((const struct job_member *) a)->env.rank;
    int32_t y = ((const struct job_member *) b)->env.rank;
    return (x > y) - (x < y);
}

/* True when an ancestor has the same number: this one inherited it. */
static bool inherited(const struct scan *s, const struct proc *p)
{
    const struct proc *up = p->ppid > 1 ? find_proc(s, p->ppid) : NULL;
    for (unsigned depth = 0; up && depth < DEPTH_MAX; depth++) {
        if (up->chosen && up->rank == p->rank)
            return true;
        up = up->ppid > 1 ? find_proc(s, up->ppid) : NULL;
    }
    return false;
}

static void collect(struct scan *s, struct job_found *ret)
{
    struct job_env env;
    for (size_t i = 0; i < s->n; i++) {
        struct proc *p = &s->procs[i];
        if (!p->chosen)
            continue;
        ret->processes++;
        int r = environment(s, p, &env);
        ret->denied += r == -EACCES || r == -EPERM;
        p->rank = r < 0 ? -1 : env.rank;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct proc *p = &s->procs[i];
        if (!p->chosen || p->rank < 0 || inherited(s, p) || environment(s, p, &env) < 0)
            continue;
        if (ret->n == JOB_MEMBERS_MAX) {
            ret->more = true;
            break;
        }
        struct job_member *m = &ret->ranks[ret->n++];
        *m = (struct job_member){ .pid = p->pid, .start_ticks = p->start_ticks, .env = env };
        str_copy(m->command, sizeof(m->command), str_from(p->comm));
    }
    if (ret->n)
        qsort(ret->ranks, ret->n, sizeof(*ret->ranks), by_rank);
}

int job_discover(const char *sysroot, const struct job_selector *which, struct job_found *ret,
                 struct err *err)
{
    struct scan s = { .root_fd = -1 };
    memset(ret, 0, sizeof(*ret));
    int r = rootdir_open(sysroot ? sysroot : "/", &s.root_fd, err);
    if (r < 0)
        return r;
    s.text = malloc(ENVIRON_BYTES);
    r = s.text ? list(&s, err) : err_sys(err, ENOMEM, "look for the job");
    if (r == 0) {
        mark_ours(&s);
        choose(&s, which);
        collect(&s, ret);
        if (!ret->processes)
            r = err_set(err, -ESRCH, "no process is meant by this");
    }
    free(s.procs);
    free(s.text);
    close(s.root_fd);
    return r;
}
