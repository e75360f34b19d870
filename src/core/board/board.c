/* SPDX-License-Identifier: Apache-2.0 */
#include "core/board/board.h"

#include <string.h>
#include <strings.h>

static struct str without_vendor(struct str product)
{
    static const char *const vendors[] = { "NVIDIA ", "AMD ", "Tesla " };
    product = str_trim(product);
    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
        if (str_starts_nocase(product, vendors[i]))
            product = str_trim(str_sub(product, strlen(vendors[i]), product.n));
    return product;
}

/* Length of the pattern that matched, 0 for none. */
static size_t match_length(const char *pattern, struct str product)
{
    size_t n = strlen(pattern);
    if (!n)
        return 0;
    if (pattern[n - 1] != '*')
        return str_is_nocase(product, pattern) ? n + 1 : 0; /* exact beats a prefix */
    return product.n >= n - 1 && strncasecmp(product.p, pattern, n - 1) == 0 ? n : 0;
}

const struct board *board_find(const struct board_set *set, struct str product)
{
    const struct board *best = NULL;
    size_t best_length = 0;
    product = without_vendor(product);
    if (!product.n)
        return NULL;
    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < sizeof(set->boards[i].match) / sizeof(set->boards[i].match[0]);
             k++) {
            size_t length = match_length(set->boards[i].match[k], product);
            if (length > best_length) {
                best_length = length;
                best = &set->boards[i];
            }
        }
    return best;
}
