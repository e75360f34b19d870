/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/boards.h"
#include "tables/rules.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *) data, size };
    struct board board;
    struct triage_rules rules;
    struct err e;
    (void) !board_parse("fuzz", text, &board, &e);
    (void) !rules_parse("fuzz", text, &rules, &e);
    return 0;
}
