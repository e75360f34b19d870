/* SPDX-License-Identifier: Apache-2.0 */
/* Environments of processes: whatever they hold, rank and world fit together, texts end. */
#include "core/job/job.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job_env e;
    struct str uuid;
    int32_t index;
    job_env_read((struct str){ (const char *) data, size }, &e);
    if (e.launcher ? e.rank < 0 || e.world < 1 || e.rank >= e.world : e.rank != -1)
        abort();
    if (job_env_device(&e, &index, &uuid) && index < 0 && !uuid.n)
        abort();
    if (strnlen(e.devices, sizeof(e.devices)) == sizeof(e.devices))
        abort();
    return 0;
}
