/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/worker.h"

#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Answers each byte with the next letter, until the parent goes away. */
static int echo_next(const struct worker_side *side, void *arg)
{
    char c;
    (void) arg;
    while (read(side->in_fd, &c, 1) == 1) {
        c++;
        if (write(side->out_fd, &c, 1) != 1)
            return 1;
    }
    return 7;
}

static int hang(const struct worker_side *side, void *arg)
{
    (void) arg;
    worker_touch(side->pulse, 5);
    if (write(side->out_fd, "h", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static int crash(const struct worker_side *side, void *arg)
{
    (void) side;
    (void) arg;
    kill(getpid(), SIGKILL);
    return 0;
}

/* Says how many descriptors it has, what it is called, and whether SIGTERM has the default. */
static int describe_self(const struct worker_side *side, void *arg)
{
    char text[128], name[17] = "";
    struct sigaction term;
    unsigned n = 0;
    (void) arg;
    for (int fd = 0; fd < 512; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    prctl(PR_GET_NAME, name);
    sigaction(SIGTERM, NULL, &term);
    int len = snprintf(text, sizeof(text), "%u %s %d", n, name, term.sa_handler == SIG_DFL);
    return len < 0 || write(side->out_fd, text, (size_t) len) != len;
}

static char hear(struct worker *w)
{
    char c = 0;
    struct pollfd p = { .fd = worker_fd(w), .events = POLLIN };
    if (poll(&p, 1, 30000) != 1 || read(worker_fd(w), &c, 1) != 1)
        return '\0';
    return c;
}

static void no_child_is_left(void)
{
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

static void question_and_answer(void)
{
    struct worker *w;
    struct err err;
    int status = -1;
    CHECK_EQ(worker_start("test", echo_next, NULL, &w, &err), 0);
    CHECK(worker_is_busy(w));
    worker_answered(w);
    CHECK_EQ(worker_silent_us(w), 0);
    CHECK_EQ(worker_ask(w, "a", 1), 0);
    CHECK_EQ(hear(w), 'b');
    worker_let_go(w);
    while (!worker_has_ended(w, &status))
        usleep(1000);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    worker_end(w, 0, NULL);
    no_child_is_left();
}

static void ignore_it(int signal_number)
{
    (void) signal_number;
}

static void starts_clean(void)
{
    struct worker *w;
    struct err err;
    char text[129] = "";
    size_t n = 0;
    int spare = open("/dev/null", O_RDONLY);
    signal(SIGTERM, ignore_it);
    CHECK_EQ(worker_start("wattgate: test", describe_self, NULL, &w, &err), 0);
    while (n < sizeof(text) - 1 && (text[n] = hear(w)) != '\0')
        n++;
    CHECK_TEXT(text, "5 wattgate: test 1");
    worker_end(w, 5000000, NULL);
    close(spare);
    no_child_is_left();
}

static void hung_worker_is_seen_and_ended(void)
{
    struct worker *w;
    struct err err;
    struct worker_look look;
    int status = -1;
    CHECK_EQ(worker_start("test", hang, NULL, &w, &err), 0);
    CHECK_EQ(hear(w), 'h');
    CHECK_EQ(worker_touching(w), 5);
    int64_t before_us = worker_silent_us(w);
    usleep(20000);
    CHECK(worker_silent_us(w) >= before_us + 20000);
    worker_forgive(w);
    CHECK(worker_silent_us(w) < before_us + 20000);
    worker_look(w, &look);
    CHECK(look.state == 'S' || look.state == 'R');
    CHECK(!worker_has_ended(w, &status));
    worker_end(w, 5000000, &status);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    no_child_is_left();
}

static void asking_the_dead(void)
{
    struct worker *w;
    struct err err;
    int status = -1;
    CHECK_EQ(worker_start("test", crash, NULL, &w, &err), 0);
    CHECK_EQ(hear(w), '\0');
    while (!worker_has_ended(w, &status))
        usleep(1000);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(worker_ask(w, "a", 1), -EPIPE); /* and this process lives */
    worker_end(w, 0, NULL);
    no_child_is_left();
}

/* A worker that does not read must not make the parent wait. */
static void full_pipe(void)
{
    struct worker *w;
    struct err err;
    char bytes[4096] = "";
    int r = 0;
    CHECK_EQ(worker_start("test", hang, NULL, &w, &err), 0);
    for (int i = 0; i < 1000 && r == 0; i++)
        r = worker_ask(w, bytes, sizeof(bytes));
    CHECK_EQ(r, -EAGAIN);
    worker_end(w, 5000000, NULL);
    no_child_is_left();
}

static const struct tap_case cases[] = {
    { "question and answer", question_and_answer },
    { "starts clean", starts_clean },
    { "a hung worker is seen and ended", hung_worker_is_seen_and_ended },
    { "asking the dead", asking_the_dead },
    { "a full pipe", full_pipe },
};

TAP_MAIN(cases)
