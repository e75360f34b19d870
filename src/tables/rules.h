/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_TABLES_RULES_H
#define WATTGATE_TABLES_RULES_H

#include "core/triage/triage.h"
#include "core/watch/watch.h"
#include "tables/node.h"

/* data/rules/triage.yaml and data/rules/watch.yaml. -EINVAL with file and line when a threshold is
 * unknown, missing, without reason or unit, or contradicts another. */
int triage_rules_parse(const char *name, struct str content, struct triage_rules *ret,
                       struct err *err) MUST_CHECK;
int watch_rules_parse(const char *name, struct str content, struct watch_rules *ret,
                      struct err *err) MUST_CHECK;

#endif
