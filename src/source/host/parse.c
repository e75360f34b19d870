/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/parse.h"

#include "base/parse.h"

#include <errno.h>
#include <string.h>

static bool word_i64(struct str *rest, int64_t *ret)
{
    struct str w;
    return str_word(rest, &w) && parse_i64(w, ret) == 0;
}

bool status_line(struct str text, const char *key, struct str *ret)
{
    struct str line;
    size_t n = strlen(key);
    if (!text.p)
        return false;
    while (str_split(&text, '\n', &line))
        if (str_starts(line, key) && line.n > n && line.p[n] == ':') {
            *ret = str_trim(str_sub(line, n + 1, line.n));
            return true;
        }
    return false;
}

static int line_i64(struct str text, const char *key, int64_t *ret)
{
    struct str value;
    if (!status_line(text, key, &value))
        return -ENODATA;
    int r = parse_i64(value, ret);
    return r == 0 && *ret < 0 ? -ERANGE : r;
}

int pid_io_parse(struct str text, int64_t *ret_read_bytes, int64_t *ret_write_bytes)
{
    int64_t rd = 0, wr = 0;
    int r = line_i64(text, "read_bytes", &rd);
    if (r == 0)
        r = line_i64(text, "write_bytes", &wr);
    if (r < 0)
        return r;
    *ret_read_bytes = rd;
    *ret_write_bytes = wr;
    return 0;
}

static int psi_total(struct str line, int64_t *ret)
{
    struct str word;
    while (str_word(&line, &word))
        if (str_starts(word, "total=")) {
            int r = parse_i64(str_sub(word, 6, word.n), ret);
            return r == 0 && *ret < 0 ? -ERANGE : r;
        }
    return -EINVAL;
}

int psi_parse(struct str text, int64_t *ret_some_us, int64_t *ret_full_us)
{
    int64_t some = -1, full = -1;
    struct str line;
    if (!text.p)
        return -EINVAL;
    while (str_split(&text, '\n', &line)) {
        int r = 0;
        if (str_starts(line, "some "))
            r = psi_total(line, &some);
        else if (str_starts(line, "full "))
            r = psi_total(line, &full);
        if (r < 0)
            return r;
    }
    if (some < 0)
        return -EINVAL;
    *ret_some_us = some;
    *ret_full_us = full;
    return 0;
}

int cpu_stat_parse(struct str text, int64_t *ret_busy_us, int64_t *ret_iowait_us)
{
    /* user nice system idle iowait irq softirq; the last three came with kernel 2.6. */
    int64_t v[7] = { 0 }, busy = 0, iowait;
    struct str line, word;
    if (!text.p || !str_split(&text, '\n', &line) || !str_word(&line, &word) ||
        !str_is(word, "cpu"))
        return -EINVAL;
    unsigned n = 0;
    for (; n < ARRAY_SIZE(v) && str_word(&line, &word); n++)
        if (parse_i64(word, &v[n]) < 0 || v[n] < 0)
            return -EINVAL;
    if (n < 4)
        return -EINVAL;
    static const unsigned busy_columns[] = { 0, 1, 2, 5, 6 };
    for (size_t i = 0; i < ARRAY_SIZE(busy_columns); i++)
        if (__builtin_add_overflow(busy, v[busy_columns[i]], &busy))
            return -ERANGE;
    if (__builtin_mul_overflow(busy, US_PER_KERNEL_TICK, &busy) ||
        __builtin_mul_overflow(v[4], US_PER_KERNEL_TICK, &iowait))
        return -ERANGE;
    *ret_busy_us = busy;
    *ret_iowait_us = iowait;
    return 0;
}

int meminfo_dirty(struct str text, int64_t *ret_bytes)
{
    struct str value, unit;
    int64_t kib;
    if (!status_line(text, "Dirty", &value))
        return -ENODATA;
    if (!word_i64(&value, &kib) || kib < 0 || !str_word(&value, &unit) || !str_is(unit, "kB"))
        return -EINVAL;
    return __builtin_mul_overflow(kib, 1024, ret_bytes) ? -ERANGE : 0;
}

