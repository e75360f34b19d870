/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer.h"

#include "trace/native.h"
#include "trace/writer-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PENDING_BYTES ((size_t) 1 << 20) /* written even before a tick */
#define BATCH_BYTES ((size_t) 64 << 10)  /* of tables, which nobody resumes */

static void writer_free(struct trace_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    writer_forget_all(w);
    codec_writer_free(w->codec);
    packer_free(w->packer);
    strbuf_done(&w->out);
    free(w->header_text);
    free(w->path);
    free(w);
}

int trace_writer_open(const char *path, const struct trace_writer_options *options,
                      struct trace_writer **ret, struct err *err)
{
    struct trace_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return err_sys(err, ENOMEM, "write '%s'", path);
    w->fd = -1;
    w->options = *options;
    w->options.keep = MAX(options->keep, 1);
    w->path = str_dup(str_from(path));
    w->codec = codec_writer_new();
    if (options->zstd)
        w->packer = packer_new();
    int r = !w->path || !w->codec || (options->zstd && !w->packer)
                ? err_sys(err, ENOMEM, "write '%s'", path)
                : writer_file_open(w, err);
    if (r < 0) {
        writer_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

/* Closes the block of native lines, compresses, writes. */
static int flush(struct trace_writer *w, bool end, struct err *err)
{
    bool native = w->options.output == OUTPUT_NATIVE;
    if (w->out.error)
        return err_sys(err, -w->out.error, "write '%s'", w->path);
    if (!w->out.n && !end)
        return 0;
    if (native && w->out.n) {
        uLong sum = crc32(0, (const Bytef *) w->out.p, (uInt) w->out.n);
        strbuf_addf(&w->out, "Z %zu %08lx\n", w->out.n, sum);
        codec_writer_restate_time(w->codec);
        if (++w->ticks % NATIVE_RESTATE_TICKS == 0)
            codec_writer_restate_forms(w->codec);
    }
    AUTO(strbuf) struct strbuf first = STRBUF_INIT, packed = STRBUF_INIT;
    if (!w->started && native)
        strbuf_addf(&first, "%s %d\n", NATIVE_MAGIC, NATIVE_VERSION);
    else if (!w->started && w->options.output == OUTPUT_CSV)
        writer_csv_heading(&first);
    strbuf_add(&first, strbuf_str(&w->out));
    struct str bytes = strbuf_str(&first);
    if (first.error)
        return err_sys(err, ENOMEM, "write '%s'", w->path);
    if (w->packer) {
        int r = packer_add(w->packer, bytes, end, &packed, err);
        if (r < 0)
            return r;
        bytes = strbuf_str(&packed);
    }
    strbuf_clear(&w->out);
    w->started = true;
    w->last_size = (int64_t) bytes.n;
    return writer_file_write(w, bytes, err);
}

static int encode(struct trace_writer *w, const struct record *r, struct err *err)
{
    if (w->options.output == OUTPUT_NATIVE)
        return codec_write(w->codec, r, &w->out, err);
    if (w->options.output == OUTPUT_CSV)
        writer_csv(w, r, &w->out);
    else
        writer_jsonl(w, r, &w->out);
    return 0;
}

/* A rotated file can be read without the one before it: header and devices come again. */
static int begin_again(struct trace_writer *w, int64_t mono_us, struct err *err)
{
    codec_writer_reset(w->codec);
    struct record r = { .kind = RECORD_HEADER, .mono_us = mono_us };
    r.u.header = w->header;
    int result = w->headed ? encode(w, &r, err) : 0;
    for (size_t i = 0; result == 0 && i < w->n_known; i++) {
        if (!w->known[i].used)
            continue;
        r = (struct record){ .kind = RECORD_ENTITY, .mono_us = mono_us };
        r.u.entity = w->known[i].entity;
        if (r.u.entity.parent != ENTITY_NONE && !writer_entity(w, r.u.entity.parent))
            r.u.entity.parent = ENTITY_NONE; /* its parent is gone */
        result = encode(w, &r, err);
    }
    return result;
}

/* Removed or renamed by others: what comes goes into a new file, which says so. */
static int follow(struct trace_writer *w, int64_t mono_us, struct err *err)
{
    bool begun;
    int r = writer_file_follow(w, &begun, err);
    if (r < 0 || !begun)
        return r;
    struct record note = { .kind = RECORD_NOTE, .mono_us = mono_us };
    note.u.note = (struct note){ ENTITY_NONE, STR("reader"),
                                 STR("the file before this one was moved or removed while it was "
                                     "written") };
    if (w->packer)
        packer_restart(w->packer);
    r = begin_again(w, mono_us, err);
    return r == 0 ? encode(w, &note, err) : r;
}

/* Blocks are alike in size, so a file is full when the next one would not fit. */
static int rotate_when_full(struct trace_writer *w, int64_t mono_us, struct err *err)
{
    int64_t most = w->options.max_bytes / w->options.keep;
    if (!w->options.max_bytes || !w->is_file || w->size + w->last_size <= most)
        return 0;
    int r = w->packer ? flush(w, true, err) : 0;
    if (r == 0)
        r = writer_file_rotate(w, err);
    return r == 0 ? begin_again(w, mono_us, err) : r;
}

int trace_writer_add(struct trace_writer *w, const struct record *r, struct err *err)
{
    int result = writer_remember(w, r, err);
    if (result == 0)
        result = encode(w, r, err);
    if (result < 0)
        return result;
    bool native = w->options.output == OUTPUT_NATIVE;
    bool due = r->kind == RECORD_TICK && (native || w->out.n > BATCH_BYTES || !w->is_file);
    if (!due && w->out.n < PENDING_BYTES)
        return 0;
    result = flush(w, false, err);
    if (result == 0 && r->kind == RECORD_TICK)
        result = follow(w, r->mono_us, err);
    return result == 0 ? rotate_when_full(w, r->mono_us, err) : result;
}

int trace_writer_close(struct trace_writer *w, struct err *err)
{
    int r = flush(w, true, err);
    if (r == 0) {
        if (close(w->fd) < 0) /* a network file system tells here what it could not store */
            r = err_sys(err, errno, "close '%s'", w->path);
        w->fd = -1;
    }
    writer_free(w);
    return r;
}
