/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi -q -x: one document, or many behind each other (-l). The elements moved between the
 * schema versions (v4 to v13), so that each path is a row; the first row that is there wins unless
 * it is a fallback. Nothing outside the text is ever loaded. */
#include "base/parse.h"
#include "trace/feed.h"
#include "trace/formats.h"
#include "trace/nvsmi-xml-rows.h"
#include "trace/xml-docs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GPU_PATH "nvidia_smi_log/gpu/"

struct process {
    int64_t pid;
    char name[256];
    struct obs memory;
    bool has_memory;
};

struct mig {
    int32_t gi, ci;
    struct obs memory;
    bool has_memory;
};

struct xml {
    struct feed feed; /* first */
    struct xml_docs *docs;
    const char *path; /* of the element that just ended, below its GPU */

    /* Of the document. */
    char driver[64];
    int32_t gpus;
    /* Of the GPU. */
    bool in_gpu;
    char bus[64], uuid[128], name[128];
    struct obs_list obs;
    int64_t throttle_bits, ecc_sum;
    bool has_throttle, has_ecc;
    struct process processes[256];
    size_t process_n;
    enum { LIST_NONE, LIST_SEEN, LIST_UNREADABLE } process_list;
    enum obs_status process_status;
    struct process process; /* being read */
    struct mig migs[16];
    size_t mig_n;
    struct mig mig;
};

static uint64_t here(const struct xml *x)
{
    return xml_docs_line(x->docs);
}

static void drop(struct xml *x, const char *element, struct str text, const char *why)
{
    trace_dropped(&x->feed.trace, "line %" PRIu64 ", <%s>: '%.*s' is not %s", here(x), element,
                  (int) MIN(text.n, 40), text.p ? text.p : "", why);
}

static void start_gpu(struct xml *x, const char **attrs)
{
    x->in_gpu = true;
    x->uuid[0] = x->name[0] = x->bus[0] = 0;
    x->obs.n = 0;
    x->throttle_bits = x->ecc_sum = 0;
    x->has_throttle = x->has_ecc = false;
    x->process_n = x->mig_n = 0;
    x->process_list = LIST_NONE;
    for (size_t i = 0; attrs[i] && attrs[i + 1]; i += 2)
        if (strcmp(attrs[i], "id") == 0)
            str_copy(x->bus, sizeof(x->bus), str_from(attrs[i + 1]));
}

static void feed_processes(struct xml *x, uint32_t gpu)
{
    for (size_t i = 0; i < x->process_n; i++) {
        const struct process *p = &x->processes[i];
        feed_process(&x->feed, gpu, p->pid, str_from(p->name), p->has_memory ? &p->memory : NULL);
    }
    if (x->process_list == LIST_SEEN)
        feed_gone(&x->feed, gpu, ENTITY_PROCESS);
}

static void feed_migs(struct xml *x, uint32_t gpu)
{
    for (size_t i = 0; i < x->mig_n; i++) {
        char key[192];
        const struct mig *m = &x->migs[i];
        snprintf(key, sizeof(key), "MIG-%s/%" PRId32 "/%" PRId32, x->uuid, m->gi, m->ci);
        struct entity e = {
            .kind = ENTITY_MIG, .parent = gpu, .index = m->gi, .key = str_from(key)
        };
        uint32_t id = feed_entity(&x->feed, &e);
        if (m->has_memory)
            feed_sample(&x->feed, id, &m->memory, 1);
    }
}

static void add_derived(struct xml *x)
{
    struct obs o = { .status = OBS_VALUE };
    if (x->has_throttle) {
        o.value = x->throttle_bits;
        obs_list_add(&x->obs, METRIC_THROTTLE_REASONS, &o, false);
    }
    if (x->has_ecc) {
        o.value = x->ecc_sum;
        obs_list_add(&x->obs, METRIC_ECC_UNCORRECTED, &o, false);
    }
    if (x->process_list == LIST_SEEN) {
        o.value = (int64_t) x->process_n;
        obs_list_add(&x->obs, METRIC_PROCESS_COUNT, &o, false);
    } else if (x->process_list == LIST_UNREADABLE) {
        o = (struct obs){ .status = x->process_status };
        obs_list_add(&x->obs, METRIC_PROCESS_COUNT, &o, false);
    }
}

static void end_gpu(struct xml *x)
{
    x->in_gpu = false;
    add_derived(x);
    uint32_t gpu = feed_gpu(&x->feed, str_from(x->uuid), x->gpus++, str_from(x->name),
                            str_from(x->driver), str_from(x->bus));
    feed_sample(&x->feed, gpu, x->obs.obs, x->obs.n);
    feed_processes(x, gpu);
    feed_migs(x, gpu);
}

