/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include "base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct opt common_rows[] = {
    OPT(struct opt_common, json, "json", 0, OPT_FLAG, NULL, NULL,
        "print one JSON object a line on stdout, nothing else there"),
    OPT(struct opt_common, config, "config", 0, OPT_STRING, NULL, "FILE",
        "read options from this YAML file (NAME: VALUE)"),
    OPT(struct opt_common, data, "data", 0, OPT_STRING, NULL, "DIR",
        "use the tables of this directory instead of the built-in ones"),
    OPT(struct opt_common, color, "color", 0, OPT_CHOICE, "auto", "auto|always|never",
        "colour the output; NO_COLOR is honoured"),
    OPT(struct opt_common, quiet, "quiet", 'q', OPT_FLAG, NULL, NULL,
        "no progress and no notes on stderr"),
    OPT(struct opt_common, help, "help", 'h', OPT_FLAG, NULL, NULL, "print this help"),
    OPT(struct opt_common, version, "version", 'V', OPT_FLAG, NULL, NULL, "print the version"),
};

const struct opt_table opt_common = { common_rows, ARRAY_SIZE(common_rows) };

static const char *const type_forms[] = {
    [OPT_FLAG] = "",
    [OPT_STRING] = "a text",
    [OPT_LIST] = "a text",
    [OPT_U32] = "a whole number",
    [OPT_DURATION] = "a time with its unit, such as 500ms, 90s, 10m, 2h",
    [OPT_SIZE] = "a size with its unit, such as 64KiB, 2GiB",
    [OPT_POWER] = "a power with its unit, such as 700W, 1.1kW",
    [OPT_CHOICE] = "",
};

static int choice_index(const char *words, struct str word, uint32_t *ret)
{
    struct str rest = str_from(words), part;
    for (uint32_t i = 0; str_split(&rest, '|', &part); i++)
        if (str_eq(part, word)) {
            *ret = i;
            return 0;
        }
    return -EINVAL;
}

static int list_add(struct opt_list *list, const char *value)
{
    if (list->n == OPT_LIST_MAX)
        return -E2BIG;
    list->item[list->n++] = value;
    return 0;
}

static int parse_flag(struct str s, bool *ret)
{
    if (!str_is(s, "true") && !str_is(s, "false"))
        return -EINVAL;
    *ret = str_is(s, "true");
    return 0;
}

static int store(const struct opt *o, void *conf, const char *value)
{
    void *at = (char *) conf + o->offset;
    struct str s = str_from(value);
    switch (o->type) {
    case OPT_FLAG:
        return parse_flag(s, at);
    case OPT_STRING:
        *(const char **) at = value;
        return 0;
    case OPT_LIST:
        return list_add(at, value);
    case OPT_U32:
        return parse_u32(s, at);
    case OPT_DURATION:
        return parse_duration_us(s, at);
    case OPT_SIZE:
        return parse_size_bytes(s, at);
    case OPT_POWER:
        return parse_power_mw(s, at);
    case OPT_CHOICE:
        return choice_index(o->arg, s, at);
    }
    return -EINVAL;
}

static int64_t quantity(const struct opt *o, const void *conf)
{
    const void *at = (const char *) conf + o->offset;
    uint32_t small;
    int64_t large;
    memcpy(&small, at, sizeof(small));
    if (o->type == OPT_U32)
        return small;
    memcpy(&large, at, sizeof(large));
    return large;
}

static bool is_quantity(const struct opt *o)
{
    return o->type == OPT_U32 || o->type == OPT_DURATION || o->type == OPT_SIZE ||
           o->type == OPT_POWER;
}

/* No option means anything below zero. */
static bool is_too_small(const struct opt *o, void *conf, const char *value)
{
    if (!is_quantity(o))
        return false;
    int64_t given = quantity(o, conf);
    if (!o->least)
        return given < 0;
    bool small = store(o, conf, o->least) == 0 && given < quantity(o, conf);
    return store(o, conf, value) < 0 || small;
}

static int set_row(const struct opt *o, void *conf, const char *value, struct err *err)
{
    int r = store(o, conf, value);
    if (r == -E2BIG)
        return err_set(err, r, "--%s: given more than %d times", o->name, OPT_LIST_MAX);
    if (r == -ERANGE)
        return err_set(err, r, "--%s: '%s' is out of range", o->name, value);
    if (r < 0 && o->type == OPT_CHOICE)
        return err_set(err, r, "--%s: '%s' is not one of %s", o->name, value, o->arg);
    if (r < 0 && o->type == OPT_FLAG)
        return err_set(err, r, "--%s: '%s' is neither true nor false", o->name, value);
    if (r < 0)
        return err_set(err, r, "--%s: '%s' is not %s", o->name, value, type_forms[o->type]);
    if (is_too_small(o, conf, value))
        return err_set(err, -ERANGE, "--%s: '%s' is too small: %s or more", o->name, value,
                       o->least ? o->least : "0");
    return 0;
}

void opt_defaults(struct opt_table table, void *conf)
{
    for (size_t i = 0; i < table.n; i++)
        if (table.rows[i].fallback && store(&table.rows[i], conf, table.rows[i].fallback) < 0)
            abort();
}

static const struct opt *find_long(struct opt_table table, struct str name)
{
    for (size_t i = 0; i < table.n; i++)
        if (str_is(name, table.rows[i].name))
            return &table.rows[i];
    return NULL;
}

static const struct opt *find_letter(struct opt_table table, char letter)
{
    for (size_t i = 0; i < table.n; i++)
        if (table.rows[i].letter == letter)
            return &table.rows[i];
    return NULL;
}

