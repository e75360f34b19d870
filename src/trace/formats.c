/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/formats.h"

#include "trace/reader.h"

/* The surest probe wins; of two equally sure ones the first of this table. */
const struct trace_format *const trace_formats[] = {
    &native_format, &nvsmi_csv_format,  &nvsmi_xml_format, &nvsmi_table_format, &dmon_format,
    &dcgm_format,   &prometheus_format, &rocm_json_format, &jsonl_format,       &mlperf_format,
    NULL,
};
