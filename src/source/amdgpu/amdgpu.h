/* SPDX-License-Identifier: Apache-2.0 */
/* AMD GPUs from sysfs alone. Every read asks the driver, which may ask the card, which may never
 * answer: all of this belongs into a worker process. */
#ifndef WATTGATE_SOURCE_AMDGPU_AMDGPU_H
#define WATTGATE_SOURCE_AMDGPU_AMDGPU_H

#include "source/amdgpu/gpu_metrics.h"
#include "source/kfile.h"
#include "source/source.h"

extern const struct source_ops amdgpu_source;

#define AMDGPU_MAX 64

/* One card as /sys/class/drm shows it. */
struct amdgpu_card {
    int fd;       /* its device folder */
    char bus[24]; /* PCI address */
    char key[40]; /* unique_id, else the PCI address */
    char name[64];
    char hwmon[32]; /* "hwmon/hwmon3/", or "" */
};

/* Finds the cards that amdgpu drives, in the order of their PCI addresses. *ret_n may be 0. */
int amdgpu_scan(int root_fd, struct amdgpu_card *ret_cards, size_t cap, size_t *ret_n,
                struct err *err) MUST_CHECK;
void amdgpu_card_done(struct amdgpu_card *card);
/* From a table of clock levels ("1: 1700Mhz *"): the level in use, and the highest. -ENODATA when
 * no level is marked, -EINVAL for another text. Outputs may be NULL. */
int amdgpu_clock_levels(struct str text, int64_t *ret_now_mhz, int64_t *ret_max_mhz) MUST_CHECK;
void amdgpu_about(const struct source_env *env, struct capability_list *out);

#endif
