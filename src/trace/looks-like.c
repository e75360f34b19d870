/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of no known format looks like, for its refusal. */
#include "trace/reader.h"

#include "base/utf8.h"

#include <string.h>

/* Files that begin with these bytes. */
static const struct {
    const char *bytes;
    size_t n, offset;
    const char *what;
} magics[] = {
    { "\x7f"
      "ELF",
      4, 0, "a program (ELF)" },
    { "\x89PNG\r\n", 6, 0, "a PNG image" },
    { "\xff\xd8\xff", 3, 0, "a JPEG image" },
    { "%PDF-", 5, 0, "a PDF document" },
    { "PK\x03\x04", 4, 0, "a ZIP archive (also of PyTorch or numpy)" },
    { "\x80\x02", 2, 0, "a Python pickle" },
    { "\x80\x03", 2, 0, "a Python pickle" },
    { "\x80\x04", 2, 0, "a Python pickle" },
    { "\x80\x05", 2, 0, "a Python pickle" },
    { "PAR1", 4, 0, "a Parquet file" },
    { "ARROW1", 6, 0, "an Arrow file" },
    { "SQLite format 3", 15, 0, "an SQLite database" },
    { "\x93NUMPY", 6, 0, "a numpy array" },
    { "MMIDIDX", 7, 0, "a Megatron index" },
    { "ustar", 5, 257, "a tar archive" },
    { "BZh", 3, 0, "a bzip2 file; unpack it first" },
    { "\xfd"
      "7zXZ",
      5, 0, "an xz file; unpack it first" },
    { "#!", 2, 0, "a script" },
    { "<!DOCTYPE html", 14, 0, "an HTML page" },
    { "<html", 5, 0, "an HTML page" },
    { "<?xml", 5, 0, "an XML document of another kind than nvidia-smi -q -x" },
    { "<", 1, 0, "an XML document of another kind than nvidia-smi -q -x" },
    { "{\"status\":\"error\"", 17, 0, "an error that Prometheus answered" },
    { "{", 1, 0, "JSON of another kind" },
    { "[", 1, 0, "JSON of another kind" },
    { "NVIDIA-SMI has failed", 21, 0, "an error of nvidia-smi: wattgate doctor tells more" },
    { "No devices were found", 21, 0, "an error of nvidia-smi: wattgate doctor tells more" },
    { "# HELP ", 7, 0, "Prometheus metrics without any of DCGM" },
    { ":::MLLOG", 8, 0, "an MLPerf log without power readings" },
};

static bool is_binary(struct str head)
{
    size_t odd = 0;
    for (size_t i = 0; i < head.n; i++) {
        unsigned char c = (unsigned char) head.p[i];
        if (c == '\0')
            return true;
        odd += c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0x1b;
    }
    return odd * 10 > head.n;
}

static const char *text_kind(struct str head)
{
    struct str rest = head, line = { NULL, 0 };
    while (str_split(&rest, '\n', &line) && !str_trim(line).n)
        ;
    size_t commas = 0;
    for (size_t i = 0; i < line.n; i++)
        commas += line.p[i] == ',' || line.p[i] == '\t' || line.p[i] == ';';
    if (str_find(head, "import ") >= 0 && str_find(head, "def ") >= 0)
        return "Python source";
    if (str_find(head, "NVRM: Xid") >= 0)
        return "a kernel log";
    if (commas >= 2 && str_contains_nocase(line, "power"))
        return "a table whose power column has a name that is not known";
    if (commas >= 2)
        return "a table without a power column, or without its heading";
    return "text of another kind, perhaps a log";
}

const char *trace_looks_like(struct str head)
{
    if (!str_trim(head).n)
        return "an empty file";
    for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
        if (head.n >= magics[i].offset + magics[i].n &&
            memcmp(head.p + magics[i].offset, magics[i].bytes, magics[i].n) == 0)
            return magics[i].what;
    return is_binary(head) ? "binary data" : text_kind(head);
}
