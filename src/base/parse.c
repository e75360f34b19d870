/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int parse_u64(struct str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (!s.n)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]))
            return -EINVAL;
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t) (s.p[i] - '0'), &v))
            return -ERANGE;
    }
    *ret = v;
    return 0;
}

int parse_u32(struct str s, uint32_t *ret)
{
    uint64_t v;
    int r = parse_u64(s, &v);
    if (r < 0)
        return r;
    if (v > UINT32_MAX)
        return -ERANGE;
    *ret = (uint32_t) v;
    return 0;
}

int parse_i64(struct str s, int64_t *ret)
{
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    int r = parse_u64(minus ? str_sub(s, 1, s.n) : s, &v);
    if (r < 0)
        return r;
    if (v > (uint64_t) INT64_MAX + (minus ? 1 : 0))
        return -ERANGE;
    *ret = minus ? (int64_t) (0 - v) : (int64_t) v;
    return 0;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int parse_hex_u64(struct str s, uint64_t *ret)
{
    if (str_starts(s, "0x") || str_starts(s, "0X"))
        s = str_sub(s, 2, s.n);
    if (!s.n)
        return -EINVAL;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        int digit = hex_digit(s.p[i]);
        if (digit < 0)
            return -EINVAL;
        if (v >> 60)
            return -ERANGE;
        v = v << 4 | (uint64_t) digit;
    }
    *ret = v;
    return 0;
}

/* The digits of a decimal: its significant digits as an integer and the power of ten behind it. */
struct decimal {
    bool minus;
    uint64_t digits;
    int exponent;
    bool inexact_up; /* first dropped digit was 5 or more */
};

static int scan_exponent(struct str s, int *io_exponent)
{
    if (!s.n)
        return 0;
    if (s.p[0] != 'e' && s.p[0] != 'E')
        return -EINVAL;
    s = str_sub(s, s.n > 1 && s.p[1] == '+' ? 2 : 1, s.n);
    int64_t e;
    if (parse_i64(s, &e) < 0 || e < -400 || e > 400)
        return -EINVAL;
    *io_exponent += (int) e;
    return 0;
}

static int scan_decimal(struct str s, struct decimal *ret)
{
    struct decimal d = { .minus = s.n && s.p[0] == '-' };
    size_t i = d.minus || (s.n && s.p[0] == '+') ? 1 : 0;
    bool any = false, dot = false, full = false;
    for (; i < s.n; i++) {
        if (s.p[i] == '.' && !dot) {
            dot = true;
            continue;
        }
        if (!is_digit(s.p[i]))
            break;
        any = true;
        uint64_t digit = (uint64_t) (s.p[i] - '0');
        if (!full && d.digits <= (UINT64_MAX - 9) / 10) {
            d.digits = d.digits * 10 + digit;
            d.exponent -= dot;
        } else { /* beyond 64 bits: keep the magnitude, round by the first digit dropped */
            d.inexact_up = full ? d.inexact_up : digit >= 5;
            full = true;
            d.exponent += !dot;
        }
    }
    if (!any || scan_exponent(str_sub(s, i, s.n), &d.exponent) < 0)
        return -EINVAL;
    *ret = d;
    return 0;
}

int parse_scaled(struct str s, int64_t scale, int64_t *ret)
{
    __extension__ typedef unsigned __int128 wide;
    struct decimal d;
    if (scan_decimal(s, &d) < 0)
        return -EINVAL;
    wide v = (wide) d.digits + d.inexact_up;
    v *= (uint64_t) scale;
    for (; d.exponent > 0 && v; d.exponent--) {
        if (v > (wide) INT64_MAX)
            return -ERANGE;
        v *= 10;
    }
    wide rest = 0; /* 0..9 and whether the digits below it were all dropped: half rounds away */
    for (; d.exponent < 0 && (v || rest); d.exponent++) {
        rest = v % 10;
        v /= 10;
    }
    v += rest >= 5;
    if (v > (wide) INT64_MAX)
        return -ERANGE;
    *ret = d.minus ? -(int64_t) v : (int64_t) v;
    return 0;
}

struct unit {
    const char *name;
    int64_t scale;
};

static int parse_with_unit(struct str s, const struct unit *units, size_t n, int64_t *ret)
{
    size_t at = s.n;
    while (at > 0 && !is_digit(s.p[at - 1]) && s.p[at - 1] != '.')
        at--;
    struct str number = str_trim(str_sub(s, 0, at)), unit = str_sub(s, at, s.n);
    for (size_t i = 0; i < n; i++)
        if (str_is(str_trim(unit), units[i].name))
            return parse_scaled(number, units[i].scale, ret);
    return -EINVAL;
}

int parse_duration_us(struct str s, int64_t *ret_us)
{
    static const struct unit units[] = {
        { "us", 1 },
        { "ms", 1000 },
        { "s", 1000000 },
        { "m", 60 * INT64_C(1000000) },
        { "min", 60 * INT64_C(1000000) },
        { "h", 3600 * INT64_C(1000000) },
        { "d", 86400 * INT64_C(1000000) },
    };
    return parse_with_unit(s, units, ARRAY_SIZE(units), ret_us);
}

int parse_size_bytes(struct str s, int64_t *ret_bytes)
{
    static const struct unit units[] = {
        { "B", 1 },
        { "KiB", INT64_C(1) << 10 },
        { "MiB", INT64_C(1) << 20 },
        { "GiB", INT64_C(1) << 30 },
        { "TiB", INT64_C(1) << 40 },
        { "kB", 1000 },
        { "KB", 1000 },
        { "MB", 1000000 },
        { "GB", 1000000000 },
        { "TB", INT64_C(1000000000000) },
    };
    return parse_with_unit(s, units, ARRAY_SIZE(units), ret_bytes);
}

int parse_power_mw(struct str s, int64_t *ret_mw)
{
    static const struct unit units[] = { { "mW", 1 }, { "W", 1000 }, { "kW", 1000000 } };
    return parse_with_unit(s, units, ARRAY_SIZE(units), ret_mw);
}
