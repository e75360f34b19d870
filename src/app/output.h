/* SPDX-License-Identifier: Apache-2.0 */
/* How the use cases talk: results on stdout, everything else on stderr. */
#ifndef WATTGATE_APP_OUTPUT_H
#define WATTGATE_APP_OUTPUT_H

#include "base/err.h"
#include "base/opt.h"
#include "base/strbuf.h"
#include "term/view.h"

#include <stdio.h>

/* Width and colour for stdout: --color, NO_COLOR, whether it is a terminal, COLUMNS. */
struct view_options output_view(const struct opt_common *common);
/* Writes and empties the buffer. Does nothing when it is empty. */
int output_flush(struct strbuf *b, FILE *to, struct err *err) MUST_CHECK;
/* "wattgate CMD: ..." on stderr. */
void output_error(const char *cmd, const struct err *e);
/* Sentences, a line each, as notes on stderr, unless --quiet. */
void output_notes(const struct opt_common *common, const struct strbuf *notes);
/* A line that is rewritten, on stderr when that is a terminal: how far the reading got. */
void output_progress(const struct opt_common *common, bool live, uint64_t ticks);
void output_progress_done(void);

#endif
