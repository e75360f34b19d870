/* SPDX-License-Identifier: Apache-2.0 */
#include "term/view.h"

#include <stdlib.h>
#include <string.h>

void finding_list_add(struct finding_list *list, const struct finding *f)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct finding *items =
            list->n < FINDINGS_KEPT ? realloc(list->items, cap * sizeof(*items)) : NULL;
        if (!items) {
            list->dropped++;
            return;
        }
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = *f;
}

void finding_list_done(struct finding_list *list)
{
    free(list->items);
    *list = (struct finding_list){ 0 };
}

/* What each kind means for the reader, and what to do. */
static const char *const meanings[] = {
    [FINDING_NONE] = "",
    [FINDING_GHOST_LATCH] = "utilisation is latched high but nobody owns the GPU; opening and "
                            "closing a context clears it",
    [FINDING_CAPPED] = "the enforced power limit is below the default: compute will look underfed",
    [FINDING_SMOOTHING_FLOOR] = "power smoothing keeps watts up without work: low watts may come "
                                "late or never",
    [FINDING_FAULTED_BOARD] = "the board reports faults: drain it and look at its kernel log",
    [FINDING_EMPTY_ALLOCATION] = "a process holds the GPU and does not work",
    [FINDING_STUCK_SENSOR] = "the power sensor does not move: its watts mean nothing",
    [FINDING_METRICS_VANISHED] = "readings that were there are gone",
    [FINDING_XID] = "the driver reported an Xid",
    [FINDING_CLOCKS_DISAGREE] = "energy counter and integrated power disagree",
    [FINDING_THROTTLED] = "hardware slows the GPU down; one slow GPU slows a synchronous job",
    [FINDING_WINDOW_SKEW] = "high watts at utilisation 0: the two readings look at different times",
    [FINDING_DEVICE_LOST] = "the device stopped answering",
    [FINDING_WORKER_STUCK] = "reading this device hangs in the driver",
    [FINDING_BLIND] = "the driver answers nobody: this node is not being watched",
    [FINDING_TIME] = "about the times of this input",
    [FINDING_ODD_ONE_OUT] = "differs from the many that stall: look at its process first",
    [FINDING_READER] = "about this input",
};
_Static_assert(ARRAY_SIZE(meanings) == FINDING_COUNT, "every finding needs its meaning");

static bool same_words(const struct finding *a, const struct finding *b)
{
    return a->kind == b->kind && strcmp(a->evidence.rule, b->evidence.rule) == 0;
}

/* The GPUs of all findings like items[i]; false when an earlier one already told of them. */
static size_t collect(const struct triage *t, const struct finding_list *list, size_t i,
                      uint32_t *numbers)
{
    size_t n = 0;
    for (size_t k = 0; k < list->n; k++) {
        if (!same_words(&list->items[i], &list->items[k]))
            continue;
        if (k < i)
            return 0;
        const struct triage_device *d =
            list->items[k].device == ENTITY_NONE ? NULL : triage_device(t, list->items[k].device);
        uint32_t number = d && d->index >= 0 ? (uint32_t) d->index : UINT32_MAX;
        bool seen = false;
        for (size_t m = 0; m < n; m++)
            seen = seen || numbers[m] == number;
        if (!seen)
            numbers[n++] = number;
    }
    return n;
}

void view_findings(const struct triage *t, const struct finding_list *list,
                   const struct view_options *o, struct strbuf *out)
{
    uint32_t *numbers = calloc(list->n + 1, sizeof(*numbers));
    for (size_t i = 0; numbers && i < list->n; i++) {
        const struct finding *f = &list->items[i];
        size_t n = collect(t, list, i, numbers);
        if (!n)
            continue;
        if (o->color)
            strbuf_addz(out, "\033[33m!\033[0m ");
        else
            strbuf_addz(out, "! ");
        if (numbers[0] != UINT32_MAX) {
            strbuf_addz(out, n > 1 ? "GPUs " : "GPU ");
            view_ranges(numbers, n, out);
            strbuf_addz(out, ": ");
        }
        strbuf_addf(out, "%s: %s\n  at ", finding_name(f->kind), meanings[f->kind]);
        view_time(t, f->at_us, out);
        strbuf_addf(out, ": %s [%s]\n", f->evidence.detail, f->evidence.rule);
    }
    if (list->dropped)
        strbuf_addf(out, "! and %zu more findings\n", list->dropped);
    free(numbers);
}
