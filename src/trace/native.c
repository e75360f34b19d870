/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/native.h"

#include "base/parse.h"
#include "base/strbuf.h"
#include "core/telemetry/codec.h"
#include "trace/input.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A block is held back until its checksum is seen, so that a damaged value is never given out. */
struct native {
    struct trace trace;
    struct trace_input *in;
    struct codec_reader *codec;
    struct strbuf block;
    struct strbuf held; /* a header line that began the next block */
    uint64_t held_line;
    uint64_t block_line; /* number of the block's first line */
    struct str rest;     /* of the block: lines not given out yet */
    uint64_t rest_line;
    bool closed;
    bool sound; /* the block's checksum fits (or it is the unclosed end of the file) */
    bool over;
    bool header_pending; /* the line after H is the header's time */
};

static int probe(struct str head)
{
    return str_starts(head, NATIVE_MAGIC " ") ? 100 : 0;
}

static void close_native(struct trace *t)
{
    struct native *n = (struct native *) t;
    if (!n)
        return;
    input_close(n->in);
    codec_reader_free(n->codec);
    strbuf_done(&n->block);
    strbuf_done(&n->held);
    free(n);
}

static int check_magic(struct trace_input *in, struct err *err)
{
    struct line line;
    uint32_t version = 0;
    int r = input_line(in, &line, err);
    if (r < 0)
        return r;
    struct str number =
        r ? str_sub(line.text, strlen(NATIVE_MAGIC) + 1, line.text.n) : (struct str){ NULL, 0 };
    if (parse_u32(str_trim(number), &version) < 0)
        return err_set(err, -EINVAL, "'%s' line 1: no version behind '" NATIVE_MAGIC "'",
                       input_name(in));
    if (version != NATIVE_VERSION)
        return err_set(err, -EPROTONOSUPPORT,
                       "'%s' is a trace of version %" PRIu32 "; this program reads version %d: "
                       "use a newer wattgate",
                       input_name(in), version, NATIVE_VERSION);
    return 0;
}

static int open_native(struct trace_input *in, struct trace **ret, struct err *err)
{
    int r = check_magic(in, err);
    if (r < 0)
        return r;
    struct native *n = calloc(1, sizeof(*n));
    if (n)
        n->codec = codec_reader_new();
    if (!n || !n->codec) {
        free(n);
        return err_sys(err, ENOMEM, "read '%s'", input_name(in));
    }
    n->in = in;
    *ret = &n->trace;
    return 0;
}

/* "Z length crc32": does the block before it fit? */
static bool closes_soundly(const struct native *n, struct str line)
{
    struct str rest = str_sub(line, 1, line.n), word;
    uint64_t length, crc;
    if (!str_word(&rest, &word) || parse_u64(word, &length) < 0 || !str_word(&rest, &word) ||
        parse_hex_u64(word, &crc) < 0 || length != n->block.n)
        return false;
    uLong sum = crc32(0, (const Bytef *) n->block.p, (uInt) n->block.n);
    return sum == crc;
}

static void add_line(struct native *n, struct str text, uint64_t number)
{
    if (!n->block.n)
        n->block_line = number;
    strbuf_add(&n->block, text);
    strbuf_addc(&n->block, '\n');
}

/* The block's closing line: its lines count only when length and checksum fit. */
static void close_block(struct native *n, const struct line *line)
{
    n->closed = true;
    n->sound = closes_soundly(n, line->text);
    if (n->sound)
        return;
    codec_reader_forget_forms(n->codec);
    trace_dropped(&n->trace,
                  "lines %" PRIu64 " to %" PRIu64 ": the checksum does not fit, their samples are "
                  "dropped",
                  n->block.n ? n->block_line : line->number, line->number);
}

/* Takes a line; true when it ends the block. A header only begins blocks: one that comes before the
 * closing line follows a recorder that was killed. */
static bool take_line(struct native *n, const struct line *line)
{
    n->trace.report.lines++;
    if (line->torn || line->cut) {
        n->trace.report.torn = n->trace.report.torn || line->torn;
        if (line->cut)
            trace_dropped(&n->trace, "line %" PRIu64 ": longer than a record can be", line->number);
        return false;
    }
    if (str_starts(line->text, "Z ")) {
        close_block(n, line);
        return n->block.n > 0;
    }
    if (str_starts(line->text, "H ") && n->block.n) {
        strbuf_add(&n->held, line->text);
        n->held_line = line->number;
        return true;
    }
    add_line(n, line->text, line->number);
    return n->block.n > NATIVE_BLOCK_BYTES; /* no closing line in sight: taken as it is */
}

/* Fills the block up to its closing line: 1, or 0 when nothing is left. */
static int read_block(struct native *n, struct err *err)
{
    struct line line;
    int r = 0;
    strbuf_clear(&n->block);
    n->sound = true; /* an unclosed block has no sum to fail */
    n->closed = false;
    if (n->held.n)
        add_line(n, strbuf_str(&n->held), n->held_line);
    strbuf_clear(&n->held);
    while (!n->over && (r = input_line(n->in, &line, err)) > 0)
        if (take_line(n, &line))
            break;
    if (r < 0)
        return r;
    if (n->block.error || n->held.error)
        return err_sys(err, ENOMEM, "read '%s'", input_name(n->in));
    if (r == 0) {
        n->over = true;
        bool unclosed = n->block.n && !n->closed;
        n->trace.report.torn = n->trace.report.torn || unclosed || input_torn(n->in);
    }
    n->rest = strbuf_str(&n->block);
    n->rest_line = n->block_line;
    return n->block.n > 0;
}

/* Of a damaged block only what later lines build on is read: devices, and headers with their time.
 */
static bool may_read(struct native *n, struct str line)
{
    bool declares = line.n && (line.p[0] == 'H' || line.p[0] == 'E');
    bool header_time = n->header_pending && line.n && line.p[0] == '@';
    n->header_pending = line.n && line.p[0] == 'H';
    return n->sound || declares || header_time;
}

static int next_native(struct trace *t, const struct record **ret, struct err *err)
{
    struct native *n = (struct native *) t;
    for (;;) {
        while (n->rest.n) {
            const char *lf = memchr(n->rest.p, '\n', n->rest.n);
            struct str line = str_sub(n->rest, 0, (size_t) (lf - n->rest.p));
            struct err why = { 0 };
            uint64_t number = n->rest_line++;
            n->rest = str_sub(n->rest, line.n + 1, n->rest.n);
            if (!may_read(n, line))
                continue;
            int r = codec_read(n->codec, line, ret, &why);
            if (r == -ENOMEM)
                return err_sys(err, ENOMEM, "read '%s'", input_name(n->in));
            if (r < 0)
                trace_dropped(t, "line %" PRIu64 ", %.150s", number, why.text);
            if (r > 0) {
                t->report.samples += (*ret)->kind == RECORD_SAMPLE;
                return 1;
            }
        }
        int r = read_block(n, err);
        if (r <= 0)
            return r;
    }
}

const struct trace_format native_format = {
    .name = "native",
    .help = "wattgate-trace(5), as 'wattgate record' writes it",
    .probe = probe,
    .open = open_native,
    .next = next_native,
    .close = close_native,
};
