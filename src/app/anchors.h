/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the GPUs of a stream, to hand kept calibrations to the triage and to make new ones. */
#ifndef WATTGATE_APP_ANCHORS_H
#define WATTGATE_APP_ANCHORS_H

#include "app/calibration.h"

struct anchors;

/* The store is borrowed. Notes (an entry expired, and why) are appended to `notes`, a sentence a
 * line. `learning`: anchors_keep() will be called, so conditions are followed to the end. NULL when
 * memory is out. */
struct anchors *anchors_new(const struct calibration_store *store, bool learning,
                            struct strbuf *notes);
void anchors_free(struct anchors *a);
/* Call before triage_feed() of the same record: an entry that still holds is set in the triage
 * when the device's first power limit is seen. */
int anchors_before(struct anchors *a, struct triage *t, const struct record *r,
                   struct err *err) MUST_CHECK;
/* Puts what the triage learned on these units into `store` (not the borrowed one); *ret_n counts
 * the units. now_us is wall time. */
int anchors_keep(const struct anchors *a, const struct triage *t, int64_t now_us,
                 struct calibration_store *store, size_t *ret_n, struct err *err) MUST_CHECK;
DEFINE_AUTO_PTR(anchors)

#endif
