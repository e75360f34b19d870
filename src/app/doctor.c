/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor.h"

#include "app/doctor-rungs.h"
#include "app/output.h"
#include "base/exit.h"
#include "base/jsonw.h"
#include "base/units.h"
#include "source/source.h"
#include "sys/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A source is asked in a process of its own, which answers with whole structs and exits. */
static void ask_in_child(const struct source_ops *ops, const struct doctor_request *rq, int fd)
{
    const struct source_env env = { .sysroot = rq->sysroot,
                                    .nvml_library = rq->nvml_library,
                                    .interval_us = US_PER_S };
    struct capability_list list = { 0 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ops->about(&env, &list);
    const char *at = (const char *) list.items;
    size_t left = list.n * sizeof(*list.items);
    while (left) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += n;
        left -= (size_t) n;
    }
    _exit(0);
}

/* Reads until the child closes its end; false when the deadline passed first. */
static bool read_answer(int fd, int64_t until_us, struct strbuf *ret)
{
    for (;;) {
        int64_t left_us = until_us - clock_mono_us();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (left_us <= 0 || poll(&p, 1, (int) (left_us / US_PER_MS) + 1) <= 0)
            return false;
        char *at = strbuf_room(ret, 65536);
        ssize_t n = at ? read(fd, at, 65536) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        strbuf_took(ret, (size_t) n);
    }
}

static void add_answer(const struct strbuf *bytes, struct capability_list *out)
{
    struct capability c;
    for (size_t i = 0; i + sizeof(c) <= bytes->n; i += sizeof(c)) {
        memcpy(&c, bytes->p + i, sizeof(c));
        c.id[sizeof(c.id) - 1] = c.why[sizeof(c.why) - 1] = c.remedy[sizeof(c.remedy) - 1] = '\0';
        capability_add(out, c.id, c.ability, c.why, c.remedy);
    }
}

static void ask(const struct source_ops *ops, const struct doctor_request *rq,
                struct capability_list *out)
{
    int fds[2];
    AUTO(strbuf) struct strbuf bytes = STRBUF_INIT;
    if (!ops->about)
        return;
    if (pipe(fds) < 0) {
        capability_add(out, ops->name, ABILITY_NO, strerror(errno), "");
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        ask_in_child(ops, rq, fds[1]);
    }
    close(fds[1]);
    bool answered = pid > 0 && read_answer(fds[0], clock_mono_us() + rq->deadline_us, &bytes);
    close(fds[0]);
    add_answer(&bytes, out);
    if (!answered) {
        capability_add(out, ops->name, ABILITY_NO, "the driver did not answer in time",
                       "look at the kernel log for Xid and hung-task lines");
        if (pid > 0)
            kill(pid, SIGKILL); /* no effect while it hangs in the driver; it is left alone */
    }
    if (pid > 0)
        waitpid(pid, NULL, answered ? 0 : WNOHANG);
}

static const char *const ability_words[] = {
    [ABILITY_NO] = "no",
    [ABILITY_YES] = "yes",
    [ABILITY_PARTLY] = "partly",
};

static void add_json(const struct capability *c, const char *group, struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.capability/1");
    jsonw_text(&j, "group", group);
    jsonw_text(&j, "id", c->id);
    jsonw_text(&j, "ability", ability_words[c->ability]);
    jsonw_text(&j, "why", c->why[0] ? c->why : NULL);
    jsonw_text(&j, "remedy", c->remedy[0] ? c->remedy : NULL);
    jsonw_end(&j);
}

static void add_text(const struct capability *c, bool color, struct strbuf *out)
{
    static const char *const styles[] = {
        [ABILITY_NO] = "31", [ABILITY_YES] = "32", [ABILITY_PARTLY] = "33"
    };
    if (color)
        strbuf_addf(out, "  \033[%sm%-6s\033[0m  %-26s", styles[c->ability],
                    ability_words[c->ability], c->id);
    else
        strbuf_addf(out, "  %-6s  %-26s", ability_words[c->ability], c->id);
    strbuf_addf(out, " %s\n", c->why);
    if (c->remedy[0])
        strbuf_addf(out, "%10s%-26s -> %s\n", "", "", c->remedy);
}

static void add_group(const struct doctor_request *rq, const char *group, const char *title,
                      const struct capability_list *list, struct strbuf *out)
{
    struct view_options view = output_view(rq->common);
    if (!rq->common->json)
        strbuf_addf(out, "%s\n", title);
    for (size_t i = 0; i < list->n; i++)
        if (rq->common->json)
            add_json(&list->items[i], group, out);
        else
            add_text(&list->items[i], view.color, out);
}

static bool reads_watts(const struct capability_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].ability != ABILITY_NO && strstr(list->items[i].id, ".power"))
            return true;
    return false;
}

int app_doctor(const struct doctor_request *rq)
{
    struct err e = { 0 };
    bool watts = false;
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; source_table[i]; i++) {
        struct capability_list list = { 0 };
        ask(source_table[i], rq, &list);
        watts = watts || reads_watts(&list);
        add_group(rq, source_table[i]->name, source_table[i]->name, &list, &out);
        capability_list_done(&list);
    }
    struct capability_list rungs = { 0 };
    doctor_rungs(&rungs);
    add_group(rq, "rungs", "what each rung of watching needs", &rungs, &out);
    capability_list_done(&rungs);
    if (!rq->common->json)
        strbuf_addz(&out, watts ? "\nwatts of some device can be read here: try 'wattgate triage'\n"
                                : "\nno device's watts can be read here; traces can: 'wattgate "
                                  "triage FILE', and 'wattgate sim' makes a node without GPUs\n");
    if (output_flush(&out, stdout, &e) < 0) {
        output_error("doctor", &e);
        return EXIT_ENVIRONMENT;
    }
    return watts ? EXIT_PASS : EXIT_UNDECIDED;
}
