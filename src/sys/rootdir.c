/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/rootdir.h"

#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int rootdir_open(const char *path, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "open root directory '%s'", path);
    *ret_fd = fd;
    return 0;
}

static int read_all(int fd, char *buf, size_t cap, size_t *ret_n)
{
    size_t n = 0;
    while (n < cap) {
        ssize_t got = read(fd, buf + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t) got;
    }
    *ret_n = n;
    return n == cap ? -EMSGSIZE : 0;
}

static int read_path(int root_fd, const char *path, char *buf, size_t cap, struct str *ret_text,
                     struct err *err)
{
    int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "open '/%s'", path);
    size_t n = 0;
    int r = read_all(fd, buf, cap, &n);
    close(fd);
    if (r < 0)
        return err_sys(err, -r, "read '/%s'", path);
    buf[n] = '\0';
    *ret_text = str_trim((struct str){ buf, n });
    return 0;
}

static int format_path(char *path, size_t cap, const char *fmt, va_list args, struct err *err)
    PRINTF_LIKE(3, 0);

static int format_path(char *path, size_t cap, const char *fmt, va_list args, struct err *err)
{
    int n = vsnprintf(path, cap, fmt, args);
    if (n < 0 || (size_t) n >= cap)
        return err_set(err, -ENAMETOOLONG, "path made from '%s' is too long", fmt);
    return 0;
}

int rootdir_read(int root_fd, char *buf, size_t cap, struct str *ret_text, struct err *err,
                 const char *fmt, ...)
{
    char path[512];
    va_list args;
    va_start(args, fmt);
    int r = format_path(path, sizeof(path), fmt, args, err);
    va_end(args);
    return r < 0 ? r : read_path(root_fd, path, buf, cap, ret_text, err);
}

int rootdir_read_i64(int root_fd, int64_t *ret, struct err *err, const char *fmt, ...)
{
    char path[512], text[64];
    struct str s = { text, 0 };
    va_list args;
    va_start(args, fmt);
    int r = format_path(path, sizeof(path), fmt, args, err);
    va_end(args);
    if (r == 0)
        r = read_path(root_fd, path, text, sizeof(text), &s, err);
    if (r < 0)
        return r;
    r = parse_i64(s, ret);
    return r < 0 ? err_set(err, r, "'/%s' holds '%.*s', no whole number", path, STR_ARG(s)) : 0;
}
