/* SPDX-License-Identifier: Apache-2.0 */
/* The small texts of /proc: the first byte picks the parser. */
#include "source/host/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void net(struct str rest)
{
    struct net_dev d;
    int r;
    while ((r = net_dev_next(&rest, &d)) != 0)
        if (r > 0 && (d.rx_bytes < 0 || !d.name.n))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pid_stat s;
    int64_t a, b;
    if (!size)
        return 0;
    struct str text = { (const char *) data + 1, size - 1 };
    switch (data[0] % 6) {
    case 0:
        if (pid_stat_parse(text, &s) == 0 && (s.pid < 0 || s.cpu_us < 0))
            abort();
        break;
    case 1:
        if (pid_io_parse(text, &a, &b) == 0 && (a < 0 || b < 0))
            abort();
        break;
    case 2:
        if (psi_parse(text, &a, &b) == 0 && a < 0)
            abort();
        break;
    case 3:
        if (cpu_stat_parse(text, &a, &b) == 0 && (a < 0 || b < 0))
            abort();
        break;
    case 4:
        if (meminfo_dirty(text, &a) == 0 && a < 0)
            abort();
        break;
    default:
        net(text);
    }
    return 0;
}
