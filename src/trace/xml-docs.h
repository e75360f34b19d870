/* SPDX-License-Identifier: Apache-2.0 */
/* XML documents, one behind another in one stream of bytes, perhaps with other text between.
 * Elements come with their path. A broken document ends; the next one is looked for. */
#ifndef WATTGATE_TRACE_XML_DOCS_H
#define WATTGATE_TRACE_XML_DOCS_H

#include "base/defs.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct xml_docs;

struct xml_handler {
    void (*document)(void *user);
    /* `path` is "root/element/element"; attrs are name, value, ..., NULL. */
    void (*start)(void *user, const char *path, const char **attrs);
    /* `text` is the element's own, trimmed, at most 4 KiB of it. */
    void (*end)(void *user, const char *path, struct str text);
    void (*document_end)(void *user, const char *why); /* why it broke, or NULL */
};

int xml_docs_new(const struct xml_handler *handler, struct xml_docs **ret) MUST_CHECK;
void xml_docs_free(struct xml_docs *d);
void xml_docs_user(struct xml_docs *d, void *user);
/* 0, or -ENOMEM. */
int xml_docs_feed(struct xml_docs *d, struct str bytes) MUST_CHECK;
/* The end of the input: whether it cuts a document. */
bool xml_docs_end(struct xml_docs *d);
uint64_t xml_docs_line(const struct xml_docs *d);

#endif
