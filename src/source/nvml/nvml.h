/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_SOURCE_NVML_H
#define WATTGATE_SOURCE_NVML_H

#include "source/source.h"

/* NVIDIA GPUs through the driver's management library. */
extern const struct source_ops nvml_source;

#endif
