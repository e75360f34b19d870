/* SPDX-License-Identifier: Apache-2.0 */
/* Options are rows: one table parses the command line and the configuration file, and prints
 * --help. tools/check-help compares it with man page and completion. */
#ifndef WATTGATE_BASE_OPT_H
#define WATTGATE_BASE_OPT_H

#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum opt_type {
    OPT_FLAG,     /* bool */
    OPT_STRING,   /* const char *, borrowed from argv or from the row */
    OPT_LIST,     /* struct opt_list, may be given several times */
    OPT_U32,      /* uint32_t */
    OPT_DURATION, /* int64_t microseconds */
    OPT_SIZE,     /* int64_t bytes */
    OPT_POWER,    /* int64_t milliwatts */
    OPT_CHOICE,   /* uint32_t, index into the words of `arg` ("auto|always|never") */
};

#define OPT_LIST_MAX 64

struct opt_list {
    const char *item[OPT_LIST_MAX];
    size_t n;
};

struct opt {
    size_t offset;    /* into the command's configuration struct */
    const char *name; /* long name without dashes */
    char letter;      /* or 0 */
    enum opt_type type;
    const char *fallback; /* text of the default, or NULL: zero */
    const char *arg;      /* name of the argument in help; the words of an OPT_CHOICE */
    const char *help;
    const char *least; /* text of the smallest value of a quantity; NULL: zero */
};

#define OPT(st, field, name, letter, type, fallback, arg, help)                                    \
    {                                                                                              \
        offsetof(st, field), name, letter, type, fallback, arg, help, NULL                         \
    }
#define OPT_FROM(st, field, name, letter, type, fallback, least, arg, help)                        \
    {                                                                                              \
        offsetof(st, field), name, letter, type, fallback, arg, help, least                        \
    }

struct opt_table {
    const struct opt *rows;
    size_t n;
};

/* A command is a table and a call. */
struct command {
    const char *name;         /* "triage" */
    const char *summary;      /* one line: the question that it answers */
    const char *arguments;    /* "[TRACE...]", may be "" */
    const char *about;        /* a paragraph, lines of at most 78 columns */
    const char *examples;     /* lines "command|what it does\n" */
    struct opt_table options; /* its own rows; the common ones come from opt_common_rows */
    size_t conf_size;         /* the struct starts with struct opt_common */
    /* args: what was left after the options, n of them. Returns an enum exit_status. */
    int (*run)(const void *conf, char **args, size_t n);
};

/* First member of every command's configuration. */
struct opt_common {
    bool help;
    bool version;
    bool json;
    bool quiet;
    uint32_t color; /* enum opt_color */
    const char *config;
    const char *data;
};

enum opt_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

extern const struct opt_table opt_common;

/* Sets every row's default. A default that its own row refuses is a programming error (abort). */
void opt_defaults(struct opt_table table, void *conf);
/* Sets one row by its long name, as a configuration file does. */
int opt_set(struct opt_table table, void *conf, const char *name, const char *value,
            struct err *err) MUST_CHECK;
/* Parses argv[1..]; what is no option is moved to the front of argv (from argv[1]), ended by NULL
 * and counted in *ret_n. "--" ends the options; with `stop_at_first`, so does the first argument.
 */
int opt_parse(const struct command *cmd, void *conf, char **argv, bool stop_at_first, size_t *ret_n,
              struct err *err) MUST_CHECK;
/* The text of --help. */
void opt_help(const struct command *cmd, struct strbuf *out);
/* Rows as "--name" or "--name=" lines for tools/check-help and completion. */
void opt_list_names(const struct command *cmd, struct strbuf *out);

#endif
