/* SPDX-License-Identifier: Apache-2.0 */
/* Values as vendors' tools print them: with or without unit, or a word instead of a number. */
#ifndef WATTGATE_TRACE_QUANTITY_H
#define WATTGATE_TRACE_QUANTITY_H

#include "base/defs.h"
#include "base/str.h"
#include "core/telemetry/record.h"

#include <stdbool.h>

/* What a column holds when no unit is written. */
enum quantity {
    QUANTITY_NONE = 0,
    QUANTITY_POWER_W,
    QUANTITY_SHARE_PERCENT,
    QUANTITY_SHARE_RATIO, /* 0 to 1 */
    QUANTITY_CLOCK_MHZ,
    QUANTITY_TEMP_C,
    QUANTITY_MEM_MIB,
    QUANTITY_MEM_BYTES,
    QUANTITY_ENERGY_MJ, /* millijoule */
    QUANTITY_ENERGY_J,
    QUANTITY_ENERGY_UJ,
    QUANTITY_RATE_KB, /* a second */
    QUANTITY_RATE_MB,
    QUANTITY_RATE_B,
    QUANTITY_COUNT_OF, /* a plain number from 0 on */
    QUANTITY_TIME_US,
    QUANTITY_TIME_NS,
    QUANTITY_PSTATE, /* "P0" */
    QUANTITY_BITS,   /* "0x0000000000000004" */
    QUANTITY_YES,    /* Yes, Enabled, Active, True, 1 and their opposites */
    QUANTITY_KIND_COUNT
};

/* `unit` is what the column's header says, or empty; a unit beside the value wins. Fills status and
 * value of *ret. -ENODATA: the text is empty. -EINVAL: it is no such quantity, or of a unit that is
 * not known. -ERANGE: no device can have such a value. *ret is untouched then. */
int quantity_parse(enum quantity q, struct str unit, struct str text, struct obs *ret) MUST_CHECK;
/* The same for a number that is known to be one. */
int quantity_from_double(enum quantity q, double number, struct obs *ret) MUST_CHECK;
/* "a power", for messages. */
const char *quantity_name(enum quantity q);
/* "[N/A]", "ERR!", "[Not Supported]", ...: true and what it means. */
bool status_from_words(struct str text, enum obs_status *ret);

#endif
