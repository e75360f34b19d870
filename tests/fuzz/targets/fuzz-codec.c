/* SPDX-License-Identifier: Apache-2.0 */
#include "core/telemetry/codec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What can be read can be written again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(codec_reader) struct codec_reader *r = codec_reader_new();
    AUTO(codec_writer) struct codec_writer *w = codec_writer_new();
    AUTO(strbuf) struct strbuf out = STRBUF_INIT;
    struct str rest = { (const char *) data, size }, line;
    const struct record *record;
    struct err e;
    while (r && w && str_split(&rest, '\n', &line)) {
        if (codec_read(r, line, &record, &e) <= 0)
            continue;
        strbuf_clear(&out);
        if (codec_write(w, record, &out, &e) < 0 && record->kind != RECORD_ENTITY)
            abort();
    }
    return 0;
}
