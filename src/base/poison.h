/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that nobody here may call; the build puts this header before every file. The system
 * headers come first: they declare what is banned. Use parse.h, strbuf.h, str.h and snprintf. */
#ifndef WATTGATE_BASE_POISON_H
#define WATTGATE_BASE_POISON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison atoi atol atoll atof
#pragma GCC poison strcpy strcat stpcpy strncat strtok
/* macros where clang builds with _FORTIFY_SOURCE */
#undef sprintf
#undef vsprintf
#pragma GCC poison sprintf vsprintf gets

#endif
