/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_SYS_FILE_H
#define WATTGATE_SYS_FILE_H

#include "base/err.h"
#include "base/str.h"

/* Writes `content` beside `path`, syncs and renames: readers see the old file or the new one.
 * Missing parent folders are made (mode 0755). */
int file_replace(const char *path, struct str content, struct err *err) MUST_CHECK;

#endif
