/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbered field of which driver is which metric. Numbers 251 to 273 changed their meaning
 * twice, so the number is chosen by the version of the running driver. */
#ifndef WATTGATE_SOURCE_NVML_FIELDS_H
#define WATTGATE_SOURCE_NVML_FIELDS_H

#include "source/nvml/nvml-lib.h"

struct nvml_field_row {
    enum metric metric;
    uint32_t id, scope;
    int64_t scale; /* metric unit per field unit */
    /* Drivers from `from` (inclusive) to `before` (exclusive); before {0, 0}: all later ones. */
    struct {
        uint32_t major, minor;
    } from, before;
};

extern const struct nvml_field_row nvml_field_rows[];
extern const size_t nvml_field_rows_n;

/* Bytes of one NVLink of the fifth generation, which has no field for the sum. */
enum { NVML_FIELD_LINK_TX = 202, NVML_FIELD_LINK_RX = 204, NVML_LINKS_MAX = 36 };

/* The row of `m` for this driver, or NULL: then do not ask. An unknown driver version gives only
 * rows that hold for every driver. */
const struct nvml_field_row *nvml_field_find(enum metric m, const struct nvml_driver *driver);
/* Reads the value as the driver tagged it; false when it does not fit or means "not available". */
bool nvml_field_value(const struct nvml_field *f, int64_t scale, int64_t *ret);
/* Fills the observation from an answered field. A stamp is kept when it lies within an hour before
 * and five seconds after `wall_us`. */
void nvml_field_obs(const struct nvml_field *f, const struct nvml_field_row *row, int64_t wall_us,
                    struct obs *ret);

#endif
