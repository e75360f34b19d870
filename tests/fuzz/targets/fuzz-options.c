/* SPDX-License-Identifier: Apache-2.0 */
/* A command line, one argument a line. A refusal must say why; what is accepted must leave every
 * value within its row's bounds. */
#include "base/opt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGUMENTS_MAX = 200 };

struct conf {
    struct opt_common common;
    int64_t interval_us, size_bytes, power_mw;
    uint32_t count, word;
    struct opt_list names;
    bool follow;
};

static const struct opt rows[] = {
    OPT(struct conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "TIME", "a duration"),
    OPT(struct conf, size_bytes, "size", 's', OPT_SIZE, "1GiB", "SIZE", "a size"),
    OPT(struct conf, power_mw, "power", 'p', OPT_POWER, NULL, "POWER", "a power"),
    OPT(struct conf, count, "count", 'c', OPT_U32, NULL, "N", "a number"),
    OPT(struct conf, word, "word", 'w', OPT_CHOICE, "b", "a|b|c", "a choice"),
    OPT(struct conf, names, "name", 'n', OPT_LIST, NULL, "NAME", "a list"),
    OPT(struct conf, follow, "follow", 'f', OPT_FLAG, NULL, NULL, "a flag"),
};

static const struct command command = {
    .name = "thing",
    .summary = "",
    .arguments = "",
    .about = "",
    .examples = "",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct conf),
};

/* Cuts the text at its line ends; returns the number of arguments, argv[0] included. */
static size_t cut(char *text, char **argv)
{
    size_t n = 0;
    argv[n++] = text;
    for (char *at = strchr(text, '\n'); at && n < ARGUMENTS_MAX; at = strchr(at, '\n')) {
        *at++ = '\0';
        argv[n++] = at;
    }
    argv[n] = NULL;
    return n;
}

static void parse(char **argv, size_t given, bool stop_at_first)
{
    struct conf conf = { 0 };
    struct err err = { 0 };
    size_t n = 0;
    opt_defaults(command.options, &conf);
    opt_defaults(opt_common, &conf);
    int r = opt_parse(&command, &conf, argv, stop_at_first, &n, &err);
    bool right = r < 0 ? err.text[0] && err.code == r
                       : n < given && conf.word < 3 && conf.common.color <= COLOR_NEVER &&
                             conf.names.n <= OPT_LIST_MAX;
    if (!right)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *argv[ARGUMENTS_MAX + 1];
    size_t n = cut(text, argv);
    parse(argv, n, size % 2);
    free(text);
    return 0;
}
