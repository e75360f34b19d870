/* SPDX-License-Identifier: Apache-2.0 */
/* measure SECONDS COMMAND...: runs the command for at most SECONDS (0: to its end) and prints one
 * JSON line: wall and CPU seconds, highest RSS of a process, highest private memory (USS) and
 * most processes of it and its descendants at once. The command runs in a group of its own. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct totals {
    long uss_kib, rss_kib;
    int processes;
};

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

/* The parent of a process; 0 when it is gone. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *after = strrchr(text, ')'); /* ") S ppid" */
    return after && strlen(after) > 4 ? (pid_t) strtol(after + 4, NULL, 10) : 0;
}

/* Whether the process is the command or comes from it, at whatever remove. */
static bool descends(pid_t pid, pid_t command)
{
    for (int i = 0; i < 16 && pid > 1; i++, pid = parent_of(pid))
        if (pid == command)
            return true;
    return false;
}

static void add_memory(const char *pid, struct totals *t)
{
    char path[64], line[256];
    long kib;
    snprintf(path, sizeof(path), "/proc/%.20s/smaps_rollup", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    while (fgets(line, sizeof(line), f)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        kib = strtol(colon + 1, NULL, 10);
        if (strncmp(line, "Private_Clean", 13) == 0 || strncmp(line, "Private_Dirty", 13) == 0)
            t->uss_kib += kib;
        else if (strncmp(line, "Rss", 3) == 0 && kib > t->rss_kib)
            t->rss_kib = kib;
    }
    fclose(f);
}

static struct totals look(pid_t command)
{
    struct totals t = { 0, 0, 0 };
    DIR *proc = opendir("/proc");
    if (!proc)
        return t;
    for (struct dirent *e = readdir(proc); e; e = readdir(proc)) {
        if (!descends((pid_t) strtol(e->d_name, NULL, 10), command))
            continue;
        t.processes++;
        add_memory(e->d_name, &t);
    }
    closedir(proc);
    return t;
}

static void keep_highest(struct totals *most, const struct totals *t)
{
    most->uss_kib = t->uss_kib > most->uss_kib ? t->uss_kib : most->uss_kib;
    most->rss_kib = t->rss_kib > most->rss_kib ? t->rss_kib : most->rss_kib;
    most->processes = t->processes > most->processes ? t->processes : most->processes;
}

/* Memory is looked at 20 times, at least every second: the looking costs the command nothing. */
static void wait_for(pid_t pid, double seconds, struct totals *most, int *ret_status)
{
    double start = now_s(), next = start, step = seconds > 20 || seconds <= 0 ? 1.0 : seconds / 20;
    while (waitpid(pid, ret_status, WNOHANG) == 0) {
        double now = now_s();
        if (seconds > 0 && now - start >= seconds) {
            kill(-pid, SIGINT);
            usleep(500000);
            kill(-pid, SIGKILL);
            waitpid(pid, ret_status, 0);
            break;
        }
        if (now >= next) {
            struct totals t = look(pid);
            keep_highest(most, &t);
            next = now + step;
        }
        usleep(10000);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: measure SECONDS COMMAND...\n", stderr);
        return 2;
    }
    double seconds = strtod(argv[1], NULL), start = now_s();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that orphans count in RUSAGE_CHILDREN */
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    struct totals most = { 0, 0, 0 };
    int status = 0;
    wait_for(pid, seconds, &most, &status);
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    double cpu = (double) u.ru_utime.tv_sec + (double) u.ru_utime.tv_usec / 1e6 +
                 (double) u.ru_stime.tv_sec + (double) u.ru_stime.tv_usec / 1e6;
    printf("{\"wall_s\":%.3f,\"cpu_s\":%.3f,\"max_rss_kib\":%ld,\"uss_kib\":%ld,\"processes\":%d,"
           "\"status\":%d}\n",
           now_s() - start, cpu, u.ru_maxrss, most.uss_kib, most.processes,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
