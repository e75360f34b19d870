/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <stdlib.h>

void capability_add(struct capability_list *list, const char *id, enum ability ability,
                    const char *why, const char *remedy)
{
    if (list->n == list->cap) {
        size_t cap = MAX(list->cap * 2, (size_t) 16);
        struct capability *items = realloc(list->items, cap * sizeof(*items));
        if (!items)
            return; /* an ability less is told */
        list->items = items;
        list->cap = cap;
    }
    struct capability *c = &list->items[list->n++];
    *c = (struct capability){ .ability = ability };
    str_copy(c->id, sizeof(c->id), str_from(id));
    str_copy(c->why, sizeof(c->why), str_from(why));
    str_copy(c->remedy, sizeof(c->remedy), str_from(remedy));
}

void capability_list_done(struct capability_list *list)
{
    free(list->items);
    *list = (struct capability_list){ 0 };
}
