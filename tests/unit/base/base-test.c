/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/jsonw.h"
#include "base/opt.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "tap.h"

#include <errno.h>
#include <string.h>

static void scaled_edges(void)
{
    static const struct {
        const char *text;
        int64_t scale;
        int code;
        int64_t want;
    } rows[] = {
        { "182.34", 1000, 0, 182340 },
        { "0", 1000, 0, 0 },
        { "-3.5", 10, 0, -35 },
        { "1e3", 1, 0, 1000 },
        { "1.5E-3", 1000000, 0, 1500 },
        { "0.0004", 1000, 0, 0 },
        { "0.0005", 1000, 0, 1 },
        { ".5", 10, 0, 5 },
        { "5.", 1, 0, 5 },
        { "98.7654321098765432109876543210", 1000, 0, 98765 },
        { "99999999999999999999999999", 1, -ERANGE, 0 },
        { "9223372036854775807", 1, 0, INT64_MAX },
        { "9223372036854775808", 1, -ERANGE, 0 },
        { "1e-399", 1, 0, 0 },
        { "1e9999", 1, -EINVAL, 0 },
        { "", 1, -EINVAL, 0 },
        { "-", 1, -EINVAL, 0 },
        { ".", 1, -EINVAL, 0 },
        { "nan", 1, -EINVAL, 0 },
        { "inf", 1, -EINVAL, 0 },
        { "1,5", 1, -EINVAL, 0 },
        { "12 W", 1, -EINVAL, 0 },
        { "1.2.3", 1, -EINVAL, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t got = 0;
        int r = parse_scaled(str_from(rows[i].text), rows[i].scale, &got);
        if (r != rows[i].code || got != rows[i].want)
            tap_note("row %zu '%s'", i, rows[i].text);
        CHECK_EQ(r, rows[i].code);
        CHECK_EQ(got, rows[i].want);
    }
}

static void integers(void)
{
    int64_t v = 7;
    CHECK_EQ(parse_i64(STR("-9223372036854775808"), &v), 0);
    CHECK(v == INT64_MIN);
    CHECK_EQ(parse_i64(STR("9223372036854775808"), &v), -ERANGE);
    CHECK_EQ(parse_i64(STR("+1"), &v), -EINVAL);
    uint64_t h = 0;
    CHECK_EQ(parse_hex_u64(STR("0x00000000000000fF"), &h), 0);
    CHECK_EQ(h, 255);
    CHECK_EQ(parse_hex_u64(STR("11111111111111111"), &h), -ERANGE);
    uint32_t u = 0;
    CHECK_EQ(parse_u32(STR("4294967296"), &u), -ERANGE);
}

static void quantities(void)
{
    int64_t v = 0;
    CHECK_EQ(parse_duration_us(STR("90s"), &v), 0);
    CHECK_EQ(v, 90000000);
    CHECK_EQ(parse_duration_us(STR("500ms"), &v), 0);
    CHECK_EQ(v, 500000);
    CHECK_EQ(parse_duration_us(STR("90"), &v), -EINVAL);
    CHECK_EQ(parse_size_bytes(STR("2GiB"), &v), 0);
    CHECK_EQ(v, INT64_C(2) << 30);
    CHECK_EQ(parse_power_mw(STR("1.1kW"), &v), 0);
    CHECK_EQ(v, 1100000);
    CHECK_EQ(parse_power_mw(STR("700"), &v), -EINVAL);
}

/* The mark must appear exactly when a byte was cut. */
static void err_cut_mark(void)
{
    struct err e;
    char text[sizeof(e.text) + 1];
    for (size_t n = sizeof(e.text) - 2; n <= sizeof(e.text); n++) {
        memset(text, 'x', n);
        text[n] = '\0';
        CHECK_EQ(err_set(&e, -EINVAL, "%s", text), -EINVAL);
        CHECK((strstr(e.text, "[...]") != NULL) == (n >= sizeof(e.text)));
    }
    CHECK_EQ(err_sys(&e, ENOENT, "open '%s'", "f"), -ENOENT);
    CHECK_TEXT(e.text, "open 'f': No such file or directory");
    CHECK_EQ(err_prefix(&e, "line %d", 3), -ENOENT);
    CHECK_TEXT(e.text, "line 3: open 'f': No such file or directory");
    CHECK_EQ(err_set(NULL, -EIO, "x"), -EIO);
}

static void scaled_output(void)
{
    static const struct {
        int64_t value, scale;
        unsigned digits;
        const char *want;
    } rows[] = {
        { 182340, 1000, 1, "182.3" },   { 182350, 1000, 1, "182.4" },
        { -182350, 1000, 1, "-182.4" }, { 999999, 1000, 0, "1000" },
        { 999999, 1000, 2, "1000.00" }, { -4, 1000, 1, "0.0" },
        { 1, 3, 3, "0.333" },           { INT64_MIN, 1, 0, "-9223372036854775808" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        AUTO(strbuf) struct strbuf b = STRBUF_INIT;
        strbuf_add_scaled(&b, rows[i].value, rows[i].scale, rows[i].digits);
        CHECK_TEXT(strbuf_text(&b), rows[i].want);
    }
}

static void json_escapes(void)
{
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    struct jsonw j;
    jsonw_begin(&j, &b);
    jsonw_str(&j, "a\"b", STR("x\\\n\x01\xff\xc3\xa9"));
    jsonw_array(&j, "l");
    jsonw_i64(&j, NULL, -1);
    jsonw_null(&j, NULL);
    jsonw_array_end(&j);
    jsonw_scaled(&j, "w", 182340, 1000, 2);
    jsonw_end(&j);
    CHECK_TEXT(strbuf_text(&b),
               "{\"a\\\"b\":\"x\\\\\\n\\u0001\\ufffd\xc3\xa9\",\"l\":[-1,null],\"w\":182.34}\n");
}

static void plain_texts(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "H100", "H100" },
        { "a\033[31mb\ac\x7f", "a?[31mb?c?" },
        { "line\nfeed\tand tab", "line?feed?and tab" },
        { "\xc3\xa4 is no control", "\xc3\xa4 is no control" },
        { "\xc2\x9b is one", "?\x9b is one" },
        { "\xc2", "\xc2" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char buf[64];
        str_plain(str_copy(buf, sizeof(buf), str_from(rows[i].text)));
        CHECK_TEXT(buf, rows[i].want);
    }
}

static void cut_sentences(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "fits", "fits" },
        { "exactly 15 long", "exactly 15 long" },
        { "this one is too long", "this one is ..." },
        { "onewordthatistoolong", "onewordthat ..." },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char buf[16];
        CHECK_TEXT(str_copy_words(buf, sizeof(buf), str_from(rows[i].text)), rows[i].want);
    }
}

