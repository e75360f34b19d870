/* SPDX-License-Identifier: Apache-2.0 */
/* The management library found, bound and initialised. */
#ifndef WATTGATE_SOURCE_NVML_LIB_H
#define WATTGATE_SOURCE_NVML_LIB_H

#include "base/err.h"
#include "core/telemetry/record.h"
#include "source/nvml/nvml-api.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml_driver {
    uint32_t major, minor; /* of "580.82.07": 580 and 82; 0 when it is not known */
    char text[NVML_VERSION_BYTES];
};

/* `path` NULL: NVML_LIBRARY by the loader's search. -ENODEV when there is none. */
int nvml_load(const char *path, void **ret_lib, struct nvml_api *ret_api,
              struct err *err) MUST_CHECK;
/* Initialises and asks the driver version. -ENODEV with what the code means and a next step. */
int nvml_init(const struct nvml_api *api, struct nvml_driver *ret_driver,
              struct err *err) MUST_CHECK;
void nvml_driver_parse(struct str text, struct nvml_driver *ret);
const char *nvml_code_text(int code);
const char *nvml_code_remedy(int code); /* "" when there is nothing to do */
/* What a failed call means for the observation; OBS_VALUE for NVML_OK. */
enum obs_status nvml_obs_status(int code);
/* True when the library itself has to be initialised anew. */
bool nvml_code_is_reload(int code);

#endif
