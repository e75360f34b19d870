/* SPDX-License-Identifier: Apache-2.0 */
/* Any stream that can be read can be judged: no overflow, no crash, every episode in order. */
#include "core/telemetry/codec.h"
#include "tables/tables.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_episode(void *arg, const struct episode *e)
{
    (void) arg;
    if (e->end_us < e->start_us || (e->state == STATE_UNRESOLVED) != (e->candidates != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tables tables;
    const struct triage_sink sink = { on_episode, NULL, NULL };
    struct str rest = { (const char *) data, size }, line;
    const struct record *record;
    struct err e;
    if (!tables.boards.n && tables_load(NULL, &tables, &e) < 0)
        abort();
    AUTO(codec_reader) struct codec_reader *r = codec_reader_new();
    AUTO(triage) struct triage *t = triage_new(&tables.triage, &tables.boards, &sink);
    while (r && t && str_split(&rest, '\n', &line))
        if (codec_read(r, line, &record, &e) > 0)
            (void) !triage_feed(t, record, &e);
    if (t && triage_finish(t, &e) < 0)
        abort();
    return 0;
}
