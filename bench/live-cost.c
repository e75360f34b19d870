/* SPDX-License-Identifier: Apache-2.0 */
/* What watching costs: CPU time and unshared memory of this process and its workers while eight
 * simulated GPUs are polled once a second. usage: live-cost LIBRARY SECONDS */
#include "app/live.h"

#include "base/parse.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cost {
    uint64_t cpu_ns, uss_kib, processes;
};

static uint64_t private_kib(uint32_t pid)
{
    char path[64], line[256];
    uint64_t sum = 0, kib;
    snprintf(path, sizeof(path), "/proc/%u/smaps_rollup", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, "Private_", 8) && sscanf(line, "%*s %" SCNu64, &kib) == 1)
            sum += kib;
    if (f)
        fclose(f);
    return sum;
}

/* Run time in nanoseconds, as the scheduler counts it. */
static uint64_t run_ns(uint32_t pid)
{
    char path[64];
    uint64_t ns = 0;
    snprintf(path, sizeof(path), "/proc/%u/schedstat", pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%" SCNu64, &ns) != 1)
        ns = 0;
    if (f)
        fclose(f);
    return ns;
}

/* Adds the process when it is this one or its child. */
static void add(uint32_t pid, struct cost *io)
{
    char path[64], text[1024];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %*c %d", &parent) != 1 ||
        ((pid_t) pid != getpid() && parent != getpid()))
        return;
    io->cpu_ns += run_ns(pid);
    io->uss_kib += private_kib(pid);
    io->processes++;
}

static struct cost measure(void)
{
    struct cost c = { 0 };
    struct dirent *e;
    DIR *d = opendir("/proc");
    uint32_t pid;
    while (d && (e = readdir(d)))
        if (parse_u32(str_from(e->d_name), &pid) == 0)
            add(pid, &c);
    if (d)
        closedir(d);
    return c;
}

int main(int argc, char **argv)
{
    uint32_t seconds = 30, ticks = 0;
    struct err err = { .text = "" };
    struct live *l;
    const struct record *r;
    if (argc < 2 || (argc > 2 && parse_u32(str_from(argv[2]), &seconds) < 0))
        return 2;
    const struct live_options options = { .interval_us = 1000000, .nvml_library = argv[1] };
    if (live_open(&options, &l, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 4;
    }
    struct cost before = { 0 };
    while (live_next(l, &r, &err) > 0) {
        ticks += r->kind == RECORD_TICK;
        if (r->kind == RECORD_TICK && ticks == 2) /* the first round reads everything */
            before = measure();
        if (ticks >= seconds + 2)
            break;
    }
    struct cost after = measure();
    double cpu_s = (double) (after.cpu_ns - before.cpu_ns) / 1e9;
    printf("%u s: %.4f s CPU = %.3f %% of a core, %" PRIu64 " KiB unshared in %" PRIu64
           " processes\n",
           seconds, cpu_s, cpu_s * 100 / seconds, after.uss_kib, after.processes);
    live_close(l);
    return 0;
}