static bool ends_with(const char *path, const char *end, struct str *ret_last)
{
    struct str p = str_from(path);
    ptrdiff_t at = 0;
    for (size_t i = 0; i < p.n; i++)
        if (p.p[i] == '/')
            at = (ptrdiff_t) i + 1;
    *ret_last = str_sub(p, (size_t) at, p.n);
    return str_is(str_sub(p, 0, at ? (size_t) at - 1 : 0), end);
}

/* <process_info> of <processes>, and <mig_device> of <mig_devices>: lists of groups. */
static bool take_listed(struct xml *x, struct str text)
{
    struct str last;
    int64_t v = 0;
    if (ends_with(x->path, "processes/process_info", &last)) {
        if (str_is(last, "pid") && (parse_i64(text, &v) < 0 || v <= 0))
            drop(x, "pid", text, "a process id");
        else if (str_is(last, "pid"))
            x->process.pid = v;
        else if (str_is(last, "process_name"))
            str_copy(x->process.name, sizeof(x->process.name), text);
        else if (str_is(last, "used_memory"))
            x->process.has_memory =
                quantity_parse(QUANTITY_MEM_MIB, STR(""), text, &x->process.memory) == 0;
        return true;
    }
    if (ends_with(x->path, "mig_devices/mig_device", &last)) {
        if (parse_i64(text, &v) == 0 && v >= 0 && v < 1024) {
            if (str_is(last, "gpu_instance_id"))
                x->mig.gi = (int32_t) v;
            else if (str_is(last, "compute_instance_id"))
                x->mig.ci = (int32_t) v;
        }
        return true;
    }
    if (ends_with(x->path, "mig_devices/mig_device/fb_memory_usage", &last)) {
        if (str_is(last, "used") &&
            quantity_parse(QUANTITY_MEM_MIB, STR(""), text, &x->mig.memory) == 0) {
            x->mig.memory.metric = METRIC_MEM_USED_BYTES;
            x->mig.has_memory = true;
        }
        return true;
    }
    return str_starts(str_from(x->path), "mig_devices/");
}

static bool take_throttle(struct xml *x, struct str text)
{
    struct str last;
    struct obs o = { 0 };
    const char *prefix;
    if (ends_with(x->path, "clocks_throttle_reasons", &last))
        prefix = "clocks_throttle_reason_";
    else if (ends_with(x->path, "clocks_event_reasons", &last))
        prefix = "clocks_event_reason_";
    else
        return false;
    if (!str_starts(last, prefix))
        return true;
    int64_t bit = nvsmi_throttle_bit(str_sub(last, strlen(prefix), last.n));
    if (!bit || quantity_parse(QUANTITY_YES, STR(""), text, &o) < 0 || o.status != OBS_VALUE)
        return true;
    x->has_throttle = true;
    x->throttle_bits |= o.value ? bit : 0;
    return true;
}

static void take_identity(struct xml *x, struct str text)
{
    enum obs_status status;
    if (status_from_words(text, &status))
        return;
    if (strcmp(x->path, "product_name") == 0)
        str_copy(x->name, sizeof(x->name), text);
    else if (strcmp(x->path, "uuid") == 0)
        str_copy(x->uuid, sizeof(x->uuid), text);
}

static void take_metric(struct xml *x, const struct nvsmi_row *row, struct str text)
{
    struct obs o = { 0 };
    int r = row->words ? nvsmi_word_parse(row->words, text, &o)
                       : quantity_parse(row->quantity, STR(""), text, &o);
    if (r == -ENODATA)
        return;
    if (r < 0) {
        drop(x, row->path, text, row->words ? "a known word" : quantity_name(row->quantity));
        return;
    }
    if (row->metric == METRIC_ECC_UNCORRECTED) {
        x->has_ecc |= o.status == OBS_VALUE;
        if (__builtin_add_overflow(x->ecc_sum, o.value, &x->ecc_sum))
            x->ecc_sum = INT64_MAX;
        return;
    }
    /* A value beats "N/A" of another schema's element, and a worse word ("unhealthy") a better. */
    const struct obs *had = obs_list_find(&x->obs, row->metric);
    bool better = had && had->status != OBS_VALUE && o.status == OBS_VALUE;
    bool worse = had && row->words && o.status == OBS_VALUE && o.value > had->value;
    bool plainer = !row->words && !row->fallback && o.status == OBS_VALUE;
    obs_list_add(&x->obs, row->metric, &o, better || worse || plainer);
}

static void take_gpu_text(struct xml *x, struct str text)
{
    if (strcmp(x->path, "processes") == 0) {
        if (status_from_words(text, &x->process_status))
            x->process_list = LIST_UNREADABLE;
        else
            x->process_list = LIST_SEEN;
        return;
    }
    if (!text.n || take_listed(x, text) || take_throttle(x, text))
        return;
    take_identity(x, text);
    for (const struct nvsmi_row *row = nvsmi_rows; row->path; row++)
        if (strcmp(row->path, x->path) == 0)
            take_metric(x, row, text);
}

