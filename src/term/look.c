/* SPDX-License-Identifier: Apache-2.0 */
#include "term/look.h"

static const struct state_look looks[] = {
    [STATE_UNKNOWN] = { ' ', "2", "unknown" },
    [STATE_COMPUTE] = { 'C', "42;30", "compute" },
    [STATE_UNDERFED] = { 'u', "46;30", "underfed" },
    [STATE_COMMUNICATION] = { 'm', "44;37", "communication" },
    [STATE_STARVED] = { 's', "43;30", "starved" },
    [STATE_CHECKPOINT] = { 'k', "45;37", "checkpoint" },
    [STATE_DEADLOCK] = { 'D', "41;37;1", "deadlock" },
    [STATE_HELD] = { 'h', "100;37", "held" },
    [STATE_IDLE] = { '.', "2", "idle" },
    [STATE_UNRESOLVED] = { '?', "33", "unresolved" },
    [STATE_LOST] = { '!', "41;33;1", "lost" },
};
_Static_assert(ARRAY_SIZE(looks) == STATE_COUNT, "every state needs a look");

const struct state_look *state_look(enum state s)
{
    return &looks[(unsigned) s < STATE_COUNT ? s : STATE_UNKNOWN];
}

void state_legend(const struct triage *t, bool color, struct strbuf *out)
{
    bool used[STATE_COUNT] = { false };
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        for (uint32_t k = 0; k < d->slots && !d->is_node; k++)
            used[d->slot_state[k]] = true;
    }
    bool first = true;
    for (unsigned s = 1; s < STATE_COUNT; s++) {
        if (!used[s])
            continue;
        strbuf_addz(out, first ? "     " : "  ");
        if (color)
            strbuf_addf(out, "\033[0;%sm%c\033[0m %s", looks[s].style, looks[s].letter,
                        looks[s].word);
        else
            strbuf_addf(out, "%c %s", looks[s].letter, looks[s].word);
        first = false;
    }
    if (!first)
        strbuf_addc(out, '\n');
}