static int net_line(struct str line, struct net_dev *ret)
{
    size_t colon = line.n;
    while (colon && line.p[colon - 1] != ':')
        colon--;
    if (colon < 2)
        return -EINVAL;
    struct net_dev d = { .name = str_trim(str_sub(line, 0, colon - 1)) };
    struct str rest = str_sub(line, colon, line.n);
    int64_t v[11];
    for (size_t i = 0; i < ARRAY_SIZE(v); i++)
        if (!word_i64(&rest, &v[i]) || v[i] < 0)
            return -EINVAL;
    d.rx_bytes = v[0];
    d.tx_bytes = v[8];
    if (!d.name.n || __builtin_add_overflow(v[2], v[10], &d.errors))
        return -EINVAL;
    *ret = d;
    return 1;
}

int net_dev_next(struct str *rest, struct net_dev *ret)
{
    struct str line;
    while (rest->p && str_split(rest, '\n', &line)) {
        if (!str_trim(line).n || str_find_char(line, '|') >= 0)
            continue; /* the two lines of headings */
        return net_line(line, ret);
    }
    return 0;
}

/* "device D mounted on P with fstype F [statvers=V]"; true for NFS. */
static bool device_line(struct str line, struct nfs_mount *ret)
{
    static const char on[] = " mounted on ", with[] = " with fstype ";
    struct str type, versions = { NULL, 0 };
    ptrdiff_t at = str_find(line, on);
    if (at < 7)
        return false;
    ptrdiff_t fs = str_find(line, with);
    if (fs < at + (ptrdiff_t) sizeof(on) - 1)
        return false;
    struct str rest = str_sub(line, (size_t) fs + sizeof(with) - 1, line.n);
    if (!str_word(&rest, &type) || !(str_is(type, "nfs") || str_is(type, "nfs4")))
        return false;
    str_word(&rest, &versions);
    *ret = (struct nfs_mount){
        .device = str_sub(line, 7, (size_t) at),
        .path = str_sub(line, (size_t) at + sizeof(on) - 1, (size_t) fs),
        .supported = str_starts(versions, "statvers=1."),
    };
    return ret->path.n > 0;
}

/* ops transmissions timeouts sent received queue_ms rtt_ms execute_ms [errors] */
static bool op_line(struct str rest, struct nfs_op *ret)
{
    int64_t v[8];
    for (size_t i = 0; i < ARRAY_SIZE(v); i++)
        if (!word_i64(&rest, &v[i]) || v[i] < 0)
            return false;
    struct nfs_op op = { .valid = true, .ops = v[0], .sent_bytes = v[3], .received_bytes = v[4] };
    if (__builtin_mul_overflow(v[5], 1000, &op.queue_us) ||
        __builtin_mul_overflow(v[6], 1000, &op.rtt_us))
        return false;
    *ret = op;
    return true;
}

static void mount_line(struct str line, bool *in_ops, struct nfs_mount *m)
{
    line = str_trim(line);
    if (str_starts(line, "per-op statistics"))
        *in_ops = true;
    if (!*in_ops)
        return;
    if (str_starts(line, "READ:"))
        m->broken |= !op_line(str_sub(line, 5, line.n), &m->read);
    else if (str_starts(line, "WRITE:"))
        m->broken |= !op_line(str_sub(line, 6, line.n), &m->write);
}

int nfs_mount_next(struct str *rest, struct nfs_mount *ret)
{
    struct nfs_mount m;
    struct str line;
    bool found = false, in_ops = false;
    while (rest->p && rest->n) {
        struct str before = *rest;
        str_split(rest, '\n', &line);
        bool device = str_starts(line, "device ");
        if (device && found) {
            *rest = before;
            break;
        }
        if (device)
            found = device_line(line, &m);
        else if (found)
            mount_line(line, &in_ops, &m);
    }
    if (!found)
        return 0;
    *ret = m;
    return 1;
}
