/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/json-scalar.h"

#include <stdio.h>
#include <stdlib.h>

static void real_text(double value, char buf[JSON_SCALAR_MAX])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, JSON_SCALAR_MAX, "%.*g", digits, value);
        double back = strtod(buf, NULL);
        if (back <= value && back >= value)
            return;
    }
}

bool json_scalar_text(const json_t *v, char buf[JSON_SCALAR_MAX], struct str *ret)
{
    if (json_is_string(v)) {
        *ret = (struct str){ json_string_value(v), json_string_length(v) };
        return true;
    }
    if (json_is_integer(v))
        snprintf(buf, JSON_SCALAR_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        real_text(json_real_value(v), buf);
    else
        return false;
    *ret = str_from(buf);
    return true;
}
