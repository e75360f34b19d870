/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_parents(const char *path, struct err *err)
{
    char part[PATH_MAX];
    str_copy(part, sizeof(part), str_from(path));
    for (char *c = part + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return err_sys(err, errno, "make folder '%s'", part);
        *c = '/';
    }
    return 0;
}

static int write_all(int fd, struct str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        s = str_sub(s, (size_t) n, s.n);
    }
    return 0;
}

int file_replace(const char *path, struct str content, struct err *err)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (n < 0 || (size_t) n >= sizeof(temporary))
        return err_set(err, -ENAMETOOLONG, "path '%s' is too long", path);
    int r = make_parents(path, err);
    if (r < 0)
        return r;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "make a file beside '%s'", path);
    r = write_all(fd, content);
    if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
        r = -errno;
    close(fd);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
    return r < 0 ? err_sys(err, -r, "write '%s'", path) : 0;
}
