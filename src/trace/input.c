/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/input.h"

#include "trace/bytes.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum charset { CHARSET_UNKNOWN = 0, CHARSET_UTF8, CHARSET_UTF16LE, CHARSET_UTF16BE };

#define READ_BYTES ((size_t) 256 << 10)
#define WIDE_BYTES ((size_t) 64 << 10)
/* A pipe that has given a line and is silent for so long is probed with what it gave. */
#define PROBE_WAIT_MS 250

struct trace_input {
    struct bytes *bytes;
    enum charset charset;
    char *buf; /* decoded and not given out: buf[at .. end] */
    size_t at, end, cap;
    size_t scanned; /* of these, known to hold no line end */
    char *wide;     /* UTF-16 not converted yet */
    size_t wide_n;
    bool over; /* nothing more comes; `failed` says whether that is an error */
    bool failed;
    struct err error;
    bool skipping; /* inside the rest of a cut line */
    uint64_t number, offset;
    const char *torn;
};

void input_close(struct trace_input *in)
{
    if (!in)
        return;
    bytes_free(in->bytes);
    free(in->buf);
    free(in->wide);
    free(in);
}

static int input_new(struct bytes *bytes, struct trace_input **ret, struct err *err)
{
    AUTO(bytes) struct bytes *owned = bytes;
    AUTO(trace_input) struct trace_input *in = calloc(1, sizeof(*in));
    if (in && owned)
        in->buf = malloc(READ_BYTES);
    if (!in || !in->buf)
        return err_sys(err, ENOMEM, "open a trace");
    in->cap = READ_BYTES;
    in->bytes = TAKE(owned);
    *ret = TAKE(in);
    return 0;
}

int input_open(const char *path, struct trace_input **ret, struct err *err)
{
    struct bytes *bytes = NULL;
    int r = bytes_open(path, &bytes, err);
    return r < 0 ? r : input_new(bytes, ret, err);
}

int input_from_memory(const char *name, struct str bytes, struct trace_input **ret, struct err *err)
{
    return input_new(bytes_from_memory(name, bytes), ret, err);
}

const char *input_name(const struct trace_input *in)
{
    return bytes_name(in->bytes);
}

const char *input_torn(const struct trace_input *in)
{
    const char *torn = bytes_torn(in->bytes);
    return torn ? torn : in->torn;
}

