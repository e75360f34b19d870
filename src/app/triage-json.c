/* SPDX-License-Identifier: Apache-2.0 */
#include "app/triage-json.h"

#include "base/json.h"

/* A time that the stream cannot tell is null, never a made-up one. */
static void add_time(struct json *j, const char *key, const struct triage *t, int64_t stream_us)
{
    int64_t wall_us = triage_wall_us(t, stream_us);
    if (wall_us < 0)
        json_null(j, key);
    else
        json_i64(j, key, wall_us);
}

static void add_known(struct json *j, const char *key, int64_t value)
{
    if (value < 0)
        json_null(j, key);
    else
        json_i64(j, key, value);
}

static void add_device(struct json *j, const struct triage *t, uint32_t device)
{
    const struct triage_device *d = device == ENTITY_NONE ? NULL : triage_device(t, device);
    json_text(j, "device", d ? d->key : NULL);
    if (d && d->index >= 0)
        json_i64(j, "index", d->index);
    else
        json_null(j, "index");
}

static void add_candidates(struct json *j, uint32_t candidates)
{
    json_array(j, "candidates");
    for (unsigned s = 0; s < STATE_COUNT; s++)
        if (candidates & CANDIDATE(s))
            json_text(j, NULL, state_name((enum state) s));
    if (candidates & CANDIDATE_WAIT)
        json_text(j, NULL, "wait");
    json_array_end(j);
}

static void add_evidence(struct json *j, const struct evidence *e)
{
    json_object(j, NULL);
    json_text(j, "rule", e->rule);
    json_text(j, "detail", e->detail);
    json_object_end(j);
}

void triage_json_episode(const struct triage *t, const struct episode *e, struct strbuf *out)
{
    struct json j;
    json_begin(&j, out);
    json_text(&j, "schema", "wattgate.episode/1");
    add_device(&j, t, e->device);
    add_time(&j, "start_us", t, e->start_us);
    add_time(&j, "end_us", t, e->end_us);
    json_text(&j, "state", state_name(e->state));
    add_candidates(&j, e->candidates);
    json_text(&j, "confidence", confidence_name(e->confidence));
    add_known(&j, "power_mw", e->power_mw);
    json_i64(&j, "samples", e->samples);
    json_array(&j, "evidence");
    for (uint32_t i = 0; i < e->n_evidence; i++)
        add_evidence(&j, &e->evidence[i]);
    json_array_end(&j);
    json_end(&j);
}

void triage_json_state(const struct triage *t, size_t i, int64_t now_us, struct strbuf *out)
{
    const struct triage_device *d = triage_device(t, i);
    struct json j;
    json_begin(&j, out);
    json_text(&j, "schema", "wattgate.state/1");
    add_device(&j, t, (uint32_t) i);
    add_time(&j, "time_us", t, now_us);
    add_time(&j, "since_us", t, d->since_us);
    json_text(&j, "state", state_name(d->state));
    add_candidates(&j, d->candidates);
    add_known(&j, "power_mw", d->power_mw);
    add_known(&j, "util_permille", d->util_permille);
    json_end(&j);
}

void triage_json_finding(const struct triage *t, const struct finding *f, struct strbuf *out)
{
    struct json j;
    json_begin(&j, out);
    json_text(&j, "schema", "wattgate.finding/1");
    add_device(&j, t, f->device);
    add_time(&j, "at_us", t, f->at_us);
    json_text(&j, "finding", finding_name(f->kind));
    json_array(&j, "evidence");
    add_evidence(&j, &f->evidence);
    json_array_end(&j);
    json_end(&j);
}

static void add_seconds(struct json *j, const int64_t us[STATE_COUNT])
{
    json_object(j, "seconds_by_state");
    for (unsigned s = 0; s < STATE_COUNT; s++)
        if (us[s] > 0)
            json_scaled(j, state_name((enum state) s), us[s], 1000000, 3);
    json_object_end(j);
}

static void add_anchors(struct json *j, const struct triage_device *d)
{
    json_array(j, "anchors");
    for (unsigned a = 0; a < ANCHOR_COUNT; a++) {
        if (d->anchor_mw[a] < 0)
            continue;
        json_object(j, NULL);
        json_text(j, "anchor", anchor_name((enum anchor) a));
        json_i64(j, "power_mw", d->anchor_mw[a]);
        json_text(j, "from", calibration_name(d->anchor_from[a]));
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_energy(struct json *j, const struct triage_device *d)
{
    if (d->energy_uj < 0) {
        json_null(j, "energy_j");
        return;
    }
    json_scaled(j, "energy_j", d->energy_uj, 1000000, 3);
    json_text(j, "energy_from", d->energy_from_counter ? "counter" : "integrated_power");
    add_known(j, "energy_error_permille", d->energy_error_permille);
}

static void add_device_summary(struct json *j, const struct triage_device *d)
{
    json_object(j, NULL);
    json_text(j, "device", d->key);
    if (d->index >= 0)
        json_i64(j, "index", d->index);
    else
        json_null(j, "index");
    json_text(j, "name", d->name[0] ? d->name : NULL);
    json_text(j, "kind", d->is_node ? "node" : "gpu");
    json_text(j, "state", state_name(d->state));
    add_candidates(j, d->candidates);
    json_i64(j, "samples", (int64_t) d->samples);
    add_known(j, "limit_mw", d->limit_mw);
    json_text(j, "power_metric",
              d->power_metric == METRIC_UNKNOWN ? NULL : metric_info(d->power_metric)->name);
    add_known(j, "power_mean_mw", d->power_mean_mw);
    add_known(j, "power_min_mw", d->power_min_mw);
    add_known(j, "power_max_mw", d->power_max_mw);
    add_known(j, "util_mean_permille", d->util_mean_permille);
    add_seconds(j, d->us_by_state);
    add_energy(j, d);
    add_anchors(j, d);
    json_text(j, "calibration", calibration_name(d->calibration));
    json_object_end(j);
}

/* The whole: sums over devices, and the weakest calibration among them. */
void triage_json_summary(const struct triage *t, const char *tables, struct strbuf *out)
{
    int64_t us[STATE_COUNT] = { 0 }, energy_uj = -1;
    enum calibration weakest = CALIBRATION_LEARNED;
    struct json j;
    json_begin(&j, out);
    json_text(&j, "schema", "wattgate.triage/1");
    json_array(&j, "devices");
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        add_device_summary(&j, d);
        for (unsigned s = 0; s < STATE_COUNT && !d->is_node; s++)
            us[s] += d->us_by_state[s];
        if (d->energy_uj >= 0)
            energy_uj = (energy_uj < 0 ? 0 : energy_uj) + d->energy_uj;
        weakest = MIN(weakest, d->calibration);
    }
    json_array_end(&j);
    add_seconds(&j, us);
    if (energy_uj < 0)
        json_null(&j, "energy_j");
    else
        json_scaled(&j, "energy_j", energy_uj, 1000000, 3);
    json_text(&j, "calibration", calibration_name(triage_devices(t) ? weakest : CALIBRATION_NONE));
    json_text(&j, "tables", tables);
    json_end(&j);
}
