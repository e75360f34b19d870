/* SPDX-License-Identifier: Apache-2.0 */
/* The job as the watch found it on this node. */
#ifndef WATTGATE_APP_WATCH_JOB_H
#define WATTGATE_APP_WATCH_JOB_H

#include "base/strbuf.h"
#include "core/watch/watch.h"
#include "jobs/discover.h"

struct watched {
    struct job_found *found;
    struct watch_job job; /* its ranks are `ranks` */
    struct watch_rank *ranks;
    int32_t *pids;
};

/* Looks for it in a worker, at most `deadline_us`: an environment may be unreadable for ever. */
int watched_find(const char *sysroot, const struct job_selector *which, int64_t deadline_us,
                 struct watched *ret, struct err *err) MUST_CHECK;
/* The same of a trace that the watch recorded: it holds the job in notes. -ENOENT when it does not.
 */
int watched_recall(const char *trace, struct watched *ret, struct err *err) MUST_CHECK;
/* Those notes, right behind the header. */
struct trace_writer;
int watched_record(const struct watched *w, int64_t mono_us, struct trace_writer *to,
                   struct err *err) MUST_CHECK;
void watched_done(struct watched *w);
/* What was found, what was not, and what that costs. */
void watched_explain(const struct watched *w, struct strbuf *out);
void watched_explain_json(const struct watched *w, struct strbuf *out);
DEFINE_AUTO_VALUE(watched)

#endif
