/* SPDX-License-Identifier: Apache-2.0 */
/* A streaming JSON writer: one object a line, no tree. Strings are escaped; bytes that are not
 * UTF-8 become U+FFFD. Numbers are integers or exact decimals, never binary floating point. */
#ifndef WATTGATE_BASE_JSON_H
#define WATTGATE_BASE_JSON_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
    struct strbuf *out;
    bool need_comma;
};

/* Every function with `key` takes NULL inside an array. */
void json_begin(struct json *j, struct strbuf *out); /* opens the outermost object */
void json_end(struct json *j);                       /* closes it and ends the line */
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_str(struct json *j, const char *key, struct str value);
void json_text(struct json *j, const char *key, const char *value); /* NULL gives null */
void json_i64(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* value / scale with `digits` decimal places, see strbuf_add_scaled(). */
void json_scaled(struct json *j, const char *key, int64_t value, int64_t scale, unsigned digits);

#endif
