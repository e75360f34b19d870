/* SPDX-License-Identifier: Apache-2.0 */
/* The machine around the GPUs: processes that hold one and their children, pressure, CPU, dirty
 * pages, NFS mounts, network and InfiniBand. Only files of /proc and /sys are read: a mount or a
 * file of a job is never touched, since one that hangs would take the reader with it.
 *
 * Never faster than once a second; what is dear is read more seldom, and of many processes some in
 * each round, so that a node with 300 processes costs at most 0.05 % of a core. */
#ifndef WATTGATE_SOURCE_HOST_HOST_H
#define WATTGATE_SOURCE_HOST_HOST_H

#include "source/kfile.h"
#include "source/source.h"

extern const struct source_ops host_source;

#define HOST_TICK_US INT64_C(1000000)
#define HOST_SLOW_US INT64_C(10000000)
#define HOST_RARE_US INT64_C(60000000)
#define HOST_LINKS 96
#define HOST_MOUNTS 128

/* One process of the table, or a place in it of one that is of no interest. */
struct host_proc {
    int32_t pid, ppid;
    uint64_t start_ticks;
    uint32_t id;   /* entity, when announced */
    bool seen;     /* in the listing being merged */
    bool readable; /* its stat could be read */
    bool kernel;   /* a kernel thread: never scanned */
    bool holder;   /* has a GPU device open */
    bool child;    /* its parent holds one too: a forked loader worker inherits the descriptor */
    bool watched;  /* holder, or a descendant of one */
    bool announced;
    bool fd_denied, io_denied;
    unsigned scans;
    int64_t scan_due_us, slow_due_us;
    struct kfile stat_file, io_file; /* kept open of those that are read each time */
    char comm[64];
    char wchan[64]; /* the last one that was told */
};

struct host_link {
    bool used, infiniband, told;
    uint32_t id;
    char key[64];    /* "net:eth0", "mlx5_0/1" */
    char folder[96]; /* below /sys/class */
};

struct host_mount {
    bool used, seen;
    uint32_t id;
    char path[256];
};

struct host {
    struct source source; /* first */
    int root_fd;
    int64_t period_us;
    int64_t tick_due_us, slow_due_us, rare_due_us, cpu_due_us;
    int64_t cpu_period_us; /* /proc/stat grows dear with the number of CPUs */
    uint32_t next_id;
    bool node_told;
    struct host_proc *procs; /* by pid */
    size_t n_procs, cap_procs;
    size_t next_holder, next_other; /* where the rotations go on */
    const int32_t *asked;           /* pids that are watched in any case; as of source_env */
    uint32_t n_asked;
    size_t denied_told;
    bool first_scan_done;
    struct host_link links[HOST_LINKS];
    struct host_mount mounts[HOST_MOUNTS];
    struct kfile psi[3], cpu, meminfo;
    char *text; /* room for the large files */
};

#define HOST_TEXT_BYTES ((size_t) 256 * 1024)
#define HOST_PROC_ENTITIES 60000 /* then no new process is told of: ids are small */

/* Each appends records to out; only a lack of memory is an error. */
int host_poll_procs(struct host *h, int64_t mono_us, bool slow,
                    struct record_queue *out) MUST_CHECK;
void host_close_proc(struct host_proc *p); /* its files */
int host_poll_node(struct host *h, int64_t mono_us, struct record_queue *out) MUST_CHECK;
int host_poll_mounts(struct host *h, int64_t mono_us, struct record_queue *out) MUST_CHECK;
int host_poll_links(struct host *h, int64_t mono_us, bool slow, bool rare,
                    struct record_queue *out) MUST_CHECK;
void host_about(const struct source_env *env, struct capability_list *out);

#endif
