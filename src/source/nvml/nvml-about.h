/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_SOURCE_NVML_ABOUT_H
#define WATTGATE_SOURCE_NVML_ABOUT_H

#include "source/source.h"

/* Finds out by doing: loads, initialises, polls twice, and tells what came back. */
void nvml_about(const struct source_env *env, struct capability_list *out);

#endif
