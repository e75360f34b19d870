/* SPDX-License-Identifier: Apache-2.0 */
/* An older driver's library has fewer functions, and programs find that out by dlsym. One library
 * plays all versions: at load it spoils the names that its version lacks in its own string table,
 * so that looking them up fails as it does on the real thing. */
#include "state.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct own {
    uintptr_t base;
    bool found;
};

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct own *own = arg;
    (void) size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + ph->p_vaddr, want = (uintptr_t) _DYNAMIC;
        if (ph->p_type == PT_LOAD && want >= at && want < at + ph->p_memsz) {
            own->base = info->dlpi_addr;
            own->found = true;
            return 1;
        }
    }
    return 0;
}

void hide_names(bool (*hidden)(const char *name, void *arg), void *arg)
{
    struct own own = { 0 };
    uintptr_t table = 0;
    size_t size = 0;
    (void) dl_iterate_phdr(find_own, &own);
    for (const ElfW(Dyn) *d = _DYNAMIC; own.found && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            table = d->d_un.d_ptr;
        else if (d->d_tag == DT_STRSZ)
            size = d->d_un.d_val;
    if (!table || !size)
        return;
    if (table < own.base) /* some loaders leave the offset */
        table += own.base;
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    uintptr_t from = table / page * page, to = (table + size + page - 1) / page * page;
    if (mprotect((void *) from, to - from, PROT_READ | PROT_WRITE) < 0)
        return; /* then the function is there and says that it was not found */
    char *names = (char *) table;
    for (size_t i = 0; i < size; i += strlen(names + i) + 1)
        if (strncmp(names + i, "nvml", 4) == 0 && hidden(names + i, arg))
            names[i] = '~';
    (void) mprotect((void *) from, to - from, PROT_READ);
}
