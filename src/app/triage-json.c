/* SPDX-License-Identifier: Apache-2.0 */
#include "app/triage-json.h"

#include "base/jsonw.h"

/* A time that the stream cannot tell is null, never a made-up one. */
static void add_time(struct jsonw *j, const char *key, const struct triage *t, int64_t stream_us)
{
    int64_t wall_us = triage_wall_us(t, stream_us);
    if (wall_us < 0)
        jsonw_null(j, key);
    else
        jsonw_i64(j, key, wall_us);
}

static void add_known(struct jsonw *j, const char *key, int64_t value)
{
    if (value < 0)
        jsonw_null(j, key);
    else
        jsonw_i64(j, key, value);
}

static void add_device(struct jsonw *j, const struct triage *t, uint32_t device)
{
    const struct triage_device *d = device == ENTITY_NONE ? NULL : triage_device(t, device);
    jsonw_text(j, "device", d ? d->key : NULL);
    if (d && d->index >= 0)
        jsonw_i64(j, "index", d->index);
    else
        jsonw_null(j, "index");
}

static void add_candidates(struct jsonw *j, uint32_t candidates)
{
    jsonw_array(j, "candidates");
    for (unsigned s = 0; s < STATE_COUNT; s++)
        if (candidates & CANDIDATE(s))
            jsonw_text(j, NULL, state_name((enum state) s));
    if (candidates & CANDIDATE_WAIT)
        jsonw_text(j, NULL, "wait");
    jsonw_array_end(j);
}

static void add_evidence(struct jsonw *j, const struct evidence *e)
{
    jsonw_object(j, NULL);
    jsonw_text(j, "rule", e->rule);
    jsonw_text(j, "detail", e->detail);
    jsonw_object_end(j);
}

void triage_json_episode(const struct triage *t, const struct episode *e, struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.episode/1");
    add_device(&j, t, e->device);
    add_time(&j, "start_us", t, e->start_us);
    add_time(&j, "end_us", t, e->end_us);
    jsonw_text(&j, "state", state_name(e->state));
    add_candidates(&j, e->candidates);
    jsonw_text(&j, "confidence", confidence_name(e->confidence));
    add_known(&j, "power_mw", e->power_mw);
    jsonw_i64(&j, "samples", e->samples);
    jsonw_array(&j, "evidence");
    for (uint32_t i = 0; i < e->n_evidence; i++)
        add_evidence(&j, &e->evidence[i]);
    jsonw_array_end(&j);
    jsonw_end(&j);
}

void triage_json_state(const struct triage *t, size_t i, int64_t now_us, struct strbuf *out)
{
    const struct triage_device *d = triage_device(t, i);
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.state/1");
    add_device(&j, t, (uint32_t) i);
    add_time(&j, "time_us", t, now_us);
    add_time(&j, "since_us", t, d->since_us);
    jsonw_text(&j, "state", state_name(d->state));
    add_candidates(&j, d->candidates);
    add_known(&j, "power_mw", d->power_mw);
    add_known(&j, "util_permille", d->util_permille);
    jsonw_end(&j);
}

void triage_json_finding(const struct triage *t, const struct finding *f, struct strbuf *out)
{
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.finding/1");
    add_device(&j, t, f->device);
    add_time(&j, "at_us", t, f->at_us);
    jsonw_text(&j, "finding", finding_name(f->kind));
    jsonw_array(&j, "evidence");
    add_evidence(&j, &f->evidence);
    jsonw_array_end(&j);
    jsonw_end(&j);
}

static void add_seconds(struct jsonw *j, const int64_t us[STATE_COUNT])
{
    jsonw_object(j, "seconds_by_state");
    for (unsigned s = 0; s < STATE_COUNT; s++)
        if (us[s] > 0)
            jsonw_scaled(j, state_name((enum state) s), us[s], 1000000, 3);
    jsonw_object_end(j);
}

static void add_anchors(struct jsonw *j, const struct triage_device *d)
{
    jsonw_array(j, "anchors");
    for (unsigned a = 0; a < ANCHOR_COUNT; a++) {
        if (d->anchor_mw[a] < 0)
            continue;
        jsonw_object(j, NULL);
        jsonw_text(j, "anchor", anchor_name((enum anchor) a));
        jsonw_i64(j, "power_mw", d->anchor_mw[a]);
        jsonw_text(j, "from", calibration_name(d->anchor_from[a]));
        jsonw_object_end(j);
    }
    jsonw_array_end(j);
}

static void add_energy(struct jsonw *j, const struct triage_device *d)
{
    if (d->energy_uj < 0) {
        jsonw_null(j, "energy_j");
        return;
    }
    jsonw_scaled(j, "energy_j", d->energy_uj, 1000000, 3);
    jsonw_text(j, "energy_from", d->energy_from_counter ? "counter" : "integrated_power");
    add_known(j, "energy_error_permille", d->energy_error_permille);
}

static void add_device_summary(struct jsonw *j, const struct triage_device *d)
{
    jsonw_object(j, NULL);
    jsonw_text(j, "device", d->key);
    if (d->index >= 0)
        jsonw_i64(j, "index", d->index);
    else
        jsonw_null(j, "index");
    jsonw_text(j, "name", d->name[0] ? d->name : NULL);
    jsonw_text(j, "kind", d->is_node ? "node" : "gpu");
    if (d->mig_instances)
        jsonw_i64(j, "mig_instances", d->mig_instances);
    jsonw_text(j, "state", state_name(d->state));
    add_candidates(j, d->candidates);
    jsonw_i64(j, "samples", (int64_t) d->samples);
    add_known(j, "limit_mw", d->limit_mw);
    jsonw_text(j, "power_metric",
               d->power_metric == METRIC_UNKNOWN ? NULL : metric_info(d->power_metric)->name);
    add_known(j, "power_mean_mw", d->power_mean_mw);
    add_known(j, "power_min_mw", d->power_min_mw);
    add_known(j, "power_max_mw", d->power_max_mw);
    add_known(j, "util_mean_permille", d->util_mean_permille);
    add_seconds(j, d->us_by_state);
    add_energy(j, d);
    add_anchors(j, d);
    jsonw_text(j, "calibration", calibration_name(d->calibration));
    jsonw_object_end(j);
}

/* The whole: sums over devices, and the weakest calibration among them. */
void triage_json_summary(const struct triage *t, const char *tables, struct strbuf *out)
{
    int64_t us[STATE_COUNT] = { 0 }, energy_uj = -1;
    enum calibration weakest = CALIBRATION_LEARNED;
    struct jsonw j;
    jsonw_begin(&j, out);
    jsonw_text(&j, "schema", "wattgate.triage/1");
    jsonw_array(&j, "devices");
    for (size_t i = 0; i < triage_devices(t); i++) {
        const struct triage_device *d = triage_device(t, i);
        add_device_summary(&j, d);
        for (unsigned s = 0; s < STATE_COUNT && !d->is_node; s++)
            us[s] += d->us_by_state[s];
        if (d->energy_uj >= 0)
            energy_uj = (energy_uj < 0 ? 0 : energy_uj) + d->energy_uj;
        weakest = MIN(weakest, d->calibration);
    }
    jsonw_array_end(&j);
    add_seconds(&j, us);
    if (energy_uj < 0)
        jsonw_null(&j, "energy_j");
    else
        jsonw_scaled(&j, "energy_j", energy_uj, 1000000, 3);
    jsonw_text(&j, "calibration", calibration_name(triage_devices(t) ? weakest : CALIBRATION_NONE));
    jsonw_text(&j, "tables", tables);
    jsonw_end(&j);
}
