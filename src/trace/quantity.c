/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/quantity.h"

#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)
#define MOST (INT64_C(1) << 62)

/* scale: to the unit of the metric. Bounds are in that unit: beyond them no device lies, so a value
 * there is a broken line and not a reading. */
static const struct {
    const char *name;
    int64_t scale, low, high;
} quantities[] = {
    [QUANTITY_NONE] = { "nothing", 1, 0, 0 },
    [QUANTITY_POWER_W] = { "a power", 1000, 0, 1000000000 },
    [QUANTITY_SHARE_PERCENT] = { "a share", 10, 0, 1000 },
    [QUANTITY_SHARE_RATIO] = { "a share", 1000, 0, 1010 },
    [QUANTITY_CLOCK_MHZ] = { "a clock", 1, 0, 100000 },
    [QUANTITY_TEMP_C] = { "a temperature", 1000, -100000, 500000 },
    [QUANTITY_MEM_MIB] = { "an amount of memory", MIB, 0, 1024 * TIB },
    [QUANTITY_MEM_BYTES] = { "an amount of memory", 1, 0, 1024 * TIB },
    [QUANTITY_ENERGY_MJ] = { "an energy", 1000, 0, MOST },
    [QUANTITY_ENERGY_J] = { "an energy", 1000000, 0, MOST },
    [QUANTITY_ENERGY_UJ] = { "an energy", 1, 0, MOST },
    [QUANTITY_RATE_KB] = { "a rate", 1000, 0, 100 * TIB },
    [QUANTITY_RATE_MB] = { "a rate", 1000000, 0, 100 * TIB },
    [QUANTITY_RATE_B] = { "a rate", 1, 0, 100 * TIB },
    [QUANTITY_COUNT_OF] = { "a count", 1, 0, MOST },
    [QUANTITY_TIME_US] = { "a time", 1, 0, MOST },
    [QUANTITY_TIME_NS] = { "a time", 1, 0, MOST },
    [QUANTITY_PSTATE] = { "a performance state", 1, 0, 64 },
    [QUANTITY_BITS] = { "a bit mask", 1, 0, INT64_MAX },
    [QUANTITY_YES] = { "a yes or no", 1, 0, 1 },
};
_Static_assert(ARRAY_SIZE(quantities) == QUANTITY_KIND_COUNT, "every quantity needs its row");

/* Units that may stand beside a value or in its header; the scale is to the metric's unit. */
static const struct {
    enum quantity q;
    const char *unit;
    int64_t scale;
} units[] = {
    { QUANTITY_POWER_W, "W", 1000 },
    { QUANTITY_POWER_W, "mW", 1 },
    { QUANTITY_POWER_W, "kW", 1000000 },
    { QUANTITY_SHARE_PERCENT, "%", 10 },
    { QUANTITY_SHARE_RATIO, "%", 10 },
    { QUANTITY_CLOCK_MHZ, "MHz", 1 },
    { QUANTITY_CLOCK_MHZ, "Mhz", 1 },
    { QUANTITY_CLOCK_MHZ, "GHz", 1000 },
    { QUANTITY_TEMP_C, "C", 1000 },
    { QUANTITY_TEMP_C, "°C", 1000 },
    { QUANTITY_MEM_MIB, "MiB", MIB },
    { QUANTITY_MEM_MIB, "MB", MIB }, /* tools that say MB print what the driver calls MiB */
    { QUANTITY_MEM_MIB, "GiB", MIB * 1024 },
    { QUANTITY_MEM_MIB, "KiB", 1024 },
    { QUANTITY_MEM_MIB, "B", 1 },
    { QUANTITY_MEM_BYTES, "B", 1 },
    { QUANTITY_MEM_BYTES, "MB", MIB },
    { QUANTITY_MEM_BYTES, "MiB", MIB },
    { QUANTITY_ENERGY_MJ, "mJ", 1000 },
    { QUANTITY_ENERGY_MJ, "J", 1000000 },
    { QUANTITY_ENERGY_J, "J", 1000000 },
    { QUANTITY_ENERGY_J, "mJ", 1000 },
    { QUANTITY_ENERGY_J, "uJ", 1 },
    { QUANTITY_ENERGY_UJ, "uJ", 1 },
    { QUANTITY_RATE_KB, "KB/s", 1000 },
    { QUANTITY_RATE_KB, "MB/s", 1000000 },
    { QUANTITY_RATE_MB, "MB/s", 1000000 },
    { QUANTITY_TIME_US, "us", 1 },
    { QUANTITY_TIME_NS, "ns", 1 },
    { QUANTITY_TIME_NS, "us", 1000 },
};

/* Longest first where one starts another. Brackets are taken off before. */
static const struct {
    const char *words;
    enum obs_status status;
} statuses[] = {
    { "N/A", OBS_ABSENT },
    { "NA", OBS_ABSENT },
    { "-", OBS_ABSENT },
    { "None", OBS_ABSENT },
    { "null", OBS_ABSENT },
    { "Not Available", OBS_ABSENT },
    { "Not Found", OBS_ABSENT },
    { "No data", OBS_ABSENT },
    { "Not Supported", OBS_UNSUPPORTED },
    { "Unsupported", OBS_UNSUPPORTED },
    { "Not Specified", OBS_UNSUPPORTED },
    { "Requested functionality has been deprecated", OBS_UNSUPPORTED },
    { "Function Not Found", OBS_UNSUPPORTED }, /* by this driver */
    { "Insufficient Permissions", OBS_DENIED },
    { "No Permission", OBS_DENIED },
    { "Permission Denied", OBS_DENIED },
    { "Timeout", OBS_TIMED_OUT },
    { "Unknown Error", OBS_ERROR },
    { "Unknown", OBS_ERROR },
    { "ERR!", OBS_ERROR },
    { "Error", OBS_ERROR },
    { "GPU requires reset", OBS_LOST },
    { "Reset Required", OBS_LOST },
    { "GPU is lost", OBS_LOST },
    { "GPU access blocked by the operating system", OBS_DENIED },
};

