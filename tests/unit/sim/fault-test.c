/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void lost_gpu_and_xid(void)
{
    struct {
        void *device;
        unsigned long long type, data;
        unsigned gi, ci;
    } event = { 0 };
    void *set = NULL;
    start(
        "gpus 2\nphase work\nfault xid gpus=1 from=10s code=79\nfault xid gpus=1 from=10s code=45\n"
        "fault lost gpus=1 from=10s to=20s");
    CHECK_EQ(CALL(nvmlEventSetCreate, (void **), &set), 0);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ(
            CALL(nvmlDeviceRegisterEvents, (void *, unsigned long long, void *), device(i), 8, set),
            0);
    CHECK_EQ(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 0), 10);
    void *d = device(1);
    step_s(11);
    CHECK_EQ(power_result(d), 15);
    CHECK_EQ(power_result(device(0)), 0);
    CHECK_EQ(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 100), 0);
    CHECK_EQ(event.data, 79);
    CHECK(event.device == d);
    CHECK_EQ(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 100), 0);
    CHECK_EQ(event.data, 45);
    CHECK_EQ(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 0), 10);
    CHECK_EQ(CALL(nvmlEventSetFree, (void *), set), 0);
    step_s(10);
    CHECK_EQ(power_result(d), 0);
}

static void reload_makes_handles_stale(void)
{
    start("gpus 3\nphase work\nfault reload from=10s to=12s order=2,0,1");
    char before[96], after[96];
    void *old = device(2);
    CHECK_EQ(CALL(nvmlDeviceGetUUID, (void *, char *, unsigned), old, before, sizeof(before)), 0);
    step_s(11);
    CHECK_EQ(power_result(old), 15);
    CHECK_EQ(CALL(nvmlShutdown, (void), ), 0);
    CHECK_EQ(CALL(nvmlInit_v2, (void), ), 9);
    step_s(2);
    CHECK_EQ(CALL(nvmlInit_v2, (void), ), 0);
    CHECK_EQ(power_result(old), 15);
    CHECK_EQ(CALL(nvmlDeviceGetUUID, (void *, char *, unsigned), device(0), after, sizeof(after)),
             0);
    CHECK_TEXT(after, before); /* GPU 2 is GPU 0 now */
    CHECK(energy_mj(0) < 1000000);
}

static void single_faults(void)
{
    start("gpus 3\nspread 0%\nphase work\nfault field gpus=0 field=186 code=999\n"
          "fault error gpus=1 call=nvmlDeviceGetTemperature code=999\n"
          "fault latency gpus=2 delay=40ms");
    step_s(2);
    unsigned t = 0;
    CHECK_EQ(get_field(0, 186, 0).result, 999);
    CHECK_EQ(get_field(0, 185, 0).result, 0);
    CHECK_EQ(get_field(1, 186, 0).result, 0);
    CHECK_EQ(CALL(nvmlDeviceGetTemperature, (void *, unsigned, unsigned *), device(1), 0, &t), 999);
    CHECK_EQ(power_result(device(1)), 0);
    CHECK(get_field(2, 186, 0).latency_us >= 20000);
    CHECK(get_field(0, 185, 0).latency_us < 1000);
}

static char state_of(pid_t pid)
{
    char path[40], text[128];
    (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[MAX(n, 0)] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] ? end[2] : '?';
}

/* A child that says "a" before its call and "b" if that comes back. */
static pid_t start_blocked(int ret_pipe[2])
{
    CHECK_EQ(pipe(ret_pipe), 0);
    pid_t pid = fork();
    if (pid == 0) {
        load();
        CHECK_EQ(CALL(nvmlInit_v2, (void), ), 0);
        void *d = device(1);
        CHECK_EQ(power_result(device(0)), 0);
        CHECK_EQ(write(ret_pipe[1], "a", 1), 1);
        (void) power_result(d);
        CHECK_EQ(write(ret_pipe[1], "b", 1), 1);
        _exit(0);
    }
    char byte = 0;
    CHECK_EQ(read(ret_pipe[0], &byte, 1), 1);
    usleep(200000);
    CHECK_EQ(fcntl(ret_pipe[0], F_SETFL, O_NONBLOCK), 0);
    CHECK(read(ret_pipe[0], &byte, 1) < 0);
    return pid;
}

static void a_blocked_call_stays_blocked(void)
{
    int pipes[2], status = 0;
    stage("gpus 2\nphase work\nfault block gpus=1 call=nvmlDeviceGetPower*");
    pid_t pid = start_blocked(pipes);
    CHECK_EQ(state_of(pid), 'S');
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
    remove_files();
}

/* Needs the right to make a cgroup in a v1 freezer hierarchy. */
static void dstate_survives_sigkill(void)
{
    char dir[128], text[300], state[160];
    (void) snprintf(dir, sizeof(dir), "/sys/fs/cgroup/freezer/wattgate-test-%d", (int) getpid());
    if (mkdir(dir, 0755) < 0)
        tap_skip("no cgroup v1 freezer here: %s", strerror(errno));
    (void) snprintf(state, sizeof(state), "%s/freezer.state", dir);
    if (access(state, W_OK) < 0) {
        rmdir(dir);
        tap_skip("%s is no writable freezer", dir);
    }
    int pipes[2];
    (void) snprintf(text, sizeof(text), "gpus 2\nphase work\nfault dstate gpus=1 path=%s", dir);
    stage(text);
    pid_t pid = start_blocked(pipes);
    CHECK_EQ(state_of(pid), 'D');
    kill(pid, SIGKILL);
    usleep(100000);
    char still = state_of(pid);
    int fd = open(state, O_WRONLY);
    CHECK(fd >= 0 && write(fd, "THAWED", 6) == 6);
    close(fd);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 50 && rmdir(dir) < 0; i++)
        usleep(20000);
    remove_files();
    CHECK_EQ(still, 'D');
}

static const struct tap_case cases[] = {
    { "a lost GPU and its Xid", lost_gpu_and_xid },
    { "a reload makes handles stale and reorders", reload_makes_handles_stale },
    { "faults of one field, call or GPU", single_faults },
    { "a blocked call stays blocked", a_blocked_call_stays_blocked },
    { "state D survives SIGKILL", dstate_survives_sigkill },
};
TAP_MAIN(cases)
