/* SPDX-License-Identifier: Apache-2.0 */
#include "app/output.h"

#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned terminal_columns(void)
{
    struct winsize size;
    uint32_t columns = 0;
    const char *text = getenv("COLUMNS");
    if (text && parse_u32(str_from(text), &columns) == 0 && columns)
        return columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 80;
}

/* The first of these that is set names the character set, as in setlocale(3). */
static bool is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct view_options output_view(const struct opt_common *common)
{
    const char *no_color = getenv("NO_COLOR");
    bool color = common->color == COLOR_ALWAYS;
    if (common->color == COLOR_AUTO)
        color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    return (
        struct view_options){ .color = color, .ascii = !is_utf8(), .columns = terminal_columns() };
}

int output_flush(struct strbuf *b, FILE *to, struct err *err)
{
    if (b->error)
        return err_sys(err, -b->error, "make output");
    if (!b->n)
        return 0;
    size_t wrote = fwrite(b->p, 1, b->n, to);
    if (wrote != b->n || fflush(to) != 0) {
        int problem = errno;
        clearerr(to); /* it is told here, and not again when the program ends */
        strbuf_clear(b);
        return err_sys(err, problem, "write output");
    }
    strbuf_clear(b);
    return 0;
}

void output_error(const char *cmd, const struct err *e)
{
    struct err plain = *e;
    str_plain(plain.text);
    fprintf(stderr, "wattgate %s: %s\n", cmd, plain.text);
}

void output_notes(const struct opt_common *common, const struct strbuf *notes)
{
    if (common->quiet)
        return;
    struct str rest = strbuf_str(notes), line;
    while (str_split(&rest, '\n', &line)) {
        char text[1024];
        str_plain(str_copy(text, sizeof(text), line));
        if (line.n)
            fprintf(stderr, "note: %s\n", text);
    }
}

static bool progress_shown;

void output_progress(const struct opt_common *common, bool live, uint64_t ticks)
{
    static uint64_t last;
    if (common->quiet || !isatty(STDERR_FILENO))
        return;
    uint64_t step = live ? 1 : 65536;
    if (ticks / step == last)
        return;
    last = ticks / step;
    progress_shown = true;
    if (live)
        fprintf(stderr, "\rwatching: %" PRIu64 " samples of each device ", ticks);
    else
        fprintf(stderr, "\rreading: %" PRIu64 " polling rounds ", ticks);
}

void output_progress_done(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}
