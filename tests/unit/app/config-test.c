/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct conf {
    struct opt_common common;
    int64_t interval_us;
    bool follow;
    struct opt_list logs;
};

static const struct opt rows[] = {
    OPT(struct conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "TIME", "spacing"),
    OPT(struct conf, follow, "follow", 'f', OPT_FLAG, NULL, NULL, "go on"),
    OPT(struct conf, logs, "log", 0, OPT_LIST, NULL, "GLOB", "logs"),
};
static const struct command cmd = { .name = "triage", .options = { rows, ARRAY_SIZE(rows) } };

static int apply(const char *text, struct conf *c, struct err *e)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/wattgate-config-%d.yaml", (int) getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        return -1;
    fputs(text, f);
    fclose(f);
    memset(c, 0, sizeof(*c));
    opt_defaults(cmd.options, c);
    int r = config_apply(path, &cmd, c, e);
    unlink(path);
    return r;
}

static void values(void)
{
    struct conf c;
    struct err e;
    CHECK_EQ(apply("interval: 2s\njson: true\nlog: [a, b]\n"
                   "triage:\n  follow: true\nrecord:\n  keep: 3\n",
                   &c, &e),
             0);
    CHECK_EQ(c.interval_us, 2000000);
    CHECK(c.common.json);
    CHECK(c.follow);
    CHECK_EQ(c.logs.n, 2);
    CHECK_TEXT(c.logs.item[1], "b");
    CHECK_EQ(apply("", &c, &e), 0);
    config_done();
}

static void errors(void)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        { "interval: 2s\nnope: 1\n", ":2: no option is called 'nope'" },
        { "interval: 5\n", ":1: --interval: '5' is not a time" },
        { "interval: 2s\nfollow: true\ninterval: 3s\n", ":3: 'interval' stands in line 1" },
        { "triage:\n  follow: true\ntriage:\n  follow: false\n", ":3: 'triage' stands in" },
        { "- a\n", ":1: expected" },
        { "a: [\n", ":2: " },
        { "config: x\n", "cannot name another" },
        { "log: {a: b}\n", "" },
        { "log: [[a]]\n", "plain text" },
        { "? [x]\n: y\n", "plain text" },
    };
    struct conf c;
    struct err e;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int r = apply(bad[i].text, &c, &e);
        if (*bad[i].want) {
            CHECK(r < 0);
            CHECK_HAS(e.text, bad[i].want);
        }
    }
    CHECK(config_apply("/", &cmd, &c, &e) < 0);
    CHECK_HAS(e.text, "'/': Is a directory");
    CHECK(config_apply("/nonexistent.yaml", &cmd, &c, &e) < 0);
    config_done();
}

static const struct tap_case cases[] = {
    { "values are set", values },
    { "errors name file and line", errors },
};
TAP_MAIN(cases)
