/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reader.h"

#include <string.h>

const char *trace_looks_like(struct str head)
{
    if (!head.n)
        return "an empty file";
    if (memchr(head.p, '\0', head.n))
        return "binary data";
    return "text of another kind";
}
