/* SPDX-License-Identifier: Apache-2.0 */
/* Native traces: written and read back, torn, damaged, resumed, rotated, killed. */
#include "tap.h"
#include "trace/input.h"
#include "trace/trace.h"
#include "trace/writer.h"

#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GPUS 3
#define KILLS 200

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[4][128];
    static unsigned next;
    if (!dir[0]) {
        str_copy(dir, sizeof(dir), STR("/tmp/wattgate-native-XXXXXX"));
        CHECK(mkdtemp(dir) != NULL);
    }
    char *p = path[next++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

static void clean(void)
{
    char command[128];
    if (!dir[0])
        return;
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    CHECK_EQ(system(command), 0);
    dir[0] = '\0';
}

/* The watts of GPU g in second s: what is read back must be one of these. */
static int64_t watts(int64_t s, uint32_t g)
{
    return 100000 + s * 1000 + g;
}

static int add(struct trace_writer *w, const struct record *r, struct err *e)
{
    return trace_writer_add(w, r, e);
}

static int add_start(struct trace_writer *w, struct err *e)
{
    struct record r = { .kind = RECORD_HEADER };
    r.u.header = (struct stream_header){ .clock = CLOCK_STEADY,
                                         .tool = STR("test"),
                                         .interval_us = US_PER_S };
    int result = add(w, &r, e);
    for (uint32_t g = 0; g < GPUS && result == 0; g++) {
        char key[16];
        snprintf(key, sizeof(key), "GPU-%u", g);
        r = (struct record){ .kind = RECORD_ENTITY };
        r.u.entity = (struct entity){ .id = g,
                                      .kind = ENTITY_GPU,
                                      .parent = ENTITY_NONE,
                                      .index = (int32_t) g,
                                      .key = str_from(key) };
        result = add(w, &r, e);
    }
    return result;
}

static int add_second(struct trace_writer *w, int64_t s, struct err *e)
{
    int result = 0;
    for (uint32_t g = 0; g < GPUS && result == 0; g++) {
        struct obs obs[] = { { .metric = METRIC_POWER_DRAW_MW, .value = watts(s, g) },
                             { .metric = METRIC_UTIL_GPU_PERMILLE, .status = OBS_ABSENT } };
        struct record r = { .kind = RECORD_SAMPLE, .mono_us = s * US_PER_S };
        r.u.sample = (struct sample){ g, 2, obs };
        result = add(w, &r, e);
    }
    struct record tick = { .kind = RECORD_TICK, .mono_us = s * US_PER_S };
    return result == 0 ? add(w, &tick, e) : result;
}

/* Writes seconds [from, to). */
static int write_trace(const char *path, const struct trace_writer_options *o, int64_t from,
                       int64_t to, struct err *e)
{
    struct trace_writer *w;
    int r = trace_writer_open(path, o, &w, e);
    if (r < 0)
        return r;
    r = add_start(w, e);
    for (int64_t s = from; s < to && r == 0; s++)
        r = add_second(w, s, e);
    struct err ignored;
    int closed = trace_writer_close(w, r < 0 ? &ignored : e);
    return r < 0 ? r : closed;
}

struct read {
    int result;
    uint64_t samples, wrong, headers;
    int64_t last_second;
    struct trace_report report;
    struct err err;
};

static struct read read_trace(const char *path)
{
    struct read got = { .last_second = -1 };
    const struct record *r;
    AUTO(trace) struct trace *t = NULL;
    got.result = trace_open(path, NULL, &t, &got.err);
    if (got.result < 0)
        return got;
    while ((got.result = trace_next(t, &r, &got.err)) > 0) {
        int64_t mw;
        got.headers += r->kind == RECORD_HEADER;
        if (r->kind != RECORD_SAMPLE)
            continue;
        got.samples++;
        int64_t s = r->mono_us / US_PER_S;
        bool right = sample_get(&r->u.sample, METRIC_POWER_DRAW_MW, &mw) &&
                     r->u.sample.entity < GPUS && mw == watts(s, r->u.sample.entity) &&
                     r->mono_us % US_PER_S == 0;
        got.wrong += !right;
        got.last_second = MAX(got.last_second, s);
    }
    got.report = *trace_report(t);
    return got;
}

static const struct trace_writer_options plain = { .output = OUTPUT_NATIVE };
static const struct trace_writer_options packed = { .output = OUTPUT_NATIVE, .zstd = true };

static void there_and_back(void)
{
    const struct trace_writer_options *both[] = { &plain, &packed };
    struct err e;
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(write_trace(in_dir("t"), both[i], 1, 501, &e), 0);
        struct read got = read_trace(in_dir("t"));
        CHECK_EQ(got.result, 0);
        CHECK_EQ(got.samples, 500 * GPUS);
        CHECK_EQ(got.wrong, 0);
        CHECK_EQ(got.report.dropped, 0);
        CHECK(!got.report.torn);
    }
    clean();
}

