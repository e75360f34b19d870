/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/boards.h"
#include "tables/rules.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *) data, size };
    struct board board;
    struct triage_rules triage;
    struct watch_rules watch;
    struct err e;
    (void) !board_parse("fuzz", text, &board, &e);
    (void) !triage_rules_parse("fuzz", text, &triage, &e);
    (void) !watch_rules_parse("fuzz", text, &watch, &e);
    return 0;
}
