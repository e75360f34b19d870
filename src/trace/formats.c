/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

const struct trace_format *const trace_formats[] = {
    &native_format,
    NULL,
};
