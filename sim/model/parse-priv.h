/* SPDX-License-Identifier: Apache-2.0 */
/* Between parse.c (words and settings) and life.c (phases, faults, processes). */
#ifndef WATTGATE_SIM_PARSE_PRIV_H
#define WATTGATE_SIM_PARSE_PRIV_H

#include "model.h"

struct pair {
    struct str key, value;
    bool used;
};

struct parser {
    const char *name;
    struct sim_scenario *s;
    struct err *err;
    int r; /* first failure; everything after it does nothing */
    struct str line;
    unsigned line_number;
    uint64_t seed;
    int64_t spread_permille;
    struct str words[8];
    size_t words_n;
    struct pair pairs[32];
    size_t pairs_n;
};

void parser_fail(struct parser *p, struct str at, const char *what);
struct str parser_value(struct parser *p, const char *key); /* p is NULL when it is not given */
/* True and the value when the key is given and makes sense. */
bool parser_duration(struct parser *p, const char *key, int64_t *ret_us);
bool parser_power(struct parser *p, const char *key, int64_t *ret_mw);
bool parser_share(struct parser *p, const char *key, int64_t *ret_permille);
bool parser_size(struct parser *p, const char *key, const char *suffix, int64_t *ret_bytes);
bool parser_number(struct parser *p, const char *key, const char *suffix, uint32_t *ret);
void parser_gpus(struct parser *p, uint64_t ret[2]);
struct str parser_word(struct parser *p, const char *what);
void parser_end(struct parser *p, size_t words);

void life_sensor(struct parser *p);
void life_levels(struct parser *p);
void life_phase(struct parser *p);
void life_loop(struct parser *p);
void life_process(struct parser *p);
void life_smoothing(struct parser *p);
void life_mig(struct parser *p);
void life_fault(struct parser *p);
void life_finish(struct parser *p);

#endif
