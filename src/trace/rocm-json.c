/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of rocm-smi ({"card0": {"Average Graphics Package Power (W)": "39.0", ...}}) and of amd-smi
 * ([{"gpu": 0, "power": {"socket_power": {"value": 150, "unit": "W"}}, ...}]): one moment. */
#include "trace/document.h"
#include "trace/formats.h"
#include "trace/json-scalar.h"
#include "trace/quantity.h"

#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct rocm {
    struct feed feed; /* first */
    bool loaded;
};

/* rocm-smi spells keys in many ways over its versions; amd-smi nests, its path is "power/...". */
static const struct rocm_row {
    const char *key; /* a trailing * matches the rest */
    enum metric metric;
    enum quantity quantity;
    bool fallback;
} rows[] = {
    { "Average Graphics Package Power (W)", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W, false },
    { "Current Socket Graphics Package Power (W)", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W,
      false },
    { "Max Graphics Package Power (W)", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, false },
    { "GPU use (%)", METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT, false },
    { "GPU Memory Read/Write Activity (%)", METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT,
      false },
    { "Temperature (Sensor junction) (C)", METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C, false },
    { "Temperature (Sensor edge) (C)", METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C, true },
    { "Temperature (Sensor memory) (C)", METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C, false },
    { "VRAM Total Memory (B)", METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_BYTES, false },
    { "VRAM Total Used Memory (B)", METRIC_MEM_USED_BYTES, QUANTITY_MEM_BYTES, false },
    { "power/socket_power", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W, false },
    { "power/current_socket_power", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W, false },
    { "power/average_socket_power", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W, false },
    { "limit/max_power", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "limit/socket_power", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, false },
    { "usage/gfx_activity", METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT, false },
    { "usage/umc_activity", METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT, false },
    { "temperature/hotspot", METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C, false },
    { "temperature/mem", METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C, false },
    { "energy/total_energy_consumption", METRIC_ENERGY_UJ, QUANTITY_ENERGY_J, false },
    { "mem_usage/used_vram", METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB, false },
    { "mem_usage/total_vram", METRIC_MEM_TOTAL_BYTES, QUANTITY_MEM_MIB, false },
};

struct card {
    struct obs_list obs;
    struct str name, uuid, bus;
};

/* amd-smi: {"value": 150, "unit": "W"}, or the bare value. */
static void take_value(struct rocm *r, struct card *c, const char *path, const json_t *v)
{
    char buf[JSON_SCALAR_MAX];
    struct str text, unit = { NULL, 0 };
    const json_t *inner = json_is_object(v) ? json_object_get(v, "value") : v;
    if (json_is_object(v))
        unit = str_from(json_string_value(json_object_get(v, "unit")));
    if (!json_scalar_text(inner, buf, &text))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct obs o = { 0 };
        if (strcmp(rows[i].key, path) != 0)
            continue;
        if (str_starts(text, "N/A")) /* "N/A (Secondary die)": the other die reports for both */
            o.status = OBS_ABSENT;
        else if (quantity_parse(rows[i].quantity, unit, text, &o) < 0)
            trace_dropped(&r->feed.trace, "\"%.60s\": '%.*s' is not %s", path,
                          (int) MIN(text.n, 40), text.p, quantity_name(rows[i].quantity));
        else
            o.metric = rows[i].metric;
        if (o.metric != METRIC_UNKNOWN || o.status == OBS_ABSENT)
            obs_list_add(&c->obs, rows[i].metric, &o, !rows[i].fallback);
    }
}

static void take_name(struct card *c, const char *key, const json_t *v)
{
    struct str text = str_from(json_string_value(v));
    if (!text.n || str_starts(text, "N/A"))
        return;
    if (strcmp(key, "Card series") == 0 || strcmp(key, "Card Series") == 0)
        c->name = text;
    else if (strcmp(key, "Unique ID") == 0 || strcmp(key, "uuid") == 0)
        c->uuid = text;
    else if (strcmp(key, "PCI Bus") == 0 || strcmp(key, "bdf") == 0)
        c->bus = text;
}

static void take_card(struct rocm *r, int32_t index, json_t *card)
{
    struct card c = { 0 };
    const char *key, *inner_key;
    char path[128];
    json_t *value, *inner;
    json_object_foreach(card, key, value)
    {
        take_name(&c, key, value);
        take_value(r, &c, key, value);
        if (!json_is_object(value))
            continue;
        json_object_foreach(value, inner_key, inner)
        {
            snprintf(path, sizeof(path), "%.60s/%.60s", key, inner_key);
            take_name(&c, inner_key, inner);
            take_value(r, &c, path, inner);
        }
    }
    if (!c.obs.n)
        return;
    uint32_t id = feed_gpu(&r->feed, c.uuid, index, c.name, (struct str){ NULL, 0 }, c.bus);
    feed_sample(&r->feed, id, c.obs.obs, c.obs.n);
}

/* "card0" is a GPU, "system" is not. */
static bool card_number(const char *key, int32_t *ret)
{
    uint32_t number;
    struct str s = str_from(key);
    if (!str_starts(s, "card") || parse_u32(str_sub(s, 4, s.n), &number) < 0 ||
        number >= ENTITY_MAX)
        return false;
    *ret = (int32_t) number;
    return true;
}

static void take_document(struct rocm *r, json_t *root)
{
    const char *key;
    json_t *value;
    size_t i;
    int32_t index;
    json_object_foreach(root, key, value) if (card_number(key, &index) && json_is_object(value))
        take_card(r, index, value);
    json_t *list = json_is_array(root) ? root : json_object_get(root, "gpu_data");
    json_array_foreach(list, i, value)
    {
        const json_t *number = json_object_get(value, "gpu");
        bool sane = json_is_integer(number) && json_integer_value(number) >= 0 &&
                    json_integer_value(number) < ENTITY_MAX;
        if (json_is_object(value) && sane)
            take_card(r, (int32_t) json_integer_value(number), value);
    }
}

static int rocm_step(struct feed *f, struct err *err)
{
    struct rocm *r = (struct rocm *) f;
    json_t *root = NULL;
    if (r->loaded)
        return 0;
    r->loaded = true;
    int result = document_load(f, &root, err);
    if (result < 0)
        return result;
    take_document(r, root);
    json_decref(root);
    feed_tick(f);
    return 1;
}

static int rocm_probe(struct str head)
{
    struct str text = str_trim(head);
    if (!text.n || (text.p[0] != '{' && text.p[0] != '['))
        return 0;
    if (str_find(text, "\"card") >= 0 &&
        (str_find(text, "Power (W)") >= 0 || str_find(text, "GPU ID") >= 0 ||
         str_find(text, "Device ID") >= 0))
        return 85;
    return str_find(text, "\"gpu\"") >= 0 && str_find(text, "socket_power") >= 0 ? 80 : 0;
}

static int rocm_open(struct trace_input *in, struct trace **ret, struct err *err)
{
    return feed_open(&rocm_json_format, sizeof(struct rocm), rocm_step, in, ret, err);
}

const struct trace_format rocm_json_format = {
    .name = "rocm-json",
    .help = "rocm-smi --json and amd-smi metric --json",
    .probe = rocm_probe,
    .open = rocm_open,
    .next = feed_next,
    .close = feed_close,
};
