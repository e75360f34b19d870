/* SPDX-License-Identifier: Apache-2.0 */
/* The triage on public recordings and reports whose state is known. No named state may be wrong,
 * and the truth must be among the candidates of what is unresolved. WATTGATE_WRITE_SCORE=FILE
 * writes the table of docs/dev/triage-score.md. */
#include "tables/tables.h"
#include "tap.h"
#include "trace/trace.h"

#include "base/parse.h"
#include "base/units.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TRUTH.tsv's words, and which of our states are right for them. First match of the beginning. */
static const struct meaning {
    const char *words;
    const char *label;
    uint32_t right;
} meanings[] = {
    { "IDLE", "idle", CANDIDATE(STATE_IDLE) },
    { "PROCESS ALIVE BUT IDLE", "held", CANDIDATE(STATE_HELD) },
    { "ALLOCATED", "held", CANDIDATE(STATE_HELD) },
    /* the GPU of the rank that does not come is held, and its peers spin */
    { "HANG", "hang", CANDIDATE(STATE_DEADLOCK) | CANDIDATE(STATE_HELD) },
    { "COMPUTE", "compute", CANDIDATE(STATE_COMPUTE) },
    { "TRAINING", "training", CANDIDATE(STATE_COMPUTE) | CANDIDATE(STATE_UNDERFED) },
    { "SLOW", "slow",
      CANDIDATE(STATE_UNDERFED) | CANDIDATE(STATE_STARVED) | CANDIDATE(STATE_COMMUNICATION) },
    { "CONTEXT OR LOADING", "held or loading", CANDIDATE(STATE_HELD) | CANDIDATE(STATE_STARVED) },
    /* layers spread over GPUs that wait for one another: a spin of unknown reason */
    { "UNKNOWN(spin", "spin", CANDIDATE(STATE_DEADLOCK) | CANDIDATE_WAIT },
};

enum outcome { NAMED_RIGHT, AMONG_CANDIDATES, SAID_UNKNOWN, NAMED_WRONG, TRUTH_MISSING, OUTCOMES };

struct score_row {
    char series[12], label[24], board[40];
    unsigned count[OUTCOMES];
};

static struct score_row score[128];
static size_t n_score;
static unsigned full_cases, full_named; /* utilisation, memory utilisation and process list given */

static const struct meaning *meaning_of(struct str words)
{
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if (str_starts(words, meanings[i].words))
            return &meanings[i];
    return NULL;
}

static struct score_row *row_of(const char *series, const char *label, const char *board)
{
    for (size_t i = 0; i < n_score; i++)
        if (!strcmp(score[i].series, series) && !strcmp(score[i].label, label) &&
            !strcmp(score[i].board, board))
            return &score[i];
    struct score_row *r = &score[n_score < ARRAY_SIZE(score) ? n_score++ : n_score - 1];
    str_copy(r->series, sizeof(r->series), str_from(series));
    str_copy(r->label, sizeof(r->label), str_from(label));
    str_copy(r->board, sizeof(r->board), str_from(board));
    return r;
}

static void judge(const char *what, const char *series, const char *board,
                  const struct meaning *truth, enum state state, uint32_t candidates)
{
    enum outcome o = NAMED_WRONG;
    if (state == STATE_UNKNOWN)
        o = SAID_UNKNOWN;
    else if (state == STATE_UNRESOLVED)
        o = candidates & truth->right ? AMONG_CANDIDATES : TRUTH_MISSING;
    else if (CANDIDATE(state) & truth->right)
        o = NAMED_RIGHT;
    row_of(series, truth->label, board[0] ? board : "unknown product")->count[o]++;
    if (o == NAMED_WRONG || o == TRUTH_MISSING)
        tap_note("%s: %s is called %s (candidates %x)", what, truth->label, state_name(state),
                 candidates);
    CHECK(o != NAMED_WRONG && o != TRUTH_MISSING);
}

/* ---- running the triage, and what was said when ---- */

