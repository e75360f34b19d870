/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define LEVEL 3
#define WINDOW_LOG 18 /* 256 KiB: a recorder must stay small */

struct packer {
    ZSTD_CCtx *zstd;
};

struct packer *packer_new(void)
{
    struct packer *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->zstd = ZSTD_createCCtx();
    if (!p->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_windowLog, WINDOW_LOG)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1))) {
        packer_free(p);
        return NULL;
    }
    return p;
}

void packer_free(struct packer *p)
{
    if (!p)
        return;
    ZSTD_freeCCtx(p->zstd);
    free(p);
}

void packer_restart(struct packer *p)
{
    (void) ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
}

int packer_add(struct packer *p, struct str in, bool end, struct strbuf *out, struct err *err)
{
    ZSTD_inBuffer from = { in.p, in.n, 0 };
    size_t left = 1;
    while (left) {
        size_t room = ZSTD_CStreamOutSize();
        ZSTD_outBuffer to = { strbuf_room(out, room), room, 0 };
        if (!to.dst)
            return err_sys(err, ENOMEM, "compress a trace");
        left = ZSTD_compressStream2(p->zstd, &to, &from, end ? ZSTD_e_end : ZSTD_e_flush);
        if (ZSTD_isError(left))
            return err_set(err, -EIO, "compress a trace: %s", ZSTD_getErrorName(left));
        strbuf_took(out, to.pos);
    }
    return 0;
}
