/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/usage.h"

#include "base/exit.h"

#include <stdarg.h>
#include <stdio.h>

int usage_refuse(const char *command, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "wattgate %s: ", command);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

int usage_check_intake(const char *command, const struct intake_options *o)
{
    struct err e;
    return intake_check(o, &e) < 0 ? usage_refuse(command, "%s", e.text) : EXIT_PASS;
}
