/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the writer share: a file that grows, and encoders of records. */
#ifndef WATTGATE_TRACE_WRITER_PRIV_H
#define WATTGATE_TRACE_WRITER_PRIV_H

#include "base/strbuf.h"
#include "core/telemetry/codec.h"
#include "trace/writer.h"

#include <sys/types.h>

/* A device as the writer must remember it: for tables, and to begin a rotated file with. */
struct known_entity {
    bool used;
    struct entity entity; /* its strings lie in `text` */
    char *text;
};

struct trace_writer {
    struct trace_writer_options options;
    char *path;
    int fd;
    bool is_file;
    int64_t size;      /* of the current file */
    int64_t last_size; /* of the latest block */
    dev_t device;
    ino_t inode;
    struct strbuf out; /* encoded, not written yet */
    struct codec_writer *codec;
    struct packer *packer; /* zstd, or NULL */
    uint32_t ticks;        /* since the forms were declared */
    bool started;          /* the file has its first line */
    bool headed;
    struct stream_header header; /* the latest; its strings lie in header_text */
    char *header_text;
    int64_t wall_offset_us;
    struct known_entity *known;
    size_t n_known;
};

/* writer-file.c */
int writer_file_open(struct trace_writer *w, struct err *err) MUST_CHECK;
int writer_file_write(struct trace_writer *w, struct str bytes, struct err *err) MUST_CHECK;
int writer_file_rotate(struct trace_writer *w, struct err *err) MUST_CHECK;
/* True when PATH is not our file any more and a new one was begun. */
int writer_file_follow(struct trace_writer *w, bool *ret_begun, struct err *err) MUST_CHECK;

/* writer-known.c */
int writer_remember(struct trace_writer *w, const struct record *r, struct err *err) MUST_CHECK;
const struct entity *writer_entity(const struct trace_writer *w, uint32_t id);
void writer_forget_all(struct trace_writer *w);

/* writer-table.c */
void writer_csv_heading(struct strbuf *out);
void writer_csv(const struct trace_writer *w, const struct record *r, struct strbuf *out);
void writer_jsonl(const struct trace_writer *w, const struct record *r, struct strbuf *out);

/* packer.c: a zstd stream whose every flush can be read on its own */
struct packer *packer_new(void);
void packer_free(struct packer *p);
/* What comes next begins a frame of its own. */
void packer_restart(struct packer *p);
/* Appends the compressed form of `in` to `out`; `end` closes the frame. */
int packer_add(struct packer *p, struct str in, bool end, struct strbuf *out,
               struct err *err) MUST_CHECK;

#endif
