/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

static void add_string(struct strbuf *out, struct str s)
{
    strbuf_addc(out, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char) s.p[i];
        size_t len = utf8_length(str_sub(s, i, s.n));
        if (c == '"' || c == '\\')
            strbuf_addf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_addz(out, "\\n");
        else if (c == '\t')
            strbuf_addz(out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            strbuf_addf(out, "\\u%04x", c);
        else if (len == 0)
            strbuf_addz(out, "\\ufffd");
        else
            strbuf_add(out, str_sub(s, i, i + len));
        i += len ? len : 1;
    }
    strbuf_addc(out, '"');
}

static void start_value(struct json *j, const char *key)
{
    if (j->need_comma)
        strbuf_addc(j->out, ',');
    j->need_comma = true;
    if (!key)
        return;
    add_string(j->out, str_from(key));
    strbuf_addc(j->out, ':');
}

static void open_with(struct json *j, const char *key, char bracket)
{
    start_value(j, key);
    strbuf_addc(j->out, bracket);
    j->need_comma = false;
}

static void close_with(struct json *j, char bracket)
{
    strbuf_addc(j->out, bracket);
    j->need_comma = true;
}

void json_begin(struct json *j, struct strbuf *out)
{
    *j = (struct json){ .out = out };
    open_with(j, NULL, '{');
}

void json_end(struct json *j)
{
    close_with(j, '}');
    strbuf_addc(j->out, '\n');
}

void json_object(struct json *j, const char *key)
{
    open_with(j, key, '{');
}

void json_object_end(struct json *j)
{
    close_with(j, '}');
}

void json_array(struct json *j, const char *key)
{
    open_with(j, key, '[');
}

void json_array_end(struct json *j)
{
    close_with(j, ']');
}

void json_str(struct json *j, const char *key, struct str value)
{
    start_value(j, key);
    add_string(j->out, value);
}

void json_text(struct json *j, const char *key, const char *value)
{
    if (value)
        json_str(j, key, str_from(value));
    else
        json_null(j, key);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
    start_value(j, key);
    strbuf_add_i64(j->out, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    start_value(j, key);
    strbuf_addz(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
    start_value(j, key);
    strbuf_addz(j->out, "null");
}

void json_scaled(struct json *j, const char *key, int64_t value, int64_t scale, unsigned digits)
{
    start_value(j, key);
    strbuf_add_scaled(j->out, value, scale, digits);
}
