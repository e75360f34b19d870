/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/document.h"

#include "base/strbuf.h"

#include <errno.h>

int document_load(struct feed *f, json_t **ret, struct err *err)
{
    AUTO(strbuf) struct strbuf text = STRBUF_INIT;
    struct str bytes;
    json_error_t problem;
    int r;
    while ((r = input_bytes(f->in, &bytes, err)) > 0) {
        strbuf_add(&text, bytes);
        if (text.error)
            return err_sys(err, ENOMEM, "read '%s'", input_name(f->in));
        if (text.n > DOCUMENT_MAX_BYTES)
            return err_set(err, -EFBIG,
                           "'%s' is a JSON document of over 128 MiB; query a shorter time or wider "
                           "steps",
                           input_name(f->in));
    }
    if (r < 0)
        return r;
    json_t *root = json_loadb(strbuf_text(&text), text.n, JSON_DISABLE_EOF_CHECK, &problem);
    if (!root)
        return err_set(err, -EINVAL, "'%s' line %d, column %d: %.160s", input_name(f->in),
                       problem.line, problem.column, problem.text);
    f->trace.report.lines = (uint64_t) problem.line;
    *ret = root;
    return 0;
}
