/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/worker.h"

#include "base/str.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKER_NICE 5

enum { CHILD_IN = 3, CHILD_OUT = 4, CHILD_FDS = 5 };

struct worker {
    pid_t pid;
    int pid_fd; /* -1 on kernels without it */
    int in_fd;  /* what the worker says */
    int out_fd; /* what it is asked */
    struct worker_pulse *pulse;
    bool busy, reaped;
    int status;
    uint32_t beat;
    int64_t beat_us;
};

int64_t worker_now_us(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_BOOTTIME, &ts) < 0)
        return 0;
    return (int64_t) ts.tv_sec * US_PER_S + ts.tv_nsec / NS_PER_US;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child's descriptors become 3 and 4; everything else is closed, so that it holds no file,
 * terminal or pipe of the parent open. */
static void child_fds(int in_fd, int out_fd)
{
    int in = fcntl(in_fd, F_DUPFD, CHILD_FDS);
    int out = fcntl(out_fd, F_DUPFD, CHILD_FDS);
    int null = open("/dev/null", O_RDWR);
    if (in < 0 || out < 0 || null < 0)
        _exit(1);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (dup2(in, CHILD_IN) < 0 || dup2(out, CHILD_OUT) < 0)
        _exit(1);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned) CHILD_FDS, ~0u, 0u) == 0)
        return;
#endif
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = CHILD_FDS; fd < (limit > 0 && limit < 65536 ? limit : 65536); fd++)
        close(fd);
}

static void child_signals(void)
{
    static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP };
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigemptyset(&action.sa_mask);
    for (int s = 1; s < SIGRTMAX; s++)
        sigaction(s, &action, NULL); /* refused for KILL, STOP and the C library's own */
    action.sa_handler = SIG_IGN;
    /* What the terminal sends is meant for the parent, which ends the workers in its own time. */
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        sigaction(ignored[i], &action, NULL);
    sigprocmask(SIG_SETMASK, &action.sa_mask, NULL);
}

static _Noreturn void child_main(const char *name, worker_run_fn *run, void *arg, pid_t parent,
                                 struct worker_pulse *pulse, int in_fd, int out_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it died before the line above took effect */
    child_signals();
    child_fds(in_fd, out_fd);
    prctl(PR_SET_NAME, name);
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WORKER_NICE);
    const struct worker_side side = { CHILD_IN, CHILD_OUT, pulse };
    _exit(run(&side, arg));
}

static void free_worker(struct worker *w)
{
    if (!w)
        return;
    close_fd(&w->in_fd);
    close_fd(&w->out_fd);
    close_fd(&w->pid_fd);
    if (w->pulse && w->pulse != MAP_FAILED)
        munmap(w->pulse, sizeof(*w->pulse));
    free(w);
}

static int new_worker(struct worker **ret, int *ret_child_in, int *ret_child_out)
{
    struct worker *w = malloc(sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct worker){ .pid_fd = -1, .in_fd = -1, .out_fd = -1 };
    int ask[2], say[2];
    w->pulse =
        mmap(NULL, sizeof(*w->pulse), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->pulse == MAP_FAILED || pipe2(ask, O_CLOEXEC) < 0) {
        int code = -errno;
        free_worker(w);
        return code;
    }
    w->out_fd = ask[1];
    *ret_child_in = ask[0];
    if (pipe2(say, O_CLOEXEC) < 0) {
        int code = -errno;
        close(ask[0]);
        free_worker(w);
        return code;
    }
    w->in_fd = say[0];
    *ret_child_out = say[1];
    fcntl(w->in_fd, F_SETFL, O_NONBLOCK);
    fcntl(w->out_fd, F_SETFL, O_NONBLOCK);
    atomic_store(&w->pulse->touching, WORKER_NOWHERE);
    *ret = w;
    return 0;
}

int worker_start(const char *name, worker_run_fn *run, void *arg, struct worker **ret,
                 struct err *err)
{
    struct worker *w = NULL;
    int child_in = -1, child_out = -1;
    int r = new_worker(&w, &child_in, &child_out);
    if (r < 0 || !w)
        return err_sys(err, r < 0 ? -r : ENOMEM, "start worker '%s'", name);
    pid_t parent = getpid();
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old); /* no handler of the parent runs in the child */
    w->pid = fork();
    if (w->pid == 0)
        child_main(name, run, arg, parent, w->pulse, child_in, child_out);
    int code = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(child_in);
    close(child_out);
    if (w->pid < 0) {
        free_worker(w);
        return err_sys(err, code, "start worker '%s'", name);
    }
