/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */
#include "base/units.h"
#include "term/view.h"

#include <time.h>

void view_ranges(const uint32_t *numbers, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n && numbers[last + 1] == numbers[last] + 1)
            last++;
        strbuf_addf(out, "%s%u", i ? "," : "", numbers[i]);
        if (last > i)
            strbuf_addf(out, "%c%u", last > i + 1 ? '-' : ',', numbers[last]);
        i = last + 1;
    }
}

void view_time(const struct triage *t, int64_t stream_us, struct strbuf *out)
{
    int64_t wall_us = triage_wall_us(t, stream_us);
    if (wall_us < 0) {
        strbuf_addc(out, '+');
        strbuf_add_scaled(out, stream_us, US_PER_S, 1);
        strbuf_addc(out, 's');
        return;
    }
    time_t s = (time_t) (wall_us / US_PER_S);
    struct tm tm;
    char text[32];
    if (gmtime_r(&s, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
        strbuf_addz(out, text);
    else
        strbuf_addz(out, "?");
}

void view_energy(int64_t energy_uj, struct strbuf *out)
{
    int64_t joules = energy_uj / UJ_PER_J;
    if (joules < 1000)
        strbuf_addf(out, "%lld J", (long long) joules);
    else if (joules < 360000)
        strbuf_add_scaled(out, joules, 1000, 1), strbuf_addz(out, " kJ");
    else
        strbuf_add_scaled(out, joules, 3600000, 2), strbuf_addz(out, " kWh");
}

void view_duration(int64_t us, struct strbuf *out)
{
    long long s = us / US_PER_S;
    if (us < US_PER_S)
        strbuf_addf(out, "%lldms", (long long) (us / US_PER_MS));
    else if (s < 60)
        strbuf_addf(out, "%llds", s);
    else if (s < 3600)
        strbuf_addf(out, "%lldm%02llds", s / 60, s % 60);
    else if (s < 172800)
        strbuf_addf(out, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        strbuf_addf(out, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}
