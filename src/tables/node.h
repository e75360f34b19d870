/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of a small YAML document: every key is known, every value has its form, and an
 * error names file and line. */
#ifndef WATTGATE_TABLES_NODE_H
#define WATTGATE_TABLES_NODE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

struct yaml_file {
    const char *name;
    yaml_document_t document;
    bool loaded;
    struct err *err;
};

int yaml_file_load(struct yaml_file *f, const char *name, struct str content,
                   struct err *err) MUST_CHECK;
void yaml_file_done(struct yaml_file *f);
yaml_node_t *yaml_file_root(struct yaml_file *f);
int node_fail(const struct yaml_file *f, const yaml_node_t *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* A value of a mapping, NULL when it is not there. */
yaml_node_t *node_get(struct yaml_file *f, const yaml_node_t *map, const char *key);
/* -EINVAL unless `map` is a mapping all of whose keys are among the words of `keys` ("a b c"). */
int node_keys(struct yaml_file *f, const yaml_node_t *map, const char *keys) MUST_CHECK;
/* The i-th pair of a mapping; false past the last. */
bool node_pair(struct yaml_file *f, const yaml_node_t *map, size_t i, struct str *ret_key,
               yaml_node_t **ret_value);
/* The i-th item of a sequence, NULL past the last. */
yaml_node_t *node_item(struct yaml_file *f, const yaml_node_t *list, size_t i);
/* The text of a scalar; -EINVAL for anything else, an absent node or an empty text. */
int node_text(struct yaml_file *f, const yaml_node_t *at, const char *what,
              struct str *ret) MUST_CHECK;

#endif
