/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/amdgpu.h"

#include "sys/rootdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One ability: a file of every card, and what its absence means. */
struct ability_row {
    const char *id;
    const char *file;
    bool in_hwmon;
    const char *why_absent;
    const char *remedy;
};

static const struct ability_row rows[] = {
    { "amdgpu.power_instant", "power1_input", true,
      "this generation reports an average only (MI200 and older)", "" },
    { "amdgpu.power_average", "power1_average", true,
      "this generation reports an instantaneous value only (MI300 and newer)", "" },
    { "amdgpu.power_limit", "power1_cap", true, "the driver offers no power cap here",
      "on a virtual function the cap belongs to the host" },
    { "amdgpu.utilization", "gpu_busy_percent", false, "the driver offers no busy share here",
      "use a newer kernel or amdgpu-dkms" },
    { "amdgpu.memory", "mem_info_vram_used", false, "the driver offers no memory count here",
      "use kernel 5.2 or newer" },
};

static const char *describe(int error, const struct ability_row *row)
{
    switch (-error) {
    case ENOENT:
        return row->why_absent;
    case EACCES:
        return "no permission to read the file";
    case ENODEV:
    case EIO:
        return "the device does not answer";
    case EPERM:
    case EBUSY:
        return "the device is asleep or being reset";
    default:
        return strerror(-error);
    }
}

static const char *remedy_for(int error, const struct ability_row *row)
{
    switch (-error) {
    case ENOENT:
        return row->remedy;
    case EACCES:
        return "mount /sys into the container, or run outside of it";
    case ENODEV:
    case EIO:
        return "see the kernel log; the GPU needs a reset";
    default:
        return "";
    }
}

static void about_file(const struct ability_row *row, const struct amdgpu_card *cards, size_t n,
                       struct capability_list *out)
{
    char path[96], why[160] = "";
    const char *remedy = "";
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        snprintf(path, sizeof(path), "%s%s", row->in_hwmon ? cards[i].hwmon : "", row->file);
        int r = kfile_read_i64(cards[i].fd, path, &v);
        if (r == 0) {
            good++;
            continue;
        }
        snprintf(why, sizeof(why), "%.20s %s: %.100s", cards[i].bus, row->file, describe(r, row));
        remedy = remedy_for(r, row);
    }
    capability_add(out, row->id,
                   good == n  ? ABILITY_YES
                   : good > 0 ? ABILITY_PARTLY
                              : ABILITY_NO,
                   why, remedy);
}

static int read_metrics(const struct amdgpu_card *card, struct gpu_metrics *ret, struct err *err)
{
    char buf[GPU_METRICS_BYTES_MAX + 1];
    size_t n = 0;
    int r = kfile_read(card->fd, "gpu_metrics", buf, sizeof(buf), &n);
    if (r < 0)
        return err_sys(err, -r, "gpu_metrics");
    return gpu_metrics_decode((const uint8_t *) buf, n, ret, err);
}

static void about_metrics(const struct amdgpu_card *cards, size_t n, struct capability_list *out)
{
    char why[160] = "", link_why[160] = "", energy_why[160] = "";
    size_t good = 0, energy = 0, links = 0;
    for (size_t i = 0; i < n; i++) {
        struct gpu_metrics m = { 0 };
        struct err err = { 0 };
        if (read_metrics(&cards[i], &m, &err) < 0) {
            snprintf(why, sizeof(why), "%.20s %.120s", cards[i].bus, err.text);
            continue;
        }
        good++;
        energy += m.have[GM_ENERGY_TICKS] && m.value[GM_ENERGY_TICKS] > 0;
        links += m.have[GM_LINK_READ_BYTES];
        if (!m.have[GM_LINK_READ_BYTES])
            snprintf(link_why, sizeof(link_why), "gpu_metrics %u.%u does not count XGMI bytes",
                     m.format, m.content);
        if (!m.have[GM_ENERGY_TICKS] || !m.value[GM_ENERGY_TICKS])
            snprintf(energy_why, sizeof(energy_why), "gpu_metrics %u.%u counts no energy here",
                     m.format, m.content);
    }
    const char *newer = "use a wattgate that knows this revision, or an older amdgpu";
    capability_add(out, "amdgpu.gpu_metrics",
                   good == n  ? ABILITY_YES
                   : good > 0 ? ABILITY_PARTLY
                              : ABILITY_NO,
                   why, good < n ? newer : "");
    capability_add(out, "amdgpu.energy",
                   energy == n  ? ABILITY_YES
                   : energy > 0 ? ABILITY_PARTLY
                                : ABILITY_NO,
                   energy == n   ? ""
                   : *energy_why ? energy_why
                                 : "gpu_metrics cannot be read",
                   energy == n ? ""
                               : "energy is integrated from power instead, with less precision");
    capability_add(out, "amdgpu.link_bytes", links ? ABILITY_YES : ABILITY_NO,
                   links       ? ""
                   : *link_why ? link_why
                               : "gpu_metrics cannot be read",
                   links ? "" : "MI300 with kernel 6.8 or newer counts them");
}

void amdgpu_about(const struct source_env *env, struct capability_list *out)
{
    struct amdgpu_card cards[AMDGPU_MAX];
    struct err err = { 0 };
    size_t n = 0;
    int root_fd = -1;
    int r = rootdir_open(env->sysroot, &root_fd, &err);
    if (r == 0)
        r = amdgpu_scan(root_fd, cards, AMDGPU_MAX, &n, &err);
    if (r < 0 || !n) {
        capability_add(out, "amdgpu.device", ABILITY_NO,
                       r < 0 ? err.text : "no card below '/sys/class/drm' is driven by amdgpu",
                       "load the amdgpu driver, or ignore this on a machine without AMD GPUs");
    } else {
        capability_add(out, "amdgpu.device", ABILITY_YES, "", "");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
            about_file(&rows[i], cards, n, out);
        about_metrics(cards, n, out);
    }
    for (size_t i = 0; i < n; i++)
        amdgpu_card_done(&cards[i]);
    if (root_fd >= 0)
        close(root_fd);
}