struct said {
    struct triage *t;
    struct episode *episodes;
    size_t n, cap;
};

static void on_episode(void *arg, const struct episode *e)
{
    struct said *s = arg;
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->episodes = realloc(s->episodes, s->cap * sizeof(*s->episodes));
    }
    s->episodes[s->n++] = *e;
}

static struct tables tables;

static bool run(const char *path, const char *product, struct said *s)
{
    AUTO(trace) struct trace *trace = NULL;
    struct err e = { 0 };
    const struct record *r;
    const struct triage_sink sink = { on_episode, NULL, s };
    *s = (struct said){ 0 };
    if (!tables.boards.n)
        CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    s->t = triage_new(&tables.triage, &tables.boards, &sink);
    if (product)
        CHECK_EQ(triage_assume_product(s->t, str_from(product), &e), 0);
    int result = trace_open(path, NULL, &trace, &e);
    while (result >= 0 && (result = trace_next(trace, &r, &e)) > 0)
        result = triage_feed(s->t, r, &e);
    if (result == 0)
        result = triage_finish(s->t, &e);
    if (result < 0)
        tap_note("%s: %s", path, e.text);
    CHECK_EQ(result, 0);
    return result == 0;
}

static void done(struct said *s)
{
    triage_free(s->t);
    free(s->episodes);
}

static const struct episode *episode_at(const struct said *s, uint32_t device, int64_t wall_us)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->episodes[i].device == device &&
            triage_wall_us(s->t, s->episodes[i].start_us) <= wall_us &&
            wall_us < triage_wall_us(s->t, s->episodes[i].end_us))
            return &s->episodes[i];
    return NULL;
}

/* ---- the sets ---- */

static void whole_file(const char *path, const struct meaning *truth, bool full)
{
    struct said s;
    if (run(path, NULL, &s))
        for (size_t i = 0; i < triage_devices(s.t); i++) {
            const struct triage_device *d = triage_device(s.t, i);
            judge(path, "snapshot", d->name, truth, d->state, d->candidates);
            full_cases += full;
            full_named += full && d->state != STATE_UNRESOLVED && d->state != STATE_UNKNOWN;
        }
    done(&s);
}

