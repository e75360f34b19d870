/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int yaml_file_load(struct yaml_file *f, const char *name, struct str content, struct err *err)
{
    yaml_parser_t parser;
    *f = (struct yaml_file){ .name = name, .err = err };
    if (!yaml_parser_initialize(&parser))
        return err_sys(err, ENOMEM, "table '%s'", name);
    yaml_parser_set_input_string(&parser, (const unsigned char *) content.p, content.n);
    int r = 0;
    if (yaml_parser_load(&parser, &f->document))
        f->loaded = true;
    else
        r = err_set(err, -EINVAL, "%s:%zu: %s", name, parser.problem_mark.line + 1,
                    parser.problem ? parser.problem : "not readable as YAML");
    yaml_parser_delete(&parser);
    return r;
}

void yaml_file_done(struct yaml_file *f)
{
    if (f->loaded)
        yaml_document_delete(&f->document);
    f->loaded = false;
}

yaml_node_t *yaml_file_root(struct yaml_file *f)
{
    return yaml_document_get_root_node(&f->document);
}

int node_fail(const struct yaml_file *f, const yaml_node_t *at, const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return err_set(f->err, -EINVAL, "%s:%zu: %s", f->name, at ? at->start_mark.line + 1 : 0, text);
}

static struct str scalar(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return (struct str){ NULL, 0 };
    return (struct str){ (const char *) n->data.scalar.value, n->data.scalar.length };
}

bool node_pair(struct yaml_file *f, const yaml_node_t *map, size_t i, struct str *ret_key,
               yaml_node_t **ret_value)
{
    if (!map || map->type != YAML_MAPPING_NODE ||
        i >= (size_t) (map->data.mapping.pairs.top - map->data.mapping.pairs.start))
        return false;
    const yaml_node_pair_t *p = &map->data.mapping.pairs.start[i];
    *ret_key = scalar(yaml_document_get_node(&f->document, p->key));
    *ret_value = yaml_document_get_node(&f->document, p->value);
    return true;
}

yaml_node_t *node_get(struct yaml_file *f, const yaml_node_t *map, const char *key)
{
    struct str name;
    yaml_node_t *value;
    for (size_t i = 0; node_pair(f, map, i, &name, &value); i++)
        if (str_is(name, key))
            return value;
    return NULL;
}

static bool among(struct str word, const char *words)
{
    struct str rest = str_from(words), one;
    while (str_word(&rest, &one))
        if (str_eq(one, word))
            return true;
    return false;
}

int node_keys(struct yaml_file *f, const yaml_node_t *map, const char *keys)
{
    struct str name, other;
    yaml_node_t *value;
    if (!map || map->type != YAML_MAPPING_NODE)
        return node_fail(f, map, "expected a mapping of %s", keys);
    for (size_t i = 0; node_pair(f, map, i, &name, &value); i++) {
        if (!among(name, keys))
            return node_fail(f, value, "'%.*s' is none of: %s", STR_ARG(name), keys);
        for (size_t k = 0; k < i; k++)
            if (node_pair(f, map, k, &other, &value) && str_eq(name, other))
                return node_fail(f, value, "'%.*s' stands twice", STR_ARG(name));
    }
    return 0;
}

yaml_node_t *node_item(struct yaml_file *f, const yaml_node_t *list, size_t i)
{
    if (!list || list->type != YAML_SEQUENCE_NODE ||
        i >= (size_t) (list->data.sequence.items.top - list->data.sequence.items.start))
        return NULL;
    return yaml_document_get_node(&f->document, list->data.sequence.items.start[i]);
}

int node_text(struct yaml_file *f, const yaml_node_t *at, const char *what, struct str *ret)
{
    struct str text = str_trim(scalar(at));
    if (!text.n)
        return node_fail(f, at, "%s is missing", what);
    *ret = text;
    return 0;
}
