/* SPDX-License-Identifier: Apache-2.0 */
/* nvmlDeviceGetFieldValues. The ids from 251 on mean different things in different drivers. */
#include "state.h"

#include "base/units.h"

#include <string.h>

union field_union {
    double d;
    int i;
    unsigned u;
    unsigned long long ull;
};

struct field_value {
    unsigned id, scope;
    long long wall_us, latency_us;
    unsigned type; /* 1 unsigned, 3 unsigned long long, 5 int */
    int result;
    union field_union value;
};
_Static_assert(sizeof(struct field_value) == 40, "as the driver lays it out");

/* Where the fields that were moved begin; 0: not there. */
static const struct numbering {
    uint32_t since;     /* driver, major * 1000 + minor */
    unsigned smoothing; /* 18 ids: enabled, privilege level, ... */
    unsigned slowdown;  /* 5 ids: software thermal, hardware thermal, brake; 2 of power sync */
    unsigned end;       /* one past the last id */
} numberings[] = {
    { 0, 0, 0, 197 },          { 545000, 0, 0, 200 },     { 570000, 251, 0, 269 },
    { 575000, 256, 251, 274 }, { 580082, 251, 269, 274 }, { 580126, 251, 269, 289 },
    { 595000, 251, 269, 303 }, { 610000, 251, 269, 308 },
};

static const struct numbering *numbering(const struct sim_scenario *s)
{
    const struct numbering *n = &numberings[0];
    for (size_t i = 0; i < ARRAY_SIZE(numberings); i++)
        if (numberings[i].since <= s->driver_number)
            n = &numberings[i];
    return n;
}

static int give_u(struct field_value *v, int64_t value)
{
    v->type = 1;
    v->value.u = (unsigned) value;
    return NVML_SUCCESS;
}

static int give_ull(struct field_value *v, int64_t value)
{
    v->type = 3;
    v->value.ull = (unsigned long long) value;
    return NVML_SUCCESS;
}

static int give_int(struct field_value *v, int64_t value)
{
    v->type = 5;
    v->value.i = (int) value;
    return NVML_SUCCESS;
}

/* 185 to 192. Scope 0 is the GPU; a module (processor and GPU) exists on Grace boards only. */
static int power_field(const struct call *c, struct field_value *v)
{
    struct sensor_reading r = sim_sensor(c->s, c->g, c->t_us);
    if (v->scope != 0 || c->s->personality == SIM_VGPU || c->s->driver_number < 535000)
        return NVML_NOT_SUPPORTED;
    if (v->id == 185 || v->id == 186)
        v->wall_us = wall_from_sim_us(r.updated_us);
    switch (v->id) {
    case 185:
        return r.average_mw >= 0 ? give_u(v, r.average_mw) : NVML_NOT_SUPPORTED;
    case 186:
        return give_u(v, r.instant_mw);
    case 187:
        return give_u(v, c->g->board->limit_min_w * MW_PER_W);
    case 188:
        return give_u(v, c->g->board->limit_max_w * MW_PER_W);
    case 189:
        return give_u(v, c->g->board->limit_w * MW_PER_W);
    case 191:
        return give_ull(v, sim_energy_counter_uj(c->s, c->g, c->t_us) / UJ_PER_MJ);
    default:
        return give_u(v, c->phase->limit_mw); /* 190 enforced, 192 requested */
    }
}

/* Counters of traffic; scope is the link, or UINT_MAX for all. */
static int nvlink_field(const struct call *c, struct field_value *v, bool tx, int64_t unit)
{
    uint32_t links = link_count(c);
    if (!links)
        return NVML_NOT_SUPPORTED;
    if (v->scope != UINT32_MAX && v->scope >= links)
        return NVML_INVALID_ARGUMENT;
    int64_t bytes = sim_integral(c->g, tx ? SIM_NVLINK_TX_BPS : SIM_NVLINK_RX_BPS, c->t_us);
    return give_ull(v, (v->scope == UINT32_MAX ? bytes : bytes / links) / unit);
}

static int moved_field(const struct call *c, struct field_value *v)
{
    const struct numbering *n = numbering(c->s);
    if (n->slowdown && v->id >= n->slowdown && v->id < n->slowdown + 3)
        return give_ull(v, 0); /* nanoseconds held down by heat or brake: never here */
    if (!n->smoothing || v->id < n->smoothing || v->id >= n->smoothing + 18)
        return NVML_NOT_SUPPORTED;
    if (c->g->arch < SIM_ARCH_BLACKWELL)
        return NVML_NOT_SUPPORTED;
    switch (v->id - n->smoothing) {
    case 0: /* enabled */
        return give_u(v, c->g->floor_mw > 0);
    case 1: /* privilege level of who asks */
        return give_u(v, 0);
    case 3: /* ceiling and floor that are applied, in milliwatts */
        return c->g->floor_mw ? give_u(v, c->g->limit_mw) : NVML_NOT_SUPPORTED;
    case 4:
        return c->g->floor_mw ? give_u(v, c->g->floor_mw) : NVML_NOT_SUPPORTED;
    default:
        return NVML_NOT_SUPPORTED;
    }
}

