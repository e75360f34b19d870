/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that do what may block for ever: driver calls, network file systems. The parent
 * never waits for one. Deadlines are judged by the real CLOCK_BOOTTIME, whatever clock the
 * telemetry follows. No threads: start workers from a process that has one thread. */
#ifndef WATTGATE_SYS_WORKER_H
#define WATTGATE_SYS_WORKER_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_NOWHERE (-1) /* between two devices */

/* Memory that worker and parent share: where the worker is. A worker that hangs cannot tell, so
 * it says before each step what it is about to touch. */
struct worker_pulse {
    _Atomic uint32_t beat;    /* +1 with each step */
    _Atomic int32_t touching; /* device number, or WORKER_NOWHERE */
};

/* `pulse` may be NULL: nobody looks. */
static inline void worker_touch(struct worker_pulse *pulse, int32_t device)
{
    if (!pulse)
        return;
    atomic_store(&pulse->touching, device);
    atomic_fetch_add(&pulse->beat, 1);
}

/* The worker's own side: what the parent asks comes in at `in_fd` and ends when the parent goes
 * away; answers go out at `out_fd`. Both block. */
struct worker_side {
    int in_fd, out_fd;
    struct worker_pulse *pulse;
};

/* Runs in the child, which ends with _exit(status) when it returns. It must not use stdio. */
typedef int worker_run_fn(const struct worker_side *side, void *arg);

struct worker;

/* Forks. The child has no descriptors but its two pipes (0, 1, 2 are /dev/null), default signals
 * (terminal signals ignored), a lower priority, `name` as its name, and dies with the parent. */
int worker_start(const char *name, worker_run_fn *run, void *arg, struct worker **ret,
                 struct err *err) MUST_CHECK;
pid_t worker_pid(const struct worker *w);
/* Readable when the worker said something or ended; does not block. */
int worker_fd(const struct worker *w);
/* Sends a request, without waiting: -EAGAIN when the worker has not read the earlier ones, -EPIPE
 * when it ended. From now on it is judged. */
int worker_ask(struct worker *w, const void *bytes, size_t n) MUST_CHECK;
/* The worker answered: it may be silent until the next question. */
void worker_answered(struct worker *w);
/* Starts the time that it may be silent anew: the parent itself had stood still. */
void worker_forgive(struct worker *w);
bool worker_is_busy(const struct worker *w);
/* Real microseconds since a busy worker last gave a sign of life; 0 when it is not busy. */
int64_t worker_silent_us(struct worker *w);
int32_t worker_touching(const struct worker *w);

struct worker_look {
    char state;     /* letter of /proc/PID/stat, '?' where it cannot be read */
    char wchan[48]; /* kernel function it sleeps in, "" when not known */
};

void worker_look(const struct worker *w, struct worker_look *ret);
/* True when the worker has ended; it is reaped, and *ret_status is as waitpid() gives it. */
bool worker_has_ended(struct worker *w, int *ret_status);
/* Closes the pipes: it ends when it gets to read. Its process is kept to be reaped. */
void worker_let_go(struct worker *w);
/* Lets go, kills, waits at most `wait_us` and frees. A process that cannot die yet is left to the
 * kernel and to whoever inherits it; then *ret_status (may be NULL) stays as it is. NULL is
 * allowed. */
void worker_end(struct worker *w, int64_t wait_us, int *ret_status);

int64_t worker_now_us(void);

#endif
