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

/* The same file by another name, or through a link, would be emptied or grow for ever. */
static int spare_input(const struct trace_writer *w, const struct stat *out, struct err *err)
{
    struct stat in;
    const char *input = w->options.input;
    if (!input || !S_ISREG(out->st_mode))
        return 0;
    int r = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(input, &in);
    if (r < 0 || in.st_dev != out->st_dev || in.st_ino != out->st_ino)
        return 0;
    return err_set(err, -EEXIST, "'%s' is the trace that is read; name another file to write",
                   w->path);
}

/* A lock of this process alone: workers that hang do not keep it. */
static int lock(const struct trace_writer *w, struct err *err)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(w->fd, F_SETLK, &l) == 0 || (errno != EACCES && errno != EAGAIN))
        return 0; /* a file system without locks is written to all the same */
    if (fcntl(w->fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK)
        return err_set(err, -EBUSY, "'%s' is being written by process %d; name another file",
                       w->path, (int) l.l_pid);
    return err_set(err, -EBUSY, "'%s' is being written by another process", w->path);
}

/* Opens PATH and leaves its contents as they are. */
static int open_path(struct trace_writer *w, struct err *err)
{
    struct stat st;
    bool special = stat(w->path, &st) == 0 && !S_ISREG(st.st_mode);
    w->fd = open(w->path, (special ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC, 0644);
    if (w->fd < 0)
        return err_sys(err, errno, "open '%s' to write", w->path);
    if (fstat(w->fd, &st) < 0)
        return err_sys(err, errno, "'%s'", w->path);
    w->is_file = S_ISREG(st.st_mode);
    w->size = w->is_file ? st.st_size : 0;
    w->started = false;
    w->device = st.st_dev;
    w->inode = st.st_ino;
    int r = spare_input(w, &st, err);
    return r == 0 && w->is_file ? lock(w, err) : r;
}

static int open_fresh(struct trace_writer *w, struct err *err)
{
    int r = open_path(w, err);
    if (r == 0 && w->size && ftruncate(w->fd, 0) < 0)
        r = err_sys(err, errno, "empty '%s'", w->path);
    w->size = 0;
    return r;
}

static int open_new(struct trace_writer *w, struct err *err)
{
    int r = open_path(w, err);
    if (r == 0 && w->size)
        r = err_set(err, -EEXIST, "'%s' is there; name another file or remove it", w->path);
    return r;
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
static int open_resumed(struct trace_writer *w, struct err *err)
{
    int r = open_path(w, err);
    if (r < 0 || !w->size)
        return r;
    bool packed = begins_with(w->fd, "\x28\xb5\x2f\xfd");
    bool plain = begins_with(w->fd, NATIVE_MAGIC " 1\n");
    if (w->options.output != OUTPUT_NATIVE || (!packed && !plain))
        return err_set(err, -EEXIST,
                       "'%s' is there and is no native trace to go on with; name another file "
                       "or remove it",
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
        struct stat st;
        w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        if (w->fd < 0 || fstat(w->fd, &st) < 0)
            return err_sys(err, errno, "write to standard output");
        return spare_input(w, &st, err);
    }
    static int (*const by_start[])(struct trace_writer *, struct err *) = {
        [WRITER_TRUNCATE] = open_fresh,
        [WRITER_RESUME] = open_resumed,
        [WRITER_NEW] = open_new,
    };
    return by_start[w->options.start](w, err);
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

int writer_file_follow(struct trace_writer *w, bool *ret_begun, struct err *err)
{
    struct stat st;
    *ret_begun = false;
    if (!w->is_file || w->options.start != WRITER_RESUME)
        return 0;
    bool there = stat(w->path, &st) == 0;
    if (there && st.st_dev == w->device && st.st_ino == w->inode)
        return 0;
    if (!there && errno != ENOENT)
        return 0; /* not to be seen now; what is open still takes what is written */
    if (there && (!S_ISREG(st.st_mode) || st.st_size))
        return err_set(err, -EEXIST,
                       "'%s' was replaced by another file, which is left alone; what was written "
                       "before is in the file that was moved or removed",
                       w->path);
    close(w->fd);
    *ret_begun = true;
    return open_path(w, err);
}
