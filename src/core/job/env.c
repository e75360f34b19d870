/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/job.h"

#include "base/defs.h"
#include "base/parse.h"

#include <stddef.h>

/* The innermost launcher first. Each variable is documented by its launcher; the set that Open MPI,
 * MPICH (PMI), Slurm and torchrun give to every process that they start. */
static const struct launcher {
    const char *name, *rank, *world, *local_rank, *restarts;
} launchers[] = {
    { "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT" },
    { "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      NULL },
    { "mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL },
    { "srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_RESTART_COUNT" },
};

static const char *const names[] = { "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID",
                                     "LSB_JOBID", "JOB_COMPLETION_INDEX" };
static const char *const device_lists[] = { "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                            "HIP_VISIBLE_DEVICES" };

static bool find(struct str environ, const char *name, struct str *ret)
{
    struct str rest = environ, entry;
    while (rest.n && str_split(&rest, '\0', &entry)) {
        ptrdiff_t eq = str_find_char(entry, '=');
        if (eq < 0 || !str_is(str_sub(entry, 0, (size_t) eq), name))
            continue;
        *ret = str_sub(entry, (size_t) eq + 1, entry.n);
        return true;
    }
    return false;
}

static int32_t number(struct str environ, const char *name)
{
    struct str text;
    uint32_t value;
    if (!name || !find(environ, name, &text) || parse_u32(text, &value) < 0 || value > INT32_MAX)
        return -1;
    return (int32_t) value;
}

static void first_text(struct str environ, const char *const *candidates, size_t n, char *buf,
                       size_t cap)
{
    struct str text;
    buf[0] = '\0';
    for (size_t i = 0; i < n && !buf[0]; i++)
        if (find(environ, candidates[i], &text))
            str_plain(str_copy(buf, cap, text));
}

void job_env_read(struct str environ, struct job_env *ret)
{
    static const char *const master[] = { "MASTER_ADDR" };
    *ret = (struct job_env){ .rank = -1, .local_rank = -1, .world = -1, .restarts = -1 };
    for (size_t i = 0; i < ARRAY_SIZE(launchers) && !ret->launcher; i++) {
        const struct launcher *l = &launchers[i];
        int32_t rank = number(environ, l->rank), world = number(environ, l->world);
        if (rank < 0 || world < 1 || rank >= world)
            continue;
        ret->launcher = l->name;
        ret->rank = rank;
        ret->world = world;
        ret->local_rank = number(environ, l->local_rank);
        ret->restarts = number(environ, l->restarts);
    }
    first_text(environ, names, ARRAY_SIZE(names), ret->name, sizeof(ret->name));
    first_text(environ, master, ARRAY_SIZE(master), ret->master, sizeof(ret->master));
    first_text(environ, device_lists, ARRAY_SIZE(device_lists), ret->devices, sizeof(ret->devices));
}

bool job_env_device(const struct job_env *e, int32_t *ret_index, struct str *ret_uuid)
{
    struct str rest = str_from(e->devices), entry = { NULL, 0 }, only = entry;
    int32_t n = 0;
    uint32_t index;
    bool found = false;
    while (rest.n && str_split(&rest, ',', &entry)) {
        if (n == 0)
            only = str_trim(entry);
        if (n++ != e->local_rank)
            continue;
        only = str_trim(entry);
        found = true;
    }
    if (!found && n != 1)
        return false;
    *ret_index = -1;
    *ret_uuid = (struct str){ NULL, 0 };
    if (parse_u32(only, &index) == 0 && index <= INT32_MAX)
        *ret_index = (int32_t) index;
    else if (only.n > 4)
        *ret_uuid = only;
    else
        return false;
    return true;
}
