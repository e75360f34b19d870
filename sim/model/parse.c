/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a scenario. Settings of the node (gpus, board, seed ...) hold for the whole file,
 * whatever their place, and the last one wins; phases, faults and processes come in order. */
#include "parse-priv.h"

#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void parser_fail(struct parser *p, struct str at, const char *what)
{
    if (p->r < 0)
        return;
    size_t column = at.p && at.p >= p->line.p ? (size_t) (at.p - p->line.p) + 1 : 1;
    p->r = err_set(p->err, -EINVAL, "%s: line %u, column %zu: '%.*s' %s", p->name, p->line_number,
                   column, STR_ARG(at), what);
}

/* Words are separated by blanks; a double quote keeps blanks together; # begins a comment. */
static bool next_word(struct str *rest, struct str *ret)
{
    size_t i = 0;
    while (i < rest->n && (rest->p[i] == ' ' || rest->p[i] == '\t'))
        i++;
    if (i == rest->n || rest->p[i] == '#')
        return false;
    size_t from = i;
    bool quoted = false;
    for (; i < rest->n; i++) {
        char c = rest->p[i];
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ' ' || c == '\t'))
            break;
    }
    *ret = str_sub(*rest, from, i);
    *rest = str_sub(*rest, i, rest->n);
    return true;
}

static struct str unquote(struct str s)
{
    return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? str_sub(s, 1, s.n - 1) : s;
}

static void split_line(struct parser *p)
{
    struct str rest = p->line, word;
    p->words_n = p->pairs_n = 0;
    while (next_word(&rest, &word)) {
        ptrdiff_t eq = str_find_char(word, '=');
        if (eq < 0 || word.p[0] == '"') {
            if (p->words_n == ARRAY_SIZE(p->words)) {
                parser_fail(p, word, "is one word too many");
                return;
            }
            p->words[p->words_n++] = unquote(word);
            continue;
        }
        if (p->pairs_n == ARRAY_SIZE(p->pairs)) {
            parser_fail(p, word, "is one setting too many");
            return;
        }
        p->pairs[p->pairs_n++] =
            (struct pair){ str_sub(word, 0, (size_t) eq),
                           unquote(str_sub(word, (size_t) eq + 1, word.n)), false };
    }
}

struct str parser_value(struct parser *p, const char *key)
{
    struct str found = { NULL, 0 };
    for (size_t i = 0; i < p->pairs_n; i++)
        if (str_is(p->pairs[i].key, key)) {
            if (found.p)
                parser_fail(p, p->pairs[i].key, "is given twice");
            p->pairs[i].used = true;
            found = p->pairs[i].value;
        }
    return found;
}

bool parser_duration(struct parser *p, const char *key, int64_t *ret_us)
{
    struct str v = parser_value(p, key);
    if (!v.p)
        return false;
    if (str_is(v, "forever"))
        *ret_us = SIM_FOREVER;
    else if (parse_duration_us(v, ret_us) < 0 || *ret_us < 0)
        parser_fail(p, v, "is no duration such as 90s, 100ms or forever");
    else if (*ret_us > INT64_C(366) * 86400 * US_PER_S)
        parser_fail(p, v, "is longer than a year; write forever");
    return p->r == 0;
}

bool parser_power(struct parser *p, const char *key, int64_t *ret_mw)
{
    struct str v = parser_value(p, key);
    if (!v.p)
        return false;
    if (parse_power_mw(v, ret_mw) < 0 || *ret_mw < 0 || *ret_mw > 10000 * MW_PER_W)
        parser_fail(p, v, "is no power between 0W and 10kW");
    return p->r == 0;
}

bool parser_share(struct parser *p, const char *key, int64_t *ret_permille)
{
    struct str v = parser_value(p, key);
    if (!v.p)
        return false;
    if (!str_ends(v, "%") || parse_scaled(str_sub(v, 0, v.n - 1), 10, ret_permille) < 0 ||
        *ret_permille < 0 || *ret_permille > 1000)
        parser_fail(p, v, "is no share between 0% and 100%");
    return p->r == 0;
}

bool parser_size(struct parser *p, const char *key, const char *suffix, int64_t *ret_bytes)
{
    struct str v = parser_value(p, key);
    if (!v.p)
        return false;
    size_t n = strlen(suffix);
    if (!str_ends(v, suffix) || v.n < n ||
        parse_size_bytes(str_sub(v, 0, v.n - n), ret_bytes) < 0 || *ret_bytes < 0 ||
        *ret_bytes > INT64_C(1) << 46)
        parser_fail(p, v, n ? "is no rate such as 40GB/s" : "is no size such as 80GiB");
    return p->r == 0;
}

bool parser_number(struct parser *p, const char *key, const char *suffix, uint32_t *ret)
{
    struct str v = parser_value(p, key);
    if (!v.p)
        return false;
    size_t n = strlen(suffix);
    if (!str_ends(v, suffix) || v.n < n || parse_u32(str_sub(v, 0, v.n - n), ret) < 0)
        parser_fail(p, v, n ? "is no clock such as 1980MHz" : "is no whole number");
    return p->r == 0;
}

