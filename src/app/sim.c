/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sim.h"

#include "app/sim-scenarios.h"
#include "base/parse.h"
#include "sys/vclock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libnvidia-ml.so.1"
#define RANDOM_MAX_BYTES (1u << 20)

/* The stand-in's own functions beside NVML's. */
struct standin {
    void *library;
    char path[PATH_MAX];
    int (*check)(const char *name, const char *text, size_t n, int trace, char *error, size_t cap);
    int (*random)(unsigned long long seed, unsigned gpus, char *buf, size_t cap);
    int (*boards)(char *buf, size_t cap);
};

static void standin_done(struct standin *s)
{
    if (s->library)
        dlclose(s->library);
}
DEFINE_AUTO_VALUE(standin)

/* Beside the program in a build tree, in the library directory once installed. */
static int find_library(char *path, size_t cap, struct err *err)
{
    static const char *const places[] = { "sim", "../lib/wattgate", "../lib64/wattgate" };
    const char *given = getenv("WATTGATE_SIM_LIB");
    if (given && *given) {
        str_copy(path, cap, str_from(given));
        return access(path, R_OK) == 0 ? 0 : err_sys(err, errno, "WATTGATE_SIM_LIB '%s'", given);
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[MAX(n, 0)] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++)
        if (snprintf(path, cap, "%s/%s/" LIBRARY, self, places[i]) < (int) cap &&
            access(path, R_OK) == 0)
            return 0;
    if (snprintf(path, cap, "%s/" LIBRARY, WATTGATE_SIM_DIR) < (int) cap && access(path, R_OK) == 0)
        return 0;
    return err_set(err, -ENOENT,
                   "the simulated " LIBRARY " is neither beside the program nor in %s; set "
                   "WATTGATE_SIM_LIB to its path",
                   WATTGATE_SIM_DIR);
}

static int find_symbol(const struct standin *s, const char *name, void *ret, struct err *err)
{
    void *symbol = dlsym(s->library, name);
    if (!symbol)
        return err_set(err, -ENOSYS, "'%s' is not the library of wattgate sim: it lacks %s",
                       s->path, name);
    memcpy(ret, &symbol, sizeof(symbol)); /* ISO C has no cast from data to function pointers */
    return 0;
}

static int standin_open(struct standin *s, struct err *err)
{
    int r = find_library(s->path, sizeof(s->path), err);
    if (r < 0)
        return r;
    s->library = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
    if (!s->library)
        return err_set(err, -ENOEXEC, "load '%s': %s", s->path, dlerror());
    if ((r = find_symbol(s, "wattgate_sim_check", &s->check, err)) < 0 ||
        (r = find_symbol(s, "wattgate_sim_random", &s->random, err)) < 0)
        return r;
    return find_symbol(s, "wattgate_sim_boards", &s->boards, err);
}

static int read_file(const char *path, struct strbuf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno,
                       "scenario '%s' is neither built in (see `wattgate sim --list`) nor a file",
                       path);
    ssize_t n = 0;
    for (;;) {
        char *room = strbuf_room(out, 65536);
        if (!room || (n = read(fd, room, 65536)) <= 0)
            break;
        strbuf_took(out, (size_t) n);
    }
    int errnum = errno;
    close(fd);
    if (out->error)
        return err_sys(err, ENOMEM, "read '%s'", path);
    return n < 0 ? err_sys(err, errnum, "read '%s'", path) : 0;
}

static int add_random(const struct standin *s, const struct sim_options *o, struct strbuf *out,
                      struct err *err)
{
    char *room = strbuf_room(out, RANDOM_MAX_BYTES);
    int n =
        room ? s->random(o->seed ? o->seed : 1, o->gpus ? o->gpus : 8, room, RANDOM_MAX_BYTES) : -1;
    if (n < 0)
        return err_sys(err, ENOMEM, "random scenario");
    strbuf_took(out, (size_t) n);
    return 0;
}

static const char *find_builtin(const char *name)
{
    for (size_t i = 0; i < builtin_scenarios_n; i++)
        if (strcmp(builtin_scenarios[i].name, name) == 0)
            return builtin_scenarios[i].text;
    return NULL;
}

