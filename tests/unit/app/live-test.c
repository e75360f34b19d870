/* SPDX-License-Identifier: Apache-2.0 */
/* Live telemetry on simulated GPUs, with real worker processes that really hang and die. */
#include "app/live.h"

#include "base/parse.h"
#include "sys/vclock.h"
#include "tap.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GPUS_MAX 16
#define NOTES_MAX 8192

struct view {
    struct live *live;
    char dir[64], clock_path[128];
    uint32_t entities_n, gpus_n;
    uint32_t gpu_id[GPUS_MAX]; /* by GPU number: latest entity */
    uint32_t generation[GPUS_MAX];
    uint64_t values[GPUS_MAX], timed_out[GPUS_MAX]; /* samples of instant power */
    uint64_t ticks, headers, gone;
    int64_t last_us;
    char notes[NOTES_MAX];
    uint32_t note_entity; /* of the latest "worker" note */
};

static void write_file(const struct view *v, const char *name, const char *text, char *ret_path,
                       size_t cap)
{
    snprintf(ret_path, cap, "%s/%s", v->dir, name);
    FILE *f = fopen(ret_path, "w");
    CHECK(f != NULL);
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
}

/* The clock runs at real speed and is shared, so that a worker that starts later is in the same
 * scenario at the same time. */
static void prepare(struct view *v, const char *scenario)
{
    const struct vclock_setup setup = { .start_mono_us = -1, .start_wall_us = -1 };
    char path[128];
    struct err err;
    memset(v, 0, sizeof(*v));
    str_copy(v->dir, sizeof(v->dir), STR("/tmp/wattgate-live-XXXXXX"));
    CHECK(mkdtemp(v->dir) != NULL);
    snprintf(v->clock_path, sizeof(v->clock_path), "%s/clock", v->dir);
    CHECK_EQ(vclock_create(v->clock_path, &setup, &err), 0);
    setenv("WATTGATE_CLOCK", v->clock_path, 1);
    write_file(v, "scenario", scenario, path, sizeof(path));
    setenv("WATTGATE_SIM", path, 1);
    for (size_t i = 0; i < GPUS_MAX; i++)
        v->gpu_id[i] = ENTITY_NONE;
}

static const char *const only_nvml[] = { "nvml", NULL };

static int open_with(struct view *v, int64_t deadline_us, struct err *err)
{
    const struct live_options options = { .interval_us = 100000,
                                          .deadline_us = deadline_us,
                                          .nvml_library = SIM_NVML_LIBRARY,
                                          .only = only_nvml };
    return live_open(&options, &v->live, err);
}

/* Long enough for a healthy worker on a busy machine, short enough to wait for. */
static int open_it(struct view *v, struct err *err)
{
    return open_with(v, 1000000, err);
}

static void see_entity(struct view *v, const struct entity *e)
{
    CHECK_EQ(e->id, v->entities_n); /* given out from 0 upwards */
    v->entities_n++;
    if (e->kind != ENTITY_GPU || e->index < 0 || e->index >= GPUS_MAX)
        return;
    v->gpus_n++;
    v->gpu_id[e->index] = e->id;
    v->generation[e->index] = e->generation;
}

static void see_sample(struct view *v, const struct sample *s)
{
    CHECK(s->entity < v->entities_n);
    const struct obs *o = sample_find(s, METRIC_POWER_INSTANT_MW);
    for (size_t i = 0; i < GPUS_MAX && o; i++) {
        if (v->gpu_id[i] != s->entity)
            continue;
        v->values[i] += o->status == OBS_VALUE;
        v->timed_out[i] += o->status == OBS_TIMED_OUT;
    }
}

static void see_note(struct view *v, const struct note *note)
{
    size_t n = strlen(v->notes);
    snprintf(v->notes + n, sizeof(v->notes) - n, "%.*s: %.*s\n", STR_ARG(note->key),
             STR_ARG(note->text));
    if (str_is(note->key, "worker"))
        v->note_entity = note->entity;
}

