/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc as numbers. Pure: no file is opened here. Outputs are written only on success. */
#ifndef WATTGATE_SOURCE_HOST_PARSE_H
#define WATTGATE_SOURCE_HOST_PARSE_H

#include "base/defs.h"
#include "base/str.h"
#include "sys/pidstat.h"

#include <stdbool.h>
#include <stdint.h>

/* /proc/PID/io; -ENODATA when one of the two lines is missing. */
int pid_io_parse(struct str text, int64_t *ret_read_bytes, int64_t *ret_write_bytes) MUST_CHECK;

/* /proc/PID/status: the value of one line ("State", "CapEff"), trimmed; false when not there. */
bool status_line(struct str text, const char *key, struct str *ret);

/* /proc/pressure/X: total stall times; *ret_full_us is -1 without a "full" line. */
int psi_parse(struct str text, int64_t *ret_some_us, int64_t *ret_full_us) MUST_CHECK;

/* The first line of /proc/stat. Steal time is not counted as busy: another guest used it. */
int cpu_stat_parse(struct str text, int64_t *ret_busy_us, int64_t *ret_iowait_us) MUST_CHECK;

/* /proc/meminfo. */
int meminfo_dirty(struct str text, int64_t *ret_bytes) MUST_CHECK;

/* One line of /proc/net/dev. */
struct net_dev {
    struct str name;
    int64_t rx_bytes, tx_bytes, errors;
};
/* 1, 0 at the end, -EINVAL for a line that is none (the next call goes on behind it). */
int net_dev_next(struct str *rest, struct net_dev *ret) MUST_CHECK;

struct nfs_op {
    bool valid;
    int64_t ops, sent_bytes, received_bytes, queue_us, rtt_us;
};

/* One NFS mount of /proc/self/mountstats; others are passed over. */
struct nfs_mount {
    struct str device, path;
    bool supported; /* statvers 1.x */
    bool broken;    /* a line of operations could not be read */
    struct nfs_op read, write;
};
/* 1, 0 at the end. Never fails: what is broken is said in the mount. */
int nfs_mount_next(struct str *rest, struct nfs_mount *ret);

#endif
