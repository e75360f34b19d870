/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies the strings into one block and points them there. */
static char *own_strings(struct str *const *strings, size_t n)
{
    size_t total = 1;
    for (size_t i = 0; i < n; i++)
        total += strings[i]->n;
    char *text = malloc(total), *at = text;
    for (size_t i = 0; text && i < n; i++) {
        if (strings[i]->n)
            memcpy(at, strings[i]->p, strings[i]->n);
        strings[i]->p = at;
        at += strings[i]->n;
    }
    return text;
}

static int remember_header(struct trace_writer *w, const struct stream_header *h)
{
    struct stream_header copy = *h;
    struct str *const strings[] = { &copy.tool, &copy.host, &copy.boot_id, &copy.tables };
    char *text = own_strings(strings, ARRAY_SIZE(strings));
    if (!text)
        return -ENOMEM;
    writer_forget_all(w); /* ids of the recorder before mean nothing now */
    free(w->header_text);
    w->header_text = text;
    w->header = copy;
    w->wall_offset_us = h->wall_offset_us;
    w->headed = true;
    return 0;
}

static int remember_entity(struct trace_writer *w, const struct entity *e)
{
    if (e->id >= ENTITY_MAX)
        return -EINVAL;
    if (e->id >= w->n_known) {
        size_t n = MAX((size_t) e->id + 1, w->n_known * 2);
        struct known_entity *grown = realloc(w->known, n * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + w->n_known, 0, (n - w->n_known) * sizeof(*grown));
        w->known = grown;
        w->n_known = n;
    }
    struct entity copy = *e;
    struct str *const strings[] = { &copy.key, &copy.name, &copy.driver, &copy.bus };
    char *text = own_strings(strings, ARRAY_SIZE(strings));
    if (!text)
        return -ENOMEM;
    struct known_entity *k = &w->known[e->id];
    free(k->text);
    *k = (struct known_entity){ true, copy, text };
    return 0;
}

int writer_remember(struct trace_writer *w, const struct record *r, struct err *err)
{
    int result = 0;
    if (r->kind == RECORD_HEADER)
        result = remember_header(w, &r->u.header);
    else if (r->kind == RECORD_ENTITY)
        result = remember_entity(w, &r->u.entity);
    else if (r->kind == RECORD_GONE && r->u.gone < w->n_known)
        w->known[r->u.gone].used = false;
    else if (r->kind == RECORD_CLOCK)
        w->wall_offset_us = w->header.wall_offset_us = r->u.wall_offset_us;
    return result < 0 ? err_sys(err, -result, "write '%s'", w->path) : 0;
}

const struct entity *writer_entity(const struct trace_writer *w, uint32_t id)
{
    return id < w->n_known && w->known[id].used ? &w->known[id].entity : NULL;
}

void writer_forget_all(struct trace_writer *w)
{
    for (size_t i = 0; i < w->n_known; i++)
        free(w->known[i].text);
    free(w->known);
    w->known = NULL;
    w->n_known = 0;
}
