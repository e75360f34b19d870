/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xml-docs.h"

#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32
#define TAIL_MAX 16 /* longer than every text that starts a document */
#define SLICE_BYTES ((size_t) 1 << 20)

enum state { STATE_BETWEEN = 0, STATE_INSIDE, STATE_ENDED };

struct xml_docs {
    const struct xml_handler *handler;
    void *user;
    XML_Parser parser;
    enum state state;
    char tail[TAIL_MAX]; /* between documents: the latest bytes, where one may have begun */
    size_t tail_n;
    uint64_t lines;  /* before this document */
    long long fed;   /* bytes of this document given to the parser before this slice */
    long long ended; /* where its closing tag ends */
    const char *refusal;
    size_t depth;
    size_t path_n[DEPTH_MAX]; /* length of the path before the element at each depth */
    char path[512];
    char text[4096];
    size_t text_n;
};

int xml_docs_new(const struct xml_handler *handler, struct xml_docs **ret)
{
    struct xml_docs *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->parser = XML_ParserCreate(NULL);
    if (!d->parser) {
        free(d);
        return -ENOMEM;
    }
    d->handler = handler;
    *ret = d;
    return 0;
}

void xml_docs_free(struct xml_docs *d)
{
    if (!d)
        return;
    XML_ParserFree(d->parser);
    free(d);
}

void xml_docs_user(struct xml_docs *d, void *user)
{
    d->user = user;
}

uint64_t xml_docs_line(const struct xml_docs *d)
{
    return d->lines + XML_GetCurrentLineNumber(d->parser);
}

static void refuse(struct xml_docs *d, const char *why)
{
    d->refusal = why;
    XML_StopParser(d->parser, XML_FALSE);
}

static void XMLCALL on_start(void *user, const char *name, const char **attrs)
{
    struct xml_docs *d = user;
    d->text_n = 0;
    if (d->depth >= DEPTH_MAX) {
        refuse(d, "elements are nested too deep");
        return;
    }
    size_t at = strlen(d->path), room = sizeof(d->path) - at;
    d->path_n[d->depth++] = at;
    int n = snprintf(d->path + at, room, "%s%s", at ? "/" : "", name);
    if (n < 0 || (size_t) n >= room) {
        refuse(d, "names of elements are too long");
        return;
    }
    d->handler->start(d->user, d->path, attrs);
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct xml_docs *d = user;
    (void) name;
    if (d->refusal || !d->depth)
        return;
    d->handler->end(d->user, d->path, str_trim((struct str){ d->text, d->text_n }));
    d->text_n = 0;
    d->path[d->path_n[--d->depth]] = 0;
    if (d->depth)
        return;
    d->ended = XML_GetCurrentByteIndex(d->parser) + XML_GetCurrentByteCount(d->parser);
    d->state = STATE_ENDED;
    XML_StopParser(d->parser, XML_FALSE);
}

static void XMLCALL on_text(void *user, const char *text, int n)
{
    struct xml_docs *d = user;
    size_t take = MIN(sizeof(d->text) - d->text_n, (size_t) n);
    memcpy(d->text + d->text_n, text, take);
    d->text_n += take;
}

/* What declares entities was not written by a tool that measures. */
static void XMLCALL on_entity(void *user, const char *name, int is_parameter, const char *value,
                              int length, const char *base, const char *system_id,
                              const char *public_id, const char *notation)
{
    (void) name, (void) is_parameter, (void) value, (void) length;
    (void) base, (void) system_id, (void) public_id, (void) notation;
    refuse(user, "the document declares entities");
}

static int start_document(struct xml_docs *d)
{
    if (!XML_ParserReset(d->parser, NULL))
        return -ENOMEM;
    XML_SetUserData(d->parser, d);
    XML_SetElementHandler(d->parser, on_start, on_end);
    XML_SetCharacterDataHandler(d->parser, on_text);
    XML_SetEntityDeclHandler(d->parser, on_entity);
    d->state = STATE_INSIDE;
    d->fed = 0;
    d->depth = 0;
    d->path[0] = 0;
    d->text_n = 0;
    d->refusal = NULL;
    d->handler->document(d->user);
    return 0;
}

static ptrdiff_t find_start(struct str s)
{
    static const char *const starts[] = { "<?xml", "<!DOCTYPE", "<nvidia_smi_log" };
    ptrdiff_t best = -1;
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        ptrdiff_t at = str_find(s, starts[i]);
        if (at >= 0 && (best < 0 || at < best))
            best = at;
    }
    return best;
}

static void end_document(struct xml_docs *d, const char *why)
{
    d->state = STATE_BETWEEN;
    d->tail_n = 0;
    d->handler->document_end(d->user, why);
    d->lines += XML_GetCurrentLineNumber(d->parser) - 1;
}

/* Gives bytes to the parser; how many belong to the document. */
static size_t parse(struct xml_docs *d, struct str bytes)
{
    enum XML_Status status = XML_Parse(d->parser, bytes.p, (int) bytes.n, XML_FALSE);
    if (status != XML_STATUS_ERROR) {
        d->fed += (long long) bytes.n;
        return bytes.n;
    }
    bool whole = d->state == STATE_ENDED;
    long long at = whole ? d->ended : XML_GetCurrentByteIndex(d->parser);
    /* The place of an error may start the next document, but not this one again. */
    long long used = at > 0 ? at - d->fed : 1 - d->fed;
    const char *why = d->refusal ? d->refusal : XML_ErrorString(XML_GetErrorCode(d->parser));
    end_document(d, whole ? NULL : why);
    return used < 0 ? 0 : MIN((size_t) used, bytes.n);
}

static void count_lines(struct xml_docs *d, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        d->lines += s.p[i] == '\n';
}

/* Looks for the start of a document; how many bytes lie before it. */
static int seek(struct xml_docs *d, struct str bytes, size_t *ret_used)
{
    char joint[2 * TAIL_MAX];
    size_t add = MIN(bytes.n, (size_t) TAIL_MAX);
    memcpy(joint, d->tail, d->tail_n);
    memcpy(joint + d->tail_n, bytes.p, add);
    size_t joint_n = d->tail_n + add;
    ptrdiff_t at = find_start((struct str){ joint, joint_n });
    if (at >= 0 && (size_t) at < d->tail_n) { /* it began in the bytes before */
        struct str head = { joint + at, d->tail_n - (size_t) at };
        *ret_used = 0;
        int r = start_document(d);
        if (r == 0)
            parse(d, head);
        return r;
    }
    at = find_start(bytes);
    *ret_used = at < 0 ? bytes.n : (size_t) at;
    count_lines(d, str_sub(bytes, 0, *ret_used));
    if (at >= 0)
        return start_document(d);
    struct str latest = bytes.n >= TAIL_MAX ? bytes : (struct str){ joint, joint_n };
    d->tail_n = MIN(latest.n, (size_t) TAIL_MAX);
    memcpy(d->tail, latest.p + latest.n - d->tail_n, d->tail_n);
    return 0;
}

int xml_docs_feed(struct xml_docs *d, struct str bytes)
{
    while (bytes.n) {
        size_t used = 0;
        int r = 0;
        if (d->state == STATE_BETWEEN)
            r = seek(d, bytes, &used);
        else
            used = parse(d, str_sub(bytes, 0, MIN(bytes.n, SLICE_BYTES)));
        if (r < 0)
            return r;
        bytes = str_sub(bytes, used, bytes.n);
    }
    return 0;
}

bool xml_docs_end(struct xml_docs *d)
{
    if (d->state != STATE_INSIDE)
        return false;
    end_document(d, "the document ends before its end");
    return true;
}
