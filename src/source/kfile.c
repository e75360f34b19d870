/* SPDX-License-Identifier: Apache-2.0 */
#include "source/kfile.h"

#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SMALL_FILE ((size_t) 4097)

/* Not blocking: a FIFO in a captured tree must not stop the poll. */
static int open_file(int dir_fd, const char *path)
{
    return openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int kfile_read(int dir_fd, const char *path, char *buf, size_t cap, size_t *ret_n)
{
    int fd = open_file(dir_fd, path);
    if (fd < 0)
        return -errno;
    size_t n = 0;
    int r = 0;
    while (n < cap - 1) {
        ssize_t got = read(fd, buf + n, cap - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            r = -errno;
        if (got <= 0)
            break;
        n += (size_t) got;
        /* The kernel gives a small file whole: what comes short is at its end. */
        if (cap <= SMALL_FILE && n < cap - 1)
            break;
    }
    char more;
    if (r == 0 && n == cap - 1 && read(fd, &more, 1) == 1)
        r = -EMSGSIZE;
    close(fd);
    buf[n] = '\0';
    *ret_n = n;
    return r;
}

int kfile_read_text(int dir_fd, const char *path, char *buf, size_t cap, struct str *ret)
{
    size_t n = 0;
    int r = kfile_read(dir_fd, path, buf, cap, &n);
    if (r == 0)
        *ret = str_trim((struct str){ buf, n });
    return r;
}

int kfile_read_i64(int dir_fd, const char *path, int64_t *ret)
{
    char buf[64];
    struct str text = { NULL, 0 };
    int r = kfile_read_text(dir_fd, path, buf, sizeof(buf), &text);
    return r < 0 ? r : parse_i64(text, ret);
}

void kfile_close(struct kfile *f)
{
    if (f->fd_plus_1 > 0)
        close(f->fd_plus_1 - 1);
    f->fd_plus_1 = 0;
}

int kfile_reread(struct kfile *f, int dir_fd, const char *path, char *buf, size_t cap,
                 struct str *ret)
{
    if (f->fd_plus_1 <= 0) {
        int fd = open_file(dir_fd, path);
        if (fd < 0)
            return -errno;
        f->fd_plus_1 = fd + 1;
    }
    ssize_t n = pread(f->fd_plus_1 - 1, buf, cap - 1, 0);
    if (n < 0) {
        int r = -errno;
        kfile_close(f);
        return r;
    }
    buf[n] = '\0';
    *ret = str_trim((struct str){ buf, (size_t) n });
    return (size_t) n == cap - 1 ? -EMSGSIZE : 0;
}

enum obs_status kfile_status(int error)
{
    switch (-error) {
    case 0:
        return OBS_VALUE;
    case ENOENT:
    case ENOTDIR:
        return OBS_ABSENT;
    case EACCES:
        return OBS_DENIED;
    case EOPNOTSUPP:
    case ENOSYS:
        return OBS_UNSUPPORTED;
    case ETIMEDOUT:
    case ETIME:
        return OBS_TIMED_OUT;
    case ENODEV:
    case ENXIO:
    case EIO:
        return OBS_LOST;
    default:
        return OBS_ERROR; /* EPERM too: amdgpu answers it while the device is reset or asleep */
    }
}

static void add(struct gather *g, struct obs o)
{
    if (g->n < SAMPLE_MAX)
        g->obs[g->n++] = o;
}

void gather_value(struct gather *g, enum metric m, int64_t value)
{
    add(g, (struct obs){ .metric = m, .status = OBS_VALUE, .value = value });
}

void gather_missing(struct gather *g, enum metric m, enum obs_status why)
{
    add(g, (struct obs){ .metric = m, .status = why });
}

void gather_result(struct gather *g, enum metric m, int result, int64_t value)
{
    if (result == 0)
        gather_value(g, m, value);
    else
        gather_missing(g, m, kfile_status(result));
}

bool gather_has(const struct gather *g, enum metric m)
{
    struct sample s = { .n = g->n, .obs = g->obs };
    int64_t value;
    return sample_get(&s, m, &value);
}

int gather_flush(struct gather *g, uint32_t entity, int64_t mono_us, struct record_queue *out)
{
    if (!g->n)
        return 0;
    struct record r = { .kind = RECORD_SAMPLE, .mono_us = mono_us };
    r.u.sample = (struct sample){ .entity = entity, .n = g->n, .obs = g->obs };
    g->n = 0;
    return record_queue_add(out, &r);
}