/* "all", "0-3,7", "all,-3": an entry that begins with '-' takes GPUs out again. */
void parser_gpus(struct parser *p, uint64_t ret[2])
{
    struct str v = parser_value(p, "gpus"), part;
    if (!v.p)
        v = STR("all");
    struct str rest = v;
    ret[0] = ret[1] = 0;
    while (p->r == 0 && str_split(&rest, ',', &part)) {
        bool out = str_starts(part, "-");
        struct str range = out ? str_sub(part, 1, part.n) : part;
        uint32_t lo = 0, hi = p->s->gpus_n - 1;
        ptrdiff_t dash = str_find_char(range, '-');
        if (str_is(range, "all"))
            ;
        else if (dash < 0 ? parse_u32(range, &lo) < 0
                          : parse_u32(str_sub(range, 0, (size_t) dash), &lo) < 0 ||
                                parse_u32(str_sub(range, (size_t) dash + 1, range.n), &hi) < 0)
            parser_fail(p, part, "is no GPU number, range or 'all'");
        else if (dash < 0)
            hi = lo;
        if (lo > hi || hi >= p->s->gpus_n)
            parser_fail(p, part, "names GPUs that this node does not have (see 'gpus')");
        for (uint32_t g = lo; p->r == 0 && g <= hi; g++)
            if (out)
                ret[g / 64] &= ~(UINT64_C(1) << (g % 64));
            else
                ret[g / 64] |= UINT64_C(1) << (g % 64);
    }
}

void parser_end(struct parser *p, size_t words)
{
    if (p->words_n > words)
        parser_fail(p, p->words[words], "is not expected here");
    for (size_t i = 0; i < p->pairs_n; i++)
        if (!p->pairs[i].used)
            parser_fail(p, p->pairs[i].key, "is no setting of this line");
}

/* The word after the command. */
struct str parser_word(struct parser *p, const char *what)
{
    if (p->words_n < 2)
        parser_fail(p, p->words[0], what);
    return p->words_n < 2 ? (struct str){ NULL, 0 } : p->words[1];
}

static void command_gpus(struct parser *p)
{
    struct str v = parser_word(p, "needs the number of GPUs");
    uint32_t n = 0;
    if (p->r == 0 && (parse_u32(v, &n) < 0 || n < 1 || n > SIM_GPUS_MAX))
        parser_fail(p, v, "is no number of GPUs between 1 and 72");
    p->s->gpus_n = p->r == 0 ? n : p->s->gpus_n;
    parser_end(p, 2);
}

static void command_driver(struct parser *p)
{
    struct str v = parser_word(p, "needs a version such as 580.95.05"), rest = v, part;
    uint32_t major = 0, minor = 0;
    if (p->r == 0 && (v.n >= sizeof(p->s->driver) || !str_split(&rest, '.', &part) ||
                      parse_u32(part, &major) < 0 || !rest.p || !str_split(&rest, '.', &part) ||
                      parse_u32(part, &minor) < 0 || major > 9999 || minor > 999))
        parser_fail(p, v, "is no driver version such as 580.95.05");
    if (p->r == 0) {
        str_copy(p->s->driver, sizeof(p->s->driver), v);
        p->s->driver_number = major * 1000 + minor;
    }
    parser_end(p, 2);
}

static void command_cuda(struct parser *p)
{
    struct str v = parser_word(p, "needs a version such as 13.0");
    int64_t tenths = 0;
    if (p->r == 0 && (parse_scaled(v, 10, &tenths) < 0 || tenths < 80 || tenths > 990))
        parser_fail(p, v, "is no CUDA version such as 13.0");
    p->s->cuda = (uint32_t) (tenths / 10 * 1000 + tenths % 10 * 10);
    parser_end(p, 2);
}

static void command_personality(struct parser *p)
{
    struct str v = parser_word(p, "needs datacenter, geforce or vgpu");
    if (str_is(v, "datacenter"))
        p->s->personality = SIM_DATACENTER;
    else if (str_is(v, "geforce"))
        p->s->personality = SIM_GEFORCE;
    else if (str_is(v, "vgpu"))
        p->s->personality = SIM_VGPU;
    else
        parser_fail(p, v, "is no personality: datacenter, geforce or vgpu");
    parser_end(p, 2);
}

static void command_fabric(struct parser *p)
{
    struct str v = parser_word(p, "needs on or off");
    if (p->r == 0 && !str_is(v, "on") && !str_is(v, "off"))
        parser_fail(p, v, "is neither on nor off");
    p->s->fabric = str_is(v, "on");
    parser_end(p, 2);
}

static void command_seed(struct parser *p)
{
    struct str v = parser_word(p, "needs a number");
    if (p->r == 0 && parse_u64(v, &p->seed) < 0)
        parser_fail(p, v, "is no whole number");
    parser_end(p, 2);
}

static void command_spread(struct parser *p)
{
    struct str v = parser_word(p, "needs a share such as 3%");
    int64_t permille = 0;
    if (p->r == 0 &&
        (!str_ends(v, "%") || parse_scaled(str_sub(v, 0, v.n - 1), 10, &permille) < 0 ||
         permille < 0 || permille > 300))
        parser_fail(p, v, "is no share between 0% and 30%");
    else
        p->spread_permille = permille;
    parser_end(p, 2);
}

