/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/pidstat.h"

#include "base/parse.h"

#include <errno.h>

static bool word_i64(struct str *rest, int64_t *ret)
{
    struct str w;
    return str_word(rest, &w) && parse_i64(w, ret) == 0;
}

static bool skip_words(struct str *rest, unsigned n)
{
    struct str w;
    while (n--)
        if (!str_word(rest, &w))
            return false;
    return true;
}

static bool word_u64(struct str *rest, uint64_t *ret)
{
    struct str w;
    return str_word(rest, &w) && parse_u64(w, ret) == 0;
}

/* What stands before the brackets of the name, and what behind the last of them. */
static bool split_comm(struct str text, struct str *ret_before, struct str *ret_comm,
                       struct str *ret_after)
{
    ptrdiff_t open = str_find_char(text, '(');
    if (open < 0)
        return false;
    size_t close = text.n;
    while (close > (size_t) open && text.p[close - 1] != ')')
        close--;
    if (close <= (size_t) open + 1)
        return false;
    *ret_before = str_trim(str_sub(text, 0, (size_t) open));
    *ret_comm = str_sub(text, (size_t) open + 1, close - 1);
    *ret_after = str_sub(text, close, text.n);
    return true;
}

int pid_stat_parse(struct str text, struct pid_stat *ret)
{
    struct str before, rest, state;
    struct pid_stat s = { 0 };
    int64_t pid, ppid, user, system, cpu;
    if (!split_comm(text, &before, &s.comm, &rest) || parse_i64(before, &pid) < 0)
        return -EINVAL;
    if (!str_word(&rest, &state) || state.n != 1 || !word_i64(&rest, &ppid))
        return -EINVAL;
    if (pid < 0 || pid > INT32_MAX || ppid < 0 || ppid > INT32_MAX)
        return -EINVAL;
    /* pgrp session tty tpgid | flags | minflt cminflt majflt cmajflt | utime stime */
    if (!skip_words(&rest, 4) || !word_u64(&rest, &s.flags) || !skip_words(&rest, 4) ||
        !word_i64(&rest, &user) || !word_i64(&rest, &system))
        return -EINVAL;
    /* cutime cstime priority nice | num_threads | itrealvalue | starttime */
    if (!skip_words(&rest, 4) || !word_i64(&rest, &s.threads) || !skip_words(&rest, 1) ||
        !word_u64(&rest, &s.start_ticks))
        return -EINVAL;
    if (user < 0 || system < 0 || __builtin_add_overflow(user, system, &cpu) ||
        __builtin_mul_overflow(cpu, US_PER_KERNEL_TICK, &s.cpu_us))
        return -ERANGE;
    s.pid = (int32_t) pid;
    s.ppid = (int32_t) ppid;
    s.state = state.p[0];
    *ret = s;
    return 0;
}

bool pid_stat_is_kernel(const struct pid_stat *s)
{
    return (s->flags & 0x200000) || s->pid == 2 || s->ppid == 2;
}
