/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the codec share. The grammar is in wattgate-trace(5). */
#ifndef WATTGATE_CORE_TELEMETRY_CODEC_PRIV_H
#define WATTGATE_CORE_TELEMETRY_CODEC_PRIV_H

#include "core/telemetry/record.h"

#define TIME_MAX_US (INT64_C(1) << 53) /* what JSON keeps exactly: the year 2255 */
#define FORMS_MAX 256u /* sample shapes in use at once; the writer reuses numbers beyond */

/* The shape of a sample. A metric that this version does not know is METRIC_UNKNOWN. */
struct form {
    uint32_t n; /* 0: not declared */
    uint16_t metric[SAMPLE_MAX];
};

/* Statuses without a value, by the letter behind '!'; '-' is OBS_ABSENT, '~N' is OBS_STALE. */
static const struct status_letter {
    char letter;
    enum obs_status status;
} status_letters[] = {
    { 'u', OBS_UNSUPPORTED }, { 'd', OBS_DENIED }, { 't', OBS_TIMED_OUT },
    { 'e', OBS_ERROR },       { 'l', OBS_LOST },
};

#endif