#ifdef SYS_pidfd_open
    w->pid_fd = (int) syscall(SYS_pidfd_open, w->pid, 0u);
#endif
    w->busy = true; /* it has to say first that it is ready */
    w->beat_us = worker_now_us();
    *ret = w;
    return 0;
}

pid_t worker_pid(const struct worker *w)
{
    return w->pid;
}

int worker_fd(const struct worker *w)
{
    return w->in_fd;
}

int worker_ask(struct worker *w, const void *bytes, size_t n)
{
    /* At most PIPE_BUF bytes: all or nothing. A write to a dead worker must not raise SIGPIPE in a
     * program that did not ask for it, so the signal is held back and taken. */
    sigset_t pipe_set, old, pending;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    sigprocmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t done = write(w->out_fd, bytes, n);
    int code = done < 0 ? -errno : 0;
    if (code == -EPIPE && !sigismember(&pending, SIGPIPE)) {
        const struct timespec none = { 0 };
        sigtimedwait(&pipe_set, NULL, &none);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (code < 0)
        return code;
    w->busy = true;
    w->beat_us = worker_now_us();
    return 0;
}

void worker_answered(struct worker *w)
{
    w->busy = false;
}

void worker_forgive(struct worker *w)
{
    w->beat_us = worker_now_us();
}

bool worker_is_busy(const struct worker *w)
{
    return w->busy;
}

int64_t worker_silent_us(struct worker *w)
{
    if (!w->busy)
        return 0;
    uint32_t beat = atomic_load(&w->pulse->beat);
    int64_t now_us = worker_now_us();
    if (beat != w->beat) {
        w->beat = beat;
        w->beat_us = now_us;
    }
    return now_us - w->beat_us;
}

int32_t worker_touching(const struct worker *w)
{
    return atomic_load(&w->pulse->touching);
}

static size_t read_proc(pid_t pid, const char *file, char *buf, size_t cap)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, cap - 1);
    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t) n : 0;
}

void worker_look(const struct worker *w, struct worker_look *ret)
{
    char text[512];
    *ret = (struct worker_look){ .state = '?' };
    size_t n = read_proc(w->pid, "stat", text, sizeof(text));
    /* "pid (name) S ...": the name may hold anything, the last parenthesis ends it. */
    for (size_t i = n; i-- > 0;) {
        if (text[i] != ')')
            continue;
        if (i + 2 < n)
            ret->state = text[i + 2];
        break;
    }
    n = read_proc(w->pid, "wchan", text, sizeof(text));
    struct str wchan = str_trim((struct str){ text, n });
    if (!str_is(wchan, "0"))
        str_copy(ret->wchan, sizeof(ret->wchan), wchan);
}

bool worker_has_ended(struct worker *w, int *ret_status)
{
    if (!w->reaped) {
        int status = 0;
        pid_t got = waitpid(w->pid, &status, WNOHANG);
        /* ECHILD: someone else reaped it (SIGCHLD ignored). */
        if (got != w->pid && !(got < 0 && errno == ECHILD))
            return false;
        w->reaped = true;
        w->status = got == w->pid ? status : 0;
    }
    *ret_status = w->status;
    return true;
}

void worker_let_go(struct worker *w)
{
    close_fd(&w->in_fd);
    close_fd(&w->out_fd);
}

void worker_end(struct worker *w, int64_t wait_us, int *ret_status)
{
    int status = 0;
    if (!w)
        return;
    worker_let_go(w);
    int64_t until_us = worker_now_us() + wait_us;
    if (!worker_has_ended(w, &status))
        kill(w->pid, SIGKILL); /* ours and not yet reaped: the number cannot be another's */
    while (!worker_has_ended(w, &status)) {
        int64_t left_us = until_us - worker_now_us();
        if (left_us <= 0)
            break;
        struct pollfd p = { .fd = w->pid_fd, .events = POLLIN };
        poll(&p, 1, w->pid_fd >= 0 ? (int) (left_us / US_PER_MS) + 1 : 1);
    }
    if (w->reaped && ret_status)
        *ret_status = status;
    free_worker(w);
}
