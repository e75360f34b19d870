/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>

size_t utf8_length(struct str s)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (!s.n)
        return 0;
    unsigned char c = (unsigned char) s.p[0];
    size_t len = c < 0x80 ? 1 : (c & 0xe0) == 0xc0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 4;
    if (len == 1)
        return 1;
    if (len > s.n || (c & 0xc0) == 0x80 || c > 0xf4)
        return 0;
    uint32_t code = c & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        unsigned char next = (unsigned char) s.p[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (next & 0x3fU);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[len] || code > 0x10ffff || surrogate ? 0 : len;
}

size_t utf8_columns(struct str s)
{
    size_t columns = 0;
    for (size_t i = 0; i < s.n; columns++) {
        size_t len = utf8_length(str_sub(s, i, s.n));
        i += len ? len : 1;
    }
    return columns;
}
