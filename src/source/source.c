/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include "source/amdgpu/amdgpu.h"
#include "source/host/host.h"
#include "source/nvml/nvml.h"

/* One line a source; the order is the order of asking. */
const struct source_ops *const source_table[] = {
    &nvml_source,
    &amdgpu_source,
    &host_source,
    NULL,
};
