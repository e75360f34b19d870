/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_SOURCE_SKELETON_SKELETON_H
#define WATTGATE_SOURCE_SKELETON_SKELETON_H

#include "source/source.h"

extern const struct source_ops skeleton_source;

#endif
