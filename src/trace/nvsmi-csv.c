/* SPDX-License-Identifier: Apache-2.0 */
/* CSV of nvidia-smi --query-gpu, and of recorders that write one line for each GPU and time. The
 * header says which column is what; it may come again, with other columns, where files were joined.
 */
#include "trace/field.h"
#include "trace/formats.h"

#include <inttypes.h>

#define COLUMNS_MAX 256
#define HEADER_LINES_MAX 20 /* lines of other text that may stand before the header */

struct column {
    const struct field *field; /* NULL: not known, not read */
    char unit[16];
};

struct csv {
    struct feed feed; /* first */
    struct column columns[COLUMNS_MAX];
    size_t n; /* 0 before the header */
    char separator;
    bool has_time, has_gpu;
    bool noted;
};

/* Takes a cell off the front, without the quotes around it. */
static bool take_cell(struct str *rest, char separator, struct str *ret)
{
    if (!rest->p)
        return false;
    struct str head = *rest;
    while (head.n && (head.p[0] == ' ' || (head.p[0] == '\t' && separator != '\t')))
        head = str_sub(head, 1, head.n);
    if (!head.n || head.p[0] != '"')
        return str_split(rest, separator, ret);
    size_t end = 1;
    while (end < head.n && head.p[end] != '"')
        end++;
    struct str quoted = str_sub(head, 1, end), ignored;
    *rest = str_sub(head, MIN(end + 1, head.n), head.n);
    if (!str_split(rest, separator, &ignored))
        rest->p = NULL;
    *ret = quoted;
    return true;
}

static char separator_of(struct str line)
{
    size_t n = 0;
    char best = ',';
    for (const char *c = ",;\t|"; *c; c++) {
        size_t met = 0;
        for (size_t i = 0; i < line.n; i++)
            met += line.p[i] == *c;
        if (met > n) {
            n = met;
            best = *c;
        }
    }
    return best;
}

struct header_facts {
    size_t columns, known, powers;
    bool time, gpu;
};

/* What the line would be as a header. */
static struct header_facts header_facts(struct str line)
{
    struct header_facts facts = { 0 };
    char separator = separator_of(line);
    struct str rest = line, cell, unit;
    while (take_cell(&rest, separator, &cell)) {
        const struct field *f = field_find(cell, &unit);
        facts.columns++;
        facts.known += f != NULL;
        facts.powers += field_is_power(f);
        facts.time |= f && (f->role == FIELD_TIME || f->role == FIELD_TIME_RELATIVE);
        facts.gpu |= f && (f->role == FIELD_UUID || f->role == FIELD_INDEX || f->role == FIELD_BUS);
    }
    return facts;
}

static bool is_header(struct str line)
{
    if (line.n > 16384 || !str_contains_nocase(line, "power")) /* cheap: every line comes here */
        return false;
    struct header_facts facts = header_facts(line);
    return facts.powers > 0 && facts.columns <= COLUMNS_MAX;
}

/* Two columns that mean the same: which of two readings is right cannot be told. */
static bool is_repeated(const struct csv *c, const struct field *f)
{
    for (size_t i = 0; i + 1 < c->n; i++)
        if (c->columns[i].field == f)
            return true;
    return false;
}

static void take_header(struct csv *c, struct str line, uint64_t number)
{
    struct header_facts facts = header_facts(line);
    struct str rest = line, cell, unit;
    c->separator = separator_of(line);
    c->n = 0;
    while (c->n < COLUMNS_MAX && take_cell(&rest, c->separator, &cell)) {
        struct column *col = &c->columns[c->n++];
        *col = (struct column){ .field = field_find(cell, &unit) };
        if (col->field)
            str_copy(col->unit, sizeof(col->unit), unit);
        if (!col->field || !is_repeated(c, col->field))
            continue;
        trace_dropped(&c->feed.trace,
                      "line %" PRIu64 ", column %zu: %s is there already; only the first is read",
                      number, c->n, col->field->name);
        col->field = NULL;
    }
    c->has_time = facts.time;
    c->has_gpu = facts.gpu;
}

