/* SPDX-License-Identifier: Apache-2.0 */
#include "source/nvml/nvml-lib.h"

#include "base/parse.h"
#include "sys/dl.h"

#include <errno.h>

#define AT(member) offsetof(struct nvml_api, member)

/* Newest name first. Names of one row share prototype and layouts. */
static const struct dl_sym symbols[] = {
    { AT(init), true, { "nvmlInit_v2", "nvmlInit" } },
    { AT(shutdown), true, { "nvmlShutdown" } },
    { AT(driver_version), false, { "nvmlSystemGetDriverVersion" } },
    { AT(library_version), false, { "nvmlSystemGetNVMLVersion" } },
    { AT(device_count), true, { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" } },
    { AT(device_by_index),
      true,
      { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" } },
    { AT(device_uuid), false, { "nvmlDeviceGetUUID" } },
    { AT(device_name), false, { "nvmlDeviceGetName" } },
    { AT(device_pci), false, { "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2" } },
    { AT(field_values), false, { "nvmlDeviceGetFieldValues" } },
    { AT(power_usage), false, { "nvmlDeviceGetPowerUsage" } },
    { AT(power_limit), false, { "nvmlDeviceGetEnforcedPowerLimit" } },
    { AT(power_limit_default), false, { "nvmlDeviceGetPowerManagementDefaultLimit" } },
    { AT(power_limit_range), false, { "nvmlDeviceGetPowerManagementLimitConstraints" } },
    { AT(energy), false, { "nvmlDeviceGetTotalEnergyConsumption" } },
    { AT(utilization), false, { "nvmlDeviceGetUtilizationRates" } },
    { AT(clock), false, { "nvmlDeviceGetClockInfo" } },
    { AT(clock_max), false, { "nvmlDeviceGetMaxClockInfo" } },
    { AT(memory), false, { "nvmlDeviceGetMemoryInfo" } },
    { AT(memory_v2), false, { "nvmlDeviceGetMemoryInfo_v2" } },
    { AT(temperature), false, { "nvmlDeviceGetTemperature" } },
    { AT(pstate), false, { "nvmlDeviceGetPerformanceState" } },
    { AT(event_reasons),
      false,
      { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" } },
    { AT(compute_processes),
      false,
      { "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" } },
    { AT(compute_processes_v1), false, { "nvmlDeviceGetComputeRunningProcesses" } },
    { AT(graphics_processes),
      false,
      { "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2" } },
    { AT(graphics_processes_v1), false, { "nvmlDeviceGetGraphicsRunningProcesses" } },
    { AT(ecc_total), false, { "nvmlDeviceGetTotalEccErrors" } },
    { AT(remapped_rows), false, { "nvmlDeviceGetRemappedRows" } },
    { AT(mig_mode), false, { "nvmlDeviceGetMigMode" } },
    { AT(mig_count_max), false, { "nvmlDeviceGetMaxMigDeviceCount" } },
    { AT(mig_by_index), false, { "nvmlDeviceGetMigDeviceHandleByIndex" } },
    { AT(gpu_instance), false, { "nvmlDeviceGetGpuInstanceId" } },
    { AT(compute_instance), false, { "nvmlDeviceGetComputeInstanceId" } },
    { AT(fabric), false, { "nvmlDeviceGetGpuFabricInfoV" } },
    { AT(event_set_create), false, { "nvmlEventSetCreate" } },
    { AT(event_set_free), false, { "nvmlEventSetFree" } },
    { AT(event_register), false, { "nvmlDeviceRegisterEvents" } },
    { AT(event_wait), false, { "nvmlEventSetWait_v2", "nvmlEventSetWait" } },
    { AT(gpm_alloc), false, { "nvmlGpmSampleAlloc" } },
    { AT(gpm_free), false, { "nvmlGpmSampleFree" } },
    { AT(gpm_sample), false, { "nvmlGpmSampleGet" } },
    { AT(gpm_sample_mig), false, { "nvmlGpmMigSampleGet" } },
    { AT(gpm_metrics), false, { "nvmlGpmMetricsGet" } },
    { AT(gpm_support), false, { "nvmlGpmQueryDeviceSupport" } },
};
_Static_assert(ARRAY_SIZE(symbols) * sizeof(void (*)(void)) == sizeof(struct nvml_api),
               "every function needs its row");

static const struct {
    int code;
    enum obs_status status;
    const char *text, *remedy;
} codes[] = {
    { NVML_OK, OBS_VALUE, "success", "" },
    { NVML_UNINITIALIZED, OBS_ERROR, "library not initialised", "" },
    { NVML_INVALID_ARGUMENT, OBS_UNSUPPORTED, "invalid argument", "" },
    { NVML_NOT_SUPPORTED, OBS_UNSUPPORTED, "not supported by the device", "" },
    { NVML_NO_PERMISSION, OBS_DENIED, "no permission",
      "run as root, or give this user access to /dev/nvidia*" },
    { NVML_NOT_FOUND, OBS_ABSENT, "not found", "" },
    { NVML_DRIVER_NOT_LOADED, OBS_ERROR, "kernel driver not loaded",
      "load it (modprobe nvidia), or start the container with GPU access" },
    { NVML_TIMEOUT, OBS_TIMED_OUT, "timed out inside the driver", "" },
    { NVML_LIBRARY_NOT_FOUND, OBS_ERROR, "a library that it needs was not found",
      "install the driver's user-space libraries of the same version" },
    { NVML_FUNCTION_NOT_FOUND, OBS_UNSUPPORTED, "function unknown to this driver",
      "install a newer driver" },
    { NVML_GPU_IS_LOST, OBS_LOST, "GPU is lost: fell off the bus or became inaccessible",
      "look at the kernel log for Xid 79; reset the GPU or restart the node" },
    { NVML_RESET_REQUIRED, OBS_ERROR, "GPU needs a reset before it can be used",
      "drain the node and reset the GPU" },
    { NVML_OPERATING_SYSTEM, OBS_DENIED, "blocked by the operating system",
      "check the device cgroup of this job or container" },
    { NVML_VERSION_MISMATCH, OBS_ERROR, "driver and library versions differ",
      "reload the kernel module or restart the node; the driver package was upgraded under it" },
    { NVML_NO_DATA, OBS_ABSENT, "no data", "" },
    { NVML_VGPU_ECC, OBS_UNSUPPORTED, "not supported on a virtual GPU", "" },
    { NVML_ARGUMENT_VERSION, OBS_UNSUPPORTED, "struct version unknown to this driver", "" },
    { NVML_DEPRECATED, OBS_UNSUPPORTED, "no longer supported by this driver", "" },
    { NVML_NOT_READY, OBS_ABSENT, "not ready", "" },
    { NVML_GPU_NOT_FOUND, OBS_LOST, "GPU not found", "" },
    { NVML_UNKNOWN, OBS_ERROR, "unknown driver error", "look at the kernel log" },
};

static size_t code_row(int code)
{
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].code == code)
            return i;
    return ARRAY_SIZE(codes) - 1;
}

const char *nvml_code_text(int code)
{
    return codes[code_row(code)].text;
}

const char *nvml_code_remedy(int code)
{
    return codes[code_row(code)].remedy;
}

enum obs_status nvml_obs_status(int code)
{
    return codes[code_row(code)].status;
}

bool nvml_code_is_reload(int code)
{
    return code == NVML_UNINITIALIZED || code == NVML_DRIVER_NOT_LOADED ||
           code == NVML_VERSION_MISMATCH;
}

int nvml_load(const char *path, void **ret_lib, struct nvml_api *ret_api, struct err *err)
{
    void *lib = NULL;
    int r = dl_open(path ? path : NVML_LIBRARY, &lib, err);
    if (r >= 0)
        r = dl_bind(lib, symbols, ARRAY_SIZE(symbols), ret_api, err);
    if (r >= 0) {
        *ret_lib = lib;
        return 0;
    }
    dl_close(lib);
    if (err)
        err->code = -ENODEV; /* no library and one that is none are the same: nothing to read */
    return -ENODEV;
}

void nvml_driver_parse(struct str text, struct nvml_driver *ret)
{
    struct str rest = text, part;
    *ret = (struct nvml_driver){ 0 };
    str_copy(ret->text, sizeof(ret->text), text);
    if (!rest.p || !str_split(&rest, '.', &part) || parse_u32(part, &ret->major) < 0)
        return;
    if (str_split(&rest, '.', &part) && parse_u32(part, &ret->minor) < 0)
        ret->minor = 0;
}

int nvml_init(const struct nvml_api *api, struct nvml_driver *ret_driver, struct err *err)
{
    int code = api->init();
    if (code != NVML_OK)
        return err_set(err, -ENODEV, "NVML: %s (%d)%s%s", nvml_code_text(code), code,
                       nvml_code_remedy(code)[0] ? "; " : "", nvml_code_remedy(code));
    char text[NVML_VERSION_BYTES] = "";
    if (!api->driver_version || api->driver_version(text, sizeof(text)) != NVML_OK)
        text[0] = '\0';
    text[sizeof(text) - 1] = '\0';
    nvml_driver_parse(str_from(text), ret_driver);
    return 0;
}
