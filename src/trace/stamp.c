/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/stamp.h"

#include "base/parse.h"
#include "base/units.h"

#include <errno.h>

struct civil {
    int64_t year, month, day, hour, minute, second, us;
    bool zone;
    int64_t east_s; /* of UTC */
};

static bool take_char(struct str *s, char c)
{
    if (!s->n || s->p[0] != c)
        return false;
    *s = str_sub(*s, 1, s->n);
    return true;
}

/* Between `least` and `most` digits off the front. */
static bool take_digits(struct str *s, size_t least, size_t most, int64_t *ret)
{
    int64_t v = 0;
    size_t n = 0;
    while (n < s->n && n < most && s->p[n] >= '0' && s->p[n] <= '9')
        v = v * 10 + (s->p[n++] - '0');
    if (n < least)
        return false;
    *s = str_sub(*s, n, s->n);
    *ret = v;
    return true;
}

static void skip_blanks(struct str *s)
{
    while (take_char(s, ' ') || take_char(s, '\t'))
        ;
}

/* Days of the proleptic Gregorian calendar before year-month-day, from 1970-01-01. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    static const int64_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int64_t leap_year = month > 2 ? year : year - 1; /* the leap day counts from March on */
    int64_t leaps = leap_year / 4 - leap_year / 100 + leap_year / 400;
    return (year - 1970) * 365 + leaps - 477 + before[month - 1] + day - 1;
}

static int64_t days_of_month(int64_t year, int64_t month)
{
    int64_t next =
        month == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, month + 1, 1);
    return next - days_from_civil(year, month, 1);
}

static int finish(const struct civil *c, struct stamp *ret)
{
    if (c->year < 1990 || c->year > 2199 || c->month < 1 || c->month > 12 || c->day < 1 ||
        c->day > days_of_month(c->year, c->month) || c->hour > 23 || c->minute > 59 ||
        c->second > 60)
        return -EINVAL;
    int64_t s = days_from_civil(c->year, c->month, c->day) * 86400 + c->hour * 3600 +
                c->minute * 60 + c->second - c->east_s;
    *ret = (struct stamp){ .wall_us = s * US_PER_S + c->us, .zone = c->zone };
    return 0;
}

/* ".123" or ",123": up to nanoseconds, cut to microseconds. */
static bool take_fraction(struct str *s, int64_t *ret_us)
{
    int64_t us = 0, scale = 100000;
    if (!take_char(s, '.') && !take_char(s, ','))
        return true;
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
        us += (s->p[n++] - '0') * scale;
        scale /= 10;
    }
    *s = str_sub(*s, n, s->n);
    *ret_us = us;
    return n > 0 && n <= 9;
}

static bool take_clock(struct str *s, struct civil *c)
{
    return take_digits(s, 1, 2, &c->hour) && take_char(s, ':') &&
           take_digits(s, 2, 2, &c->minute) && take_char(s, ':') &&
           take_digits(s, 2, 2, &c->second) && take_fraction(s, &c->us);
}

/* "Z", "UTC", "GMT", "+02:00", "-0500" or nothing. Other names of zones have several meanings. */
static bool take_zone(struct str *s, struct civil *c)
{
    skip_blanks(s);
    if (!s->n)
        return true;
    if (str_is(*s, "Z") || str_is(*s, "z") || str_is(*s, "UTC") || str_is(*s, "GMT")) {
        *s = str_sub(*s, s->n, s->n);
        c->zone = true;
        return true;
    }
    bool west = s->p[0] == '-';
    int64_t hours = 0, minutes = 0;
    if (!take_char(s, '+') && !take_char(s, '-'))
        return false;
    if (!take_digits(s, 2, 2, &hours))
        return false;
    take_char(s, ':');
    if ((s->n && !take_digits(s, 2, 2, &minutes)) || hours > 15 || minutes > 59)
        return false;
    c->zone = true;
    c->east_s = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return !s->n;
}

/* 2025/12/16 22:03:49.123 and 2025-12-16T22:03:49.123+01:00 and 20251216 22:03:49 */
static int parse_numeric(struct str s, struct stamp *ret)
{
    struct civil c = { 0 };
    if (!take_digits(&s, 4, 4, &c.year))
        return -EINVAL;
    char sep = '\0';
    if (s.n)
        sep = s.p[0];
    if (sep == '/' || sep == '-') {
        if (!take_char(&s, sep) || !take_digits(&s, 1, 2, &c.month) || !take_char(&s, sep) ||
            !take_digits(&s, 1, 2, &c.day))
            return -EINVAL;
    } else if (!take_digits(&s, 2, 2, &c.month) || !take_digits(&s, 2, 2, &c.day)) {
        return -EINVAL;
    }
    if (!take_char(&s, 'T') && !take_char(&s, '_') && !take_char(&s, ' '))
        return -EINVAL;
    skip_blanks(&s);
    if (!take_clock(&s, &c) || !take_zone(&s, &c))
        return -EINVAL;
    return finish(&c, ret);
}

/* Which of the names, three letters each, the word is; from 0. */
static bool three_letters(struct str word, struct str names, int *ret)
{
    for (size_t i = 0; i + 3 <= names.n && word.n == 3; i += 3)
        if (str_eq(word, str_sub(names, i, i + 3))) {
            *ret = (int) i / 3;
            return true;
        }
    return false;
}

/* Tue Dec 16 22:03:49 2025, and date(1)'s form with a zone before the year. */
static int parse_asctime(struct str s, struct stamp *ret)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static const char days[] = "MonTueWedThuFriSatSun";
    struct civil c = { 0 };
    struct str word;
    int day = 0, month = 0;
    if (!str_word(&s, &word) || !three_letters(word, STR(days), &day))
        return -EINVAL;
    if (!str_word(&s, &word) || !three_letters(word, STR(months), &month))
        return -EINVAL;
    c.month = month + 1;
    skip_blanks(&s);
    if (!take_digits(&s, 1, 2, &c.day) || !take_char(&s, ' '))
        return -EINVAL;
    skip_blanks(&s);
    if (!take_clock(&s, &c) || !str_word(&s, &word))
        return -EINVAL;
    if (str_is(word, "UTC") || str_is(word, "GMT"))
        c.zone = true;
    if (word.p[0] > '9' && !str_word(&s, &word)) /* a zone that has several meanings is dropped */
        return -EINVAL;
    if (!take_digits(&word, 4, 4, &c.year) || word.n)
        return -EINVAL;
    return finish(&c, ret);
}

static int parse_epoch(struct str s, struct stamp *ret)
{
    /* How many digits the whole part has tells its unit: 10 for seconds from 2001 to 2286. */
    static const struct {
        size_t digits;
        int64_t times, over;
    } units[] = { { 10, US_PER_S, 1 }, { 13, US_PER_MS, 1 }, { 16, 1, 1 }, { 19, 1, 1000 } };
    size_t digits = 0;
    int64_t us;
    while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
        digits++;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (digits != units[i].digits || parse_scaled(s, units[i].times, &us) < 0)
            continue;
        *ret = (struct stamp){ .wall_us = us / units[i].over, .zone = true };
        return 0;
    }
    return -EINVAL;
}

int stamp_parse(struct str text, struct stamp *ret)
{
    struct str s = str_trim(text);
    if (s.n < 9 || s.n > 64)
        return -EINVAL;
    if (parse_numeric(s, ret) == 0 || parse_asctime(s, ret) == 0)
        return 0;
    return parse_epoch(s, ret);
}
