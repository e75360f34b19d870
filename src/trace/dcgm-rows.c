/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/dcgm-rows.h"

#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

/* DCGM documents field 155 (POWER_USAGE) as the 1 s average, 157 as the instant reading. */
static const struct dcgm_row rows[] = {
    { "DEV_POWER_USAGE", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W, true },
    { "DEV_BOARD_POWER_WATTS", METRIC_POWER_AVERAGE_MW, QUANTITY_POWER_W, true },
    { "DEV_POWER_USAGE_INSTANT", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W, true },
    { "DEV_BOARD_POWER_RAW_WATTS", METRIC_POWER_INSTANT_MW, QUANTITY_POWER_W, true },
    { "DEV_TOTAL_ENERGY_CONSUMPTION", METRIC_ENERGY_UJ, QUANTITY_ENERGY_MJ, true },
    { "DEV_ENFORCED_POWER_LIMIT", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "DEV_POWER_MGMT_LIMIT", METRIC_POWER_LIMIT_MW, QUANTITY_POWER_W, true },
    { "DEV_POWER_MGMT_LIMIT_DEF", METRIC_POWER_LIMIT_DEFAULT_MW, QUANTITY_POWER_W, true },
    { "DEV_POWER_MGMT_LIMIT_MAX", METRIC_POWER_LIMIT_MAX_MW, QUANTITY_POWER_W, true },
    { "DEV_GPU_UTIL", METRIC_UTIL_GPU_PERMILLE, QUANTITY_SHARE_PERCENT, true },
    { "DEV_MEM_COPY_UTIL", METRIC_UTIL_MEM_PERMILLE, QUANTITY_SHARE_PERCENT, true },
    { "DEV_SM_CLOCK", METRIC_CLOCK_SM_MHZ, QUANTITY_CLOCK_MHZ, true },
    { "DEV_MEM_CLOCK", METRIC_CLOCK_MEM_MHZ, QUANTITY_CLOCK_MHZ, true },
    { "DEV_GPU_TEMP", METRIC_TEMP_GPU_MC, QUANTITY_TEMP_C, true },
    { "DEV_MEMORY_TEMP", METRIC_TEMP_MEM_MC, QUANTITY_TEMP_C, true },
    { "DEV_XID_ERRORS", METRIC_XID, QUANTITY_COUNT_OF, true },
    { "DEV_ECC_DBE_AGG_TOTAL", METRIC_ECC_UNCORRECTED, QUANTITY_COUNT_OF, true },
    { "DEV_ROW_REMAP_FAILURE", METRIC_REMAP_FAILURE, QUANTITY_COUNT_OF, true },
    { "DEV_ROW_REMAP_PENDING", METRIC_REMAP_PENDING, QUANTITY_COUNT_OF, true },
    { "DEV_CLOCK_THROTTLE_REASONS", METRIC_THROTTLE_REASONS, QUANTITY_COUNT_OF, true },
    { "DEV_CLOCKS_EVENT_REASONS", METRIC_THROTTLE_REASONS, QUANTITY_COUNT_OF, true },
    { "DEV_FB_USED", METRIC_MEM_USED_BYTES, QUANTITY_MEM_MIB, false },
    { "PROF_GR_ENGINE_ACTIVE", METRIC_GR_ACTIVE_PERMILLE, QUANTITY_SHARE_RATIO, false },
    { "PROF_SM_ACTIVE", METRIC_SM_ACTIVE_PERMILLE, QUANTITY_SHARE_RATIO, false },
    { "PROF_SM_OCCUPANCY", METRIC_SM_OCCUPANCY_PERMILLE, QUANTITY_SHARE_RATIO, false },
    { "PROF_PIPE_TENSOR_ACTIVE", METRIC_TENSOR_ACTIVE_PERMILLE, QUANTITY_SHARE_RATIO, false },
    { "PROF_DRAM_ACTIVE", METRIC_DRAM_ACTIVE_PERMILLE, QUANTITY_SHARE_RATIO, false },
    { "PROF_PCIE_TX_BYTES", METRIC_PCIE_TX_BPS, QUANTITY_RATE_B, false },
    { "PROF_PCIE_RX_BYTES", METRIC_PCIE_RX_BPS, QUANTITY_RATE_B, false },
    { "PROF_NVLINK_TX_BYTES", METRIC_NVLINK_TX_BPS, QUANTITY_RATE_B, false },
    { "PROF_NVLINK_RX_BYTES", METRIC_NVLINK_RX_BPS, QUANTITY_RATE_B, false },
};

