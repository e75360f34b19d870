/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASE_SKIPPED = 77 };

static int failures;

void tap_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("# ", stdout);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
}

void tap_skip(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("#SKIP ", stdout);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
    _exit(failures ? 1 : CASE_SKIPPED);
}

const char *tap_source_path(const char *path)
{
    static char full[4096];
    const char *root = getenv("WATTGATE_SOURCE");
    snprintf(full, sizeof(full), "%s/%s", root ? root : ".", path);
    return full;
}

const char *tap_corpus(void)
{
    static char path[4096];
    const char *given = getenv("WATTGATE_CORPUS");
    snprintf(path, sizeof(path), "%s", given ? given : tap_source_path("../shared/corpus"));
    return access(path, R_OK) == 0 ? path : NULL;
}

void tap_check(bool ok, const char *file, int line, const char *expr)
{
    if (ok)
        return;
    failures++;
    tap_note("%s:%d: failed: %s", file, line, expr);
}

void tap_check_i64(int64_t got, int64_t want, const char *file, int line, const char *expr)
{
    if (got == want)
        return;
    failures++;
    tap_note("%s:%d: %s is %" PRId64 ", want %" PRId64, file, line, expr, got, want);
}

void tap_check_text(const char *got, const char *want, const char *file, int line, const char *expr)
{
    if (got && want && strcmp(got, want) == 0)
        return;
    failures++;
    tap_note("%s:%d: %s is \"%s\", want \"%s\"", file, line, expr, got ? got : "(null)",
             want ? want : "(null)");
}

void tap_check_has(const char *text, const char *part, const char *file, int line, const char *expr)
{
    if (text && strstr(text, part))
        return;
    failures++;
    tap_note("%s:%d: %s is \"%s\", lacks \"%s\"", file, line, expr, text ? text : "(null)", part);
}

static unsigned timeout_s(void)
{
    const char *text = getenv("TAP_TIMEOUT");
    unsigned long s = text ? strtoul(text, NULL, 10) : 0;
    return s ? (unsigned) s : 120;
}

static int run_here(const struct tap_case *c)
{
    failures = 0;
    c->run();
    fflush(stdout);
    return failures ? 1 : 0;
}

static void run_child(const struct tap_case *c, int out_fd)
{
    dup2(out_fd, STDOUT_FILENO);
    alarm(timeout_s());
    /* exit, not _exit: the leak checker runs at exit */
    exit(run_here(c));
}

/* Copies the child's lines, made comments; returns the reason of a skip, static, or "". */
static const char *relay(FILE *in)
{
    static char reason[4096];
    char line[4096];
    reason[0] = '\0';
    while (fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "#SKIP ", 6) == 0)
            snprintf(reason, sizeof(reason), "%s", line + 6);
        else
            printf("%s%s\n", line[0] == '#' ? "" : "# ", line);
    }
    return reason;
}

static bool run_forked(const struct tap_case *c, size_t number)
{
    int fds[2];
    fflush(stdout);
    if (pipe(fds) < 0) {
        printf("not ok %zu - %s # pipe failed\n", number, c->name);
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        run_child(c, fds[1]);
    }
    close(fds[1]);
    FILE *in = fdopen(fds[0], "r");
    const char *reason = in ? relay(in) : "";
    if (in)
        fclose(in);
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIPPED) {
        printf("ok %zu - %s # SKIP %s\n", number, c->name, reason);
        return true;
    }
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status))
        tap_note("%s: killed by signal %d (%s)", c->name, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", number, c->name);
    return ok;
}

int tap_run(const struct tap_case *cases, size_t n)
{
    const char *only = getenv("TAP_ONLY");
    bool no_fork = getenv("TAP_NO_FORK") != NULL;
    size_t number = 0;
    bool all_ok = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < n; i++) {
        if (only && strcmp(only, cases[i].name) != 0)
            continue;
        number++;
        bool ok = true;
        if (no_fork) {
            ok = run_here(&cases[i]) == 0;
            printf("%s %zu - %s\n", ok ? "ok" : "not ok", number, cases[i].name);
        } else {
            ok = run_forked(&cases[i], number);
        }
        all_ok = all_ok && ok;
    }
    printf("1..%zu\n", number);
    return all_ok ? 0 : 1;
}
