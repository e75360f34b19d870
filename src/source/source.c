/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

extern const struct source_ops nvml_source;

const struct source_ops *const source_table[] = {
    &nvml_source,
    NULL,
};
