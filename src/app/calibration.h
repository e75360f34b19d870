/* SPDX-License-Identifier: Apache-2.0 */
/* Power levels learned on single units, kept between runs. An entry is good only while the unit's
 * driver, enforced limit and power smoothing are what they were when it was learned. */
#ifndef WATTGATE_APP_CALIBRATION_H
#define WATTGATE_APP_CALIBRATION_H

#include "base/err.h"
#include "core/triage/triage.h"

struct calibration_entry {
    char key[64]; /* UUID; devices without one are not kept */
    char name[64];
    char driver[32];
    int64_t limit_mw;                /* -1 not known */
    int64_t smoothing;               /* 0, 1, -1 not known */
    int64_t anchor_mw[ANCHOR_COUNT]; /* -1 not seen */
    int64_t learned_us;              /* wall time */
};

struct calibration_store {
    struct calibration_entry *items; /* malloc'ed */
    size_t n;
};

/* $XDG_STATE_HOME/wattgate/calibration.json, else ~/.local/state/..., /var/lib/wattgate for root.
 */
int calibration_default_path(char *buf, size_t cap, struct err *err) MUST_CHECK;
/* A file that is not there gives an empty store. */
int calibration_load(const char *path, struct calibration_store *ret, struct err *err) MUST_CHECK;
/* Written beside and renamed; missing folders are made. */
int calibration_save(const char *path, const struct calibration_store *s,
                     struct err *err) MUST_CHECK;
/* Adds, or replaces the entry of the same key. Levels not seen this time are kept from an old
 * entry of the same driver, limit and smoothing. */
int calibration_put(struct calibration_store *s, const struct calibration_entry *e) MUST_CHECK;
const struct calibration_entry *calibration_find(const struct calibration_store *s, struct str key);
/* NULL when the entry may be used, else why not ("the driver changed from 570 to 580"), in buf. */
const char *calibration_expired(const struct calibration_entry *e, struct str driver,
                                int64_t limit_mw, int64_t smoothing, char *buf, size_t cap);
void calibration_store_done(struct calibration_store *s);
DEFINE_AUTO_VALUE(calibration_store)

#endif
