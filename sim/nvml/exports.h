/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_SIM_NVML_EXPORTS_H
#define WATTGATE_SIM_NVML_EXPORTS_H

#include <stdint.h>

/* The first driver version (major * 1000 + minor) that has the function; 0: all have it. */
uint32_t export_since(const char *name);

#endif
