/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"
#include "base/exit.h"
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &cmd_doctor, &cmd_triage, &cmd_record, &cmd_calibrate, &cmd_watch, &cmd_sim,
};

/* A command after whose first argument everything belongs to another program. */
static bool runs_a_command(const struct command *cmd)
{
    return strncmp(cmd->arguments, "-- ", 3) == 0;
}

static void print_usage(FILE *to)
{
    fputs("wattgate - what multi-GPU training does, told by watts\n\n"
          "Usage: wattgate COMMAND [options] [arguments]\n\nCommands:\n",
          to);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(to, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'wattgate COMMAND --help' tells more; so does wattgate(1).\n", to);
}

static int print_help(const struct command *cmd)
{
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    opt_help(cmd, &out);
    fputs(strbuf_text(&out), stdout);
    return EXIT_PASS;
}

static int usage_error(const struct command *cmd, const struct err *e)
{
    fprintf(stderr, "wattgate %s: %s\n", cmd->name, e->text);
    return EXIT_USAGE;
}

/* Options that a configuration file sets give way to those of the command line, which is why the
 * line is parsed twice: once to learn the file's name, once for good. */
static int apply_config(const struct command *cmd, void *conf, char **argv, size_t argc,
                        struct err *err)
{
    char **copy = calloc(argc + 1, sizeof(*copy));
    struct opt_common *scratch = calloc(1, cmd->conf_size);
    int r = -ENOMEM;
    if (copy && scratch) {
        size_t n;
        memcpy(copy, argv, argc * sizeof(*copy));
        opt_defaults(cmd->options, scratch);
        opt_defaults(opt_common, scratch);
        r = opt_parse(cmd, scratch, copy, runs_a_command(cmd), &n, err);
        if (r == 0 && scratch->config)
            r = config_apply(scratch->config, cmd, conf, err);
    } else {
        err_sys(err, ENOMEM, "command line");
    }
    free(copy);
    free(scratch);
    return r;
}

static int run_command(const struct command *cmd, char **argv, size_t argc)
{
    struct err e = { 0 };
    size_t n = 0;
    void *conf = calloc(1, cmd->conf_size);
    if (!conf) {
        fprintf(stderr, "wattgate %s: out of memory\n", cmd->name);
        return EXIT_ENVIRONMENT;
    }
    const struct opt_common *common = conf;
    int status;
    opt_defaults(cmd->options, conf);
    opt_defaults(opt_common, conf);
    if (apply_config(cmd, conf, argv, argc, &e) < 0 ||
        opt_parse(cmd, conf, argv, runs_a_command(cmd), &n, &e) < 0)
        status = usage_error(cmd, &e);
    else if (common->help)
        status = print_help(cmd);
    else if (common->version)
        status = puts("wattgate " WATTGATE_VERSION) < 0;
    else
        status = cmd->run(conf, argv + 1, n);
    free(conf);
    config_done();
    return status;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Output that could not be written is a failure, however well the command did. */
static int close_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        fprintf(stderr, "wattgate: write to standard output: %s\n", strerror(errno));
    return EXIT_ENVIRONMENT;
}

/* A stream that is closed is filled, so that no file we open gets its number; using it is an error
 * all the same, since it cannot be read or written the way that it is used. */
static void hold_standard_streams(void)
{
    static const int wrong_way[] = { O_WRONLY, O_RDONLY, O_RDONLY };
    for (int fd = 0; fd < (int) ARRAY_SIZE(wrong_way); fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) != fd)
            _exit(EXIT_ENVIRONMENT);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    (void) signal(SIGPIPE, SIG_IGN);
    (void) signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is an error like any other */
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    const struct command *cmd = find_command(help && argc > 2 ? argv[2] : name);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return close_output(puts("wattgate " WATTGATE_VERSION) < 0);
    if (help && argc == 2) {
        print_usage(stdout);
        return close_output(EXIT_PASS);
    }
    if (!cmd) {
        fprintf(stderr, "wattgate: '%s' is no command; see 'wattgate --help'\n",
                help ? argv[2] : name);
        return EXIT_USAGE;
    }
    return close_output(help ? print_help(cmd) : run_command(cmd, argv + 1, (size_t) argc - 1));
}
