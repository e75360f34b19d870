/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of a job out of any bytes: the watch takes them all, and what it says holds together. */
#include "core/watch/watch.h"
#include "tables/tables.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct watch_rules *rules(void)
{
    static struct tables tables;
    struct err e;
    if (!tables.watch.clock_most_us && tables_load(NULL, &tables, &e) < 0)
        abort();
    return &tables.watch;
}

static void check(const struct watch_verdict *v)
{
    if ((unsigned) v->verdict >= VERDICT_COUNT || (unsigned) v->kind >= KIND_COUNT ||
        v->culprits_n > WATCH_CULPRITS_MAX || v->decided_us < v->since_us - INT64_MAX / 2)
        abort();
    if ((v->kind == KIND_UNRESOLVED) != (v->candidates != 0))
        abort();
    if (v->kind == KIND_SYMMETRIC && v->culprits_n)
        abort(); /* where all are alike nobody is named */
    if (v->stage == STAGE_ACT && !v->whole_job)
        abort();
}

/* Enums and characters of the struct may hold any byte; booleans may not. */
static void fill(struct rank_second *r, const uint8_t *at)
{
    memcpy(r, at, sizeof(*r));
    unsigned char debugged = at[offsetof(struct rank_second, debugged)];
    r->debugged = debugged == 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct watch_rank about[RANKS] = { 0 };
    struct rank_second ranks[RANKS];
    const struct watch_job job = { .world = RANKS, .n = RANKS, .ranks = about };
    int64_t now_us = 0;
    for (int i = 0; i < RANKS; i++)
        about[i] = (struct watch_rank){
            .bare_mw = 70000, .held_mw = i == 3 ? -1 : 120000, .limit_mw = 700000, .device = "d"
        };
    struct watch *w = watch_new(rules(), &job);
    if (!w)
        return 0;
    /* Each second: one byte how often it is seen, then what each rank shows. */
    for (; size > RANKS * sizeof(*ranks); size -= 1 + RANKS * sizeof(*ranks)) {
        int times = 1 + *data++ % 64;
        for (int i = 0; i < RANKS; i++, data += sizeof(*ranks))
            fill(&ranks[i], data);
        while (times--) {
            now_us += 1000000;
            const struct job_second s = {
                .mono_us = now_us, .dt_us = 1000000, .n = RANKS, .ranks = ranks, .step = -1
            };
            watch_feed(w, &s);
            check(watch_verdict(w));
        }
    }
    watch_free(w);
    return 0;
}
