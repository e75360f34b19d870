/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_TABLES_RULES_H
#define WATTGATE_TABLES_RULES_H

#include "core/triage/triage.h"
#include "tables/node.h"

/* -EINVAL with file and line when a threshold is unknown, missing, without reason or unit, or
 * contradicts another. */
int rules_parse(const char *name, struct str content, struct triage_rules *ret,
                struct err *err) MUST_CHECK;

#endif
