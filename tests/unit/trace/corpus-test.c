/* SPDX-License-Identifier: Apache-2.0 */
/* Real public recordings against what is known of them (TRUTH.tsv beside them): every number that
 * is expected is read from that file. */
#include "tap.h"
#include "trace/trace.h"

#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

struct seen {
    char name[128];
    uint64_t samples;
    struct obs first[METRIC_COUNT]; /* of each metric, its first observation */
    bool has[METRIC_COUNT];
    int64_t node_sum, node_min, node_max;
    int64_t power[4]; /* the first readings, in whatever kind */
    uint32_t powers;
};

struct summary {
    struct seen device[DEVICES_MAX];
    uint32_t of_entity[ENTITY_MAX]; /* number + 1 */
    uint32_t n;
    uint64_t samples;
};

static void take_entity(struct summary *s, const struct entity *e)
{
    if ((e->kind != ENTITY_GPU && e->kind != ENTITY_NODE) || s->n == DEVICES_MAX)
        return;
    s->of_entity[e->id] = ++s->n;
    str_copy(s->device[s->n - 1].name, sizeof(s->device[0].name), e->name);
}

static void take_sample(struct summary *s, const struct sample *sample)
{
    static const enum metric kinds[] = { METRIC_POWER_INSTANT_MW, METRIC_POWER_AVERAGE_MW,
                                         METRIC_POWER_DRAW_MW };
    uint32_t number = s->of_entity[sample->entity];
    int64_t mw;
    if (!number)
        return;
    struct seen *d = &s->device[number - 1];
    d->samples++;
    s->samples++;
    for (uint32_t i = 0; i < sample->n; i++)
        if (!d->has[sample->obs[i].metric]) {
            d->has[sample->obs[i].metric] = true;
            d->first[sample->obs[i].metric] = sample->obs[i];
        }
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (d->powers < ARRAY_SIZE(d->power) && sample_get(sample, kinds[i], &mw)) {
            d->power[d->powers++] = mw;
            break;
        }
    if (sample_get(sample, METRIC_NODE_POWER_MW, &mw)) {
        d->node_sum += mw;
        d->node_min = d->samples == 1 ? mw : MIN(d->node_min, mw);
        d->node_max = MAX(d->node_max, mw);
    }
}

/* Reads the whole file; NULL when it cannot be read. */
static struct summary *summarise(const char *path)
{
    AUTO(trace) struct trace *t = NULL;
    struct err e = { 0 };
    const struct record *r;
    int result;
    if (trace_open(path, NULL, &t, &e) < 0) {
        tap_note("%s", e.text);
        return NULL;
    }
    struct summary *s = calloc(1, sizeof(*s));
    while (s && (result = trace_next(t, &r, &e)) > 0) {
        if (r->kind == RECORD_ENTITY)
            take_entity(s, &r->u.entity);
        if (r->kind == RECORD_SAMPLE)
            take_sample(s, &r->u.sample);
    }
    return s;
}

/* ---- kinds of truth ---- */

static bool same(int64_t got, struct str want, int64_t scale)
{
    int64_t value;
    return parse_scaled(want, scale, &value) == 0 && value == got;
}

/* A list of values, one a device; a word that is no number means absent. */
static bool list_of(const struct summary *s, struct str want, const enum metric *metrics,
                    int64_t scale)
{
    struct str word;
    uint32_t i = 0;
    for (; i < s->n && str_word(&want, &word); i++) {
        const struct obs *o = NULL;
        for (size_t k = 0; metrics[k] && (!o || o->status != OBS_VALUE); k++)
            if (s->device[i].has[metrics[k]])
                o = &s->device[i].first[metrics[k]];
        int64_t number;
        if (parse_scaled(word, 1000, &number) < 0) {
            if (o && o->status == OBS_VALUE)
                return false;
            return true; /* "N/A (Secondary die)" and "absent" speak of all */
        }
        if (!o || o->status != OBS_VALUE || !same(o->value, word, scale))
            return false;
    }
    return i == s->n;
}

static bool check_draw(const struct summary *s, struct str want)
{
    static const enum metric m[] = { METRIC_POWER_DRAW_MW, METRIC_POWER_INSTANT_MW,
                                     METRIC_POWER_AVERAGE_MW, METRIC_UNKNOWN };
    return list_of(s, want, m, 1000);
}

static bool check_average(const struct summary *s, struct str want)
{
    static const enum metric m[] = { METRIC_POWER_AVERAGE_MW, METRIC_UNKNOWN };
    return list_of(s, want, m, 1000);
}

static bool check_limit(const struct summary *s, struct str want)
{
    static const enum metric m[] = { METRIC_POWER_LIMIT_MW, METRIC_UNKNOWN };
    return list_of(s, want, m, 1000);
}

static bool check_util(const struct summary *s, struct str want)
{
    static const enum metric m[] = { METRIC_UTIL_GPU_PERMILLE, METRIC_UNKNOWN };
    if (str_starts(want, "no such metric"))
        return !s->device[0].has[METRIC_UTIL_GPU_PERMILLE];
    if (s->n == 1 && s->device[0].samples > 1) /* a value for each of several scrapes */
        want = str_sub(want, 0, (size_t) MAX(str_find_char(want, ' '), 1));
    return list_of(s, want, m, 10);
}

