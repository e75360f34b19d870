/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch is, as the environment of its processes tells: torchrun, srun, mpirun, DeepSpeed
 * and accelerate all say rank and world there. Pure: the text of /proc/PID/environ goes in. */
#ifndef WATTGATE_CORE_JOB_JOB_H
#define WATTGATE_CORE_JOB_JOB_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What one process's environment says; -1 and "" where it says nothing. */
struct job_env {
    int32_t rank, local_rank, world, restarts;
    const char *launcher; /* who set rank and world: "torchrun", "mpirun", ...; NULL: nobody */
    char name[96];        /* run id or scheduler's job id */
    char master[96];      /* MASTER_ADDR */
    char devices[256];    /* CUDA_VISIBLE_DEVICES or its AMD kin */
};

/* `environ` is NAME=VALUE texts, each ended by a zero byte. Values without sense count as absent;
 * of several launchers the innermost wins: torchrun inside srun counts its own ranks. */
void job_env_read(struct str environ, struct job_env *ret);

/* The device that the process uses: the entry of `devices` at its local rank; where the list has
 * one entry, that one. A number gives *ret_index, a UUID *ret_uuid (borrowed), else false. */
bool job_env_device(const struct job_env *e, int32_t *ret_index, struct str *ret_uuid);

#endif
