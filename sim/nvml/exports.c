/* SPDX-License-Identifier: Apache-2.0 */
#include "exports.h"

#include "exports.def"
#include "state.h"

#include <string.h>

#define ROW(name, since) { #name, since },
static const struct {
    const char *name;
    uint32_t since;
} rows[] = { EXPORTS(ROW, ROW) };

/* The rows are in the order of strcmp; a test holds them to it. */
uint32_t export_since(const char *name)
{
    size_t lo = 0, hi = ARRAY_SIZE(rows);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(rows[mid].name, name);
        if (order == 0)
            return rows[mid].since;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

/* Whatever its arguments are, an unmodelled function looks at none of them. */
#define NOTHING(name, since)
#define STUB(name, since)                                                                          \
    __attribute__((visibility("default"))) int name(void);                                         \
    __attribute__((visibility("default"))) int name(void)                                          \
    {                                                                                              \
        return unmodelled(#name);                                                                  \
    }

static int unmodelled(const char *name)
{
    struct call c;
    state_log("unmodelled", name);
    int r = call_system(&c, name);
    return r ? r : NVML_NOT_SUPPORTED;
}

EXPORTS(NOTHING, STUB)