static int ecc_field(const struct call *c, struct field_value *v)
{
    if (c->s->personality != SIM_DATACENTER)
        return NVML_NOT_SUPPORTED;
    return v->id <= 2 ? give_u(v, 1) : give_ull(v, 0); /* 1 and 2: ECC is on, now and later */
}

static int health_field(const struct call *c, struct field_value *v)
{
    bool remaps = c->s->personality == SIM_DATACENTER && c->g->arch != SIM_ARCH_VOLTA;
    switch (v->id) {
    case 142:
    case 143:
    case 144:
    case 145:
        return remaps ? give_u(v, 0) : NVML_NOT_SUPPORTED;
    case 230: { /* 0 none, 1 reset: after an Xid that says so */
        const struct sim_fault *xid = sim_fault_at(c->s, FAULT_XID, c->device->slot, c->t_us);
        bool reset = xid && (xid->code == 79 || xid->code == 119 || xid->code == 95);
        return c->s->driver_number < 570000 ? NVML_NOT_SUPPORTED : give_u(v, reset);
    }
    default: /* 193 to 196: degrees below the GPU's own limit */
        if (!sim_arch_info(c->g->arch)->tlimit)
            return NVML_NOT_SUPPORTED;
        return give_int(v, v->id == 193 ? -7 : v->id == 194 ? -2 : 0);
    }
}

static int traffic_field(const struct call *c, struct field_value *v)
{
    switch (v->id) {
    case 90: /* speed of every link, MB/s */
        return link_count(c) ? give_u(v, 26562) : NVML_NOT_SUPPORTED;
    case 91:
        return give_u(v, link_count(c));
    case 138:
    case 140:
        return nvlink_field(c, v, true, 1024);
    case 139:
    case 141:
        return nvlink_field(c, v, false, 1024);
    case 197:
    case 198:
        if (c->s->personality == SIM_VGPU || c->s->driver_number < 545000)
            return NVML_NOT_SUPPORTED;
        return give_ull(
            v, sim_integral(c->g, v->id == 197 ? SIM_PCIE_TX_BPS : SIM_PCIE_RX_BPS, c->t_us));
    case 202:
    case 204:
        if (!sim_arch_info(c->g->arch)->nvlink_bytes || c->s->driver_number < 570000)
            return NVML_NOT_SUPPORTED;
        return nvlink_field(c, v, v->id == 202, 1);
    default:
        return NVML_NOT_SUPPORTED;
    }
}

static int field(const struct call *c, struct field_value *v)
{
    bool vgpu = c->s->personality == SIM_VGPU;
    if (v->id == 0 || v->id >= numbering(c->s)->end)
        return NVML_INVALID_ARGUMENT;
    if (v->id <= 28)
        return ecc_field(c, v);
    if (v->id >= 74 && v->id <= 81) /* nanoseconds held down; only power does it here */
        return vgpu ? NVML_NOT_SUPPORTED
                    : give_ull(v,
                               v->id == 74 ? sim_integral(c->g, SIM_CAPPED_PERMILLE, c->t_us) : 0);
    if (v->id == 82)
        return vgpu ? NVML_NOT_SUPPORTED : give_u(v, sim_temperature_mc(c->g, c->t_us) / 1000 + 6);
    if (v->id == 83)
        return vgpu ? NVML_NOT_SUPPORTED
                    : give_ull(v, sim_energy_counter_uj(c->s, c->g, c->t_us) / UJ_PER_MJ);
    if (v->id >= 185 && v->id <= 192)
        return power_field(c, v);
    if ((v->id >= 142 && v->id <= 145) || (v->id >= 193 && v->id <= 196) || v->id == 230)
        return health_field(c, v);
    if (v->id >= 251)
        return moved_field(c, v);
    return traffic_field(c, v);
}

static const struct sim_fault *field_fault(const struct call *c, unsigned id)
{
    for (size_t i = 0; i < c->s->faults_n; i++) {
        const struct sim_fault *f = &c->s->faults[i];
        if (f->kind == FAULT_FIELD && f->field == id && c->t_us >= f->from_us &&
            c->t_us < f->to_us && sim_has_gpu(f->gpus, c->device->slot))
            return f;
    }
    return NULL;
}

API(nvmlDeviceGetFieldValues, const struct nvml_device *d, int n, struct field_value *values)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    if (r || n < 1 || !values)
        return r ? r : NVML_INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        struct field_value *v = &values[i];
        const struct sim_fault *f = field_fault(&c, v->id);
        v->wall_us = wall_from_sim_us(c.t_us);
        v->latency_us = 15 + c.latency_us;
        v->type = 1;
        v->value.ull = 0;
        v->result = f ? (int) f->code : field(&c, v);
    }
    return NVML_SUCCESS;
}

API(nvmlDeviceClearFieldValues, const struct nvml_device *d, int n, struct field_value *values)
{
    struct call c;
    int r = call_device(&c, __func__, d, 0);
    for (int i = 0; !r && values && i < n; i++)
        values[i].result = NVML_NOT_SUPPORTED;
    return r;
}
