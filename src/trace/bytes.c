/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum packing { PACKING_UNKNOWN = 0, PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

#define RAW_BYTES ((size_t) 128 << 10)

struct bytes {
    char *name;
    int fd; /* -1: memory */
    bool is_file;
    struct str memory; /* what is left of it */
    enum packing packing;
    bool raw_end, end;
    bool inside; /* a member or frame was begun and has not ended */
    bool gave;   /* something was decoded */
    bool holds;  /* the decoder may hold output that did not fit */
    char *raw;   /* bytes read, not decoded yet: raw[at .. at + n] */
    size_t raw_at, raw_n;
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DStream *zstd;
    char torn[160];
};

void bytes_free(struct bytes *b)
{
    if (!b)
        return;
    if (b->fd > STDIN_FILENO)
        close(b->fd);
    if (b->gzip_ready)
        inflateEnd(&b->gzip);
    ZSTD_freeDStream(b->zstd);
    free(b->raw);
    free(b->name);
    free(b);
}

static struct bytes *bytes_new(const char *name)
{
    AUTO(bytes) struct bytes *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->fd = -1;
    b->name = str_dup(str_from(name));
    b->raw = malloc(RAW_BYTES);
    if (!b->name || !b->raw)
        return NULL;
    return TAKE(b);
}

struct bytes *bytes_from_memory(const char *name, struct str memory)
{
    struct bytes *b = bytes_new(name);
    if (b) {
        b->memory = memory;
        b->is_file = true;
    }
    return b;
}

const char *bytes_name(const struct bytes *b)
{
    return b->name;
}

const char *bytes_torn(const struct bytes *b)
{
    return b->torn[0] ? b->torn : NULL;
}

/* What cannot hold a trace is refused before it is opened: opening a device may do something. */
static int check_type(const char *name, const struct stat *st, bool is_stdin, struct err *err)
{
    if (S_ISDIR(st->st_mode))
        return err_set(err, -EISDIR, "'%s' is a directory; name a file in it", name);
    if (S_ISBLK(st->st_mode) || (S_ISCHR(st->st_mode) && !is_stdin))
        return err_set(err, -EINVAL, "'%s' is a device; a trace is a file, a pipe or '-'", name);
    if (S_ISSOCK(st->st_mode) && !is_stdin)
        return err_set(err, -EINVAL, "'%s' is a socket; a trace is a file, a pipe or '-'", name);
    return 0;
}

static int open_path(const char *path, int *ret_fd, struct stat *st, struct err *err)
{
    if (!*path)
        return err_set(err, -EINVAL, "the file name is empty; name a trace, or '-' for stdin");
    if (stat(path, st) < 0)
        return err_sys(err, errno, "'%s'", path);
    int r = check_type(path, st, false, err);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == EACCES)
        return err_set(err, -EACCES,
                       "'%s': no permission to read it; run as its owner, or chmod it", path);
    if (fd < 0)
        return err_sys(err, errno, "open '%s'", path);
    *ret_fd = fd;
    return 0;
}