/* DCGM: the rows of the file in order; instances of one board, or scrapes, follow one another. */
static bool check_rows(const struct summary *s, struct str want)
{
    struct str word;
    uint32_t i = 0;
    for (; str_word(&want, &word); i++) {
        const struct seen *d = &s->device[s->n > 1 ? i : 0];
        uint32_t at = s->n > 1 ? 0 : MIN(i, d->powers ? d->powers - 1 : 0);
        if ((s->n > 1 && i >= s->n) || !d->powers)
            return false;
        if (i && s->n == 1 && d->powers == 1)
            return true; /* a divided board: its first row is kept */
        int64_t value;
        if (parse_scaled(word, 1000, &value) < 0 || d->power[at] - value > 50 ||
            value - d->power[at] > 50) /* stated to a tenth of a watt */
            return false;
    }
    return i > 0;
}

static bool check_xid(const struct summary *s, struct str want)
{
    struct str word;
    return str_word(&want, &word) && s->device[0].has[METRIC_XID] &&
           same(s->device[0].first[METRIC_XID].value, word, 1);
}

/* "8 x NVIDIA B200", "2 physical", "6" */
static bool check_gpus(const struct summary *s, struct str want)
{
    struct str word;
    uint32_t n;
    if (!str_word(&want, &word) || parse_u32(word, &n) < 0 || n != s->n)
        return false;
    want = str_trim(want);
    if (!str_starts(want, "x "))
        return true;
    return str_is(str_sub(want, 2, want.n), s->device[0].name);
}

static bool check_samples(const struct summary *s, struct str want)
{
    struct str word;
    uint64_t n;
    return str_word(&want, &word) && parse_u64(word, &n) == 0 && n == s->samples;
}

static bool check_mean(const struct summary *s, struct str want)
{
    const struct seen *d = &s->device[0];
    int64_t value;
    if (!d->samples || parse_scaled(str_trim(want), 1000, &value) < 0)
        return false;
    int64_t mean = d->node_sum / (int64_t) d->samples;
    return mean - value <= 50 && value - mean <= 50; /* stated to a tenth of a watt */
}

static bool check_min_max(const struct summary *s, struct str want)
{
    ptrdiff_t dots = str_find(want, "..");
    return dots > 0 && same(s->device[0].node_min, str_sub(want, 0, (size_t) dots), 1000) &&
           same(s->device[0].node_max, str_sub(want, (size_t) dots + 2, want.n), 1000);
}

static const struct check {
    const char *kind;
    bool (*run)(const struct summary *s, struct str want);
} checks[] = {
    { "power_draw_w", check_draw },
    { "average_power_w", check_average },
    { "power_limit_w", check_limit },
    { "max_power_w", check_limit },
    { "gpu_util_pct", check_util },
    { "gpu_use_pct", check_util },
    { "power_w", check_rows },
    { "last_xid", check_xid },
    { "gpus", check_gpus },
    { "samples", check_samples },
    { "readings", check_samples },
    { "node_ac_power_mean_w", check_mean },
    { "switch_ac_power_mean_w", check_mean },
    { "node_ac_power_min_max_w", check_min_max },
    { "switch_ac_power_min_max_w", check_min_max },
};

/* Files that are telemetry of a format that is read. */
static bool is_telemetry(struct str path)
{
    static const char *const folders[] = { "power/nvidia-smi-xml/", "power/rocm-smi-json/",
                                           "power/dcgm-exporter/", "power/gpu-parking-tax/",
                                           "power/powertraces/raw/" };
    if (str_find_char(path, '*') >= 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (str_starts(path, folders[i]))
            return !str_ends(path, "h100_cold_start_traces.jsonl");
    bool node = str_find(path, "/node_") >= 0 || str_find(path, "/sw_") >= 0 ||
                str_find(path, ".node_") >= 0;
    return str_ends(path, ".nvsmi.csv") || (str_starts(path, "power/mlperf/") && node);
}

struct tally {
    unsigned rows, checked, wrong, files;
    char path[512];
    struct summary *summary;
};

static void check_row(struct tally *t, const char *corpus, struct str path, struct str kind,
                      struct str value)
{
    const struct check *check = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
        if (str_is(kind, checks[i].kind))
            check = &checks[i];
    t->rows++;
    if (!check)
        return;
    char full[1024];
    if (!str_is(path, t->path)) {
        free(t->summary);
        str_copy(t->path, sizeof(t->path), path);
        snprintf(full, sizeof(full), "%s/%s", corpus, t->path);
        t->summary = summarise(full);
        t->files++;
        CHECK(t->summary != NULL);
    }
    t->checked++;
    if (t->summary && check->run(t->summary, value))
        return;
    t->wrong++;
    tap_note("%.*s: %.*s is not '%.*s'", STR_ARG(path), STR_ARG(kind), STR_ARG(value));
}

static void truth(void)
{
    const char *corpus = tap_corpus();
    if (!corpus)
        tap_skip("the folder of public recordings is not present");
    char path[1024], line[8192];
    snprintf(path, sizeof(path), "%s/TRUTH.tsv", corpus);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    struct tally t = { 0 };
    while (f && fgets(line, sizeof(line), f)) {
        struct str rest = str_trim(str_from(line)), file, kind, value;
        if (str_split(&rest, '\t', &file) && str_split(&rest, '\t', &kind) &&
            str_split(&rest, '\t', &value) && is_telemetry(file))
            check_row(&t, corpus, file, kind, value);
    }
    if (f)
        fclose(f);
    free(t.summary);
    tap_note("%u facts of %u files checked; %u rows of other kinds (states, faults, basis)",
             t.checked, t.files, t.rows - t.checked);
    CHECK_EQ(t.wrong, 0);
    CHECK(t.checked > 150);
}

static const struct tap_case cases[] = {
    { "public recordings have the values that are known of them", truth },
};
TAP_MAIN(cases)
