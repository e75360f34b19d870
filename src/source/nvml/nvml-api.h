/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVIDIA's management library that is used, declared from its public reference:
 * numbers, layouts, prototypes. The assertions hold for the 64-bit ABI, the only one there is. */
#ifndef WATTGATE_SOURCE_NVML_API_H
#define WATTGATE_SOURCE_NVML_API_H

#include <stddef.h>
#include <stdint.h>

enum nvml_code {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17, /* also a device that the cgroup keeps out */
    NVML_VERSION_MISMATCH = 18, /* library and kernel module differ */
    NVML_NO_DATA = 21,
    NVML_VGPU_ECC = 22,
    NVML_ARGUMENT_VERSION = 25,
    NVML_DEPRECATED = 26,
    NVML_NOT_READY = 27,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

enum {
    NVML_UUID_BYTES = 96,
    NVML_NAME_BYTES = 96,
    NVML_VERSION_BYTES = 80,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_TEMPERATURE_GPU = 0,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_AGGREGATE = 1,
    NVML_FABRIC_COMPLETED = 3,
    NVML_FABRIC_SUMMARY_UNHEALTHY = 2,
    NVML_PSTATE_UNKNOWN = 32,
};

#define NVML_EVENT_XID UINT64_C(0x8)
#define NVML_ID_NONE UINT32_MAX /* no GPU or compute instance; for field scopes: all links */
/* Versioned structs begin with their size and version. */
#define NVML_VERSION(type, n) ((uint32_t) sizeof(type) | ((uint32_t) (n) << 24))

enum nvml_value_type {
    NVML_DOUBLE = 0,
    NVML_UINT,
    NVML_ULONG,
    NVML_ULONGLONG,
    NVML_SLONGLONG,
    NVML_SINT,
    NVML_USHORT,
    NVML_VALUE_TYPE_COUNT
};

union nvml_value {
    double f64;
    uint32_t u32;
    unsigned long ulong;
    uint64_t u64;
    int64_t i64;
    int32_t i32;
    uint16_t u16;
};

struct nvml_field {
    uint32_t id, scope;
    int64_t timestamp_us; /* since 1970 */
    int64_t latency_us;
    uint32_t type;
    int32_t code;
    union nvml_value value;
};
_Static_assert(sizeof(struct nvml_field) == 40, "layout");
_Static_assert(offsetof(struct nvml_field, timestamp_us) == 8, "layout");
_Static_assert(offsetof(struct nvml_field, type) == 24, "layout");
_Static_assert(offsetof(struct nvml_field, value) == 32, "layout");

struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32]; /* third version only; the second leaves it as it was */
};
_Static_assert(sizeof(struct nvml_pci) == 68, "layout");
_Static_assert(offsetof(struct nvml_pci, bus_id) == 36, "layout");

struct nvml_utilization {
    uint32_t gpu_percent, memory_percent;
};
_Static_assert(sizeof(struct nvml_utilization) == 8, "layout");

struct nvml_memory {
    uint64_t total, free, used;
};
_Static_assert(sizeof(struct nvml_memory) == 24, "layout");

/* `used` of the first version counts what the driver reserves; this one tells it apart. */
struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "layout");
_Static_assert(offsetof(struct nvml_memory_v2, used) == 32, "layout");

struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes; /* UINT64_MAX: not known */
};
_Static_assert(sizeof(struct nvml_process_v1) == 16, "layout");

/* Second and third version. The first release of driver 535 appended eight bytes to each. */
struct nvml_process {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_process) == 24, "layout");
_Static_assert(offsetof(struct nvml_process, gpu_instance) == 16, "layout");

struct nvml_device;
struct nvml_event_set;
struct nvml_gpm_sample;

/* The first version of the wait call fills all but the two instances. */
struct nvml_event {
    struct nvml_device *device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_event) == 32, "layout");
_Static_assert(offsetof(struct nvml_event, data) == 16, "layout");

struct nvml_fabric_v3 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    int32_t status;
    uint32_t clique, state, health_mask;
    uint8_t health_summary;
};
_Static_assert(sizeof(struct nvml_fabric_v3) == 40, "layout");
_Static_assert(offsetof(struct nvml_fabric_v3, health_summary) == 36, "layout");

struct nvml_fabric_v2 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    int32_t status;
    uint32_t clique, state, health_mask;
};
_Static_assert(sizeof(struct nvml_fabric_v2) == 36, "layout");
_Static_assert(offsetof(struct nvml_fabric_v2, health_mask) == 32, "layout");