/* One record; false at the end. */
static bool see(struct view *v)
{
    const struct record *r;
    struct err err = { .text = "" };
    int code = live_next(v->live, &r, &err);
    if (code < 0)
        tap_note("%s", err.text);
    CHECK(code >= 0);
    if (code <= 0)
        return false;
    CHECK(r->mono_us >= v->last_us);
    v->last_us = r->mono_us;
    CHECK((r->kind == RECORD_HEADER) == (v->ticks + v->headers + v->entities_n == 0));
    v->headers += r->kind == RECORD_HEADER;
    v->ticks += r->kind == RECORD_TICK;
    v->gone += r->kind == RECORD_GONE;
    if (r->kind == RECORD_HEADER)
        CHECK_EQ(r->u.header.clock, CLOCK_STEADY);
    if (r->kind == RECORD_ENTITY)
        see_entity(v, &r->u.entity);
    if (r->kind == RECORD_SAMPLE)
        see_sample(v, &r->u.sample);
    if (r->kind == RECORD_NOTE)
        see_note(v, &r->u.note);
    return true;
}

static void see_ticks(struct view *v, uint64_t n)
{
    uint64_t until = v->ticks + n;
    while (v->ticks < until && see(v))
        ;
}

/* Reads on until the notes hold the text; the case's alarm ends a wait in vain. */
static void see_until_note(struct view *v, const char *text)
{
    while (!strstr(v->notes, text) && see(v))
        ;
    CHECK_HAS(v->notes, text);
}

/* The processes whose parent this is; *ret_pid (may be NULL) is the last one. */
static unsigned children(pid_t parent, pid_t *ret_pids, unsigned cap)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    unsigned n = 0;
    while (d && (e = readdir(d))) {
        char path[300], text[512] = "";
        int ppid = 0;
        uint32_t pid;
        if (parse_u32(str_from(e->d_name), &pid) < 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%u/stat", pid);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        size_t got = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
        text[got] = '\0';
        char *end = strrchr(text, ')');
        if (!end || sscanf(end + 1, " %*c %d", &ppid) != 1 || ppid != (int) parent)
            continue;
        if (n < cap && ret_pids)
            ret_pids[n] = (pid_t) pid;
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

static void close_it(struct view *v)
{
    char command[128];
    live_close(v->live);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD); /* no worker and no zombie is left */
    snprintf(command, sizeof(command), "rm -rf '%s'", v->dir);
    CHECK_EQ(system(command), 0);
}

static void a_plain_stream(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 3\nphase work gpus=all\n");
    CHECK_EQ(open_it(&v, &err), 0);
    while ((v.values[0] < 6 || v.values[1] < 6 || v.values[2] < 6) && see(&v))
        ;
    CHECK(v.ticks >= 5);
    CHECK_EQ(v.headers, 1);
    CHECK_EQ(v.gpus_n, 3);
    CHECK_TEXT(v.notes, "");
    CHECK_EQ(children(getpid(), NULL, 0), 1);
    live_stop(v.live);
    const struct record *r;
    CHECK_EQ(live_next(v.live, &r, &err), 0);
    close_it(&v);
}

static void a_gpu_that_hangs(void)
{
    struct view v;
    struct err err;
    uint64_t before[3];
    prepare(&v, "gpus 3\nphase work gpus=all\nprocess gpus=0 pid=1 from=1h\n"
                "fault block gpus=1 from=500ms\n");
    CHECK_EQ(open_it(&v, &err), 0);
    see_until_note(&v, "worker: nvml: no answer from GPU 1 GPU-");
    CHECK_HAS(v.notes, "is left alone, another worker goes on without that GPU");
    CHECK_HAS(v.notes, "is in state ");
    CHECK_EQ(v.note_entity, v.gpu_id[1]);
    memcpy(before, v.values, sizeof(before));
    uint64_t ticks = v.ticks;
    while ((v.ticks < ticks + 12 || v.values[0] < before[0] + 5 || v.values[2] < before[2] + 5) &&
           see(&v))
        ;
    CHECK_EQ(v.values[1], before[1]);
    CHECK(v.timed_out[1] >= 12);
    CHECK_EQ(v.gpus_n, 3); /* the others kept their ids */
    CHECK_EQ(v.gone, 0);
    CHECK_EQ(children(getpid(), NULL, 0), 2);
    CHECK(!strstr(v.notes, "blind"));
    close_it(&v);
}

static void the_replacement_hangs_too(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 3\nfault block gpus=1 from=500ms\nfault block gpus=2 from=4s\n");
    CHECK_EQ(open_it(&v, &err), 0);
    see_until_note(&v, "blind: nvml: the worker that replaced a hung one hangs too");
    CHECK_HAS(v.notes, "no answer from GPU 2");
    uint64_t before = v.timed_out[0];
    see_ticks(&v, 10);
    CHECK(v.timed_out[0] >= before + 10);
    CHECK_EQ(children(getpid(), NULL, 0), 2);
    close_it(&v);
}

/* Hangs of a call that belongs to no GPU cannot be led around. */
static void a_driver_that_hangs(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 2\nfault block call=nvmlEventSetWait* from=500ms\n");
    CHECK_EQ(open_it(&v, &err), 0);
    see_until_note(&v, "blind: nvml: ");
    see_ticks(&v, 5);
    CHECK(v.timed_out[0] >= 5 && v.timed_out[1] >= 5);
    CHECK_EQ(children(getpid(), NULL, 0), 1);
    close_it(&v);
}

static void an_open_that_hangs(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 2\nfault block call=nvmlInit*\n");
    CHECK_EQ(open_it(&v, &err), 0); /* it may only be slow */
    see_until_note(&v, "blind: nvml: ");
    CHECK_EQ(v.gpus_n, 0);
    close_it(&v);
}

/* The GPU has no name yet, and is told all the same. */
static void a_gpu_that_hangs_from_the_start(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 3\nprocess gpus=0 pid=1 from=1h\n"
                "fault block gpus=1 call=nvmlDeviceGetUUID\n");
    CHECK_EQ(open_with(&v, 300000, &err), 0);
    see_until_note(&v, "no answer from GPU 1 index:1");
    while ((v.values[0] < 5 || v.values[2] < 5 || v.timed_out[1] < 5) && see(&v))
        ;
    CHECK_EQ(v.gpus_n, 3);
    close_it(&v);
}