static void utf8_rules(void)
{
    CHECK_EQ(utf8_length(STR("\xc3\xa9")), 2);
    CHECK_EQ(utf8_length(STR("\xc0\x80")), 0);         /* overlong */
    CHECK_EQ(utf8_length(STR("\xed\xa0\x80")), 0);     /* surrogate */
    CHECK_EQ(utf8_length(STR("\xf4\x90\x80\x80")), 0); /* beyond U+10FFFF */
    CHECK_EQ(utf8_length(STR("\xe2\x96")), 0);         /* cut */
    CHECK_EQ(utf8_columns(STR("a\xe2\x96\x88"
                              "b")),
             3);
}

struct conf {
    struct opt_common common;
    int64_t interval_us;
    uint32_t mode;
    bool follow;
    struct opt_list logs;
};

static const struct opt rows[] = {
    OPT(struct conf, interval_us, "interval", 'i', OPT_DURATION, "1s", "TIME", "spacing"),
    OPT(struct conf, mode, "mode", 0, OPT_CHOICE, "b", "a|b|c", "which"),
    OPT(struct conf, follow, "follow", 'f', OPT_FLAG, NULL, NULL, "go on"),
    OPT(struct conf, logs, "log", 0, OPT_LIST, NULL, "GLOB", "logs"),
};
static const struct command cmd = { .name = "test", .options = { rows, ARRAY_SIZE(rows) } };

static int parse(struct conf *c, const char *const *args, size_t n, bool stop, char **argv,
                 size_t *left, struct err *e)
{
    static char copy[16][64];
    for (size_t i = 0; i < n; i++)
        argv[i] = str_copy(copy[i], sizeof(copy[i]), str_from(args[i]));
    argv[n] = NULL;
    memset(c, 0, sizeof(*c));
    opt_defaults(cmd.options, c);
    return opt_parse(&cmd, c, argv, stop, left, e);
}

static void options(void)
{
    struct conf c;
    struct err e;
    char *argv[16];
    size_t left = 0;
    const char *good[] = { "x", "a.csv", "-fi2s", "--mode=c", "--log", "p", "--log=q", "--", "-z" };
    CHECK_EQ(parse(&c, good, ARRAY_SIZE(good), false, argv, &left, &e), 0);
    CHECK_EQ(left, 2);
    CHECK_TEXT(argv[1], "a.csv");
    CHECK_TEXT(argv[2], "-z");
    CHECK(argv[3] == NULL); /* the rest may be handed to exec */
    CHECK_EQ(c.interval_us, 2000000);
    CHECK_EQ(c.mode, 2);
    CHECK(c.follow);
    CHECK_EQ(c.logs.n, 2);
    const char *stop[] = { "x", "-f", "cmd", "-f", "--mode=z" };
    CHECK_EQ(parse(&c, stop, ARRAY_SIZE(stop), true, argv, &left, &e), 0);
    CHECK_EQ(left, 3);
    const char *bad[][2] = { { "--mode=z", "not one of a|b|c" },
                             { "--interval=5", "with its unit" },
                             { "--nope", "unknown option" },
                             { "--interval", "needs a value" },
                             { "--follow=1", "takes no value" } };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *args[] = { "x", bad[i][0] };
        CHECK(parse(&c, args, 2, false, argv, &left, &e) < 0);
        CHECK_HAS(e.text, bad[i][1]);
    }
}

static const struct tap_case cases[] = {
    { "parse_scaled at its edges", scaled_edges },
    { "integers", integers },
    { "quantities need units", quantities },
    { "a cut error text is marked", err_cut_mark },
    { "decimals are exact", scaled_output },
    { "JSON strings are escaped", json_escapes },
    { "a sentence is cut behind a word", cut_sentences },
    { "texts without what a terminal obeys", plain_texts },
    { "UTF-8", utf8_rules },
    { "options", options },
};
TAP_MAIN(cases)
