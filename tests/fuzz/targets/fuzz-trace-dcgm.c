/* SPDX-License-Identifier: Apache-2.0 */
#include "trace-fuzz.h"

#include "trace/formats.h"

FUZZ_READER(dcgm_format)
