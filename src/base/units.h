/* SPDX-License-Identifier: Apache-2.0 */
/* Unit constants and conversions. Quantities are integers whose unit is in their name:
 * _mw milliwatt, _uj microjoule, _us microsecond, _bytes, _permille, _mhz, _mc millidegree C. */
#ifndef WATTGATE_BASE_UNITS_H
#define WATTGATE_BASE_UNITS_H

#include <stdint.h>

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define MW_PER_W INT64_C(1000)
#define UJ_PER_MJ INT64_C(1000)
#define UJ_PER_J INT64_C(1000000)

/* 1 mW during 1 us is 1 nJ. Callers keep dt_us below an hour: 1e7 mW * 3.6e9 us fits 64 bits. */
static inline int64_t uj_from_mw_us(int64_t power_mw, int64_t dt_us)
{
    return power_mw * dt_us / 1000;
}

#endif
