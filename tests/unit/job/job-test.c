/* SPDX-License-Identifier: Apache-2.0 */
#include "base/defs.h"
#include "core/job/job.h"
#include "tap.h"

#define ENV(text) text, sizeof(text) - 1

static void launchers(void)
{
    static const struct {
        const char *environ;
        size_t n;
        const char *launcher;
        int32_t rank, world, local_rank, restarts;
        const char *name;
    } rows[] = {
        { ENV("PATH=/bin\0RANK=3\0WORLD_SIZE=16\0LOCAL_RANK=3\0TORCHELASTIC_RESTART_COUNT=2\0"
              "TORCHELASTIC_RUN_ID=job7\0"),
          "torchrun", 3, 16, 3, 2, "job7" },
        { ENV("SLURM_PROCID=1\0SLURM_NTASKS=2\0SLURM_LOCALID=0\0SLURM_JOB_ID=99\0RANK=9\0"
              "WORLD_SIZE=16\0LOCAL_RANK=1\0"), /* torchrun inside srun */
          "torchrun", 9, 16, 1, -1, "99" },
        { ENV("OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_LOCAL_RANK=0\0"),
          "mpirun", 0, 4, 0, -1, "" },
        { ENV("PMI_RANK=5\0PMI_SIZE=8\0"), "mpiexec", 5, 8, -1, -1, "" },
        { ENV("SLURM_PROCID=7\0SLURM_NTASKS=8\0SLURM_LOCALID=7\0SLURM_RESTART_COUNT=1\0"
              "SLURM_JOB_ID=4242\0"),
          "srun", 7, 8, 7, 1, "4242" },
        { ENV("RANK=16\0WORLD_SIZE=16\0"), NULL, -1, -1, -1, -1, "" }, /* no such rank */
        { ENV("RANK=\0WORLD_SIZE=x\0"), NULL, -1, -1, -1, -1, "" },
        { ENV("RANK=-1\0WORLD_SIZE=4\0"), NULL, -1, -1, -1, -1, "" },
        { ENV("XRANK=1\0RANKS=1\0WORLD_SIZE=4\0"), NULL, -1, -1, -1, -1, "" },
        { ENV("RANK\0WORLD_SIZE\0"), NULL, -1, -1, -1, -1, "" },
        { ENV("RANK=1\0WORLD_SIZE=4"), "torchrun", 1, 4, -1, -1, "" }, /* cut at its end */
        { ENV(""), NULL, -1, -1, -1, -1, "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct job_env e;
        job_env_read((struct str){ rows[i].environ, rows[i].n }, &e);
        CHECK((e.launcher == NULL) == (rows[i].launcher == NULL));
        if (e.launcher && rows[i].launcher)
            CHECK_TEXT(e.launcher, rows[i].launcher);
        CHECK_EQ(e.rank, rows[i].rank);
        CHECK_EQ(e.world, rows[i].world);
        CHECK_EQ(e.local_rank, rows[i].local_rank);
        CHECK_EQ(e.restarts, rows[i].restarts);
        CHECK_TEXT(e.name, rows[i].name);
    }
}

static void devices(void)
{
    static const struct {
        const char *list;
        int32_t local_rank, index;
        const char *uuid; /* NULL: nothing is told */
    } rows[] = {
        { "0,1,2,3", 2, 2, "" },
        { "4,5", 0, 4, "" },
        { "3", 0, 3, "" },
        { "3", 7, 3, "" }, /* one each */
        { "0, 6", 1, 6, "" },
        { "GPU-aaaa,GPU-bbbb", 1, -1, "GPU-bbbb" },
        { "0,1", -1, -1, NULL },
        { "0,1", 5, -1, NULL },
        { "", 0, -1, NULL },
        { "-1", 0, -1, NULL },
        { "MIG-1234-5678", 0, -1, "MIG-1234-5678" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct job_env e = { .local_rank = rows[i].local_rank };
        struct str uuid;
        int32_t index;
        char buf[64];
        str_copy(e.devices, sizeof(e.devices), str_from(rows[i].list));
        bool told = job_env_device(&e, &index, &uuid);
        CHECK_EQ(told, rows[i].uuid != NULL);
        if (!told || !rows[i].uuid)
            continue;
        CHECK_EQ(index, rows[i].index);
        CHECK_TEXT(str_copy(buf, sizeof(buf), uuid), rows[i].uuid);
    }
}

static const struct tap_case cases[] = {
    { "rank and world as each launcher tells them", launchers },
    { "the device of a local rank", devices },
};
TAP_MAIN(cases)