static void note_header(struct csv *c)
{
    if (c->noted)
        return;
    c->noted = true;
    if (!c->has_gpu)
        feed_note(&c->feed, ENTITY_NONE, "reader",
                  "no column says which GPU a line is about (index, uuid): all are taken as GPU 0");
    if (!c->has_time)
        feed_note(&c->feed, ENTITY_NONE, "time", "no column states the time: lines are counted");
}

static size_t count_cells(struct str line, char separator)
{
    struct str cell;
    size_t n = 0;
    while (take_cell(&line, separator, &cell))
        n++;
    return n;
}

static void bad_cell(struct csv *c, const struct line *line, size_t i, struct str cell)
{
    const struct field *f = c->columns[i].field;
    const char *what = f->role == FIELD_METRIC ? quantity_name(f->quantity)
                       : f->role == FIELD_TIME ? "a time"
                                               : "a GPU";
    trace_dropped(&c->feed.trace, "line %" PRIu64 ", column %zu (%s): '%.*s' is not %s",
                  line->number, i + 1, f->name, (int) MIN(cell.n, 40), cell.p ? cell.p : "", what);
}

static void take_row(struct csv *c, const struct line *line)
{
    size_t n = count_cells(line->text, c->separator);
    if (line->cut || n != c->n) {
        /* Which cell is which cannot be told: a value of another column must not become a power. */
        c->feed.trace.report.torn |= line->torn;
        trace_dropped(&c->feed.trace, "line %" PRIu64 ": %zu cells where the header has %zu%s",
                      line->number, n, c->n,
                      n > c->n && c->separator == ',' ? " (decimal commas?)" : "");
        return;
    }
    struct gpu_row row;
    struct str rest = line->text, cell;
    bool time_failed = false;
    gpu_row_init(&row);
    for (size_t i = 0; i < c->n && take_cell(&rest, c->separator, &cell); i++) {
        const struct field *f = c->columns[i].field;
        if (!f)
            continue;
        if (line->torn && i + 1 == c->n && f->role == FIELD_METRIC && c->n > 1) {
            c->feed.trace.report.torn = true; /* its last number may have lost digits */
            continue;
        }
        if (gpu_row_set(&row, f, str_from(c->columns[i].unit), cell) == 0)
            continue;
        bad_cell(c, line, i, cell);
        time_failed |= f->role == FIELD_TIME;
    }
    if (time_failed && !row.has_relative)
        return; /* values without a time would get the time of others */
    if (c->has_time && !row.has_time && !row.has_relative) {
        trace_dropped(&c->feed.trace, "line %" PRIu64 ": no time", line->number);
        return;
    }
    if (row.obs.n && !c->noted) {
        if (row.has_time)
            feed_at(&c->feed, row.stamp, line->number);
        note_header(c);
    }
    gpu_row_feed(&row, &c->feed, line->number);
}

static int csv_step(struct feed *f, struct err *err)
{
    struct csv *c = (struct csv *) f;
    struct line line;
    int r = input_line(f->in, &line, err);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    if (!str_trim(line.text).n)
        return 1;
    if (is_header(line.text))
        take_header(c, line.text, line.number);
    else if (c->n)
        take_row(c, &line);
    else
        trace_dropped(&f->trace, "line %" PRIu64 ": text before the header", line.number);
    return 1;
}

static int csv_probe(struct str head)
{
    struct str rest = head, line;
    for (int i = 0; i < HEADER_LINES_MAX && rest.p && str_split(&rest, '\n', &line); i++) {
        line = str_trim(line);
        if (line.n && (line.p[0] == '{' || line.p[0] == '<' || line.p[0] == '['))
            return 0;
        if (!is_header(line))
            continue;
        struct header_facts facts = header_facts(line);
        if (facts.columns == 1)
            return rest.n ? 40 : 0; /* "power.draw [W]" alone, as --query-gpu=power.draw gives */
        return i == 0 ? 90 : 60;
    }
    return 0;
}

static int csv_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&nvsmi_csv_format, sizeof(struct csv), csv_step, in, ret, err);
}

const struct trace_format nvsmi_csv_format = {
    .name = "csv",
    .help = "nvidia-smi --query-gpu=... --format=csv, and CSV with a power column for each GPU",
    .probe = csv_probe,
    .open = csv_open,
    .next = feed_next,
    .close = feed_close,
};
