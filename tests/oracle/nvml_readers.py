# SPDX-License-Identifier: Apache-2.0
"""Runs inside `wattgate sim` on nvml.scenario; speaks TAP.

    nvml_readers.py fields EXPECT-JSON   values by nvidia-ml-py's own names of field ids
    nvml_readers.py surface              the calls of nvidia-ml-py that are modelled
    nvml_readers.py gpustat FILE         what `gpustat --json` wrote
    nvml_readers.py nvitop FILE          what `nvitop -1` wrote
    nvml_readers.py nvitop-api           nvitop's Device objects
"""
import json
import os
import re
import sys

failed = 0
number = 0


def check(what, got, want, tolerance=0):
    global failed, number
    number += 1
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        ok = abs(got - want) <= tolerance
    else:
        ok = got == want
    if ok:
        print(f"ok {number} - {what}")
    else:
        failed += 1
        print(f"not ok {number} - {what}: got {got!r}, want {want!r}")


def fields(want):
    """want: field name -> [nvmlReturn, value]; names that the release lacks must be null."""
    import pynvml as p
    p.nvmlInit()
    handle = p.nvmlDeviceGetHandleByIndex(0)
    for name, expected in want.items():
        field = getattr(p, name, None)
        if expected is None:
            check(f"{name} is unknown to this release", field, None)
            continue
        if field is None:
            check(f"{name} exists", None, "a number")
            continue
        value = p.nvmlDeviceGetFieldValues(handle, [(field, 0)])[0]
        check(f"{name} = {field}: return value", value.nvmlReturn, expected[0])
        if expected[0]:
            continue
        wide = value.valueType == p.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        number_ = value.value.ullVal if wide else value.value.uiVal
        if expected[1] == "counter":
            check(f"{name} = {field} is a counter of 64 bits", wide, True)
        else:
            check(f"{name} = {field}", number_, expected[1], expected[1] // 1000)


def surface():
    import pynvml as p
    p.nvmlInit()
    check("devices", p.nvmlDeviceGetCount(), 4)
    d = [p.nvmlDeviceGetHandleByIndex(i) for i in range(4)]
    check("draw of work", p.nvmlDeviceGetPowerUsage(d[0]), 800000, 800)
    check("draw of spin", p.nvmlDeviceGetPowerUsage(d[1]), 250000, 250)
    check("draw at the limit", p.nvmlDeviceGetPowerUsage(d[2]), 900000, 900)
    check("draw of idle", p.nvmlDeviceGetPowerUsage(d[3]), 180000, 180)
    check("limit", p.nvmlDeviceGetEnforcedPowerLimit(d[2]), 900000)
    check("default limit", p.nvmlDeviceGetPowerManagementDefaultLimit(d[2]), 1100000)
    check("limits", list(p.nvmlDeviceGetPowerManagementLimitConstraints(d[0])), [200000, 1100000])
    check("power cap reason", p.nvmlDeviceGetCurrentClocksThrottleReasons(d[2]), 4)
    check("no reason", p.nvmlDeviceGetCurrentClocksThrottleReasons(d[0]), 0)
    util = p.nvmlDeviceGetUtilizationRates(d[0])
    check("utilisation", (util.gpu, util.memory), (97, 40))
    check("spin shows 100", p.nvmlDeviceGetUtilizationRates(d[1]).gpu, 100)
    memory = p.nvmlDeviceGetMemoryInfo(d[0], version=p.nvmlMemory_v2)
    check("memory used", memory.used >> 30, 100)
    check("memory adds up", memory.total, memory.used + memory.free + memory.reserved)
    processes = p.nvmlDeviceGetComputeRunningProcesses(d[0])
    check("process", [(q.pid, q.usedGpuMemory >> 30) for q in processes],
          [(int(os.environ["WATTGATE_SIM_PID"]), 10)])
    check("no process on the idle GPU", p.nvmlDeviceGetComputeRunningProcesses(d[3]), [])
    check("by UUID", p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByUUID(p.nvmlDeviceGetUUID(d[2]))),
          2)
    bus = p.nvmlDeviceGetPciInfo(d[1]).busId
    check("by bus", p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByPciBusId(bus)), 1)
    check("PCIe, KB/s", p.nvmlDeviceGetPcieThroughput(d[0], p.NVML_PCIE_UTIL_TX_BYTES), 3145, 2)
    check("compute capability", list(p.nvmlDeviceGetCudaComputeCapability(d[0])), [10, 0])
    check("architecture", p.nvmlDeviceGetArchitecture(d[0]), p.NVML_DEVICE_ARCH_BLACKWELL)
    kind, ring = p.nvmlDeviceGetSamples(d[0], p.NVML_TOTAL_POWER_SAMPLES, 0)
    check("ring of power", (kind, ring[-1].sampleValue.uiVal // 1000), (1, 800))
    try:
        p.nvmlDeviceGetFanSpeed(d[0])
        check("a fan speed is not supported", "a value", "an error")
    except p.NVMLError as e:
        check("a fan speed is not supported", e.value, p.NVML_ERROR_NOT_SUPPORTED)
    before = p.nvmlDeviceGetTotalEnergyConsumption(d[0])
    a = p.nvmlGpmSampleGet(d[0], p.nvmlGpmSampleAlloc())
    import time
    time.sleep(0.3)
    b = p.nvmlGpmSampleGet(d[0], p.nvmlGpmSampleAlloc())
    check("energy grows", p.nvmlDeviceGetTotalEnergyConsumption(d[0]) > before, True)
    get = p.c_nvmlGpmMetricsGet_t()
    get.version = p.NVML_GPM_METRICS_GET_VERSION
    get.numMetrics = 2
    get.sample1, get.sample2 = a, b
    get.metrics[0].metricId = p.NVML_GPM_METRIC_GRAPHICS_UTIL
    get.metrics[1].metricId = p.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC
    p.nvmlGpmMetricsGet(get)
    check("GPM: graphics", get.metrics[0].value, 97, 0.1)
    check("GPM: NVLink MiB/s", get.metrics[1].value, 2048, 1)


def gpustat(path):
    with open(path, encoding="utf-8") as f:
        gpus = json.load(f)["gpus"]
    check("gpustat: GPUs", len(gpus), 4)
    check("gpustat: watts", [g["power.draw"] for g in gpus], [800, 250, 900, 180])
    check("gpustat: limits", [g["enforced.power.limit"] for g in gpus], [1100, 1100, 900, 1100])
    check("gpustat: utilisation", [g["utilization.gpu"] for g in gpus][:2], [97, 100])
    check("gpustat: memory", gpus[0]["memory.used"], 100 * 1024)
    check("gpustat: processes", [len(g["processes"]) for g in gpus], [1, 1, 1, 0])


def nvitop(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    watts = re.findall(r"(\d+)W / (\d+)W", text)
    check("nvitop: watts and limits", watts,
          [("800", "1100"), ("250", "1100"), ("900", "900"), ("180", "1100")])
    check("nvitop: name", "B300" in text, True)


def nvitop_api():
    from nvitop import Device
    devices = Device.all()
    check("nvitop: power", [round(d.power_usage() / 1000) for d in devices], [800, 250, 900, 180])
    check("nvitop: processes", [list(d.processes()) for d in devices],
          [[int(os.environ["WATTGATE_SIM_PID"])]] * 3 + [[]])
    check("nvitop: utilisation", devices[0].gpu_utilization(), 97)
    check("nvitop: memory", devices[0].memory_used() >> 30, 100)
    check("nvitop: NVLink KiB/s", devices[0].nvlink_link_count(), 18)


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "fields":
        fields(json.loads(arguments[0]))
    else:
        {"surface": surface, "gpustat": gpustat, "nvitop": nvitop,
         "nvitop-api": nvitop_api}[what](*arguments)
    print(f"1..{number}")
    return 1 if failed else 0


sys.exit(main())
