/* SPDX-License-Identifier: Apache-2.0 */
/* The files of data/, as tools/embed-files puts them into the program. */
#ifndef WATTGATE_TABLES_BUILTIN_H
#define WATTGATE_TABLES_BUILTIN_H

#include <stddef.h>

struct builtin_file {
    const char *name; /* "boards/b300-sxm.yaml"; NULL ends the list */
    const char *bytes;
    size_t n;
};

extern const struct builtin_file builtin_files[];

#endif