/* Every sample of a labelled phase is judged, but for the first window after a change. */
static void labelled_phases(const char *path, const char *phase, const struct meaning *truth)
{
    static struct said s;
    static char last[1024];
    if (strcmp(last, path) != 0) {
        done(&s);
        if (!run(path, NULL, &s))
            return;
        str_copy(last, sizeof(last), str_from(path));
    }
    FILE *f = fopen(path, "r");
    char line[8192], previous[64] = "";
    unsigned in_phase = 0;
    while (f && fgets(line, sizeof(line), f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *label = json_string_value(json_object_get(o, "phase"));
        const char *time = json_string_value(json_object_get(o, "timestamp"));
        int y, mo, d, h, mi;
        double sec;
        if (label && time && sscanf(time, "%d-%d-%dT%d:%d:%lf", &y, &mo, &d, &h, &mi, &sec) == 6) {
            in_phase = strcmp(previous, label) ? 0 : in_phase + 1;
            str_copy(previous, sizeof(previous), str_from(label));
            /* days since 1970 of a Gregorian date */
            int64_t a = (14 - mo) / 12, yy = y + 4800 - a, mm = mo + 12 * a - 3;
            int64_t day =
                d + (153 * mm + 2) / 5 + 365 * yy + yy / 4 - yy / 100 + yy / 400 - 2472633;
            int64_t us = ((day * 24 + h) * 60 + mi) * 60 * US_PER_S + (int64_t) (sec * 1e6);
            const struct episode *e = episode_at(&s, 0, us);
            if (strcmp(label, phase) == 0 && in_phase >= 6 && e)
                judge(path, "series", triage_device(s.t, 0)->name, truth, e->state, e->candidates);
        }
        json_decref(o);
    }
    if (f)
        fclose(f);
}

/* Seconds `from` to `to` of the recording, for every GPU. */
static void window(const char *path, const char *product, int64_t from_s, int64_t to_s,
                   const struct meaning *truth)
{
    struct said s;
    if (run(path, product, &s))
        for (uint32_t i = 0; i < triage_devices(s.t); i++)
            for (int64_t sec = from_s + 10; sec < to_s; sec++) {
                int64_t first = triage_wall_us(s.t, triage_device(s.t, i)->first_us);
                const struct episode *e = episode_at(&s, i, first + sec * US_PER_S);
                if (e)
                    judge(path, "series", product, truth, e->state, e->candidates);
            }
    done(&s);
}

/* One line of issue-power-states.open.tsv as one sample. */
static void posted(char *line)
{
    struct str rest = str_trim(str_from(line)), field[10] = { { 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(field) && str_split(&rest, '\t', &field[i]); i++)
        ;
    const struct meaning *truth = meaning_of(field[8]);
    struct obs obs[5];
    uint32_t n = 0;
    int64_t value;
    struct err e;
    const struct triage_sink sink = { NULL, NULL, NULL };
    if (!truth)
        return;
    if (parse_scaled(field[6], 1000, &value) == 0)
        obs[n++] = (struct obs){ .metric = METRIC_POWER_DRAW_MW, .value = value };
    if (parse_scaled(field[3], 1000, &value) == 0)
        obs[n++] = (struct obs){ .metric = METRIC_POWER_LIMIT_MW, .value = value };
    if (parse_scaled(field[5], 10, &value) == 0)
        obs[n++] = (struct obs){ .metric = METRIC_UTIL_GPU_PERMILLE, .value = value };
    if (parse_i64(field[7], &value) == 0)
        obs[n++] = (struct obs){ .metric = METRIC_CLOCK_SM_MHZ, .value = value };
    struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    struct record r = { .kind = RECORD_HEADER };
    CHECK_EQ(triage_feed(t, &r, &e), 0);
    r.kind = RECORD_ENTITY;
    r.u.entity = (struct entity){ .kind = ENTITY_GPU, .parent = ENTITY_NONE, .name = field[2] };
    CHECK_EQ(triage_feed(t, &r, &e), 0);
    r.kind = RECORD_SAMPLE;
    r.u.sample = (struct sample){ 0, n, obs };
    CHECK_EQ(triage_feed(t, &r, &e), 0);
    CHECK_EQ(triage_finish(t, &e), 0);
    char board[40];
    const struct triage_device *d = triage_device(t, 0);
    judge(str_copy(line, 40, field[0]), "snapshot", str_copy(board, sizeof(board), field[2]), truth,
          d->state, d->candidates);
    triage_free(t);
}

static void posted_reports(const char *corpus)
{
    char path[1024], line[4096];
    snprintf(path, sizeof(path), "%s/power/issue-power-states.open.tsv", corpus);
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(line, sizeof(line), f));
    while (f && fgets(line, sizeof(line), f))
        posted(line);
    if (f)
        fclose(f);
}

static void take_row(const char *corpus, struct str file, struct str kind, struct str value)
{
    char path[1024], phase[64];
    const struct meaning *truth = meaning_of(value);
    int from, to;
    char text[64];
    snprintf(path, sizeof(path), "%s/%.*s", corpus, STR_ARG(file));
    str_copy(text, sizeof(text), kind);
    if (str_starts(file, "power/nvidia-smi-xml/real/") && str_is(kind, "state") && truth)
        whole_file(path, truth, true);
    else if (str_starts(file, "power/rocm-smi-json/") && str_is(kind, "gpu_use_pct"))
        whole_file(path, &meanings[0], false);
    else if (str_starts(file, "power/gpu-parking-tax/") && truth &&
             sscanf(text, "state[phase=%63[^]]]", phase) == 1)
        labelled_phases(path, phase, truth);
    else if (str_starts(file, "power/powertraces/raw/") && truth &&
             sscanf(text, "state_%d_%ds", &from, &to) == 2)
        window(path, "H200", from, to, truth);
    else if (str_starts(file, "power/powertraces/raw/") && truth &&
             str_is(kind, "state_before_start"))
        window(path, "H200", 0, 60, truth);
}

static void write_score(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f)
        return;
    fputs(
        "# Score of the triage on public recordings and reports\n\n"
        "Written by `tests/unit/triage/corpus-score-test.c`. A case is a GPU of a snapshot, or a\n"
        "sample (a second) of a series. Snapshots and series are scored apart: a snapshot never\n"
        "says deadlock. The recordings are not part of this tree.\n\n"
        "| kind | truth | board | cases | named right | among candidates | said unknown | named "
        "wrong | truth missing |\n| --- | --- | --- | --: | --: | --: | --: | --: | --: |\n",
        f);
    for (size_t i = 0; i < n_score; i++) {
        unsigned total = 0;
        for (unsigned o = 0; o < OUTCOMES; o++)
            total += score[i].count[o];
        fprintf(f, "| %s | %s | %s | %u | %u | %u | %u | %u | %u |\n", score[i].series,
                score[i].label, score[i].board, total, score[i].count[NAMED_RIGHT],
                score[i].count[AMONG_CANDIDATES], score[i].count[SAID_UNKNOWN],
                score[i].count[NAMED_WRONG], score[i].count[TRUTH_MISSING]);
    }
    fprintf(f,
            "\nWhere utilisation, memory utilisation and the process list were given, %u of %u "
            "cases were named.\n",
            full_named, full_cases);
    fclose(f);
}

