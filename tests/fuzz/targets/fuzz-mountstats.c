/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *) data, size };
    struct nfs_mount m;
    size_t left = size + 1;
    while (nfs_mount_next(&rest, &m) > 0) {
        if (rest.n >= left || !m.path.n)
            abort(); /* no progress, or a mount without a place */
        left = rest.n;
        if (m.read.valid && (m.read.ops < 0 || m.read.rtt_us < 0))
            abort();
    }
    return 0;
}
