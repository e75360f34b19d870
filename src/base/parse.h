/* SPDX-License-Identifier: Apache-2.0 */
/* Whole-string parsing of numbers and quantities. Nothing is guessed: a text that is not entirely
 * the wanted thing gives -EINVAL, one that does not fit gives -ERANGE, and the result is untouched.
 */
#ifndef WATTGATE_BASE_PARSE_H
#define WATTGATE_BASE_PARSE_H

#include "base/defs.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

int parse_i64(struct str s, int64_t *ret) MUST_CHECK;
int parse_u64(struct str s, uint64_t *ret) MUST_CHECK;
int parse_u32(struct str s, uint32_t *ret) MUST_CHECK;
int parse_hex_u64(struct str s, uint64_t *ret) MUST_CHECK; /* with or without 0x */
/* A decimal such as "182.34", "-3", "1e3" times `scale`, rounded half away from zero:
 * parse_scaled("182.34", 1000) gives 182340. "nan", "inf", "1,5" and "" are -EINVAL. */
int parse_scaled(struct str s, int64_t scale, int64_t *ret) MUST_CHECK;
/* "90s", "500ms", "2m", "1h", "3d", "250us": microseconds. A bare number is refused. */
int parse_duration_us(struct str s, int64_t *ret_us) MUST_CHECK;
/* "4096B", "64KiB", "2GiB", "1GB" (10^9): bytes. A bare number is refused. */
int parse_size_bytes(struct str s, int64_t *ret_bytes) MUST_CHECK;
/* "700W", "1.1kW", "250mW": milliwatts. A bare number is refused. */
int parse_power_mw(struct str s, int64_t *ret_mw) MUST_CHECK;

#endif