static void corpus_states(void)
{
    const char *corpus = tap_corpus(), *write = getenv("WATTGATE_WRITE_SCORE");
    char path[1024], line[8192];
    struct err e;
    if (!corpus)
        tap_skip("the folder of public recordings is not present");
    CHECK_EQ(tables_load(NULL, &tables, &e), 0);
    snprintf(path, sizeof(path), "%s/TRUTH.tsv", corpus);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        struct str rest = str_trim(str_from(line)), file, kind, value;
        if (str_split(&rest, '\t', &file) && str_split(&rest, '\t', &kind) &&
            str_split(&rest, '\t', &value))
            take_row(corpus, file, kind, value);
    }
    if (f)
        fclose(f);
    posted_reports(corpus);
    unsigned cases_n = 0, named = 0;
    for (size_t i = 0; i < n_score; i++)
        for (unsigned o = 0; o < OUTCOMES; o++) {
            cases_n += score[i].count[o];
            named += o == NAMED_RIGHT ? score[i].count[o] : 0;
        }
    tap_note("%u cases, %u named; with all signals given %u of %u named", cases_n, named,
             full_named, full_cases);
    CHECK(cases_n > 1000);
    CHECK(full_named * 10 >= full_cases * 9 && full_cases >= 10);
    if (write)
        write_score(write);
}

static void a_frozen_sensor(void)
{
    const char *corpus = tap_corpus();
    char path[1024];
    struct said s;
    if (!corpus)
        tap_skip("the folder of public recordings is not present");
    snprintf(path, sizeof(path), "%s/%s", corpus,
             "power/nvsmi-sensor-study/mlperf_inference_or_train_single-gpu.nvsmi.csv");
    if (run(path, "A100-PCIE-40GB", &s)) {
        const struct triage_device *d = triage_device(s.t, 0);
        CHECK_EQ(d->state, STATE_UNKNOWN);
        for (size_t i = 0; i < s.n; i++)
            CHECK(s.episodes[i].state == STATE_UNKNOWN || s.episodes[i].state == STATE_UNRESOLVED);
    }
    done(&s);
}

static const struct tap_case cases[] = {
    { "states of public recordings and reports", corpus_states },
    { "a frozen sensor names no state", a_frozen_sensor },
};
TAP_MAIN(cases)
