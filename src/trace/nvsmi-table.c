/* SPDX-License-Identifier: Apache-2.0 */
/* The table that nvidia-smi prints, once or many times in one file, perhaps inside a longer log. A
 * GPU has two lines of three cells; a process table may follow. */
#include "trace/feed.h"
#include "trace/formats.h"
#include "trace/quantity.h"

#include "base/parse.h"

#include <inttypes.h>
#include <string.h>

#define GPUS_MAX 256

struct table_gpu {
    uint32_t entity;
    int32_t index;
    uint32_t processes;
    struct obs_list obs;
};

struct table {
    struct feed feed; /* first */
    char driver[64];
    bool stamped, inside; /* a time was seen; within a table */
    struct stamp stamp;
    bool in_processes, none_running, any_process;
    struct table_gpu gpus[GPUS_MAX];
    size_t n;
    bool second; /* the next line of cells is the second one of the last GPU */
};

/* The cells of "| a | b | c |"; how many. */
static size_t split_cells(struct str line, struct str cells[4])
{
    size_t n = 0;
    struct str rest = str_trim(line), part;
    if (rest.n < 2 || rest.p[0] != '|' || rest.p[rest.n - 1] != '|')
        return 0;
    rest = str_sub(rest, 1, rest.n - 1);
    while (n < 4 && str_split(&rest, '|', &part))
        cells[n++] = str_trim(part);
    return rest.p ? 0 : n;
}

static void flush(struct table *t)
{
    if (!t->n)
        return;
    for (size_t i = 0; i < t->n; i++) {
        struct table_gpu *g = &t->gpus[i];
        struct obs count = { .value = g->processes };
        /* An empty table is no statement: inside a container it is empty though GPUs are used. */
        if (t->none_running || t->any_process)
            obs_list_add(&g->obs, METRIC_PROCESS_COUNT, &count, true);
        if (g->obs.n)
            feed_sample(&t->feed, g->entity, g->obs.obs, g->obs.n);
    }
    feed_tick(&t->feed);
    t->n = 0;
    t->second = false; /* a time in the middle of a GPU's lines: the second one is nobody's */
}

static void begin(struct table *t, struct str line, uint64_t number)
{
    flush(t);
    if (t->stamped)
        feed_at(&t->feed, t->stamp, number); /* before its GPUs are declared */
    ptrdiff_t at = str_find(line, "Driver Version:");
    struct str rest = str_sub(line, (size_t) MAX(at, 0) + 15, line.n), word;
    t->inside = true;
    t->in_processes = t->none_running = t->any_process = t->second = false;
    t->driver[0] = '\0';
    if (at >= 0 && str_word(&rest, &word))
        str_copy(t->driver, sizeof(t->driver), word);
}

/* "0  NVIDIA H100 80GB HBM3          On" and "00000000:61:00.0 Off" */
static bool take_first(struct table *t, const struct str cells[4])
{
    struct str rest = cells[0], word, name;
    uint32_t index;
    if (!str_word(&rest, &word) || parse_u32(word, &index) < 0 || t->n == GPUS_MAX)
        return false;
    name = str_trim(rest);
    /* the last word is the persistence mode */
    while (name.n && name.p[name.n - 1] != ' ')
        name.n--;
    name = str_trim(name);
    struct str bus_cell = cells[1], bus;
    if (!str_word(&bus_cell, &bus) || str_find_char(bus, ':') < 0)
        return false;
    struct table_gpu *g = &t->gpus[t->n++];
    *g = (struct table_gpu){ .index = (int32_t) index };
    bool cut = str_ends(name, "..."); /* a product name that did not fit is none */
    g->entity = feed_gpu(&t->feed, (struct str){ NULL, 0 }, g->index,
                         cut ? str_sub(name, 0, name.n - 3) : name, str_from(t->driver), bus);
    return true;
}

static void add(struct table *t, struct table_gpu *g, enum metric m, enum quantity q,
                struct str text, uint64_t line)
{
    struct obs o = { 0 };
    int r = quantity_parse(q, (struct str){ NULL, 0 }, text, &o);
    if (r == 0)
        obs_list_add(&g->obs, m, &o, true);
    else if (text.n)
        trace_dropped(&t->feed.trace, "line %" PRIu64 ": '%.*s' is not %s", line,
                      (int) MIN(text.n, 40), text.p, quantity_name(q));
}

/* "a / b"; "N/A / N/A" has more slashes, without a blank before them */
static void split_pair(struct str cell, struct str *a, struct str *b)
{
    ptrdiff_t slash = str_find(cell, " /");
    *a = str_trim(str_sub(cell, 0, slash < 0 ? cell.n : (size_t) slash));
    *b = slash < 0 ? (struct str){ NULL, 0 } : str_trim(str_sub(cell, (size_t) slash + 2, cell.n));
}

