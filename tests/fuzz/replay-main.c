/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over every file of the folders and files given, as a TAP test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned inputs;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    struct stat st;
    size_t cap = fstat(fileno(f), &st) == 0 && st.st_size > 0 ? (size_t) st.st_size : 1;
    uint8_t *bytes = malloc(cap); /* exactly the size: an overrun is seen by ASan */
    size_t n = bytes ? fread(bytes, 1, cap, f) : 0;
    fclose(f);
    if (bytes) {
        LLVMFuzzerTestOneInput(bytes, n);
        inputs++;
    }
    free(bytes);
}

static void replay(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        replay_file(path);
        return;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char full[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(full, sizeof(full), "%s/%s", path, e->d_name);
        replay_file(full);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *) "", 0);
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("1..1\n%s 1 - %u inputs of the corpus\n", inputs ? "ok" : "not ok", inputs);
    return inputs ? 0 : 1;
}
