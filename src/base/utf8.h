/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_BASE_UTF8_H
#define WATTGATE_BASE_UTF8_H

#include "base/str.h"

/* Bytes (1 to 4) of the valid UTF-8 character at the start of s; 0 when there is none. */
size_t utf8_length(struct str s);
/* Terminal columns of s, counting one for each character (board names and states need no more). */
size_t utf8_columns(struct str s);

#endif
