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

/* Energy of a power over a time; the widest product fits, so nothing is asked of the caller. */
static inline int64_t uj_from_mw_us(int64_t power_mw, int64_t dt_us)
{
    __extension__ typedef __int128 wide;
    wide uj = (wide) power_mw * dt_us / 1000;
    return uj > INT64_MAX ? INT64_MAX : uj < INT64_MIN ? INT64_MIN : (int64_t) uj;
}

#endif
