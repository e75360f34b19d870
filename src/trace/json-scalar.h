/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON scalar as the text that the readers of quantities take. */
#ifndef WATTGATE_TRACE_JSON_SCALAR_H
#define WATTGATE_TRACE_JSON_SCALAR_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>

#define JSON_SCALAR_MAX 40

/* A number in as few digits as give it back, in `buf`; a string as it is, borrowed from `v`. False
 * for null, booleans, objects and lists. */
bool json_scalar_text(const json_t *v, char buf[JSON_SCALAR_MAX], struct str *ret);

#endif
