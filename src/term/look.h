/* SPDX-License-Identifier: Apache-2.0 */
/* How states look: a letter that is enough without colour, and a colour. */
#ifndef WATTGATE_TERM_LOOK_H
#define WATTGATE_TERM_LOOK_H

#include "base/strbuf.h"
#include "core/triage/triage.h"

struct state_look {
    char letter;
    const char *style; /* SGR parameters */
    const char *word;
};

const struct state_look *state_look(enum state s);
/* Names the letters that the strips of t use. */
void state_legend(const struct triage *t, bool color, struct strbuf *out);

#endif
