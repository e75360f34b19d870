/* SPDX-License-Identifier: Apache-2.0 */
#include "trace-fuzz.h"

#include "trace/reader.h"

FUZZ_READER(native_format)