const struct dcgm_row *dcgm_row_find(struct str name)
{
    if (!str_starts(name, "DCGM_FI_"))
        return NULL;
    name = str_sub(name, 8, name.n);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

void dcgm_labels_init(struct dcgm_labels *l)
{
    *l = (struct dcgm_labels){ .index = -1 };
}

void dcgm_label(struct dcgm_labels *l, struct str key, struct str value)
{
    uint32_t index;
    if (str_is(key, "UUID"))
        str_copy(l->uuid, sizeof(l->uuid), value);
    else if (str_is(key, "modelName"))
        str_copy(l->name, sizeof(l->name), value);
    else if (str_is(key, "DCGM_FI_DRIVER_VERSION"))
        str_copy(l->driver, sizeof(l->driver), value);
    else if (str_is(key, "GPU_I_ID"))
        str_copy(l->instance, sizeof(l->instance), value);
    else if (str_is(key, "Hostname"))
        str_copy(l->host, sizeof(l->host), value);
    else if (str_is(key, "gpu") && parse_u32(value, &index) == 0 && index < ENTITY_MAX)
        l->index = (int32_t) index;
}

static bool same_device(const struct dcgm_labels *a, const struct dcgm_labels *b)
{
    return a->index == b->index && strcmp(a->uuid, b->uuid) == 0 &&
           strcmp(a->instance, b->instance) == 0 && strcmp(a->host, b->host) == 0;
}

struct dcgm_device *dcgm_scrape_device(struct dcgm_scrape *s, const struct dcgm_labels *l)
{
    for (size_t i = 0; i < s->n; i++)
        if (same_device(&s->devices[i].labels, l))
            return &s->devices[i];
    if (s->n == s->cap) {
        size_t cap = MAX(s->cap * 2, (size_t) 16);
        struct dcgm_device *grown =
            cap <= DCGM_DEVICES_MAX ? realloc(s->devices, cap * sizeof(*grown)) : NULL;
        if (!grown)
            return NULL;
        s->devices = grown;
        s->cap = cap;
    }
    struct dcgm_device *d = &s->devices[s->n++];
    *d = (struct dcgm_device){ .labels = *l };
    return d;
}

static bool is_of_board(enum metric m)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].metric == m)
            return rows[i].of_board;
    return true;
}

/* Instances of one board repeat the board's readings: the first is kept. */
static void gather_board(struct dcgm_scrape *s, size_t first, struct obs_list *board)
{
    const struct dcgm_labels *l = &s->devices[first].labels;
    board->n = 0;
    for (size_t i = first; i < s->n; i++) {
        const struct dcgm_device *d = &s->devices[i];
        if (strcmp(d->labels.uuid, l->uuid) != 0 || d->labels.index != l->index)
            continue;
        for (uint32_t k = 0; k < d->obs.n; k++) {
            const struct obs *o = &d->obs.obs[k], *had = obs_list_find(board, o->metric);
            if (d->labels.instance[0] && !is_of_board(o->metric))
                continue;
            s->conflicts += had && had->value != o->value;
            obs_list_add(board, o->metric, o, false);
        }
    }
}

static bool is_first_of_board(const struct dcgm_scrape *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(s->devices[k].labels.uuid, s->devices[i].labels.uuid) == 0 &&
            s->devices[k].labels.index == s->devices[i].labels.index)
            return false;
    return true;
}

static void feed_instance(const struct dcgm_device *d, uint32_t board, struct feed *f)
{
    struct obs_list own = { .n = 0 };
    for (uint32_t k = 0; k < d->obs.n; k++)
        if (!is_of_board(d->obs.obs[k].metric))
            obs_list_add(&own, d->obs.obs[k].metric, &d->obs.obs[k], false);
    struct entity e = {
        .kind = ENTITY_MIG, .parent = board, .index = -1, .key = str_from(d->labels.instance)
    };
    uint32_t id = feed_entity(f, &e);
    if (own.n)
        feed_sample(f, id, own.obs, own.n);
}

void dcgm_scrape_feed(struct dcgm_scrape *s, struct feed *f)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct dcgm_labels *l = &s->devices[i].labels;
        struct obs_list board;
        if (!is_first_of_board(s, i))
            continue;
        if (l->host[0])
            feed_host(f, str_from(l->host));
        gather_board(s, i, &board);
        uint32_t id = feed_gpu(f, str_from(l->uuid), l->index, str_from(l->name),
                               str_from(l->driver), (struct str){ NULL, 0 });
        if (board.n)
            feed_sample(f, id, board.obs, board.n);
        for (size_t k = i; k < s->n; k++)
            if (s->devices[k].labels.instance[0] &&
                strcmp(s->devices[k].labels.uuid, l->uuid) == 0 &&
                s->devices[k].labels.index == l->index)
                feed_instance(&s->devices[k], id, f);
    }
    if (s->conflicts)
        feed_note(f, ENTITY_NONE, "reader",
                  "%u readings of a divided board differ between its instances; the first was kept",
                  s->conflicts);
    s->conflicts = 0;
    s->n = 0;
    feed_tick(f);
}

void dcgm_scrape_done(struct dcgm_scrape *s)
{
    free(s->devices);
    *s = (struct dcgm_scrape){ 0 };
}