static const struct {
    const char *word;
    int64_t value;
} answers[] = {
    { "yes", 1 }, { "enabled", 1 }, { "active", 1 },     { "true", 1 },
    { "on", 1 },  { "1", 1 },       { "not active", 0 }, { "disabled", 0 },
    { "no", 0 },  { "false", 0 },   { "off", 0 },        { "0", 0 },
};

const char *quantity_name(enum quantity q)
{
    return quantities[(unsigned) q < QUANTITY_KIND_COUNT ? q : QUANTITY_NONE].name;
}

bool status_from_words(struct str text, enum obs_status *ret)
{
    struct str s = str_trim(text);
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
        s = str_trim(str_sub(s, 1, s.n - 1));
    if (str_starts(s, "N/A ")) /* "N/A (Secondary die)" */
        s = STR("N/A");
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (str_is_nocase(s, statuses[i].words)) {
            *ret = statuses[i].status;
            return true;
        }
    return false;
}

/* Length of the number at the start: sign, digits, point or comma, exponent. */
static size_t number_length(struct str s)
{
    size_t n = 0;
    while (n < s.n && (s.p[n] == '-' || s.p[n] == '+'))
        n++;
    while (n < s.n && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '.' || s.p[n] == ','))
        n++;
    if (n + 1 < s.n && (s.p[n] == 'e' || s.p[n] == 'E')) {
        size_t e = n + 1;
        if (s.p[e] == '-' || s.p[e] == '+')
            e++;
        if (e < s.n && s.p[e] >= '0' && s.p[e] <= '9') {
            while (e < s.n && s.p[e] >= '0' && s.p[e] <= '9')
                e++;
            n = e;
        }
    }
    return n;
}

/* A single comma is a decimal one unless three digits follow it: "46,190" may be 46190 or 46.19,
 * so it is refused. */
static int parse_number(struct str s, int64_t scale, int64_t *ret)
{
    char point[48];
    ptrdiff_t comma = str_find_char(s, ',');
    if (comma < 0)
        return parse_scaled(s, scale, ret);
    struct str after = str_sub(s, (size_t) comma + 1, s.n);
    if (s.n >= sizeof(point) || str_find_char(s, '.') >= 0 || str_find_char(after, ',') >= 0 ||
        after.n == 3 || !after.n)
        return -EINVAL;
    str_copy(point, sizeof(point), s);
    point[comma] = '.';
    return parse_scaled(str_from(point), scale, ret);
}

static bool unit_scale(enum quantity q, struct str unit, int64_t *ret)
{
    if (!unit.n) {
        *ret = quantities[q].scale;
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (units[i].q == q && str_is(unit, units[i].unit)) {
            *ret = units[i].scale;
            return true;
        }
    return false;
}

static int parse_value(enum quantity q, struct str unit, struct str s, int64_t *ret)
{
    uint64_t bits;
    if (q == QUANTITY_BITS) {
        int r = str_starts_nocase(s, "0x") ? parse_hex_u64(s, &bits) : parse_u64(s, &bits);
        if (r < 0)
            return r;
        *ret = (int64_t) (bits & INT64_MAX);
        return 0;
    }
    if (q == QUANTITY_YES) {
        for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
            if (str_is_nocase(s, answers[i].word)) {
                *ret = answers[i].value;
                return 0;
            }
        return -EINVAL;
    }
    if (q == QUANTITY_PSTATE && str_starts_nocase(s, "P"))
        s = str_sub(s, 1, s.n);
    size_t n = number_length(s);
    struct str beside = str_trim(str_sub(s, n, s.n));
    int64_t scale;
    if (!unit_scale(q, beside.n ? beside : unit, &scale))
        return -EINVAL;
    return parse_number(str_sub(s, 0, n), scale, ret);
}

int quantity_parse(enum quantity q, struct str unit, struct str text, struct obs *ret)
{
    struct str s = str_trim(text);
    enum obs_status status = OBS_VALUE;
    int64_t value = 0;
    if (!s.n)
        return -ENODATA;
    if (!status_from_words(s, &status)) {
        int r = parse_value(q, unit, s, &value);
        if (r < 0)
            return r;
        if (value < quantities[q].low || value > quantities[q].high)
            return -ERANGE;
    }
    ret->status = status;
    ret->value = value;
    return 0;
}

int quantity_from_double(enum quantity q, double number, struct obs *ret)
{
    double scaled = number * (double) quantities[q].scale;
    if (!(scaled >= (double) quantities[q].low - 0.5) || !(scaled <= (double) quantities[q].high) ||
        scaled >= 9.2e18)
        return -ERANGE;
    int64_t value = (int64_t) (scaled + (scaled < 0 ? -0.5 : 0.5));
    if (value < quantities[q].low)
        return -ERANGE;
    ret->status = OBS_VALUE;
    ret->value = value;
    return 0;
}