/* Needs the number of GPUs, so it runs after the other settings. */
static void command_board(struct parser *p)
{
    struct str key = parser_word(p, "needs a board, see `wattgate sim --boards`");
    const struct sim_board *b = p->r == 0 ? sim_board_find(key) : NULL;
    uint64_t gpus[2];
    struct str product = parser_value(p, "product"), arch_name = parser_value(p, "arch");
    int64_t limit_mw = -1, memory_bytes = -1;
    enum sim_arch arch = SIM_ARCH_UNKNOWN;
    if (p->r == 0 && !b)
        parser_fail(p, key, "is no board of the simulator, see `wattgate sim --boards`");
    if (arch_name.p && !sim_arch_from_name(arch_name, &arch))
        parser_fail(p, arch_name, "is none of volta ga100 ampere ada hopper blackwell");
    if (parser_power(p, "limit", &limit_mw) && limit_mw < 1)
        parser_fail(p, p->words[0], "needs a limit above 0W");
    (void) parser_size(p, "memory", "", &memory_bytes);
    parser_gpus(p, gpus);
    parser_end(p, 2);
    for (uint32_t i = 0; p->r == 0 && i < p->s->gpus_n; i++) {
        struct sim_gpu *g = &p->s->gpus[i];
        if (!sim_has_gpu(gpus, i))
            continue;
        sim_gpu_init(g, b, i, p->seed, p->spread_permille);
        if (product.p)
            str_copy(g->product, sizeof(g->product), product);
        if (arch) {
            g->arch = arch;
            int32_t phase_us = g->sensor.phase_us;
            g->sensor = *sim_arch_info(arch)->sensor;
            g->sensor.phase_us = phase_us % g->sensor.update_us;
        }
        g->limit_mw = limit_mw >= 0 ? limit_mw : g->limit_mw;
        g->memory_bytes = memory_bytes >= 0 ? memory_bytes : g->memory_bytes;
    }
}

enum pass { PASS_NODE, PASS_BOARD, PASS_LIFE, PASS_COUNT };

static const struct {
    const char *name;
    enum pass pass;
    void (*run)(struct parser *p);
} commands[] = {
    { "gpus", PASS_NODE, command_gpus },     { "driver", PASS_NODE, command_driver },
    { "cuda", PASS_NODE, command_cuda },     { "personality", PASS_NODE, command_personality },
    { "fabric", PASS_NODE, command_fabric }, { "seed", PASS_NODE, command_seed },
    { "spread", PASS_NODE, command_spread }, { "board", PASS_BOARD, command_board },
    { "sensor", PASS_LIFE, life_sensor },    { "levels", PASS_LIFE, life_levels },
    { "phase", PASS_LIFE, life_phase },      { "loop", PASS_LIFE, life_loop },
    { "process", PASS_LIFE, life_process },  { "smoothing", PASS_LIFE, life_smoothing },
    { "mig", PASS_LIFE, life_mig },          { "fault", PASS_LIFE, life_fault },
};

static void parse_line(struct parser *p, enum pass pass)
{
    split_line(p);
    if (p->r < 0 || (!p->words_n && !p->pairs_n))
        return;
    for (size_t i = 0; p->words_n && i < ARRAY_SIZE(commands); i++)
        if (str_is(p->words[0], commands[i].name)) {
            if (commands[i].pass == pass)
                commands[i].run(p);
            return;
        }
    parser_fail(p, p->words_n ? p->words[0] : p->pairs[0].key, "is no line of a scenario");
}

static void parse_pass(struct parser *p, struct str text, enum pass pass)
{
    struct str rest = text, line;
    p->line_number = 0;
    while (p->r == 0 && rest.p && str_split(&rest, '\n', &line)) {
        p->line_number++;
        p->line = str_trim(line);
        parse_line(p, pass);
    }
}

int sim_parse(const char *name, struct str text, struct sim_scenario **ret, struct err *err)
{
    AUTO(sim_scenario) struct sim_scenario *s = calloc(1, sizeof(*s));
    if (!s)
        return err_sys(err, ENOMEM, "scenario '%s'", name);
    s->gpus_n = 8;
    s->driver_number = 580095;
    str_copy(s->driver, sizeof(s->driver), STR("580.95.05"));
    s->cuda = 13000;
    struct parser p = { .name = name, .s = s, .err = err, .seed = 1, .spread_permille = 20 };
    parse_pass(&p, text, PASS_NODE);
    for (uint32_t i = 0; i < s->gpus_n; i++)
        sim_gpu_init(&s->gpus[i], sim_board_find(STR("h100")), i, p.seed, p.spread_permille);
    parse_pass(&p, text, PASS_BOARD);
    parse_pass(&p, text, PASS_LIFE);
    if (p.r == 0)
        life_finish(&p);
    if (p.r < 0)
        return p.r;
    *ret = TAKE(s);
    return 0;
}
