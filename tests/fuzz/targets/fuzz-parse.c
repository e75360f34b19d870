/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and quantities: a text is refused or gives a value, and a refusal leaves the result as
 * it was. What an integer prints as must read back as the same integer. */
#include "base/parse.h"
#include "base/strbuf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_signed(int (*parse)(struct str s, int64_t *ret), struct str s)
{
    int64_t value = 42;
    int r = parse(s, &value);
    must(r == 0 || value == 42);
}

static void check_round_trip(struct str s)
{
    int64_t value, again;
    if (parse_i64(s, &value) < 0)
        return;
    AUTO(strbuf) struct strbuf b = STRBUF_INIT;
    strbuf_add_i64(&b, value);
    must(parse_i64(strbuf_str(&b), &again) == 0 && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = { (const char *) data, size };
    uint64_t u;
    uint32_t w;
    int64_t scaled = 42;
    check_signed(parse_i64, s);
    check_signed(parse_duration_us, s);
    check_signed(parse_size_bytes, s);
    check_signed(parse_power_mw, s);
    check_round_trip(s);
    must(parse_scaled(s, 1000, &scaled) == 0 || scaled == 42);
    must(parse_u32(s, &w) < 0 || (parse_u64(s, &u) == 0 && u == w));
    u = 42;
    must(parse_hex_u64(s, &u) == 0 || u == 42);
    return 0;
}