/* Settings of the node hold wherever they stand and the last one wins, so options go to the end. */
static void add_overrides(const struct sim_options *o, bool is_random, struct strbuf *out)
{
    strbuf_addc(out, '\n');
    if (o->gpus && !is_random)
        strbuf_addf(out, "gpus %u\n", o->gpus);
    if (o->seed && !is_random)
        strbuf_addf(out, "seed %u\n", o->seed);
    if (o->board)
        strbuf_addf(out, "board \"%s\"\n", o->board);
    if (o->driver)
        strbuf_addf(out, "driver %s\n", o->driver);
}

static int compose(const struct standin *s, const struct sim_options *o, struct strbuf *out,
                   struct err *err)
{
    bool is_random = !o->trace && strcmp(o->scenario, "random") == 0;
    const char *path = o->trace ? o->trace : o->scenario;
    const char *builtin = o->trace ? NULL : find_builtin(path);
    int r = 0;
    if (is_random)
        r = add_random(s, o, out, err);
    else if (builtin)
        strbuf_addz(out, builtin);
    else
        r = read_file(path, out, err);
    if (r == 0 && !o->trace)
        add_overrides(o, is_random, out);
    if (r == 0 && out->error)
        r = err_sys(err, ENOMEM, "scenario '%s'", path);
    char error[512];
    if (r == 0 &&
        s->check(path, strbuf_text(out), out->n, o->trace != NULL, error, sizeof(error)) < 0)
        r = err_set(err, -EINVAL, "%s", error);
    return r;
}

int sim_scenario(const struct sim_options *o, struct strbuf *out, struct err *err)
{
    AUTO(standin) struct standin s = { 0 };
    int r = standin_open(&s, err);
    return r < 0 ? r : compose(&s, o, out, err);
}

void sim_list_scenarios(struct strbuf *out)
{
    for (size_t i = 0; i < builtin_scenarios_n; i++) {
        struct str rest = str_from(builtin_scenarios[i].text), line;
        if (str_split(&rest, '\n', &line))
            strbuf_addf(out, "%-16s %.*s\n", builtin_scenarios[i].name,
                        STR_ARG(str_trim(str_sub(line, 1, line.n))));
    }
    strbuf_addf(out, "%-16s %s\n", "random", "Units and phases drawn from --seed.");
}

int sim_list_boards(struct strbuf *out, struct err *err)
{
    AUTO(standin) struct standin s = { 0 };
    int r = standin_open(&s, err);
    if (r < 0)
        return r;
    char *room = strbuf_room(out, 8192);
    int n = room ? s.boards(room, 8192) : -1;
    if (n < 0)
        return err_sys(err, ENOMEM, "boards");
    strbuf_took(out, (size_t) n);
    return 0;
}

/* "x60", "60", "x1.5", "x1/2". */
static int parse_speed(const char *text, struct vclock_setup *setup, struct err *err)
{
    struct str s = str_from(text), rest, part;
    int64_t num = 0, den = 1000;
    if (str_starts(s, "x"))
        s = str_sub(s, 1, s.n);
    rest = s;
    bool ok = str_split(&rest, '/', &part) && parse_scaled(part, 1000, &num) == 0;
    if (ok && rest.p)
        ok = parse_scaled(rest, 1000, &den) == 0;
    if (!ok || num < 1 || den < 1 || num / den > 100000 || num > UINT32_MAX || den > UINT32_MAX)
        return err_set(err, -EINVAL, "--speed %s: give a factor such as x60 or x1/2", text);
    setup->speed_num = (uint32_t) num;
    setup->speed_den = (uint32_t) den;
    return 0;
}

static int write_text(const char *path, struct str text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "create '%s'", path);
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int errnum = n < 0 ? errno : EIO;
            close(fd);
            return err_sys(err, errnum, "write '%s'", path);
        }
        text = str_sub(text, (size_t) n, text.n);
    }
    return close(fd) < 0 ? err_sys(err, errno, "write '%s'", path) : 0;
}

struct stage {
    char dir[PATH_MAX / 2], scenario[PATH_MAX], clock[PATH_MAX];
};

static void stage_done(struct stage *s)
{
    if (!s->dir[0])
        return;
    (void) unlink(s->scenario);
    (void) unlink(s->clock);
    (void) rmdir(s->dir);
}
DEFINE_AUTO_VALUE(stage)