static char *load(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    char *bytes = malloc(1u << 20);
    *ret_n = f && bytes ? fread(bytes, 1, 1u << 20, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static void store(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n);
    if (f)
        fclose(f);
}

/* Cut anywhere, every second whose lines are whole comes back, and nothing else does. */
static void torn_anywhere(void)
{
    struct err e;
    size_t n;
    CHECK_EQ(write_trace(in_dir("t"), &plain, 1, 9, &e), 0);
    char *bytes = load(in_dir("t"), &n);
    for (size_t cut = 20; cut < n; cut++) {
        uint64_t whole = 0; /* sample lines that end before the cut */
        for (size_t i = 1; i < cut; i++)
            whole += bytes[i] == '\n' && i + 1 <= cut;
        store(in_dir("cut"), bytes, cut);
        struct read got = read_trace(in_dir("cut"));
        uint64_t samples = 0;
        for (size_t i = 0; i + 2 < cut; i++)
            if ((i == 0 || bytes[i - 1] == '\n') && bytes[i] == 'S' &&
                memchr(bytes + i, '\n', cut - i))
                samples++;
        CHECK(got.result >= 0 || whole < 3);
        CHECK_EQ(got.wrong, 0);
        if (got.result >= 0)
            CHECK_EQ(got.samples, samples);
    }
    tap_note("%zu cuts", n - 20);
    free(bytes);
    clean();
}

/* A flipped byte anywhere: no value that was not written is ever given out. */
static void damaged_anywhere(void)
{
    struct err e;
    size_t n, flips = 0;
    CHECK_EQ(write_trace(in_dir("t"), &plain, 1, 9, &e), 0);
    char *bytes = load(in_dir("t"), &n);
    for (size_t at = 17; at < n; at++)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            bytes[at] ^= (char) (1u << bit);
            store(in_dir("bad"), bytes, n);
            bytes[at] ^= (char) (1u << bit);
            struct read got = read_trace(in_dir("bad"));
            flips++;
            CHECK_EQ(got.wrong, 0);
            CHECK(got.result < 0 || got.report.dropped || got.report.torn);
        }
    tap_note("%zu flips", flips);
    free(bytes);
    clean();
}

static void packed_torn_anywhere(void)
{
    struct err e;
    size_t n;
    CHECK_EQ(write_trace(in_dir("t"), &packed, 1, 30, &e), 0);
    char *bytes = load(in_dir("t"), &n);
    uint64_t before = 0;
    for (size_t cut = 1; cut < n; cut++) {
        store(in_dir("cut"), bytes, cut);
        struct read got = read_trace(in_dir("cut"));
        CHECK_EQ(got.wrong, 0);
        CHECK(got.result < 0 || got.report.torn || got.report.dropped);
        if (got.result >= 0)
            CHECK(got.samples >= before); /* more bytes never give less */
        before = got.result >= 0 ? got.samples : before;
    }
    CHECK(before >= 28 * GPUS);
    free(bytes);
    clean();
}

static void versions(void)
{
    struct read got;
    store(in_dir("v2"), "wattgate-trace 2\n", 17);
    got = read_trace(in_dir("v2"));
    CHECK_EQ(got.result, -EPROTONOSUPPORT);
    CHECK_HAS(got.err.text, "use a newer wattgate");
    store(in_dir("vx"), "wattgate-trace x\n", 17);
    got = read_trace(in_dir("vx"));
    CHECK_EQ(got.result, -EINVAL);
    CHECK_HAS(got.err.text, "line 1");
    clean();
}

