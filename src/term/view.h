/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal picture of a triage. Pure: text goes into a buffer. */
#ifndef WATTGATE_TERM_VIEW_H
#define WATTGATE_TERM_VIEW_H

#include "base/strbuf.h"
#include "core/triage/triage.h"

struct view_options {
    bool color;
    bool ascii;       /* the terminal's character set has no block characters */
    unsigned columns; /* width of the terminal; below 60 counts as 60 */
};

/* The findings of one triage, as the sink gave them. */
struct finding_list {
    struct finding *items; /* malloc'ed */
    size_t n, cap;
    size_t dropped; /* more than FINDINGS_KEPT came */
};

#define FINDINGS_KEPT 1000

void finding_list_add(struct finding_list *list, const struct finding *f);
void finding_list_done(struct finding_list *list);

/* Title, one line a GPU, shares of time, what utilisation said against what watts say, energy. */
void view_devices(const struct triage *t, const struct view_options *o, struct strbuf *out);
/* The findings in plain words; alike ones of several GPUs on one line. */
void view_findings(const struct triage *t, const struct finding_list *list,
                   const struct view_options *o, struct strbuf *out);
/* One line for --episodes: start, GPU, state, how long, watts, why. */
void view_episode(const struct triage *t, const struct episode *e, const struct view_options *o,
                  struct strbuf *out);
/* One line for --follow: device i is now in another state than `before`. */
void view_change(const struct triage *t, size_t i, enum state before, int64_t now_us,
                 const struct view_options *o, struct strbuf *out);
/* "0-3,7" */
void view_ranges(const uint32_t *numbers, size_t n, struct strbuf *out);
/* "2026-12-01 05:13:51" in UTC, or "+12.3s" for a stream without a clock. */
void view_time(const struct triage *t, int64_t stream_us, struct strbuf *out);
/* "6.2 kJ", "1.73 kWh" */
void view_energy(int64_t energy_uj, struct strbuf *out);
/* "12s", "3m05s", "2h10m" */
void view_duration(int64_t us, struct strbuf *out);

#endif
