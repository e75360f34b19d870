/* SPDX-License-Identifier: Apache-2.0 */
/* Registered entry points. A new one is a function, a row of CASES, and that is all. */
#include "base/jsonw.h"
#include "base/opt.h"
#include "core/telemetry/queue.h"
#include "fault.h"
#include "sys/rootdir.h"
#include "tap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int run_strbuf(struct err *err)
{
    (void) err;
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    for (int i = 0; i < 300; i++)
        strbuf_addf(&b, "%d,", i);
    strbuf_addn(&b, '-', 5000);
    strbuf_add_scaled(&b, 182340, 1000, 2);
    char *text;
    int r = strbuf_finish(&b, &text);
    if (r < 0)
        return r;
    bool whole = strncmp(text, "0,1,2,", 6) == 0 && strstr(text, "-182.34");
    free(text);
    return whole ? 0 : FAULT_WRONG;
}

static int run_json(struct err *err)
{
    (void) err;
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    struct jsonw j;
    jsonw_begin(&j, &b);
    jsonw_array(&j, "devices");
    for (int i = 0; i < 100; i++)
        jsonw_text(&j, NULL, "index:0");
    jsonw_array_end(&j);
    jsonw_end(&j);
    return b.error;
}

struct conf {
    struct opt_common common;
    int64_t interval_us;
};

static const struct opt rows[] = {
    OPT(struct conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "TIME", "between samples"),
};

static const struct command command = {
    .name = "thing",
    .summary = "does a thing",
    .arguments = "[FILE]",
    .about = "About it.",
    .examples = "wattgate thing|do it\n",
    .options = { rows, ARRAY_SIZE(rows) },
    .conf_size = sizeof(struct conf),
};

static int run_opt_help(struct err *err)
{
    (void) err;
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    opt_help(&command, &b);
    opt_list_names(&command, &b);
    return b.error;
}

/* A record with strings and observations goes in and comes out. */
static int run_queue(struct err *err)
{
    (void) err;
    AUTO(record_queue) struct record_queue *q = record_queue_new();
    if (!q)
        return -ENOMEM;
    const struct obs obs[] = { { METRIC_POWER_INSTANT_MW, OBS_VALUE, 312000, 0 } };
    const struct record in[] = {
        { .kind = RECORD_ENTITY,
          .u.entity = { .kind = ENTITY_GPU, .key = str_from("GPU-1"), .name = str_from("B300") } },
        { .kind = RECORD_SAMPLE, .mono_us = 1, .u.sample = { 0, ARRAY_SIZE(obs), obs } },
    };
    for (size_t i = 0; i < 40; i++) {
        int r = record_queue_add(q, &in[i % 2]);
        if (r < 0)
            return r;
    }
    const struct record *out;
    size_t n = 0;
    while (record_queue_next(q, &out) > 0)
        n++;
    return n == 40 ? 0 : FAULT_WRONG;
}

static int run_rootdir(struct err *err)
{
    int root_fd;
    int r = rootdir_open("/", &root_fd, err);
    if (r < 0)
        return r;
    int64_t value;
    r = rootdir_read_i64(root_fd, &value, err, "proc/sys/kernel/%s", "pid_max");
    close(root_fd);
    return r;
}

static const struct fault_entry strbuf_entry = { "strbuf", FAULT_MEMORY | FAULT_NO_TEXT,
                                                 run_strbuf };
static const struct fault_entry json_entry = { "json", FAULT_MEMORY | FAULT_NO_TEXT, run_json };
static const struct fault_entry help_entry = { "opt_help", FAULT_MEMORY | FAULT_NO_TEXT,
                                               run_opt_help };
static const struct fault_entry queue_entry = { "record_queue", FAULT_MEMORY | FAULT_NO_TEXT,
                                                run_queue };
static const struct fault_entry rootdir_entry = { "rootdir", FAULT_READ | FAULT_OPEN, run_rootdir };

#define CASES(row) row(strbuf) row(json) row(help) row(queue) row(rootdir)

#define CASE_FUNCTION(name)                                                                        \
    static void name##_case(void)                                                                  \
    {                                                                                              \
        fault_sweep(&name##_entry);                                                                \
    }
CASES(CASE_FUNCTION)

#define CASE_ROW(name) { #name, name##_case },
static const struct tap_case cases[] = { CASES(CASE_ROW) };

TAP_MAIN(cases)
