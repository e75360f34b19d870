/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/metric.h"

#include "base/defs.h"

static const struct metric_info catalogue[] = {
    [METRIC_UNKNOWN] = { "unknown", "1", METRIC_GAUGE, RATE_TICK, "not in the catalogue" },
    [METRIC_POWER_INSTANT_MW] = { "power_instant_mw", "mW", METRIC_GAUGE, RATE_TICK, "board power over the latest sensor window" },
    [METRIC_POWER_AVERAGE_MW] = { "power_average_mw", "mW", METRIC_GAUGE, RATE_TICK, "board power, 1 s average" },
    [METRIC_POWER_DRAW_MW] = { "power_draw_mw", "mW", METRIC_GAUGE, RATE_TICK, "board power whose kind the source does not state" },
    [METRIC_POWER_LIMIT_MW] = { "power_limit_mw", "mW", METRIC_GAUGE, RATE_TICK, "power limit enforced now" },
    [METRIC_POWER_LIMIT_DEFAULT_MW] = { "power_limit_default_mw", "mW", METRIC_GAUGE, RATE_RARE, "default power limit" },
    [METRIC_POWER_LIMIT_MAX_MW] = { "power_limit_max_mw", "mW", METRIC_GAUGE, RATE_RARE, "highest power limit that can be set" },
    [METRIC_ENERGY_UJ] = { "energy_uj", "uJ", METRIC_COUNTER, RATE_TICK, "energy since the driver was loaded" },
    [METRIC_UTIL_GPU_PERMILLE] = { "util_gpu_permille", "permille", METRIC_GAUGE, RATE_TICK, "time with a kernel resident; 1000 in a collective hang" },
    [METRIC_UTIL_MEM_PERMILLE] = { "util_mem_permille", "permille", METRIC_GAUGE, RATE_TICK, "time with the memory controller busy" },
    [METRIC_GR_ACTIVE_PERMILLE] = { "gr_active_permille", "permille", METRIC_GAUGE, RATE_TICK, "graphics or compute engine active" },
    [METRIC_SM_ACTIVE_PERMILLE] = { "sm_active_permille", "permille", METRIC_GAUGE, RATE_TICK, "SMs with a warp assigned" },
    [METRIC_SM_OCCUPANCY_PERMILLE] = { "sm_occupancy_permille", "permille", METRIC_GAUGE, RATE_TICK, "warps resident of those possible" },
    [METRIC_TENSOR_ACTIVE_PERMILLE] = { "tensor_active_permille", "permille", METRIC_GAUGE, RATE_TICK, "tensor pipe active" },
    [METRIC_DRAM_ACTIVE_PERMILLE] = { "dram_active_permille", "permille", METRIC_GAUGE, RATE_TICK, "DRAM interface active" },
    [METRIC_CLOCK_SM_MHZ] = { "clock_sm_mhz", "MHz", METRIC_GAUGE, RATE_TICK, "SM clock" },
    [METRIC_CLOCK_SM_MAX_MHZ] = { "clock_sm_max_mhz", "MHz", METRIC_GAUGE, RATE_RARE, "highest SM clock" },
    [METRIC_CLOCK_MEM_MHZ] = { "clock_mem_mhz", "MHz", METRIC_GAUGE, RATE_TICK, "memory clock" },
    [METRIC_MEM_USED_BYTES] = { "mem_used_bytes", "B", METRIC_GAUGE, RATE_TICK, "device memory in use" },
    [METRIC_MEM_TOTAL_BYTES] = { "mem_total_bytes", "B", METRIC_GAUGE, RATE_RARE, "device memory in all" },
    [METRIC_TEMP_GPU_MC] = { "temp_gpu_mc", "m°C", METRIC_GAUGE, RATE_TICK, "GPU temperature" },
    [METRIC_TEMP_MEM_MC] = { "temp_mem_mc", "m°C", METRIC_GAUGE, RATE_SLOW, "memory temperature" },
    [METRIC_PSTATE] = { "pstate", "1", METRIC_GAUGE, RATE_TICK, "performance state, 0 is fastest" },
    [METRIC_PCIE_TX_BYTES] = { "pcie_tx_bytes", "B", METRIC_COUNTER, RATE_TICK, "PCIe bytes sent" },
    [METRIC_PCIE_RX_BYTES] = { "pcie_rx_bytes", "B", METRIC_COUNTER, RATE_TICK, "PCIe bytes received" },
    [METRIC_PCIE_TX_BPS] = { "pcie_tx_bps", "B/s", METRIC_GAUGE, RATE_TICK, "PCIe send rate" },
    [METRIC_PCIE_RX_BPS] = { "pcie_rx_bps", "B/s", METRIC_GAUGE, RATE_TICK, "PCIe receive rate" },
    [METRIC_NVLINK_TX_BYTES] = { "nvlink_tx_bytes", "B", METRIC_COUNTER, RATE_TICK, "NVLink bytes sent" },
    [METRIC_NVLINK_RX_BYTES] = { "nvlink_rx_bytes", "B", METRIC_COUNTER, RATE_TICK, "NVLink bytes received" },
    [METRIC_NVLINK_TX_BPS] = { "nvlink_tx_bps", "B/s", METRIC_GAUGE, RATE_TICK, "NVLink send rate" },
    [METRIC_NVLINK_RX_BPS] = { "nvlink_rx_bps", "B/s", METRIC_GAUGE, RATE_TICK, "NVLink receive rate" },
    [METRIC_THROTTLE_REASONS] = { "throttle_reasons", "1", METRIC_GAUGE, RATE_TICK, "clock event reason bits" },
    [METRIC_THROTTLE_POWER_NS] = { "throttle_power_ns", "ns", METRIC_COUNTER, RATE_TICK, "time throttled by the power cap" },
    [METRIC_ECC_UNCORRECTED] = { "ecc_uncorrected", "1", METRIC_COUNTER, RATE_RARE, "uncorrectable ECC errors, aggregate" },
    [METRIC_REMAP_PENDING] = { "remap_pending", "1", METRIC_GAUGE, RATE_RARE, "row remap pending" },
    [METRIC_REMAP_FAILURE] = { "remap_failure", "1", METRIC_GAUGE, RATE_RARE, "row remap failed" },
    [METRIC_RECOVERY_ACTION] = { "recovery_action", "1", METRIC_GAUGE, RATE_RARE, "recovery action that the driver asks for" },
    [METRIC_FABRIC_UNHEALTHY] = { "fabric_unhealthy", "1", METRIC_GAUGE, RATE_RARE, "the fabric reports the GPU unhealthy" },
    [METRIC_XID] = { "xid", "1", METRIC_EVENT, RATE_EVENT, "Xid event" },
    [METRIC_SMOOTHING_ENABLED] = { "smoothing_enabled", "1", METRIC_GAUGE, RATE_RARE, "power smoothing on" },
    [METRIC_MIG_ENABLED] = { "mig_enabled", "1", METRIC_GAUGE, RATE_RARE, "MIG mode on" },
    [METRIC_PROCESS_COUNT] = { "process_count", "1", METRIC_GAUGE, RATE_SLOW, "processes that own a context" },
    [METRIC_QUERY_LATENCY_US] = { "query_latency_us", "us", METRIC_GAUGE, RATE_TICK, "time the query spent in the driver" },
    [METRIC_PROC_STATE] = { "proc_state", "1", METRIC_GAUGE, RATE_TICK, "process state letter" },
    [METRIC_PROC_CPU_US] = { "proc_cpu_us", "us", METRIC_COUNTER, RATE_TICK, "CPU time used" },
    [METRIC_PROC_READ_BYTES] = { "proc_read_bytes", "B", METRIC_COUNTER, RATE_TICK, "bytes fetched from storage" },
    [METRIC_PROC_WRITE_BYTES] = { "proc_write_bytes", "B", METRIC_COUNTER, RATE_TICK, "bytes sent to storage" },
    [METRIC_PROC_GPU_MEM_BYTES] = { "proc_gpu_mem_bytes", "B", METRIC_GAUGE, RATE_SLOW, "device memory of the process" },
    [METRIC_PROC_THREADS] = { "proc_threads", "1", METRIC_GAUGE, RATE_SLOW, "threads" },
    [METRIC_NODE_POWER_MW] = { "node_power_mw", "mW", METRIC_GAUGE, RATE_TICK, "power of the whole node at the wall" },
    [METRIC_PSI_CPU_SOME_US] = { "psi_cpu_some_us", "us", METRIC_COUNTER, RATE_TICK, "time some task waited for CPU" },
    [METRIC_PSI_IO_SOME_US] = { "psi_io_some_us", "us", METRIC_COUNTER, RATE_TICK, "time some task waited for I/O" },
    [METRIC_PSI_IO_FULL_US] = { "psi_io_full_us", "us", METRIC_COUNTER, RATE_TICK, "time all tasks waited for I/O" },
    [METRIC_PSI_MEMORY_SOME_US] = { "psi_memory_some_us", "us", METRIC_COUNTER, RATE_TICK, "time some task waited for memory" },
    [METRIC_PSI_MEMORY_FULL_US] = { "psi_memory_full_us", "us", METRIC_COUNTER, RATE_TICK, "time all tasks waited for memory" },
    [METRIC_NODE_CPU_BUSY_US] = { "node_cpu_busy_us", "us", METRIC_COUNTER, RATE_TICK, "CPU time busy, all CPUs" },
    [METRIC_NODE_CPU_IOWAIT_US] = { "node_cpu_iowait_us", "us", METRIC_COUNTER, RATE_TICK, "CPU time idle with I/O outstanding" },
    [METRIC_NODE_DIRTY_BYTES] = { "node_dirty_bytes", "B", METRIC_GAUGE, RATE_TICK, "page cache waiting to be written" },
    [METRIC_NFS_READ_OPS] = { "nfs_read_ops", "1", METRIC_COUNTER, RATE_SLOW, "NFS READ operations" },
    [METRIC_NFS_READ_BYTES] = { "nfs_read_bytes", "B", METRIC_COUNTER, RATE_SLOW, "NFS bytes read from the server" },
    [METRIC_NFS_READ_RTT_US] = { "nfs_read_rtt_us", "us", METRIC_COUNTER, RATE_SLOW, "round-trip time of NFS READs, summed" },
    [METRIC_NFS_READ_QUEUE_US] = { "nfs_read_queue_us", "us", METRIC_COUNTER, RATE_SLOW, "client queue time of NFS READs, summed" },
    [METRIC_NFS_WRITE_OPS] = { "nfs_write_ops", "1", METRIC_COUNTER, RATE_SLOW, "NFS WRITE operations" },
    [METRIC_NFS_WRITE_BYTES] = { "nfs_write_bytes", "B", METRIC_COUNTER, RATE_SLOW, "NFS bytes written to the server" },
    [METRIC_NFS_WRITE_RTT_US] = { "nfs_write_rtt_us", "us", METRIC_COUNTER, RATE_SLOW, "round-trip time of NFS WRITEs, summed" },
    [METRIC_NFS_WRITE_QUEUE_US] = { "nfs_write_queue_us", "us", METRIC_COUNTER, RATE_SLOW, "client queue time of NFS WRITEs, summed" },
    [METRIC_LINK_RX_BYTES] = { "link_rx_bytes", "B", METRIC_COUNTER, RATE_TICK, "bytes received" },
    [METRIC_LINK_TX_BYTES] = { "link_tx_bytes", "B", METRIC_COUNTER, RATE_TICK, "bytes sent" },
    [METRIC_LINK_ERRORS] = { "link_errors", "1", METRIC_COUNTER, RATE_SLOW, "receive and symbol errors" },
    [METRIC_LINK_DOWNED] = { "link_downed", "1", METRIC_COUNTER, RATE_SLOW, "times the link went down" },
    [METRIC_LINK_ACTIVE] = { "link_active", "1", METRIC_GAUGE, RATE_SLOW, "1 when the port is up" },
};
_Static_assert(ARRAY_SIZE(catalogue) == METRIC_COUNT, "every metric needs its row");

const struct metric_info *metric_info(enum metric m)
{
    return &catalogue[(unsigned) m < METRIC_COUNT ? m : METRIC_UNKNOWN];
}

enum metric metric_from_name(struct str name)
{
    for (unsigned i = 1; i < METRIC_COUNT; i++)
        if (str_is(name, catalogue[i].name))
            return (enum metric) i;
    return METRIC_UNKNOWN;
}