static void resumed(void)
{
    struct trace_writer_options on = { .output = OUTPUT_NATIVE, .start = WRITER_RESUME };
    struct err e;
    size_t n;
    CHECK_EQ(write_trace(in_dir("t"), &on, 1, 11, &e), 0);
    char *bytes = load(in_dir("t"), &n);
    store(in_dir("t"), bytes, n - 5); /* killed in its last line */
    free(bytes);
    CHECK_EQ(write_trace(in_dir("t"), &on, 20, 31, &e), 0);
    struct read got = read_trace(in_dir("t"));
    CHECK_EQ(got.result, 0);
    CHECK_EQ(got.headers, 2);
    CHECK_EQ(got.wrong, 0);
    CHECK_EQ(got.samples, 21 * GPUS);
    store(in_dir("foreign"), "power.draw [W]\n1\n", 17);
    CHECK_EQ(write_trace(in_dir("foreign"), &on, 1, 2, &e), -EEXIST);
    CHECK_HAS(e.text, "name another file");
    bytes = load(in_dir("foreign"), &n);
    CHECK_EQ(n, 17); /* untouched */
    free(bytes);
    on.zstd = true;
    CHECK_EQ(write_trace(in_dir("t"), &on, 40, 51, &e), 0); /* the plain one steps aside */
    CHECK_EQ(read_trace(in_dir("t")).samples, 11 * GPUS);
    CHECK_EQ(read_trace(in_dir("t.1")).samples, 21 * GPUS);
    clean();
}

static void rotated(void)
{
    const struct trace_writer_options o = { .output = OUTPUT_NATIVE,
                                            .max_bytes = 20000,
                                            .keep = 4 };
    struct err e;
    char name[16];
    int64_t total = 0;
    CHECK_EQ(write_trace(in_dir("t"), &o, 1, 2001, &e), 0);
    for (unsigned i = 0; i < 4; i++) {
        struct stat st;
        snprintf(name, sizeof(name), i ? "t.%u" : "t", i);
        struct read got = read_trace(in_dir(name));
        CHECK_EQ(got.result, 0);
        CHECK_EQ(got.wrong, 0);
        CHECK(got.headers == 1 && (got.samples > 0 || i == 0));
        CHECK_EQ(stat(in_dir(name), &st), 0);
        total += st.st_size;
    }
    CHECK(total < 20000 + 4 * 600); /* a block more in each at most */
    CHECK(access(in_dir("t.4"), F_OK) < 0);
    clean();
}

/* A full disk, played by the limit of a file's size. */
static void full_disk(void)
{
    struct err e = { 0 };
    struct rlimit limit = { 4096, 4096 };
    (void) signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int r = write_trace(in_dir("t"), &plain, 1, 500, &e);
    CHECK_EQ(r, -EFBIG);
    CHECK_HAS(e.text, "what was written before is kept");
    struct read got = read_trace(in_dir("t"));
    CHECK_EQ(got.result, 0);
    CHECK(got.samples > 20 && !got.report.torn && !got.report.dropped);
    clean();
}

static void write_for_ever(const char *path, const struct trace_writer_options *o)
{
    struct trace_writer *w;
    struct err e;
    if (trace_writer_open(path, o, &w, &e) < 0 || add_start(w, &e) < 0)
        _exit(1);
    for (int64_t s = 1;; s++)
        if (add_second(w, s, &e) < 0)
            _exit(1);
}

static void killed(void)
{
    struct trace_writer_options o = { .output = OUTPUT_NATIVE };
    uint64_t samples = 0, torn = 0;
    unsigned rng = 1;
    for (int i = 0; i < KILLS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "k%d", i);
        const char *path = in_dir(name);
        o.zstd = i % 2;
        pid_t pid = fork();
        if (pid == 0)
            write_for_ever(path, &o);
        rng = rng * 1664525u + 1013904223u;
        struct timespec wait = { 0, 2000000 + (long) (rng >> 8) % 8000000 };
        (void) nanosleep(&wait, NULL);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        (void) waitpid(pid, NULL, 0);
        if (access(path, F_OK) < 0)
            continue;
        struct read got = read_trace(path);
        CHECK(got.result == 0 || (got.result == -ENODATA && !got.samples) || !got.last_second);
        CHECK_EQ(got.wrong, 0);
        /* every second but the last is whole */
        CHECK(got.last_second < 1 || got.samples >= (uint64_t) (got.last_second - 1) * GPUS);
        CHECK_EQ(got.report.dropped, 0);
        samples += got.samples;
        torn += got.report.torn;
        unlink(path);
    }
    tap_note("%d kills, %llu samples read back, %llu files with a torn end", KILLS,
             (unsigned long long) samples, (unsigned long long) torn);
    CHECK(samples > 1000);
    clean();
}