static int stage_make(struct stage *s, const struct sim_options *o, struct str text,
                      struct err *err)
{
    struct vclock_setup setup = { .stepped = o->stepped, .start_mono_us = -1, .start_wall_us = -1 };
    int r = parse_speed(o->speed, &setup, err);
    if (r < 0)
        return r;
    const char *base = getenv("TMPDIR");
    char dir[PATH_MAX / 2];
    int n = snprintf(dir, sizeof(dir), "%s/wattgate-sim-XXXXXX", base && *base ? base : "/tmp");
    if (n >= (int) sizeof(dir))
        return err_set(err, -ENAMETOOLONG, "TMPDIR is too long");
    if (!mkdtemp(dir))
        return err_sys(err, errno, "make directory '%s'", dir);
    str_copy(s->dir, sizeof(s->dir), str_from(dir));
    (void) snprintf(s->scenario, sizeof(s->scenario), "%s/scenario", s->dir);
    (void) snprintf(s->clock, sizeof(s->clock), "%s/clock", s->dir);
    if ((r = write_text(s->scenario, text, err)) < 0)
        return r;
    return vclock_create(s->clock, &setup, err);
}

static int set_environment(const struct stage *stage, const struct standin *s,
                           const struct sim_options *o)
{
    char pid[16], search[2 * PATH_MAX], dir[PATH_MAX];
    const char *before = getenv("LD_LIBRARY_PATH");
    str_copy(dir, sizeof(dir), str_from(s->path));
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    if (snprintf(search, sizeof(search), "%s%s%s", slash ? dir : ".", before && *before ? ":" : "",
                 before ? before : "") >= (int) sizeof(search))
        return -ENAMETOOLONG;
    (void) snprintf(pid, sizeof(pid), "%d", (int) getppid());
    (void) unsetenv(o->trace ? "WATTGATE_SIM" : "WATTGATE_SIM_TRACE");
    if (setenv(o->trace ? "WATTGATE_SIM_TRACE" : "WATTGATE_SIM", stage->scenario, 1) < 0 ||
        setenv("WATTGATE_CLOCK", stage->clock, 1) < 0 || setenv("WATTGATE_SIM_PID", pid, 1) < 0 ||
        setenv("LD_LIBRARY_PATH", search, 1) < 0 ||
        (o->log && setenv("WATTGATE_SIM_LOG", o->log, 1) < 0))
        return -errno;
    return 0;
}

static volatile sig_atomic_t child_pid;

static void pass_on(int sig)
{
    if (child_pid > 0)
        kill((pid_t) child_pid, sig);
}

static int wait_child(pid_t pid, int *ret_status, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, errno, "wait for the program");
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

static _Noreturn void child_main(const struct stage *stage, const struct standin *s,
                                 const struct sim_options *o, char **argv, const sigset_t *mask)
{
    (void) sigprocmask(SIG_SETMASK, mask, NULL);
    /* what this program ignores is not its program's business */
    (void) signal(SIGPIPE, SIG_DFL);
    (void) signal(SIGXFSZ, SIG_DFL);
    if (set_environment(stage, s, o) < 0)
        _exit(125);
    execvp(argv[0], argv);
    int errnum = errno;
    dprintf(STDERR_FILENO, "wattgate sim: run '%s': %s\n", argv[0], strerror(errnum));
    _exit(errnum == ENOENT ? 127 : 126);
}

/* Signals wait until both sides know what to do with them, so that none is lost and the directory
 * is always removed. */
static int run_child(const struct stage *stage, const struct standin *s,
                     const struct sim_options *o, char **argv, int *ret_status, struct err *err)
{
    static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    struct sigaction pass = { .sa_handler = pass_on }, ignore = { .sa_handler = SIG_IGN };
    sigset_t all, before;
    sigfillset(&all);
    (void) sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        child_main(stage, s, o, argv, &before);
    int errnum = errno;
    if (pid > 0) {
        child_pid = pid;
        for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
            (void) sigaction(passed[i], &pass, NULL);
        /* The terminal sends these to the program as well. */
        (void) sigaction(SIGINT, &ignore, NULL);
        (void) sigaction(SIGQUIT, &ignore, NULL);
    }
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return err_sys(err, errnum, "start the program");
    return wait_child(pid, ret_status, err);
}

int sim_run(const struct sim_options *o, char **argv, int *ret_status, struct err *err)
{
    AUTO(strbuf) struct strbuf text = STRBUF_INIT;
    AUTO(standin) struct standin s = { 0 };
    AUTO(stage) struct stage stage = { 0 };
    int r = standin_open(&s, err);
    if (r < 0 || (r = compose(&s, o, &text, err)) < 0 ||
        (r = stage_make(&stage, o, strbuf_str(&text), err)) < 0)
        return r;
    return run_child(&stage, &s, o, argv, ret_status, err);
}
