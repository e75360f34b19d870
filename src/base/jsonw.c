/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"

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

static void start_value(struct jsonw *j, const char *key)
{
    if (j->need_comma)
        strbuf_addc(j->out, ',');
    j->need_comma = true;
    if (!key)
        return;
    add_string(j->out, str_from(key));
    strbuf_addc(j->out, ':');
}

static void open_with(struct jsonw *j, const char *key, char bracket)
{
    start_value(j, key);
    strbuf_addc(j->out, bracket);
    j->need_comma = false;
}

static void close_with(struct jsonw *j, char bracket)
{
    strbuf_addc(j->out, bracket);
    j->need_comma = true;
}

void jsonw_begin(struct jsonw *j, struct strbuf *out)
{
    *j = (struct jsonw){ .out = out };
    open_with(j, NULL, '{');
}

void jsonw_end(struct jsonw *j)
{
    close_with(j, '}');
    strbuf_addc(j->out, '\n');
}

void jsonw_object(struct jsonw *j, const char *key)
{
    open_with(j, key, '{');
}

void jsonw_object_end(struct jsonw *j)
{
    close_with(j, '}');
}

void jsonw_array(struct jsonw *j, const char *key)
{
    open_with(j, key, '[');
}

void jsonw_array_end(struct jsonw *j)
{
    close_with(j, ']');
}

void jsonw_str(struct jsonw *j, const char *key, struct str value)
{
    start_value(j, key);
    add_string(j->out, value);
}

void jsonw_text(struct jsonw *j, const char *key, const char *value)
{
    if (value)
        jsonw_str(j, key, str_from(value));
    else
        jsonw_null(j, key);
}

void jsonw_i64(struct jsonw *j, const char *key, int64_t value)
{
    start_value(j, key);
    strbuf_add_i64(j->out, value);
}

void jsonw_bool(struct jsonw *j, const char *key, bool value)
{
    start_value(j, key);
    strbuf_addz(j->out, value ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
    start_value(j, key);
    strbuf_addz(j->out, "null");
}

void jsonw_scaled(struct jsonw *j, const char *key, int64_t value, int64_t scale, unsigned digits)
{
    start_value(j, key);
    strbuf_add_scaled(j->out, value, scale, digits);
}
