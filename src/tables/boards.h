/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_TABLES_BOARDS_H
#define WATTGATE_TABLES_BOARDS_H

#include "core/board/board.h"
#include "tables/node.h"

/* -EINVAL with file and line when a key is unknown, a value has no unit or no source, or the
 * levels do not rise. */
int board_parse(const char *name, struct str content, struct board *ret,
                struct err *err) MUST_CHECK;

#endif