/* "N/A   32C    P0            117W /  700W", "7746MiB /  81559MiB", "0%      Default" */
static void take_second(struct table *t, const struct str cells[4], uint64_t line)
{
    struct table_gpu *g = &t->gpus[t->n - 1];
    struct str rest = cells[0], fan = { NULL, 0 }, temp = fan, perf = fan, draw, limit, used, total;
    (void) str_word(&rest, &fan);
    (void) str_word(&rest, &temp);
    (void) str_word(&rest, &perf);
    /* "ERR! ERR! ERR! ERR! / ERR!" has the same order of words */
    split_pair(str_trim(rest), &draw, &limit);
    add(t, g, METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C,
        str_ends(temp, "C") ? str_sub(temp, 0, temp.n - 1) : temp, line);
    add(t, g, METRIC_PSTATE, QUANTITY_PSTATE, perf, line);
    add(t, g, METRIC_POWER_DRAW_MW, QUANTITY_POWER_W, draw, line);
    add(t, g, METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, limit, line);
    split_pair(cells[1], &used, &total);
    add(t, g, METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB, used, line);
    add(t, g, METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB, total, line);
    struct str util_cell = cells[2], util;
    if (str_word(&util_cell, &util))
        add(t, g, METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT, util, line);
}

/* "0   N/A  N/A   12345      C   python   1234MiB" (older tables: without the two instance words)
 */
static void take_process(struct table *t, struct str cell)
{
    struct str rest = cell, word, last = { NULL, 0 };
    uint32_t index, pid = 0;
    if (!str_word(&rest, &word) || parse_u32(word, &index) < 0)
        return;
    for (int i = 0; i < 3 && !pid && str_word(&rest, &word); i++)
        if (parse_u32(word, &pid) < 0)
            pid = 0;
    struct str name = { NULL, 0 }, type;
    (void) str_word(&rest, &type);
    (void) str_word(&rest, &name);
    while (str_word(&rest, &word))
        last = word;
    t->any_process = true;
    for (size_t i = 0; i < t->n; i++) {
        struct obs memory = { 0 };
        if (t->gpus[i].index != (int32_t) index)
            continue;
        t->gpus[i].processes++;
        bool known =
            last.n && quantity_parse(QUANTITY_MEM_MIB, (struct str){ NULL, 0 }, last, &memory) == 0;
        feed_process(&t->feed, t->gpus[i].entity, pid ? (int64_t) pid : -1, name,
                     known ? &memory : NULL);
    }
}

static void take_cells(struct table *t, const struct line *line)
{
    struct str cells[4];
    size_t n = split_cells(line->text, cells);
    if (n == 1 && str_starts(cells[0], "Processes:"))
        t->in_processes = true;
    else if (n == 1 && str_find(cells[0], "No running processes found") >= 0)
        t->none_running = true;
    else if (n == 1 && t->in_processes)
        take_process(t, cells[0]);
    if (n != 3 || t->in_processes)
        return;
    if (t->second) {
        t->second = false;
        take_second(t, cells, line->number);
    } else {
        t->second = take_first(t, cells);
    }
}

static int table_step(struct feed *f, struct err *err)
{
    struct table *t = (struct table *) f;
    struct line line;
    struct stamp stamp;
    int r = input_line(f->in, &line, err);
    if (r == 0)
        flush(t);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    struct str text = str_trim(line.text);
    if (!line.cut && str_find(text, "NVIDIA-SMI") >= 0 && str_starts(text, "|")) {
        begin(t, text, line.number);
    } else if (t->inside && str_starts(text, "|")) {
        take_cells(t, &line);
    } else if (text.n > 16 && text.n < 40 && stamp_parse(text, &stamp) == 0) {
        flush(t);
        t->stamp = stamp; /* the line above the table of nvidia-smi */
        t->stamped = true;
    }
    return 1;
}

static int table_probe(struct str head)
{
    return str_find(head, "| NVIDIA-SMI") >= 0 && str_find(head, "Driver Version:") >= 0 ? 75 : 0;
}

static int table_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&nvsmi_table_format, sizeof(struct table), table_step, in, ret, err);
}

const struct trace_format nvsmi_table_format = {
    .name = "nvidia-smi-table",
    .help = "the table that nvidia-smi prints, once or many times, also inside a log",
    .probe = table_probe,
    .open = table_open,
    .next = feed_next,
    .close = feed_close,
};