static void take_log_text(struct xml *x, const char *path, struct str text)
{
    struct stamp stamp;
    if (strcmp(path, "nvidia_smi_log/driver_version") == 0)
        str_copy(x->driver, sizeof(x->driver), text);
    if (strcmp(path, "nvidia_smi_log/timestamp") != 0)
        return;
    if (stamp_parse(text, &stamp) == 0)
        feed_at(&x->feed, stamp, here(x));
    else
        drop(x, "timestamp", text, "a time");
}

/* The path below the GPU, or NULL. */
static const char *below_gpu(const struct xml *x, const char *path)
{
    size_t n = strlen(GPU_PATH);
    return x->in_gpu && strncmp(path, GPU_PATH, n) == 0 ? path + n : NULL;
}

static void on_document(void *user)
{
    struct xml *x = user;
    x->driver[0] = 0;
    x->gpus = 0;
    x->in_gpu = false;
}

static void on_start(void *user, const char *path, const char **attrs)
{
    struct xml *x = user;
    if (strcmp(path, "nvidia_smi_log/gpu") == 0)
        start_gpu(x, attrs);
    const char *below = below_gpu(x, path);
    if (!below)
        return;
    if (strcmp(below, "processes/process_info") == 0)
        x->process = (struct process){ 0 };
    if (strcmp(below, "mig_devices/mig_device") == 0)
        x->mig = (struct mig){ .gi = -1, .ci = -1 };
}

static void end_group(struct xml *x)
{
    if (strcmp(x->path, "processes/process_info") == 0 && x->process.pid > 0 &&
        x->process_n < ARRAY_SIZE(x->processes))
        x->processes[x->process_n++] = x->process;
    if (strcmp(x->path, "mig_devices/mig_device") == 0 && x->mig.gi >= 0 &&
        x->mig_n < ARRAY_SIZE(x->migs))
        x->migs[x->mig_n++] = x->mig;
}

static void on_end(void *user, const char *path, struct str text)
{
    struct xml *x = user;
    x->path = below_gpu(x, path);
    if (x->in_gpu && strcmp(path, "nvidia_smi_log/gpu") == 0) {
        end_gpu(x);
    } else if (x->path) {
        end_group(x);
        take_gpu_text(x, text);
    } else if (!x->in_gpu) {
        take_log_text(x, path, text);
    }
}

/* GPUs before the place where a document breaks are whole, and kept. */
static void on_document_end(void *user, const char *why)
{
    struct xml *x = user;
    x->feed.trace.report.lines++;
    if (why)
        trace_dropped(&x->feed.trace, "line %" PRIu64 ": %s; %s", here(x), why,
                      x->in_gpu ? "the GPU that is cut there is left out" : "the rest is left out");
    x->in_gpu = false;
    feed_tick(&x->feed);
}

static const struct xml_handler handler = {
    .document = on_document,
    .start = on_start,
    .end = on_end,
    .document_end = on_document_end,
};

static int xml_step(struct feed *f, struct err *err)
{
    struct xml *x = (struct xml *) f;
    struct str bytes;
    int r = input_bytes(f->in, &bytes, err);
    if (r < 0)
        return r;
    if (r == 0) {
        f->trace.report.torn |= xml_docs_end(x->docs);
        return 0;
    }
    return xml_docs_feed(x->docs, bytes) < 0 ? err_sys(err, ENOMEM, "read '%s'", input_name(f->in))
                                             : 1;
}

static void xml_done(struct feed *f)
{
    xml_docs_free(((struct xml *) f)->docs);
}

static int xml_probe(struct str head)
{
    if (str_find(head, "<nvidia_smi_log") >= 0)
        return 95;
    return str_find(head, "DOCTYPE nvidia_smi_log") >= 0 ? 95 : 0;
}

static int xml_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    struct xml_docs *docs = NULL;
    int r = xml_docs_new(&handler, &docs);
    if (r == 0)
        r = feed_open(&nvsmi_xml_format, sizeof(struct xml), xml_step, in, ret, err);
    else
        err_sys(err, -r, "read '%s'", input_name(in));
    if (r < 0) {
        xml_docs_free(docs);
        return r;
    }
    struct xml *x = (struct xml *) *ret;
    x->docs = docs;
    x->feed.done = xml_done;
    xml_docs_user(docs, x);
    return 0;
}

const struct trace_format nvsmi_xml_format = {
    .name = "nvidia-smi-xml",
    .help = "nvidia-smi -q -x, one document or many",
    .probe = xml_probe,
    .open = xml_open,
    .next = feed_next,
    .close = feed_close,
};
