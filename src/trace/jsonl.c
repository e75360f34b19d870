/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders that write a JSON object a line: flat ("power_w": 53.6), with a list of samples inside,
 * or with the number of the GPU behind the key ("gpu_usage:3": 56). */
#include "trace/field.h"
#include "trace/formats.h"
#include "trace/json-scalar.h"

#include "base/parse.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define NUMBERED_MAX 72 /* GPUs that one object can tell of */

struct jsonl {
    struct feed feed; /* first */
    struct gpu_row rows[NUMBERED_MAX];
};

static void bad_value(struct jsonl *j, uint64_t line, const char *key, struct str text)
{
    trace_dropped(&j->feed.trace, "line %" PRIu64 ": \"%.40s\": '%.*s' makes no sense", line, key,
                  (int) MIN(text.n, 40), text.p ? text.p : "");
}

/* "gpu_usage:3" gives row 3; other keys the row 0. */
static struct gpu_row *row_of(struct jsonl *j, struct str *key, bool *used)
{
    uint32_t number = 0;
    ptrdiff_t colon = str_find_char(*key, ':');
    if (colon > 0 && parse_u32(str_sub(*key, (size_t) colon + 1, key->n), &number) == 0) {
        *key = str_sub(*key, 0, (size_t) colon);
        if (number >= NUMBERED_MAX)
            return NULL;
        j->rows[number].index = (int32_t) number;
    }
    used[number] = true;
    return &j->rows[number];
}

/* The rows' strings point into `o`, which outlives them here. */
static void take_object(struct jsonl *j, json_t *o, uint64_t line)
{
    const char *name;
    json_t *value;
    bool used[NUMBERED_MAX] = { false };
    char texts[64][JSON_SCALAR_MAX];
    size_t n_texts = 0;
    struct str unit;
    for (size_t i = 0; i < NUMBERED_MAX; i++)
        gpu_row_init(&j->rows[i]);
    json_object_foreach(o, name, value)
    {
        struct str key = str_from(name), text;
        char spare[JSON_SCALAR_MAX];
        char *buf = n_texts < ARRAY_SIZE(texts) ? texts[n_texts] : spare;
        struct gpu_row *row = row_of(j, &key, used);
        const struct field *f = row ? field_find(key, &unit) : NULL;
        if (!f || !json_scalar_text(value, buf, &text))
            continue;
        n_texts += buf != spare && text.p == buf;
        if (gpu_row_set(row, f, unit, text) < 0)
            bad_value(j, line, name, text);
    }
    for (size_t i = 0; i < NUMBERED_MAX; i++) {
        if (!used[i])
            continue;
        if (i && !j->rows[i].has_time) { /* the time stands once, for all */
            j->rows[i].has_time = j->rows[0].has_time;
            j->rows[i].stamp = j->rows[0].stamp;
        }
        gpu_row_feed(&j->rows[i], &j->feed, line);
    }
}

static int jsonl_step(struct feed *f, struct err *err)
{
    struct jsonl *j = (struct jsonl *) f;
    struct line line;
    json_error_t problem;
    int r = input_line(f->in, &line, err);
    if (r <= 0)
        return r;
    f->trace.report.lines++;
    if (!str_trim(line.text).n)
        return 1;
    json_t *o = line.cut ? NULL : json_loadb(line.text.p, line.text.n, 0, &problem);
    if (!json_is_object(o)) {
        f->trace.report.torn |= line.torn;
        trace_dropped(&f->trace, "line %" PRIu64 ": %.120s", line.number,
                      line.cut ? "longer than a line may be"
                      : o      ? "no object"
                               : problem.text);
        json_decref(o);
        return 1;
    }
    json_t *samples = json_object_get(o, "samples"), *sample;
    size_t i;
    if (json_is_array(samples)) {
        json_array_foreach(samples, i, sample) if (json_is_object(sample))
            take_object(j, sample, line.number);
    } else {
        take_object(j, o, line.number);
    }
    json_decref(o);
    return 1;
}

static int jsonl_probe(struct str head)
{
    struct str rest = head, line;
    if (!head.n || head.p[0] != '{' || !str_split(&rest, '\n', &line))
        return 0;
    bool power = str_find(line, "\"power_w\"") >= 0 || str_find(line, "\"power_draw") >= 0 ||
                 str_find(line, "\"gpu_power_limit:") >= 0 || str_find(line, "\"power.draw") >= 0;
    return power ? 70 : 0;
}

static int jsonl_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&jsonl_format, sizeof(struct jsonl), jsonl_step, in, ret, err);
}

const struct trace_format jsonl_format = {
    .name = "jsonl",
    .help = "a JSON object a line with power_w, gpu_util_pct and the like",
    .probe = jsonl_probe,
    .open = jsonl_open,
    .next = feed_next,
    .close = feed_close,
};
