/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/boards.h"
#include "tables/rules.h"
#include "tables/tables.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void builtin(void)
{
    AUTO(tables) struct tables t = { 0 };
    struct err e = { 0 };
    CHECK_EQ(tables_load(NULL, &t, &e), 0);
    if (e.code)
        tap_note("%s", e.text);
    CHECK(t.boards.n >= 20);
    CHECK(t.triage.window_us > 0);
    CHECK_EQ(strlen(t.digest), 16);
    AUTO(tables) struct tables dir = { 0 };
    CHECK_EQ(tables_load(tap_source_path("data"), &dir, &e), 0);
    CHECK_EQ(dir.boards.n, t.boards.n);
}

static void products(void)
{
    static const struct {
        const char *product, *board;
    } rows[] = {
        { "NVIDIA H100 80GB HBM3", "h100-sxm" },
        { "H100 SXM", "h100-sxm" },
        { "NVIDIA H100 PCIe", "h100-pcie" },
        { "NVIDIA H100 NVL", "h100-nvl" },
        { "NVIDIA A100-SXM4-40GB", "a100-sxm" },
        { "NVIDIA A100 80GB PCIe", "a100-pcie" },
        { "NVIDIA B300 SXM6 AC", "b300-sxm" },
        { "NVIDIA B200", "b200" },
        { "NVIDIA GB200", "gb200" },
        { "NVIDIA GB300", "gb300" },
        { "Tesla V100-SXM2-32GB", "v100-sxm2" },
        { "NVIDIA GeForce RTX 4090", "rtx-4090" },
        { "RTX 4090", "rtx-4090" },
        { "NVIDIA A10", "a10" },
        { "NVIDIA A10G", "a10" },
        { "NVIDIA A100X", NULL },
        { "NVIDIA T4", NULL },
        { "", NULL },
        { "AMD Instinct MI300X", "mi300x" },
        { "nvidia l40s", "l40s" },
        { "NVIDIA H200 NVL", "h200" },
    };
    AUTO(tables) struct tables t = { 0 };
    struct err e;
    CHECK_EQ(tables_load(NULL, &t, &e), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct board *b = board_find(&t.boards, str_from(rows[i].product));
        if (!rows[i].board)
            CHECK(b == NULL);
        else
            CHECK_TEXT(b ? b->name : NULL, rows[i].board);
    }
}

#define BOARD "board: x\nmatch: [X]\n"

static void bad_boards(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "expected a mapping" },
        { "board: x\n", "no product name" },
        { "board: [x]\nmatch: [X]\n", "board is missing" },
        { BOARD "colour: red\n", "x.yaml:3: 'colour' is none of" },
        { BOARD "limit: {value: 700, source: s}\n", "no quantity with its unit" },
        { BOARD "limit: {value: 700W}\n", "source (where the value comes from) is missing" },
        { BOARD "limit: {value: -700W, source: s}\n", "no quantity" },
        { BOARD "anchors: {bare: {low: 9W, high: 8W, grade: text, source: s}}\n",
          "low is above high" },
        { BOARD "anchors: {bare: {low: 8W, high: 9W, grade: hearsay, source: s}}\n",
          "grade 'hearsay'" },
        { BOARD "anchors:\n  bare: {low: 80W, high: 90W, grade: text, source: s}\n"
                "  work: {low: 8W, high: 9W, grade: text, source: s}\n",
          "below the one before it" },
        { BOARD "board: y\n", "stands twice" },
        { BOARD "limit: {value: 700W, source: s\n", "x.yaml:" },
        { BOARD "sensor: {draw: odd, update: 100ms, window: 25ms, source: s}\n", "neither" },
        { "board: x\nmatch: [a,b,c,d,e,f,g,h,i]\n", "more than 8" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct board b;
        struct err e = { 0 };
        int r = board_parse("x.yaml", str_from(rows[i].text), &b, &e);
        CHECK(r < 0);
        CHECK_HAS(e.text, rows[i].want);
    }
}

/* The shipped file with one thing changed. */
static int parse_changed(const char *file, const char *from, const char *to, struct err *e)
{
    const char *name;
    struct str content;
    struct triage_rules triage;
    struct watch_rules watch;
    bool is_watch = strcmp(file, "rules/watch.yaml") == 0;
    for (size_t i = 0; tables_builtin(i, &name, &content); i++)
        if (strcmp(name, file) == 0)
            break;
    ptrdiff_t at = str_find(content, from);
    CHECK(at >= 0);
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    strbuf_add(&b, str_sub(content, 0, (size_t) at));
    strbuf_addz(&b, to);
    strbuf_add(&b, str_sub(content, (size_t) at + strlen(from), content.n));
    return is_watch ? watch_rules_parse("r.yaml", strbuf_str(&b), &watch, e)
                    : triage_rules_parse("r.yaml", strbuf_str(&b), &triage, e);
}

static void bad_rules(void)
{
    static const char triage[] = "rules/triage.yaml", watch[] = "rules/watch.yaml";
    static const struct {
        const char *file, *from, *to, *want;
    } rows[] = {
        { triage, "value: 10s", "value: 10", "window_us: '10' is no such quantity" },
        { triage, "  window_us:", "  window:", "no threshold is called 'window'" },
        { triage, "value: 150 permille", "value: 600 permille", "must be below high_permille" },
        { triage, "value: 5m", "value: 5s", "is broken" },
        { triage, "value: 20MB/s", "value: 20GB/s", "must be below much_link_bps" },
        { triage, "    why: ", "    because: ", "none of: value why" },
        { watch, "alert: 9s", "alert: 9", "alert: '9' is no duration" },
        { watch, "  dead: ", "  death: ", "no look of a standstill is called 'death'" },
        { watch, "suspect: 4s", "suspect: 10s", "suspect <= alert is broken" },
        { watch, "act: 3m", "act: 9s", "act must be 0 (never) or above alert" },
        { watch, "why: \"peers", "wy: \"peers", "none of: suspect alert act startup why" },
        { watch, "value: 950 permille", "value: 4 permille", "must be below spin_util_permille" },
        { watch, "blind_us:", "blond_us:", "no threshold is called 'blond_us'" },
    };
    struct err e = { 0 };
    CHECK_EQ(parse_changed(triage, "10s", "10s", &e), 0);
    CHECK_EQ(parse_changed(watch, "9s", "9s", &e), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CHECK(parse_changed(rows[i].file, rows[i].from, rows[i].to, &e) < 0);
        CHECK_HAS(e.text, rows[i].want);
    }
}

static const struct tap_case cases[] = {
    { "the built-in tables load, and the folder gives the same", builtin },
    { "products find their board", products },
    { "bad board files are refused by line", bad_boards },
    { "bad rule files are refused by line", bad_rules },
};
TAP_MAIN(cases)