struct nvml_gpm_support {
    uint32_t version, is_supported;
};
_Static_assert(sizeof(struct nvml_gpm_support) == 8, "layout");

struct nvml_gpm_metric {
    uint32_t id;
    int32_t code;
    double value;
    char *short_name, *long_name, *unit;
};
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "layout");

/* The array's length grew from header to header while the version stayed 1. Ours is longer than
 * any, so that a library that clears the whole struct stays inside. */
#define NVML_GPM_ROOM 512
struct nvml_gpm_request {
    uint32_t version, n;
    struct nvml_gpm_sample *from, *to;
    struct nvml_gpm_metric metrics[NVML_GPM_ROOM];
};
_Static_assert(offsetof(struct nvml_gpm_request, metrics) == 24, "layout");
#define NVML_GPM_VERSION 1u

/* Every function gives an enum nvml_code. Optional ones may be NULL. */
struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *buf, unsigned cap);
    int (*library_version)(char *buf, unsigned cap);
    int (*device_count)(unsigned *ret);
    int (*device_by_index)(unsigned index, struct nvml_device **ret);
    int (*device_uuid)(struct nvml_device *, char *buf, unsigned cap);
    int (*device_name)(struct nvml_device *, char *buf, unsigned cap);
    int (*device_pci)(struct nvml_device *, struct nvml_pci *ret);
    int (*field_values)(struct nvml_device *, int n, struct nvml_field *fields);
    int (*power_usage)(struct nvml_device *, unsigned *ret_mw);
    int (*power_limit)(struct nvml_device *, unsigned *ret_mw);
    int (*power_limit_default)(struct nvml_device *, unsigned *ret_mw);
    int (*power_limit_range)(struct nvml_device *, unsigned *ret_min_mw, unsigned *ret_max_mw);
    int (*energy)(struct nvml_device *, unsigned long long *ret_mj);
    int (*utilization)(struct nvml_device *, struct nvml_utilization *ret);
    int (*clock)(struct nvml_device *, unsigned which, unsigned *ret_mhz);
    int (*clock_max)(struct nvml_device *, unsigned which, unsigned *ret_mhz);
    int (*memory)(struct nvml_device *, struct nvml_memory *ret);
    int (*memory_v2)(struct nvml_device *, struct nvml_memory_v2 *io);
    int (*temperature)(struct nvml_device *, unsigned sensor, unsigned *ret_c);
    int (*pstate)(struct nvml_device *, unsigned *ret);
    int (*event_reasons)(struct nvml_device *, unsigned long long *ret);
    int (*compute_processes)(struct nvml_device *, unsigned *io_n, void *entries);
    int (*compute_processes_v1)(struct nvml_device *, unsigned *io_n, void *entries);
    int (*graphics_processes)(struct nvml_device *, unsigned *io_n, void *entries);
    int (*graphics_processes_v1)(struct nvml_device *, unsigned *io_n, void *entries);
    int (*ecc_total)(struct nvml_device *, unsigned type, unsigned counter,
                     unsigned long long *ret);
    int (*remapped_rows)(struct nvml_device *, unsigned *ret_corrected, unsigned *ret_uncorrected,
                         unsigned *ret_pending, unsigned *ret_failed);
    int (*mig_mode)(struct nvml_device *, unsigned *ret_now, unsigned *ret_pending);
    int (*mig_count_max)(struct nvml_device *, unsigned *ret);
    int (*mig_by_index)(struct nvml_device *, unsigned index, struct nvml_device **ret);
    int (*gpu_instance)(struct nvml_device *, unsigned *ret);
    int (*compute_instance)(struct nvml_device *, unsigned *ret);
    int (*fabric)(struct nvml_device *, void *io);
    int (*event_set_create)(struct nvml_event_set **ret);
    int (*event_set_free)(struct nvml_event_set *);
    int (*event_register)(struct nvml_device *, unsigned long long types, struct nvml_event_set *);
    int (*event_wait)(struct nvml_event_set *, struct nvml_event *ret, unsigned timeout_ms);
    int (*gpm_alloc)(struct nvml_gpm_sample **ret);
    int (*gpm_free)(struct nvml_gpm_sample *);
    int (*gpm_sample)(struct nvml_device *, struct nvml_gpm_sample *);
    int (*gpm_sample_mig)(struct nvml_device *, unsigned gpu_instance, struct nvml_gpm_sample *);
    int (*gpm_metrics)(struct nvml_gpm_request *io);
    int (*gpm_support)(struct nvml_device *, struct nvml_gpm_support *io);
};

#endif
