/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch-job.h"

#include "base/jsonw.h"
#include "base/units.h"
#include "sys/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_WAIT_US (INT64_C(200) * US_PER_MS)

struct asking {
    const char *sysroot;
    const struct job_selector *which;
};

/* What the worker answers: a struct of the same program, so it crosses the pipe as it is. */
struct answer {
    int code;
    char text[256];
    struct job_found found;
};

static int ask(const struct worker_side *side, void *arg)
{
    const struct asking *a = arg;
    struct answer *answer = calloc(1, sizeof(*answer));
    struct err e = { 0 };
    if (!answer)
        return 1;
    answer->code = job_discover(a->sysroot, a->which, &answer->found, &e);
    str_copy(answer->text, sizeof(answer->text), str_from(e.text));
    const char *at = (const char *) answer;
    for (size_t left = sizeof(*answer); left;) {
        ssize_t n = write(side->out_fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 1;
        at += n;
        left -= (size_t) n;
    }
    return 0;
}

/* The whole answer, or -ETIMEDOUT, -EIO. */
static int hear(struct worker *w, int64_t deadline_us, struct answer *ret)
{
    int64_t until_us = worker_now_us() + deadline_us;
    size_t got = 0;
    while (got < sizeof(*ret)) {
        struct pollfd fd = { .fd = worker_fd(w), .events = POLLIN };
        int64_t left_us = until_us - worker_now_us();
        if (left_us <= 0 || poll(&fd, 1, (int) (left_us / US_PER_MS) + 1) == 0)
            return -ETIMEDOUT;
        ssize_t n = read(worker_fd(w), (char *) ret + got, sizeof(*ret) - got);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return -EIO;
        got += (size_t) n;
    }
    return 0;
}

static int discover(const char *sysroot, const struct job_selector *which, int64_t deadline_us,
                    struct answer *answer, struct err *err)
{
    struct asking a = { sysroot, which };
    struct worker *w;
    struct worker_look look;
    int r = worker_start("wattgate: job", ask, &a, &w, err);
    if (r < 0)
        return r;
    r = hear(w, deadline_us, answer);
    worker_look(w, &look);
    worker_end(w, END_WAIT_US, NULL);
    if (r == -ETIMEDOUT)
        return err_set(err, r,
                       "looking for the job took longer than %" PRId64 " ms: reading /proc hangs "
                       "(state %c%s%s)",
                       deadline_us / US_PER_MS, look.state, look.wchan[0] ? " at " : "",
                       look.wchan);
    if (r < 0)
        return err_sys(err, -r, "look for the job");
    return answer->code < 0 ? err_set(err, answer->code, "%s", answer->text) : 0;
}

static void describe_rank(const struct job_member *m, const char *host, struct watch_rank *ret)
{
    struct str uuid;
    int32_t index = -1;
    *ret = (struct watch_rank){
        .rank = m->env.rank, .pid = m->pid, .bare_mw = -1, .held_mw = -1, .limit_mw = -1
    };
    str_copy(ret->host, sizeof(ret->host), str_from(host));
    bool told = job_env_device(&m->env, &index, &uuid);
    if (told && uuid.n)
        str_copy(ret->device, sizeof(ret->device), uuid);
    else if (told || m->env.local_rank >= 0)
        snprintf(ret->device, sizeof(ret->device), "index:%" PRId32,
                 told ? index : m->env.local_rank);
}

static int describe(struct watched *w, struct err *err)
{
    char host[64] = "";
    const struct job_found *f = w->found;
    w->ranks = calloc(MAX(f->n, 1u), sizeof(*w->ranks));
    w->pids = calloc(MAX(f->n, 1u), sizeof(*w->pids));
    if (!w->ranks || !w->pids)
        return err_sys(err, ENOMEM, "watch");
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    w->job.n = f->n;
    w->job.ranks = w->ranks;
    for (uint32_t i = 0; i < f->n; i++) {
        describe_rank(&f->ranks[i], host, &w->ranks[i]);
        w->pids[i] = f->ranks[i].pid;
    }
    if (!f->n)
        return 0;
    const struct job_env *first = &f->ranks[0].env;
    str_copy(w->job.name, sizeof(w->job.name),
             str_from(first->name[0] ? first->name : f->ranks[0].command));
    w->job.attempt = (uint32_t) MAX(first->restarts, 0);
    w->job.world = (uint32_t) MAX(first->world, 0);
    return 0;
}

int watched_find(const char *sysroot, const struct job_selector *which, int64_t deadline_us,
                 struct watched *ret, struct err *err)
{
    AUTO(watched) struct watched w = { 0 };
    struct answer *answer = calloc(1, sizeof(*answer));
    w.found = calloc(1, sizeof(*w.found));
    if (!answer || !w.found) {
        free(answer);
        return err_sys(err, ENOMEM, "watch");
    }
    int r = discover(sysroot, which, deadline_us, answer, err);
    if (r == 0) {
        *w.found = answer->found;
        r = describe(&w, err);
    }
    free(answer);
    if (r < 0)
        return r;
    *ret = w;
    w = (struct watched){ 0 };
    return 0;
}

void watched_done(struct watched *w)
{
    free(w->found);
    free(w->ranks);
    free(w->pids);
    *w = (struct watched){ 0 };
}

static void explain_missing(const struct watched *w, struct strbuf *out)
{
    const struct job_found *f = w->found;
    if (f->denied)
        strbuf_addf(out,
                    "%" PRIu32 " of %" PRIu32 " processes keep their environment to themselves: a "
                    "rank among them is not seen (run as the job's user, or as root)\n",
                    f->denied, f->processes);
    if (!f->n)
        strbuf_addz(out, "no process says which rank it is (RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, "
                         "SLURM_PROCID): there is nothing to watch\n");
    else if (w->job.world > f->n)
        strbuf_addf(out,
                    "%" PRIu32 " of %" PRIu32 " ranks are on this node: the verdict is the node's, "
                    "never the job's\n",
                    f->n, w->job.world);
    if (f->more)
        strbuf_addf(out, "more than %d ranks: the rest is not watched\n", JOB_MEMBERS_MAX);
}

void watched_explain(const struct watched *w, struct strbuf *out)
{
    const struct job_found *f = w->found;
    const struct job_env *first = f->n ? &f->ranks[0].env : NULL;
    strbuf_addf(out, "job      %s\n", w->job.name[0] ? w->job.name : "(without a name)");
    if (first)
        strbuf_addf(out, "launched by %s; attempt %" PRIu32 "; world %" PRIu32 "; master %s\n",
                    first->launcher, w->job.attempt, w->job.world,
                    first->master[0] ? first->master : "not told");
    for (uint32_t i = 0; i < f->n; i++)
        strbuf_addf(out, "rank %-4" PRId32 " process %-8" PRId32 " %-16s GPU %s\n",
                    w->ranks[i].rank, w->ranks[i].pid, f->ranks[i].command,
                    w->ranks[i].device[0] ? w->ranks[i].device
                                          : "not told: the driver's process list decides");
    explain_missing(w, out);
}

void watched_explain_json(const struct watched *w, struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.job/1");
    jsonw_text(&j, "job", w->job.name[0] ? w->job.name : NULL);
    jsonw_i64(&j, "attempt", w->job.attempt);
    jsonw_i64(&j, "world", w->job.world);
    jsonw_i64(&j, "processes", w->found->processes);
    jsonw_i64(&j, "denied", w->found->denied);
    jsonw_array(&j, "ranks");
    for (uint32_t i = 0; i < w->found->n; i++) {
        jsonw_object(&j, NULL);
        jsonw_i64(&j, "rank", w->ranks[i].rank);
        jsonw_i64(&j, "pid", w->ranks[i].pid);
        jsonw_text(&j, "host", w->ranks[i].host);
        jsonw_text(&j, "command", w->found->ranks[i].command);
        jsonw_text(&j, "launcher", w->found->ranks[i].env.launcher);
        jsonw_text(&j, "device", w->ranks[i].device[0] ? w->ranks[i].device : NULL);
        jsonw_object_end(&j);
    }
    jsonw_array_end(&j);
    jsonw_end(&j);
}
