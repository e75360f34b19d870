/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of nvidia-smi -q -x by their path below <gpu>. Private to the XML reader. */
#ifndef WATTGATE_TRACE_NVSMI_XML_ROWS_H
#define WATTGATE_TRACE_NVSMI_XML_ROWS_H

#include "trace/quantity.h"

enum word_list { WORDS_NONE = 0, WORDS_RECOVERY, WORDS_HEALTH, WORDS_UNHEALTHY, WORDS_KIND_COUNT };

struct nvsmi_row {
    const char *path;
    enum metric metric;
    enum quantity quantity;
    enum word_list words; /* the text is a word of this list, not a quantity */
    bool fallback;        /* only where no other row states the metric */
};

extern const struct nvsmi_row nvsmi_rows[]; /* ends with a NULL path */

/* As quantity_parse(). */
int nvsmi_word_parse(enum word_list list, struct str text, struct obs *ret) MUST_CHECK;
/* The NVML bit of a reason's name behind its prefix ("sw_power_cap"); 0 when it is not known. */
int64_t nvsmi_throttle_bit(struct str reason);

#endif