/* Writes a word to a file of the freezer; false where that is not possible. */
static bool freezer(const char *dir, const char *name, const char *word)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    bool ok = fputs(word, f) >= 0;
    return fclose(f) == 0 && ok;
}

/* A process that no signal ends: it is left behind, and nobody waits for it. */
static void a_worker_that_cannot_die(void)
{
    struct view v;
    struct err err;
    char dir[96], text[400];
    pid_t pids[2] = { 0 };
    snprintf(dir, sizeof(dir), "/sys/fs/cgroup/freezer/wattgate-test-%d", (int) getpid());
    if (mkdir(dir, 0755) < 0)
        tap_skip("no cgroup v1 freezer that can be written");
    snprintf(text, sizeof(text),
             "gpus 2\nprocess gpus=0 pid=1 from=1h\nfault dstate gpus=1 from=500ms path=%s\n", dir);
    prepare(&v, text);
    CHECK_EQ(open_it(&v, &err), 0);
    CHECK_EQ(children(getpid(), pids, 1), 1);
    see_until_note(&v, "no answer from GPU 1");
    CHECK_HAS(v.notes, "is in state D");
    uint64_t before = v.values[0];
    while (v.values[0] < before + 3 && see(&v))
        ;
    live_close(v.live);
    CHECK_EQ(waitpid(pids[0], NULL, WNOHANG), 0); /* still there */
    CHECK(freezer(dir, "freezer.state", "THAWED"));
    CHECK_EQ(waitpid(pids[0], NULL, 0), pids[0]); /* the signal that was sent ends it now */
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(rmdir(dir), 0);
    v.live = NULL;
    close_it(&v);
}

/* A slow driver is no hung driver: each GPU takes less than the deadline, all together more. */
static void a_slow_driver(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 4\nfault latency call=nvmlDeviceGetUtilizationRates delay=600ms from=1s\n");
    CHECK_EQ(open_with(&v, 2000000, &err), 0);
    see_ticks(&v, 40);
    CHECK_TEXT(v.notes, "");
    CHECK_EQ(v.timed_out[0], 0);
    close_it(&v);
}

static void a_worker_that_dies(void)
{
    struct view v;
    struct err err;
    pid_t pid = 0;
    prepare(&v, "gpus 2\n");
    CHECK_EQ(open_it(&v, &err), 0);
    see_ticks(&v, 3);
    CHECK_EQ(children(getpid(), &pid, 1), 1);
    CHECK_EQ(kill(pid, SIGSEGV), 0);
    see_until_note(&v, "reader: nvml: its worker was ended by signal 11; another starts in 1 s");
    uint64_t before = v.values[1];
    while (v.values[1] < before + 3 && see(&v))
        ;
    CHECK(v.timed_out[1] > 0);
    CHECK_EQ(v.gpus_n, 2); /* the same GPUs, the same ids */
    CHECK_EQ(v.gone, 0);
    close_it(&v);
}

