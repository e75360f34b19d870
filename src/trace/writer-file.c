/* SPDX-License-Identifier: Apache-2.0 */
/* The file under a writer: resumed, written whole or not at all, rotated. */
#include "trace/native.h"
#include "trace/writer-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_fresh(struct trace_writer *w, struct err *err)
{
    w->fd = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (w->fd < 0)
        return err_sys(err, errno, "open '%s' to write", w->path);
    struct stat st;
    w->is_file = fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode);
    w->size = 0;
    w->started = false;
    return 0;
}

/* Drops what stands behind the last line end: a killed writer's half line. */
static int drop_torn_line(struct trace_writer *w, struct err *err)
{
    char buf[4096];
    int64_t end = w->size;
    while (end > 0) {
        int64_t from = MAX(end - (int64_t) sizeof(buf), 0);
        ssize_t n = pread(w->fd, buf, (size_t) (end - from), from);
        if (n <= 0)
            return err_sys(err, n < 0 ? errno : EIO, "read '%s'", w->path);
        const char *lf = memrchr(buf, '\n', (size_t) n);
        if (lf) {
            end = from + (lf - buf) + 1;
            break;
        }
        end = from;
    }
    if (end != w->size && ftruncate(w->fd, end) < 0)
        return err_sys(err, errno, "cut the torn last line of '%s'", w->path);
    w->size = end;
    return lseek(w->fd, end, SEEK_SET) < 0 ? err_sys(err, errno, "'%s'", w->path) : 0;
}

static bool begins_with(int fd, const char *text)
{
    char head[32];
    size_t n = strlen(text);
    return pread(fd, head, n, 0) == (ssize_t) n && memcmp(head, text, n) == 0;
}

/* Goes on with a file that is there; what is not ours is never overwritten. */
static int open_append(struct trace_writer *w, struct err *err)
{
    struct stat st;
    w->fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (w->fd < 0)
        return err_sys(err, errno, "open '%s' to write", w->path);
    if (fstat(w->fd, &st) < 0)
        return err_sys(err, errno, "'%s'", w->path);
    w->is_file = S_ISREG(st.st_mode);
    w->size = w->is_file ? st.st_size : 0;
    w->started = false;
    if (!w->size)
        return 0;
    bool packed = begins_with(w->fd, "\x28\xb5\x2f\xfd");
    bool plain = begins_with(w->fd, NATIVE_MAGIC " 1\n");
    if (w->options.output != OUTPUT_NATIVE || (!packed && !plain))
        return err_set(err, -EEXIST,
                       "'%s' is there and is no native trace to go on with; name "
                       "another file or use --truncate",
                       w->path);
    if (packed || w->options.zstd) {
        /* a compressed file may end in a torn frame, behind which nothing could be read */
        w->options.keep = MAX(w->options.keep, 2);
        return writer_file_rotate(w, err);
    }
    w->started = true;
    return drop_torn_line(w, err);
}

int writer_file_open(struct trace_writer *w, struct err *err)
{
    if (strcmp(w->path, "-") == 0) {
        w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return w->fd < 0 ? err_sys(err, errno, "write to standard output") : 0;
    }
    return w->options.append ? open_append(w, err) : open_fresh(w, err);
}

/* All of it, or the file is cut back to where it was. */
int writer_file_write(struct trace_writer *w, struct str bytes, struct err *err)
{
    int64_t before = w->size;
    while (bytes.n) {
        ssize_t n = write(w->fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int problem = errno;
            if (w->is_file && w->size != before && ftruncate(w->fd, before) == 0)
                (void) lseek(w->fd, w->size = before, SEEK_SET);
            return err_sys(err, problem, "write '%s' (what was written before is kept)", w->path);
        }
        w->size += n;
        bytes = str_sub(bytes, (size_t) n, bytes.n);
    }
    return 0;
}

static int numbered(const struct trace_writer *w, uint32_t number, char *buf, size_t cap,
                    struct err *err)
{
    int n =
        number ? snprintf(buf, cap, "%s.%u", w->path, number) : snprintf(buf, cap, "%s", w->path);
    if (n < 0 || (size_t) n >= cap)
        return err_set(err, -ENAMETOOLONG, "path '%s' is too long", w->path);
    return 0;
}

/* PATH becomes PATH.1, PATH.1 becomes PATH.2 ...; the last one goes. */
int writer_file_rotate(struct trace_writer *w, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    close(w->fd);
    w->fd = -1;
    for (uint32_t i = MAX(w->options.keep, 1) - 1; i > 0; i--) {
        int r = numbered(w, i - 1, from, sizeof(from), err);
        if (r == 0)
            r = numbered(w, i, to, sizeof(to), err);
        if (r < 0)
            return r;
        if (rename(from, to) < 0 && errno != ENOENT)
            return err_sys(err, errno, "rename '%s' to '%s'", from, to);
    }
    return open_fresh(w, err);
}
