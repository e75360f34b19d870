/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int dl_open(const char *path, void **ret_lib, struct err *err)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *why = dlerror();
        return err_set(err, -ENOENT, "load %s: %s", path, why ? why : "no reason given");
    }
    *ret_lib = lib;
    return 0;
}

static void *find(void *lib, const struct dl_sym *sym)
{
    for (size_t i = 0; i < DL_NAMES_MAX && sym->names[i]; i++) {
        void *at = dlsym(lib, sym->names[i]);
        if (at)
            return at;
    }
    return NULL;
}

int dl_bind(void *lib, const struct dl_sym *syms, size_t n, void *api, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (syms[i].required && !find(lib, &syms[i]))
            return err_set(err, -ENOSYS, "the library has no %s", syms[i].names[0]);
    for (size_t i = 0; i < n; i++) {
        void *at = find(lib, &syms[i]);
        /* A data pointer becomes a function pointer byte by byte: ISO C has no cast for it. */
        memcpy((char *) api + syms[i].offset, &at, sizeof(at));
    }
    return 0;
}

void dl_close(void *lib)
{
    if (lib)
        dlclose(lib);
}