/* When the call that hung comes back, its GPU is read again. */
static void a_hang_that_ends(void)
{
    struct view v;
    struct err err;
    pid_t pids[2];
    prepare(&v, "gpus 2\nfault block gpus=1 from=500ms to=3s\n");
    CHECK_EQ(open_it(&v, &err), 0);
    CHECK_EQ(children(getpid(), pids, 2), 1);
    see_until_note(&v, "no answer from GPU 1");
    while (v.last_us && v.timed_out[1] < 30 && see(&v))
        ;
    kill(pids[0], SIGKILL); /* the simulated call never returns by itself */
    see_until_note(&v, "all GPUs are read again");
    uint64_t before = v.values[1];
    while (v.values[1] < before + 3 && see(&v))
        ;
    CHECK_EQ(v.gpus_n, 2);
    close_it(&v);
}

static void nothing_to_read(void)
{
    struct err err;
    struct live *l = NULL;
    struct live_options options = { .interval_us = 100000,
                                    .nvml_library = "/nonexistent/libnvidia-ml.so.1",
                                    .only = only_nvml };
    CHECK_EQ(live_open(&options, &l, &err), -ENODEV);
    CHECK_HAS(err.text, "nvml: load /nonexistent/libnvidia-ml.so.1");
    CHECK(l == NULL);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    static const char *const unknown[] = { "nvml", "tpu", NULL };
    options.only = unknown;
    CHECK_EQ(live_open(&options, &l, &err), -EINVAL);
    CHECK_HAS(err.text, "'tpu'");
}

static struct live *to_stop;

static void stop_it(int signal_number)
{
    (void) signal_number;
    live_stop(to_stop);
}

/* The signal comes while the stream waits for the next round. */
static void stop_from_a_signal(void)
{
    struct view v;
    struct err err;
    prepare(&v, "gpus 1\n");
    CHECK_EQ(open_it(&v, &err), 0);
    see_ticks(&v, 2);
    to_stop = v.live;
    signal(SIGALRM, stop_it);
    ualarm(30000, 0);
    while (see(&v))
        ;
    close_it(&v);
}

/* Opens, tells the worker's number through the pipe, and reads for ever. */
static void middle_process(int fd)
{
    struct view v;
    struct err err;
    pid_t pid = 0;
    prepare(&v, "gpus 2\nfault block gpus=1 from=200ms\n");
    CHECK_EQ(open_it(&v, &err), 0);
    CHECK_EQ(children(getpid(), &pid, 1), 1);
    see_until_note(&v, "no answer from GPU 1");
    pid_t pids[2] = { 0 };
    CHECK_EQ(children(getpid(), pids, 2), 2);
    CHECK_EQ(write(fd, pids, sizeof(pids)), (ssize_t) sizeof(pids));
    while (see(&v))
        ;
    _exit(0);
}

static void workers_die_with_the_parent(void)
{
    int fds[2];
    pid_t pids[2] = { 0 };
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans come to this process */
    CHECK_EQ(pipe(fds), 0);
    pid_t middle = fork();
    if (middle == 0) {
        close(fds[0]);
        middle_process(fds[1]);
    }
    close(fds[1]);
    CHECK_EQ(read(fds[0], pids, sizeof(pids)), (ssize_t) sizeof(pids));
    kill(middle, SIGKILL);
    CHECK_EQ(waitpid(middle, &status, 0), middle);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]); /* the alarm ends a wait in vain */
        CHECK(WIFSIGNALED(status) || WIFEXITED(status));
    }
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
}

static const struct tap_case cases[] = {
    { "a plain stream", a_plain_stream },
    { "a GPU that hangs", a_gpu_that_hangs },
    { "the replacement hangs too", the_replacement_hangs_too },
    { "a driver that hangs", a_driver_that_hangs },
    { "an open that hangs", an_open_that_hangs },
    { "a GPU that hangs from the start", a_gpu_that_hangs_from_the_start },
    { "a worker that cannot die", a_worker_that_cannot_die },
    { "a slow driver", a_slow_driver },
    { "a worker that dies", a_worker_that_dies },
    { "a hang that ends", a_hang_that_ends },
    { "nothing to read", nothing_to_read },
    { "stop from a signal", stop_from_a_signal },
    { "workers die with the parent", workers_die_with_the_parent },
};

TAP_MAIN(cases)
