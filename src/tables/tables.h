/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of data/ (YAML), built in or below --data DIR, as the structs that core uses. */
#ifndef WATTGATE_TABLES_TABLES_H
#define WATTGATE_TABLES_TABLES_H

#include "base/err.h"
#include "core/board/board.h"
#include "core/triage/triage.h"
#include "core/watch/watch.h"

struct tables {
    struct board_set boards; /* owned */
    struct triage_rules triage;
    struct watch_rules watch;
    char digest[24]; /* of what triage uses: the bytes of boards and its rules */
};

/* dir NULL: the built-in tables. An error names file, line and what was expected. */
int tables_load(const char *dir, struct tables *ret, struct err *err) MUST_CHECK;
void tables_done(struct tables *t);
/* The built-in files: name ("boards/b300-sxm.yaml") and content; false when i is past the last. */
bool tables_builtin(size_t i, const char **ret_name, struct str *ret_content);
DEFINE_AUTO_VALUE(tables)

#endif