int opt_set(struct opt_table table, void *conf, const char *name, const char *value,
            struct err *err)
{
    const struct opt *o = find_long(table, str_from(name));
    if (!o)
        return err_set(err, -ENOENT, "no option is called '%s'", name);
    return set_row(o, conf, value, err);
}

struct parsing {
    const struct command *cmd;
    void *conf;
    char **next; /* the argument after the one being parsed */
    struct err *err;
};

static int take(struct parsing *p, const struct opt *o, const char *value, const char *shown)
{
    if (o->type == OPT_FLAG) {
        if (value)
            return err_set(p->err, -EINVAL, "%s takes no value", shown);
        value = "true";
    } else if (!value) {
        if (!*p->next)
            return err_set(p->err, -EINVAL, "%s needs a value (%s)", shown, o->arg);
        value = *p->next++;
    }
    return set_row(o, p->conf, value, p->err);
}

static int unknown(struct parsing *p, const char *shown)
{
    return err_set(p->err, -EINVAL, "unknown option '%s'; see 'wattgate %s --help'", shown,
                   p->cmd->name);
}

static int parse_long(struct parsing *p, const char *text)
{
    struct str name = str_from(text + 2);
    ptrdiff_t eq = str_find_char(name, '=');
    const char *value = eq < 0 ? NULL : name.p + eq + 1;
    if (eq >= 0)
        name = str_sub(name, 0, (size_t) eq);
    const struct opt *o = find_long(p->cmd->options, name);
    if (!o)
        o = find_long(opt_common, name);
    return o ? take(p, o, value, text) : unknown(p, text);
}

static int parse_letters(struct parsing *p, const char *text)
{
    for (const char *c = text + 1; *c; c++) {
        const struct opt *o = find_letter(p->cmd->options, *c);
        if (!o)
            o = find_letter(opt_common, *c);
        if (!o)
            return unknown(p, text);
        const char *value = o->type != OPT_FLAG && c[1] ? c + 1 : NULL;
        int r = take(p, o, value, text);
        if (r < 0 || value)
            return r;
        if (o->type != OPT_FLAG)
            return 0;
    }
    return 0;
}

int opt_parse(const struct command *cmd, void *conf, char **argv, bool stop_at_first, size_t *ret_n,
              struct err *err)
{
    struct parsing p = { cmd, conf, argv + 1, err };
    size_t n = 0;
    bool options = true;
    while (*p.next) {
        char *text = *p.next++;
        bool is_option = options && text[0] == '-' && text[1];
        if (is_option && strcmp(text, "--") == 0) {
            options = false;
            continue;
        }
        int r = 0;
        if (!is_option)
            argv[1 + n++] = text;
        else
            r = text[1] == '-' ? parse_long(&p, text) : parse_letters(&p, text);
        if (r < 0)
            return r;
        if (!is_option && stop_at_first)
            options = false;
    }
    argv[1 + n] = NULL;
    *ret_n = n;
    return 0;
}

static void help_row(const struct opt *o, struct strbuf *out)
{
    AUTO(strbuf) struct strbuf left = STRBUF_INIT;
    if (o->letter)
        strbuf_addf(&left, "  -%c, ", o->letter);
    else
        strbuf_addz(&left, "      ");
    strbuf_addf(&left, "--%s", o->name);
    if (o->arg)
        strbuf_addf(&left, " %s", o->arg);
    strbuf_add(out, strbuf_str(&left));
    if (left.error)
        out->error = left.error;
    if (left.n > 26)
        strbuf_addf(out, "\n%28s", "");
    else
        strbuf_addn(out, ' ', 28 - left.n);
    strbuf_addz(out, o->help);
    if (o->fallback)
        strbuf_addf(out, " [%s]", o->fallback);
    strbuf_addc(out, '\n');
}

void opt_help(const struct command *cmd, struct strbuf *out)
{
    strbuf_addf(out, "wattgate %s - %s\n\nUsage: wattgate %s [options]%s%s\n\n%s\n", cmd->name,
                cmd->summary, cmd->name, cmd->arguments[0] ? " " : "", cmd->arguments, cmd->about);
    if (cmd->options.n)
        strbuf_addz(out, "\nOptions:\n");
    for (size_t i = 0; i < cmd->options.n; i++)
        help_row(&cmd->options.rows[i], out);
    strbuf_addz(out, "\nCommon options:\n");
    for (size_t i = 0; i < opt_common.n; i++)
        help_row(&opt_common.rows[i], out);
    strbuf_addz(out, "\nExamples:\n");
    struct str rest = str_from(cmd->examples), line;
    while (str_split(&rest, '\n', &line)) {
        ptrdiff_t bar = (ptrdiff_t) line.n - 1; /* the last one: a command may hold a pipe */
        while (bar >= 0 && line.p[bar] != '|')
            bar--;
        if (bar < 0)
            continue;
        strbuf_addf(out, "  %.*s\n      %.*s\n", (int) bar, line.p,
                    (int) (line.n - (size_t) bar - 1), line.p + bar + 1);
    }
    strbuf_addf(out, "\nSee wattgate-%s(1).\n", cmd->name);
}

static void list_rows(struct opt_table table, struct strbuf *out)
{
    for (size_t i = 0; i < table.n; i++)
        strbuf_addf(out, "--%s%s\n", table.rows[i].name, table.rows[i].type == OPT_FLAG ? "" : "=");
}

void opt_list_names(const struct command *cmd, struct strbuf *out)
{
    list_rows(cmd->options, out);
    list_rows(opt_common, out);
}
