/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON lines of a triage: wattgate.episode/1, wattgate.state/1, wattgate.finding/1 and, last,
 * wattgate.triage/1. wattgate-triage(1) documents them. */
#ifndef WATTGATE_APP_TRIAGE_JSON_H
#define WATTGATE_APP_TRIAGE_JSON_H

#include "base/strbuf.h"
#include "core/triage/triage.h"

void triage_json_episode(const struct triage *t, const struct episode *e, struct strbuf *out);
/* The open episode of device i, when its state changed. */
void triage_json_state(const struct triage *t, size_t i, int64_t now_us, struct strbuf *out);
void triage_json_finding(const struct triage *t, const struct finding *f, struct strbuf *out);
/* tables: digest of the board and rule tables. */
void triage_json_summary(const struct triage *t, const char *tables, struct strbuf *out);

#endif