int bytes_open(const char *path, struct bytes **ret, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    AUTO(bytes) struct bytes *b = bytes_new(is_stdin ? "stdin" : path);
    struct stat st = { 0 };
    if (!b)
        return err_sys(err, ENOMEM, "open '%s'", path);
    if (is_stdin) {
        b->fd = STDIN_FILENO;
        if (isatty(b->fd))
            return err_set(err, -EINVAL, "stdin is a terminal; name a file, or pipe a trace in");
    } else {
        int r = open_path(path, &b->fd, &st, err);
        if (r < 0)
            return r;
    }
    if (fstat(b->fd, &st) < 0)
        return err_sys(err, errno, "'%s'", b->name);
    int r = check_type(b->name, &st, is_stdin, err);
    if (r < 0)
        return r;
    b->is_file = S_ISREG(st.st_mode);
    if (b->is_file)
        (void) posix_fadvise(b->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only a hint */
    *ret = TAKE(b);
    return 0;
}

/* Undecoded bytes: how many, 0 at the end. The end stays the end: a file that grows meanwhile is
 * read up to where it was first seen to end. */
static ptrdiff_t raw_read(struct bytes *b, char *dst, size_t cap, struct err *err)
{
    if (b->raw_end)
        return 0;
    if (b->fd < 0) {
        size_t n = MIN(cap, b->memory.n);
        if (n)
            memcpy(dst, b->memory.p, n);
        b->memory = str_sub(b->memory, n, b->memory.n);
        b->raw_end = n == 0;
        return (ptrdiff_t) n;
    }
    for (;;) {
        ssize_t n = read(b->fd, dst, cap);
        if (n >= 0) {
            b->raw_end = n == 0;
            return n;
        }
        if (errno == EAGAIN) {
            struct pollfd p = { .fd = b->fd, .events = POLLIN };
            if (poll(&p, 1, -1) >= 0 || errno == EINTR)
                continue;
        }
        if (errno != EINTR)
            return err_sys(err, errno, "read '%s'", b->name);
    }
}

static int raw_fill(struct bytes *b, struct err *err)
{
    if (b->raw_at && !b->raw_n)
        b->raw_at = 0;
    ptrdiff_t n = raw_read(b, b->raw + b->raw_at + b->raw_n, RAW_BYTES - b->raw_at - b->raw_n, err);
    if (n < 0)
        return (int) n;
    b->raw_n += (size_t) n;
    return n > 0;
}

bool bytes_would_wait(const struct bytes *b, int wait_ms)
{
    if (b->is_file || b->raw_n || b->raw_end || b->end)
        return false;
    struct pollfd p = { .fd = b->fd, .events = POLLIN };
    return poll(&p, 1, wait_ms) == 0;
}

static enum packing packing_of(struct str head)
{
    if (str_starts(head, "\x1f\x8b"))
        return PACKING_GZIP;
    /* A zstd file may begin with a skippable frame (0x184D2A50 to 5F). */
    bool skippable = head.n >= 4 && ((unsigned char) head.p[0] & 0xf0) == 0x50 &&
                     memcmp(head.p + 1, "\x2a\x4d\x18", 3) == 0;
    if (str_starts(head, "\x28\xb5\x2f\xfd") || skippable)
        return PACKING_ZSTD;
    return PACKING_NONE;
}

static int detect(struct bytes *b, struct err *err)
{
    int r = 1;
    while (b->raw_n < 4 && r > 0)
        r = raw_fill(b, err);
    if (r < 0)
        return r;
    b->packing = packing_of((struct str){ b->raw, b->raw_n });
    if (b->packing == PACKING_GZIP) {
        if (inflateInit2(&b->gzip, 15 + 16) != Z_OK)
            return err_sys(err, ENOMEM, "'%s'", b->name);
        b->gzip_ready = true;
    } else if (b->packing == PACKING_ZSTD) {
        b->zstd = ZSTD_createDStream();
        if (!b->zstd)
            return err_sys(err, ENOMEM, "'%s'", b->name);
    }
    return 0;
}

static ptrdiff_t read_plain(struct bytes *b, char *dst, size_t cap, struct err *err)
{
    if (!b->raw_n)
        return raw_read(b, dst, cap, err);
    size_t n = MIN(cap, b->raw_n);
    memcpy(dst, b->raw + b->raw_at, n);
    b->raw_at += n;
    b->raw_n -= n;
    return (ptrdiff_t) n;
}

/* A damaged stream: torn when it gave something, else an error. */
static int broken(struct bytes *b, const char *kind, const char *why, struct err *err)
{
    b->end = true;
    if (!b->gave)
        return err_set(err, -EBADMSG, "'%s' begins like %s but cannot be decompressed: %s", b->name,
                       kind, why);
    snprintf(b->torn, sizeof(b->torn), "the %s data is damaged (%s); all before was read", kind,
             why);
    return 0;
}

static int ended(struct bytes *b, const char *kind)
{
    b->end = true;
    if (b->inside)
        snprintf(b->torn, sizeof(b->torn), "the %s data ends in the middle; all before was read",
                 kind);
    return 0;
}

/* One step of gzip: 1 when it could go on, 0 when the stream is over, negative when broken. */
static int gzip_step(struct bytes *b, char *dst, size_t cap, size_t *ret_n, struct err *err)
{
    z_stream *z = &b->gzip;
    if (!b->inside && b->raw_n &&
        b->raw[b->raw_at] == '\0') { /* padding of tar and tape between members */
        b->raw_at++;
        b->raw_n--;
        return 1;
    }
    b->inside = true;
    z->next_in = (Bytef *) b->raw + b->raw_at;
    z->avail_in = (uInt) b->raw_n;
    z->next_out = (Bytef *) dst;
    z->avail_out = (uInt) MIN(cap, (size_t) UINT32_MAX);
    int r = inflate(z, Z_NO_FLUSH);
    *ret_n = (size_t) ((char *) z->next_out - dst);
    b->raw_at += b->raw_n - z->avail_in;
    b->raw_n = z->avail_in;
    if (r == Z_STREAM_END) {
        b->inside = false;
        inflateReset(z);
        return 1;
    }
    if (r == Z_OK || r == Z_BUF_ERROR)
        return 1;
    b->gave = b->gave || *ret_n;
    return broken(b, "gzip", z->msg ? z->msg : "data error", err);
}

static int zstd_step(struct bytes *b, char *dst, size_t cap, size_t *ret_n, struct err *err)
{
    ZSTD_inBuffer in = { b->raw + b->raw_at, b->raw_n, 0 };
    ZSTD_outBuffer out = { dst, cap, 0 };
    size_t r = ZSTD_decompressStream(b->zstd, &out, &in);
    *ret_n = out.pos;
    b->raw_at += in.pos;
    b->raw_n -= in.pos;
    if (!ZSTD_isError(r)) {
        b->inside = r != 0;
        return 1;
    }
    b->gave = b->gave || out.pos;
    return broken(b, "zstd", ZSTD_getErrorName(r), err);
}

static ptrdiff_t read_packed(struct bytes *b, char *dst, size_t cap, struct err *err)
{
    bool is_gzip = b->packing == PACKING_GZIP;
    while (!b->end) {
        int r = b->raw_n || b->holds ? 1 : raw_fill(b, err);
        if (r < 0)
            return r;
        if (r == 0)
            return ended(b, is_gzip ? "gzip" : "zstd");
        size_t n = 0;
        r = is_gzip ? gzip_step(b, dst, cap, &n, err) : zstd_step(b, dst, cap, &n, err);
        if (r < 0)
            return r;
        b->holds = b->inside && n == cap;
        b->gave = b->gave || n;
        if (n)
            return (ptrdiff_t) n;
    }
    return 0;
}

ptrdiff_t bytes_read(struct bytes *b, char *dst, size_t cap, struct err *err)
{
    if (b->end)
        return 0;
    if (b->packing == PACKING_UNKNOWN) {
        int r = detect(b, err);
        if (r < 0)
            return r;
    }
    ptrdiff_t n =
        b->packing == PACKING_NONE ? read_plain(b, dst, cap, err) : read_packed(b, dst, cap, err);
    if (n == 0)
        b->end = true;
    return n;
}