/* Appends the code point to `at`, which has room for 4 bytes; returns the place behind it. */
static char *put_utf8(char *at, uint32_t code)
{
    if (code < 0x80) {
        *at++ = (char) code;
    } else if (code < 0x800) {
        *at++ = (char) (0xc0 | code >> 6);
        *at++ = (char) (0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *at++ = (char) (0xe0 | code >> 12);
        *at++ = (char) (0x80 | (code >> 6 & 0x3f));
        *at++ = (char) (0x80 | (code & 0x3f));
    } else {
        *at++ = (char) (0xf0 | code >> 18);
        *at++ = (char) (0x80 | (code >> 12 & 0x3f));
        *at++ = (char) (0x80 | (code >> 6 & 0x3f));
        *at++ = (char) (0x80 | (code & 0x3f));
    }
    return at;
}

static uint32_t wide_unit(const struct trace_input *in, size_t i)
{
    uint32_t a = (unsigned char) in->wide[i], b = (unsigned char) in->wide[i + 1];
    return in->charset == CHARSET_UTF16LE ? a | b << 8 : a << 8 | b;
}

/* Converts all whole characters of `wide` to the end of buf, which has room for 3 bytes a unit.
 * A lone surrogate becomes U+FFFD. */
static void convert_wide(struct trace_input *in)
{
    char *to = in->buf + in->end;
    size_t i = 0;
    while (i + 2 <= in->wide_n) {
        uint32_t code = wide_unit(in, i);
        if (code >= 0xd800 && code < 0xdc00) {
            if (i + 4 > in->wide_n && !in->over)
                break; /* its other half comes with the next read */
            uint32_t low = i + 4 <= in->wide_n ? wide_unit(in, i + 2) : 0;
            bool pair = low >= 0xdc00 && low < 0xe000;
            code = pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
            i += pair ? 2 : 0;
        } else if (code >= 0xdc00 && code < 0xe000) {
            code = 0xfffd;
        }
        to = put_utf8(to, code);
        i += 2;
    }
    in->end = (size_t) (to - in->buf);
    in->wide_n -= i;
    memmove(in->wide, in->wide + i, in->wide_n);
    if (in->over && in->wide_n)
        in->torn = "the UTF-16 text ends in the middle of a character";
}

static void stop(struct trace_input *in, ptrdiff_t r)
{
    in->over = true;
    in->failed = r < 0;
}

static void fill_wide(struct trace_input *in)
{
    size_t room = MIN(WIDE_BYTES, (in->cap - in->end) / 3 * 2) & ~(size_t) 3;
    ptrdiff_t n = bytes_read(in->bytes, in->wide + in->wide_n, room - in->wide_n, &in->error);
    if (n <= 0)
        stop(in, n);
    else
        in->wide_n += (size_t) n;
    convert_wide(in);
}

static void start_wide(struct trace_input *in, enum charset charset)
{
    in->charset = charset;
    in->wide = malloc(WIDE_BYTES);
    if (!in->wide) {
        stop(in, err_sys(&in->error, ENOMEM, "read '%s'", input_name(in)));
        return;
    }
    in->wide_n = in->end - 2; /* few bytes: see detect_charset() */
    memcpy(in->wide, in->buf + 2, in->wide_n);
    in->end = 0;
    convert_wide(in);
}

/* Reads a few bytes and looks for a byte order mark. */
static void detect_charset(struct trace_input *in)
{
    while (in->end < 3 && !in->over) {
        ptrdiff_t n = bytes_read(in->bytes, in->buf + in->end, 4 - in->end, &in->error);
        if (n <= 0)
            stop(in, n);
        else
            in->end += (size_t) n;
    }
    struct str head = { in->buf, in->end };
    in->charset = CHARSET_UTF8;
    if (str_starts(head, "\xff\xfe")) {
        start_wide(in, CHARSET_UTF16LE);
    } else if (str_starts(head, "\xfe\xff")) {
        start_wide(in, CHARSET_UTF16BE);
    } else if (str_starts(head, "\xef\xbb\xbf")) {
        in->end -= 3;
        memmove(in->buf, in->buf + 3, in->end);
    }
}

/* Moves what is left to the front, so that at least READ_BYTES / 4 fit behind it. */
static void make_room(struct trace_input *in)
{
    if (in->at) {
        memmove(in->buf, in->buf + in->at, in->end - in->at);
        in->end -= in->at;
        in->at = 0;
    }
    if (in->cap - in->end >= READ_BYTES / 4)
        return;
    char *buf = realloc(in->buf, in->cap * 2);
    if (!buf) {
        stop(in, err_sys(&in->error, ENOMEM, "read '%s'", input_name(in)));
        return;
    }
    in->buf = buf;
    in->cap *= 2;
}

/* Reads once more; sets `over` when nothing comes. */
static void fill(struct trace_input *in)
{
    if (in->charset == CHARSET_UNKNOWN) {
        detect_charset(in);
        return;
    }
    make_room(in);
    if (in->over)
        return;
    if (in->charset != CHARSET_UTF8) {
        fill_wide(in);
        return;
    }
    ptrdiff_t n = bytes_read(in->bytes, in->buf + in->end, in->cap - in->end, &in->error);
    if (n <= 0)
        stop(in, n);
    else
        in->end += (size_t) n;
}

struct str input_head(struct trace_input *in)
{
    while (in->end - in->at < TRACE_PROBE_BYTES && !in->over) {
        bool has_line = in->end > in->at && memchr(in->buf + in->at, '\n', in->end - in->at);
        if (has_line && bytes_would_wait(in->bytes, PROBE_WAIT_MS))
            break;
        fill(in);
    }
    return (struct str){ in->buf + in->at, MIN(in->end - in->at, (size_t) TRACE_PROBE_BYTES) };
}

static void consume(struct trace_input *in, size_t n)
{
    in->at += n;
    in->offset += n;
    in->scanned = 0;
}

/* Drops the rest of a cut line. */
static void skip_rest(struct trace_input *in)
{
    while (in->skipping) {
        size_t n = in->end - in->at;
        const char *lf = n ? memchr(in->buf + in->at, '\n', n) : NULL;
        if (lf)
            in->skipping = false;
        consume(in, lf ? (size_t) (lf - in->buf) + 1 - in->at : n);
        if (in->skipping && in->over)
            in->skipping = false;
        else if (in->skipping)
            fill(in);
    }
}

static int give(struct trace_input *in, struct str text, size_t used, bool torn, struct line *ret)
{
    if (text.n && text.p[text.n - 1] == '\r' && !torn)
        text.n--;
    bool cut = text.n > LINE_MAX_BYTES;
    text.n = MIN(text.n, (size_t) LINE_MAX_BYTES);
    *ret = (struct line){ text, ++in->number, in->offset, cut, torn };
    consume(in, used);
    return 1;
}

int input_line(struct trace_input *in, struct line *ret, struct err *err)
{
    /* One more than a line may have, and CR: only then is it known to be too long. */
    const size_t most = (size_t) LINE_MAX_BYTES + 2;
    if (in->skipping)
        skip_rest(in);
    for (;;) {
        size_t n = in->end - in->at;
        const char *from = in->buf + in->at;
        const char *lf = n > in->scanned ? memchr(from + in->scanned, '\n', n - in->scanned) : NULL;
        if (lf)
            return give(in, (struct str){ from, (size_t) (lf - from) }, (size_t) (lf - from) + 1,
                        false, ret);
        in->scanned = n;
        if (n >= most) {
            in->skipping = true;
            return give(in, (struct str){ from, most }, n, false, ret);
        }
        if (in->over)
            break;
        fill(in);
    }
    if (in->end > in->at)
        return give(in, (struct str){ in->buf + in->at, in->end - in->at }, in->end - in->at, true,
                    ret);
    if (in->failed && err)
        *err = in->error;
    return in->failed ? in->error.code : 0;
}

int input_bytes(struct trace_input *in, struct str *ret, struct err *err)
{
    if (in->skipping)
        skip_rest(in);
    if (in->at == in->end)
        in->at = in->end = 0;
    while (in->at == in->end && !in->over)
        fill(in);
    if (in->at < in->end) {
        *ret = (struct str){ in->buf + in->at, in->end - in->at };
        consume(in, ret->n);
        return 1;
    }
    if (in->failed && err)
        *err = in->error;
    return in->failed ? in->error.code : 0;
}
