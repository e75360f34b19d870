/* SPDX-License-Identifier: Apache-2.0 */
/* A streaming JSON writer: one object a line, no tree. Strings are escaped; bytes that are not
 * UTF-8 become U+FFFD. Numbers are integers or exact decimals, never binary floating point.
 * Not called json_: that prefix is jansson's. */
#ifndef WATTGATE_BASE_JSONW_H
#define WATTGATE_BASE_JSONW_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct jsonw {
    struct strbuf *out;
    bool need_comma;
};

/* Every function with `key` takes NULL inside an array. */
void jsonw_begin(struct jsonw *j, struct strbuf *out); /* opens the outermost object */
void jsonw_end(struct jsonw *j);                       /* closes it and ends the line */
void jsonw_object(struct jsonw *j, const char *key);
void jsonw_object_end(struct jsonw *j);
void jsonw_array(struct jsonw *j, const char *key);
void jsonw_array_end(struct jsonw *j);
void jsonw_str(struct jsonw *j, const char *key, struct str value);
void jsonw_text(struct jsonw *j, const char *key, const char *value); /* NULL gives null */
void jsonw_i64(struct jsonw *j, const char *key, int64_t value);
void jsonw_bool(struct jsonw *j, const char *key, bool value);
void jsonw_null(struct jsonw *j, const char *key);
/* value / scale with `digits` decimal places, see strbuf_add_scaled(). */
void jsonw_scaled(struct jsonw *j, const char *key, int64_t value, int64_t scale, unsigned digits);

#endif
