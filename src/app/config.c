/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

/* Option values are borrowed by the configuration struct, so the document outlives the parsing. */
static yaml_document_t document;
static bool have_document;

struct config {
    const char *path;
    const struct command *cmd;
    void *conf;
    struct err *err;
};

/* libyaml gives no node for an index that the document does not have. */
static size_t line_of(const yaml_node_t *at)
{
    return at ? at->start_mark.line + 1 : 0;
}

static int fail_at(const struct config *c, const yaml_node_t *at, const char *what)
{
    return err_set(c->err, -EINVAL, "%s:%zu: %s", c->path, line_of(at), what);
}

static const char *scalar(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *) node->data.scalar.value : NULL;
}

static bool has_row(struct opt_table table, const char *name)
{
    for (size_t i = 0; i < table.n; i++)
        if (strcmp(table.rows[i].name, name) == 0)
            return true;
    return false;
}

static int set_value(const struct config *c, const char *name, const yaml_node_t *value)
{
    const char *text = scalar(value);
    if (!text)
        return fail_at(c, value, "a value must be a plain text, number or list of these");
    struct opt_table table = has_row(c->cmd->options, name) ? c->cmd->options : opt_common;
    int r = opt_set(table, c->conf, name, text, c->err);
    return r < 0 ? err_prefix(c->err, "%s:%zu", c->path, line_of(value)) : 0;
}

static int set_option(const struct config *c, const char *name, const yaml_node_t *value)
{
    if (value->type != YAML_SEQUENCE_NODE)
        return set_value(c, name, value);
    for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top;
         i++) {
        int r = set_value(c, name, yaml_document_get_node(&document, *i));
        if (r < 0)
            return r;
    }
    return 0;
}

/* Keys before p in the mapping that are the same: which of them is meant cannot be told. */
static const yaml_node_t *same_before(const yaml_node_t *map, const yaml_node_pair_t *p,
                                      const char *name)
{
    for (const yaml_node_pair_t *q = map->data.mapping.pairs.start; q < p; q++) {
        const yaml_node_t *key = yaml_document_get_node(&document, q->key);
        const char *other = scalar(key);
        if (other && strcmp(other, name) == 0)
            return key;
    }
    return NULL;
}

static int refuse_repeated(const struct config *c, const yaml_node_t *map,
                           const yaml_node_pair_t *p, const char *name)
{
    const yaml_node_t *before = same_before(map, p, name);
    if (!before)
        return 0;
    return err_set(c->err, -EINVAL, "%s:%zu: '%s' stands in line %zu already", c->path,
                   line_of(yaml_document_get_node(&document, p->key)), name, line_of(before));
}

static int apply_mapping(const struct config *c, const yaml_node_t *map, bool top)
{
    if (map->type != YAML_MAPPING_NODE)
        return fail_at(c, map, "expected 'NAME: VALUE' lines");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(&document, p->key);
        const yaml_node_t *value = yaml_document_get_node(&document, p->value);
        const char *name = scalar(key);
        if (!name || !value)
            return fail_at(c, key, "an option's name must be a plain text");
        int r = refuse_repeated(c, map, p, name);
        if (r < 0)
            return r;
        if (top && value->type == YAML_MAPPING_NODE) {
            if (strcmp(name, c->cmd->name) == 0)
                r = apply_mapping(c, value, false);
        } else if (strcmp(name, "config") == 0) {
            r = fail_at(c, key, "a configuration file cannot name another");
        } else {
            r = set_option(c, name, value);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int load(const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return err_sys(err, errno, "open configuration '%s'", path);
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(f);
        return err_sys(err, EISDIR, "read configuration '%s'", path);
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        fclose(f);
        return err_sys(err, ENOMEM, "configuration '%s'", path);
    }
    yaml_parser_set_input_file(&parser, f);
    int r = 0;
    if (yaml_parser_load(&parser, &document))
        have_document = true;
    else
        r = err_set(err, -EINVAL, "%s:%zu: %s", path, parser.problem_mark.line + 1,
                    parser.problem ? parser.problem : "not readable as YAML");
    yaml_parser_delete(&parser);
    fclose(f);
    return r;
}

int config_apply(const char *path, const struct command *cmd, void *conf, struct err *err)
{
    config_done();
    int r = load(path, err);
    if (r < 0)
        return r;
    struct config c = { path, cmd, conf, err };
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    return root ? apply_mapping(&c, root, true) : 0;
}

void config_done(void)
{
    if (have_document)
        yaml_document_delete(&document);
    have_document = false;
}
