/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict for people and for programs (wattgate.verdict/1). */
#ifndef WATTGATE_APP_WATCH_TEXT_H
#define WATTGATE_APP_WATCH_TEXT_H

#include "base/strbuf.h"
#include "core/watch/collect.h"
#include "core/watch/watch.h"

struct verdict_context {
    const struct watch_job *job;
    const struct collect *collect;
    int64_t wall_offset_us; /* wall = stream + this */
    int64_t now_us;         /* of the stream */
};

void verdict_text(const struct verdict_context *c, const struct watch_verdict *v,
                  struct strbuf *out);
void verdict_json(const struct verdict_context *c, const struct watch_verdict *v,
                  struct strbuf *out);

#endif
