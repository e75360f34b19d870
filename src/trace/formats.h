/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of foreign formats; trace/formats.c lists them. */
#ifndef WATTGATE_TRACE_FORMATS_H
#define WATTGATE_TRACE_FORMATS_H

#include "trace/trace.h"

extern const struct trace_format nvsmi_csv_format;
extern const struct trace_format nvsmi_xml_format;
extern const struct trace_format nvsmi_table_format;
extern const struct trace_format dmon_format;
extern const struct trace_format dcgm_format;
extern const struct trace_format prometheus_format;
extern const struct trace_format rocm_json_format;
extern const struct trace_format jsonl_format;
extern const struct trace_format mlperf_format;

#endif
