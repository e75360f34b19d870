/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/tables.h"

#include "tables/boards.h"
#include "tables/builtin.h"
#include "tables/rules.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIAGE_RULES "rules/triage.yaml"
#define WATCH_RULES "rules/watch.yaml"
#define FILE_MAX_BYTES ((size_t) 256 << 10)

bool tables_builtin(size_t i, const char **ret_name, struct str *ret_content)
{
    for (size_t k = 0; k <= i; k++)
        if (!builtin_files[k].name)
            return false;
    *ret_name = builtin_files[i].name;
    *ret_content = (struct str){ builtin_files[i].bytes, builtin_files[i].n };
    return true;
}

struct loading {
    struct tables *tables;
    struct board *boards;
    uint64_t digest; /* FNV-1a over names and bytes, in order */
    bool have_triage, have_watch;
    struct err *err;
};

static void mix(struct loading *l, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        l->digest = (l->digest ^ (unsigned char) bytes.p[i]) * UINT64_C(0x100000001b3);
}

static int add_board(struct loading *l, const char *name, struct str content)
{
    struct board *grown = realloc(l->boards, (l->tables->boards.n + 1) * sizeof(*grown));
    if (!grown)
        return err_sys(l->err, ENOMEM, "table '%s'", name);
    l->boards = grown;
    l->tables->boards.boards = grown;
    int r = board_parse(name, content, &grown[l->tables->boards.n], l->err);
    if (r == 0)
        l->tables->boards.n++;
    return r;
}

static int add_file(struct loading *l, const char *name, struct str content)
{
    if (strcmp(name, WATCH_RULES) == 0) {
        l->have_watch = true;
        return watch_rules_parse(name, content, &l->tables->watch, l->err);
    }
    mix(l, str_from(name));
    mix(l, content);
    if (strncmp(name, "boards/", 7) == 0)
        return add_board(l, name, content);
    if (strcmp(name, TRIAGE_RULES) != 0)
        return 0;
    l->have_triage = true;
    return triage_rules_parse(name, content, &l->tables->triage, l->err);
}

static int load_builtin(struct loading *l)
{
    const char *name;
    struct str content;
    int r = 0;
    for (size_t i = 0; r == 0 && tables_builtin(i, &name, &content); i++)
        r = add_file(l, name, content);
    return r;
}

static int load_file(struct loading *l, const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (n < 0 || (size_t) n >= sizeof(path))
        return err_set(l->err, -ENAMETOOLONG, "path '%s/%s' is too long", dir, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return err_sys(l->err, errno, "open table '%s'", path);
    char *bytes = malloc(FILE_MAX_BYTES);
    size_t got = bytes ? fread(bytes, 1, FILE_MAX_BYTES, f) : 0;
    bool bad = ferror(f) != 0;
    fclose(f);
    int r;
    if (!bytes)
        r = err_sys(l->err, ENOMEM, "table '%s'", path);
    else if (bad || got == FILE_MAX_BYTES)
        r = err_set(l->err, -EFBIG, "table '%s' cannot be read, or is over 256 KiB", path);
    else
        r = add_file(l, name, (struct str){ bytes, got });
    free(bytes);
    return r;
}

static int yaml_only(const struct dirent *e)
{
    return e->d_name[0] != '.' && str_ends(str_from(e->d_name), ".yaml");
}

static int load_dir(struct loading *l, const char *dir)
{
    char path[PATH_MAX], name[512];
    struct dirent **entries = NULL;
    int n = snprintf(path, sizeof(path), "%s/boards", dir);
    if (n < 0 || (size_t) n >= sizeof(path))
        return err_set(l->err, -ENAMETOOLONG, "path '%s' is too long", dir);
    n = scandir(path, &entries, yaml_only, alphasort);
    if (n < 0)
        return err_sys(l->err, errno, "read the tables of '%s'", path);
    int r = 0;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "boards/%s", entries[i]->d_name);
        if (r == 0)
            r = load_file(l, dir, name);
        free(entries[i]);
    }
    free(entries);
    if (r == 0)
        r = load_file(l, dir, TRIAGE_RULES);
    return r == 0 ? load_file(l, dir, WATCH_RULES) : r;
}

int tables_load(const char *dir, struct tables *ret, struct err *err)
{
    AUTO(tables) struct tables t = { 0 };
    struct loading l = { .tables = &t, .digest = UINT64_C(0xcbf29ce484222325), .err = err };
    int r = dir ? load_dir(&l, dir) : load_builtin(&l);
    if (r < 0)
        return r;
    if (!l.have_triage || !l.have_watch)
        return err_set(err, -ENOENT, "the tables have no %s",
                       l.have_triage ? WATCH_RULES : TRIAGE_RULES);
    snprintf(t.digest, sizeof(t.digest), "%016" PRIx64, l.digest);
    *ret = t;
    t = (struct tables){ 0 };
    return 0;
}

void tables_done(struct tables *t)
{
    free((void *) (uintptr_t) t->boards.boards);
    *t = (struct tables){ 0 };
}