static void tables(void)
{
    const struct trace_writer_options csv = { .output = OUTPUT_CSV },
                                      jsonl = { .output = OUTPUT_JSONL };
    struct err e;
    size_t n;
    CHECK_EQ(write_trace(in_dir("t.csv"), &csv, 1, 3, &e), 0);
    char *bytes = load(in_dir("t.csv"), &n);
    bytes[n] = '\0';
    CHECK_HAS(bytes, "time,time_us,device,index,name,power_instant_mw");
    CHECK_HAS(bytes, "1970-01-01T00:00:01.000000Z,1000000,GPU-0,0,,,,101000,");
    free(bytes);
    CHECK_EQ(write_trace(in_dir("t.jsonl"), &jsonl, 1, 3, &e), 0);
    bytes = load(in_dir("t.jsonl"), &n);
    bytes[n] = '\0';
    CHECK_HAS(bytes, "{\"schema\":\"wattgate.observation/1\",\"time_us\":1000000,\"kind\":\"gpu\","
                     "\"device\":\"GPU-0\",\"index\":0,\"values\":{\"power_draw_mw\":101000},"
                     "\"missing\":{\"util_gpu_permille\":\"absent\"}}\n");
    free(bytes);
    clean();
}

static void inputs(void)
{
    AUTO(trace_input) struct trace_input *in = NULL;
    static const char wide[] = "\xff\xfe"
                               "a\0\r\0\n\0\x3d\xd8\x00\xde"
                               "b\0";
    struct line line;
    struct err e;
    CHECK_EQ(input_from_memory("m", (struct str){ wide, sizeof(wide) - 1 }, &in, &e), 0);
    CHECK_EQ(input_line(in, &line, &e), 1);
    CHECK(str_is(line.text, "a") && line.number == 1);
    CHECK_EQ(input_line(in, &line, &e), 1);
    CHECK(str_is(line.text, "\xf0\x9f\x98\x80"
                            "b") &&
          line.torn);
    CHECK_EQ(input_line(in, &line, &e), 0);
    static const struct {
        const char *path, *want;
    } bad[] = { { "", "file name is empty" },
                { "/", "is a directory" },
                { "/dev/zero", "is a device" },
                { "/nonexistent/file", "No such file" } };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct trace *t = NULL;
        CHECK(trace_open(bad[i].path, NULL, &t, &e) < 0);
        CHECK_HAS(e.text, bad[i].want);
    }
    store(in_dir("empty"), "", 0);
    CHECK_HAS(read_trace(in_dir("empty")).err.text, "holds nothing to read");
    store(in_dir("elf"),
          "\x7f"
          "ELF\0\0",
          6);
    CHECK_HAS(read_trace(in_dir("elf")).err.text, "a program (ELF)");
    clean();
}

/* 64 MiB of one line through a pipe: memory stays at a few MiB. */
static void a_line_without_end(void)
{
    CHECK_EQ(mkfifo(in_dir("fifo"), 0600), 0);
    const char *path = in_dir("fifo");
    pid_t pid = fork();
    if (pid == 0) {
        static char junk[65536];
        memset(junk, 'x', sizeof(junk));
        int fd = open(path, O_WRONLY);
        for (int i = 0; i < 1024; i++)
            if (write(fd, junk, sizeof(junk)) < 0)
                break;
        _exit(0);
    }
    AUTO(trace_input) struct trace_input *in = NULL;
    struct line line;
    struct err e;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    CHECK_EQ(input_open(path, &in, &e), 0);
    CHECK_EQ(input_line(in, &line, &e), 1);
    CHECK(line.cut && line.text.n == LINE_MAX_BYTES);
    CHECK_EQ(input_line(in, &line, &e), 0);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
    (void) waitpid(pid, NULL, 0);
    clean();
}

static const struct tap_case cases[] = {
    { "there and back, plain and compressed", there_and_back },
    { "torn at every byte", torn_anywhere },
    { "damaged at every byte", damaged_anywhere },
    { "compressed and torn at every byte", packed_torn_anywhere },
    { "versions", versions },
    { "resumed after a kill, never over a foreign file", resumed },
    { "rotated within its bound", rotated },
    { "a full disk keeps what was written", full_disk },
    { "200 kills", killed },
    { "tables for people", tables },
    { "inputs of all kinds", inputs },
    { "a line without end", a_line_without_end },
};
TAP_MAIN(cases)
