/* SPDX-License-Identifier: Apache-2.0 */
/* The one catalogue of what is measured. Traces, JSON, metrics and help take names, units and
 * kinds from here. The numeric values are not stored anywhere: names are. */
#ifndef WATTGATE_CORE_TELEMETRY_METRIC_H
#define WATTGATE_CORE_TELEMETRY_METRIC_H

#include "base/str.h"

#include <stdint.h>

enum metric {
    METRIC_UNKNOWN = 0,
    /* GPU: power. Three kinds that are never mixed: what the source calls instant, what it calls
     * a 1 s average, and a reading whose kind the source does not state (nvidia-smi power.draw). */
    METRIC_POWER_INSTANT_MW,
    METRIC_POWER_AVERAGE_MW,
    METRIC_POWER_DRAW_MW,
    METRIC_POWER_LIMIT_MW, /* enforced now */
    METRIC_POWER_LIMIT_DEFAULT_MW,
    METRIC_POWER_LIMIT_MAX_MW,
    METRIC_ENERGY_UJ, /* counter since driver load */
    /* GPU: busy shares, in permille of the device. */
    METRIC_UTIL_GPU_PERMILLE, /* some kernel was resident; 1000 in a collective hang */
    METRIC_UTIL_MEM_PERMILLE, /* memory controller busy */
    METRIC_GR_ACTIVE_PERMILLE,
    METRIC_SM_ACTIVE_PERMILLE,
    METRIC_SM_OCCUPANCY_PERMILLE,
    METRIC_TENSOR_ACTIVE_PERMILLE,
    METRIC_DRAM_ACTIVE_PERMILLE,
    /* GPU: clocks, memory, temperature. */
    METRIC_CLOCK_SM_MHZ,
    METRIC_CLOCK_SM_MAX_MHZ,
    METRIC_CLOCK_MEM_MHZ,
    METRIC_MEM_USED_BYTES,
    METRIC_MEM_TOTAL_BYTES,
    METRIC_TEMP_GPU_MC,
    METRIC_TEMP_MEM_MC,
    METRIC_PSTATE,
    /* GPU: traffic; counters in bytes, gauges in bytes a second. */
    METRIC_PCIE_TX_BYTES,
    METRIC_PCIE_RX_BYTES,
    METRIC_PCIE_TX_BPS,
    METRIC_PCIE_RX_BPS,
    METRIC_NVLINK_TX_BYTES,
    METRIC_NVLINK_RX_BYTES,
    METRIC_NVLINK_TX_BPS,
    METRIC_NVLINK_RX_BPS,
    /* GPU: throttling, health, configuration. */
    METRIC_THROTTLE_REASONS, /* NVML clock event reason bits */
    METRIC_THROTTLE_POWER_NS,
    METRIC_ECC_UNCORRECTED, /* aggregate count */
    METRIC_REMAP_PENDING,
    METRIC_REMAP_FAILURE,
    METRIC_RECOVERY_ACTION,  /* NVML: 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset */
    METRIC_FABRIC_UNHEALTHY, /* 1 when the fabric reports the GPU unhealthy */
    METRIC_XID,              /* an event: the Xid number */
    METRIC_SMOOTHING_ENABLED,
    METRIC_MIG_ENABLED,
    METRIC_PROCESS_COUNT,    /* processes that own a context; 0 is known to be none */
    METRIC_QUERY_LATENCY_US, /* time inside the driver */
    /* Process. */
    METRIC_PROC_STATE, /* the state letter of /proc/PID/stat as a number */
    METRIC_PROC_CPU_US,
    METRIC_PROC_READ_BYTES,
    METRIC_PROC_WRITE_BYTES,
    METRIC_PROC_GPU_MEM_BYTES,
    METRIC_PROC_THREADS,
    /* Node. */
    METRIC_NODE_POWER_MW, /* whole node at the wall */
    METRIC_PSI_CPU_SOME_US,
    METRIC_PSI_IO_SOME_US,
    METRIC_PSI_IO_FULL_US,
    METRIC_PSI_MEMORY_SOME_US,
    METRIC_PSI_MEMORY_FULL_US,
    METRIC_NODE_CPU_BUSY_US,
    METRIC_NODE_CPU_IOWAIT_US,
    METRIC_NODE_DIRTY_BYTES,
    /* Mount (NFS client). */
    METRIC_NFS_READ_OPS,
    METRIC_NFS_READ_BYTES,
    METRIC_NFS_READ_RTT_US,
    METRIC_NFS_READ_QUEUE_US,
    METRIC_NFS_WRITE_OPS,
    METRIC_NFS_WRITE_BYTES,
    METRIC_NFS_WRITE_RTT_US,
    METRIC_NFS_WRITE_QUEUE_US,
    /* Link (network or InfiniBand port). */
    METRIC_LINK_RX_BYTES,
    METRIC_LINK_TX_BYTES,
    METRIC_LINK_ERRORS,
    METRIC_LINK_DOWNED,
    METRIC_LINK_ACTIVE,
    METRIC_COUNT
};

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER, METRIC_EVENT };
/* How often a source reads it: every tick, every 10 s, every minute, or when it happens. */
enum metric_rate { RATE_TICK, RATE_SLOW, RATE_RARE, RATE_EVENT };

struct metric_info {
    const char *name; /* with its unit, as traces spell it: "power_instant_mw" */
    const char *unit; /* "mW", "B/s", "permille", ... */
    enum metric_kind kind;
    enum metric_rate rate;
    const char *help;
};

const struct metric_info *metric_info(enum metric m);
/* METRIC_UNKNOWN when nothing is called so. */
enum metric metric_from_name(struct str name);

#endif
