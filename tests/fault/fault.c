/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { FAULTS_MAX = 5000 };

/* The sweep in progress. Allocations outside of it, such as stdio's, are not counted. */
static struct {
    bool on;
    unsigned set;
    unsigned countdown; /* faultable calls until the one that fails; 0: it has happened */
    bool met;
    int64_t live; /* blocks allocated and not given back */
} sweep;

enum { DESCRIPTORS = 256 };

static unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
ssize_t __real_read(int fd, void *buf, size_t n);
ssize_t __real_write(int fd, const void *buf, size_t n);
int __real_openat64(int dir, const char *path, int flags, mode_t mode);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
ssize_t __wrap_read(int fd, void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
int __wrap_openat64(int dir, const char *path, int flags, ...);
ssize_t __wrap___read_chk(int fd, void *buf, size_t n, size_t size);
int __wrap___openat64_2(int dir, const char *path, int flags);

/* True when this call is the one that fails. */
static bool fails(enum fault_set kind, int errnum)
{
    if (!sweep.on || !(sweep.set & (unsigned) kind) || sweep.countdown == 0)
        return false;
    sweep.countdown--;
    if (sweep.countdown > 0)
        return false;
    sweep.met = true;
    errno = errnum;
    return true;
}

static void *counted(void *p)
{
    if (sweep.on && p)
        sweep.live++;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (fails(FAULT_MEMORY, ENOMEM))
        return NULL;
    void *q = __real_realloc(p, n);
    return p ? q : counted(q);
}

void __wrap_free(void *p)
{
    if (sweep.on && p)
        sweep.live--;
    __real_free(p);
}

char *__wrap_strndup(const char *s, size_t n)
{
    size_t length = strnlen(s, n);
    char *copy = __wrap_malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}

char *__wrap_strdup(const char *s)
{
    return __wrap_strndup(s, strlen(s));
}

ssize_t __wrap_read(int fd, void *buf, size_t n)
{
    return fails(FAULT_READ, EIO) ? -1 : __real_read(fd, buf, n);
}

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
    return fails(FAULT_WRITE, ENOSPC) ? -1 : __real_write(fd, buf, n);
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return fails(FAULT_OPEN, EMFILE) ? -1 : __real_openat64(dir, path, flags, mode);
}

/* The names that _FORTIFY_SOURCE gives to these calls. */
ssize_t __wrap___read_chk(int fd, void *buf, size_t n, size_t size)
{
    (void) size;
    return __wrap_read(fd, buf, n);
}

int __wrap___openat64_2(int dir, const char *path, int flags)
{
    return __wrap_openat64(dir, path, flags);
}

static bool run_is_right(const struct fault_entry *entry, unsigned n, int r, const struct err *err,
                         unsigned open_before)
{
    bool may_survive = (entry->set & FAULT_MAY_SURVIVE) != 0;
    bool wants_text = (entry->set & FAULT_NO_TEXT) == 0;
    bool foreign = (entry->set & FAULT_FOREIGN_BLOCKS) != 0;
    bool right = false;
    if (r > 0)
        tap_note("%s: a wrong result, line %d, with fault %u", entry->name, r, n);
    else if (sweep.met && r == 0 && !may_survive)
        tap_note("%s: fault %u was not reported", entry->name, n);
    else if (!sweep.met && r < 0)
        tap_note("%s: failed with %d (%s) without a fault", entry->name, r, err->text);
    else if (r < 0 && wants_text && (err->text[0] == '\0' || err->code != r))
        tap_note("%s: fault %u gave %d, and no sentence for it", entry->name, n, r);
    else if (foreign ? sweep.live > 0 : sweep.live != 0)
        tap_note("%s: fault %u: %lld blocks were not given back", entry->name, n,
                 (long long) sweep.live);
    else if (descriptors() != open_before)
        tap_note("%s: fault %u: %d descriptors were not closed", entry->name, n,
                 (int) (descriptors() - open_before));
    else
        right = true;
    return right;
}

void fault_sweep(const struct fault_entry *entry)
{
    unsigned n = 0;
    do {
        n++;
        struct err err = { 0 };
        sweep.set = entry->set;
        sweep.countdown = n;
        sweep.met = false;
        sweep.live = 0;
        unsigned open_before = descriptors();
        sweep.on = true;
        int r = entry->run(&err);
        sweep.on = false;
        CHECK(run_is_right(entry, n, r, &err, open_before));
    } while (sweep.met && n < FAULTS_MAX);
    /* a sweep that met nothing has proved nothing */
    CHECK(n > 1);
    CHECK(n < FAULTS_MAX);
    tap_note("%s: %u faults", entry->name, n - 1);
}
