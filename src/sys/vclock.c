/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/vclock.h"

#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VCLOCK_MAGIC UINT64_C(0x314b434f4c434757) /* "WGCLOCK1", little endian */

/* The file. All but the last two are written once, before anyone else sees the file. */
struct vclock_page {
    uint64_t magic;
    int64_t real_base_us; /* CLOCK_BOOTTIME at creation */
    int64_t mono_base_us;
    int64_t wall_base_us;
    uint32_t speed_num, speed_den;
    uint32_t stepped;
    _Atomic uint32_t step;      /* futex: counts the steps */
    _Atomic int64_t stepped_us; /* how far a stepped clock was moved */
};

struct vclock {
    struct vclock_page *page;
};

static int64_t read_clock_us(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return 0;
    return (int64_t) ts.tv_sec * US_PER_S + ts.tv_nsec / NS_PER_US;
}

/* value * num / den without overflow for any span that a clock lives. */
static int64_t scale(int64_t value, uint32_t num, uint32_t den)
{
    return value / den * num + value % den * num / den;
}

static int write_page(int fd, const struct vclock_page *page)
{
    const char *p = (const char *) page;
    size_t left = sizeof(*page);
    while (left) {
        ssize_t n = write(fd, p, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        left -= (size_t) n;
    }
    return 0;
}

int vclock_create(const char *path, const struct vclock_setup *setup, struct err *err)
{
    if (!setup->speed_num != !setup->speed_den)
        return err_set(err, -EINVAL, "clock '%s': a speed of %u/%u makes no sense", path,
                       setup->speed_num, setup->speed_den);
    char temp[PATH_MAX];
    if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int) sizeof(temp))
        return err_set(err, -ENAMETOOLONG, "clock '%s': the path is too long", path);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "create clock '%s'", temp);
    int64_t real_us = read_clock_us(CLOCK_BOOTTIME);
    struct vclock_page page = {
        .magic = VCLOCK_MAGIC,
        .real_base_us = real_us,
        .mono_base_us = setup->start_mono_us < 0 ? real_us : setup->start_mono_us,
        .wall_base_us =
            setup->start_wall_us < 0 ? read_clock_us(CLOCK_REALTIME) : setup->start_wall_us,
        .speed_num = setup->speed_num ? setup->speed_num : 1,
        .speed_den = setup->speed_den ? setup->speed_den : 1,
        .stepped = setup->stepped,
    };
    int r = write_page(fd, &page);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temp, path) < 0)
        r = -errno;
    if (r < 0) {
        (void) unlink(temp);
        return err_sys(err, -r, "write clock '%s'", path);
    }
    return 0;
}

static struct vclock_page *map_page(int fd)
{
    /* Followers may lack the right to write; only stepping needs it. */
    void *p = mmap(NULL, sizeof(struct vclock_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

int vclock_open(const char *path, struct vclock **ret, struct err *err)
{
    bool writable = true;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        writable = false;
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0)
        return err_sys(err, errno, "open clock '%s'", path);
    struct vclock_page head = { 0 };
    ssize_t n = pread(fd, &head, sizeof(head), 0);
    if (n != (ssize_t) sizeof(head) || head.magic != VCLOCK_MAGIC || !head.speed_num ||
        !head.speed_den) {
        close(fd);
        return err_set(err, -EINVAL, "'%s' is no clock file of wattgate sim", path);
    }
    void *page = writable ? map_page(fd)
                          : mmap(NULL, sizeof(struct vclock_page), PROT_READ, MAP_SHARED, fd, 0);
    int errnum = errno;
    close(fd);
    if (!page || page == MAP_FAILED)
        return err_sys(err, errnum, "map clock '%s'", path);
    struct vclock *c = malloc(sizeof(*c));
    if (!c) {
        munmap(page, sizeof(struct vclock_page));
        return err_sys(err, ENOMEM, "clock '%s'", path);
    }
    c->page = page;
    *ret = c;
    return 0;
}

void vclock_free(struct vclock *c)
{
    if (!c)
        return;
    munmap(c->page, sizeof(*c->page));
    free(c);
}

static pthread_once_t env_once = PTHREAD_ONCE_INIT;
static struct vclock *env_clock;
static bool env_bad;

static void open_from_env(void)
{
    const char *path = getenv("WATTGATE_CLOCK");
    env_bad = path && *path && vclock_open(path, &env_clock, NULL) < 0;
}

struct vclock *vclock_from_env(bool *ret_bad)
{
    (void) pthread_once(&env_once, open_from_env);
    if (ret_bad)
        *ret_bad = env_bad;
    return env_clock;
}

static int64_t passed_us(const struct vclock_page *p)
{
    if (p->stepped)
        return atomic_load_explicit(&p->stepped_us, memory_order_acquire);
    return scale(read_clock_us(CLOCK_BOOTTIME) - p->real_base_us, p->speed_num, p->speed_den);
}

int64_t vclock_mono_us(const struct vclock *c)
{
    return c->page->mono_base_us + passed_us(c->page);
}

int64_t vclock_wall_us(const struct vclock *c)
{
    return c->page->wall_base_us + passed_us(c->page);
}

int64_t vclock_start_us(const struct vclock *c)
{
    return c->page->mono_base_us;
}

bool vclock_is_stepped(const struct vclock *c)
{
    return c->page->stepped;
}

#define STEPPED_POLL_US (10 * US_PER_MS)

int64_t vclock_wait_us(const struct vclock *c, int64_t mono_us)
{
    int64_t left_us = mono_us - vclock_mono_us(c);
    if (left_us <= 0)
        return 0;
    if (c->page->stepped)
        return STEPPED_POLL_US;
    int64_t real_us = scale(left_us, c->page->speed_den, c->page->speed_num);
    return real_us ? real_us : 1;
}

/* Waits for the next step; false after a signal. */
static bool wait_for_step(struct vclock_page *p, uint32_t seen)
{
    /* The time-out covers a stepper that died; the loop of the caller looks again. */
    struct timespec ts = { .tv_sec = 1, .tv_nsec = 0 };
    long r = syscall(SYS_futex, &p->step, FUTEX_WAIT, seen, &ts, NULL, 0);
    return r == 0 || errno != EINTR;
}

void vclock_sleep_until_us(const struct vclock *c, int64_t mono_us)
{
    struct vclock_page *p = c->page;
    if (!p->stepped) {
        int64_t until_us = read_clock_us(CLOCK_BOOTTIME) + vclock_wait_us(c, mono_us);
        struct timespec ts = { .tv_sec = until_us / US_PER_S,
                               .tv_nsec = until_us % US_PER_S * NS_PER_US };
        (void) clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &ts, NULL);
        return;
    }
    for (;;) {
        uint32_t seen = atomic_load_explicit(&p->step, memory_order_acquire);
        if (vclock_mono_us(c) >= mono_us || !wait_for_step(p, seen))
            return;
    }
}

int vclock_step(struct vclock *c, int64_t by_us, struct err *err)
{
    struct vclock_page *p = c->page;
    if (!p->stepped || by_us < 0)
        return err_set(err, -EINVAL, "only a stepped clock can be stepped, and only forward");
    atomic_fetch_add_explicit(&p->stepped_us, by_us, memory_order_acq_rel);
    atomic_fetch_add_explicit(&p->step, 1, memory_order_acq_rel);
    (void) syscall(SYS_futex, &p->step, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return 0;
}
