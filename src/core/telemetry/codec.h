/* SPDX-License-Identifier: Apache-2.0 */
/* Records as lines of text, and back: the body of wattgate-trace(5) and of the pipe between a
 * worker process and its parent. One line is one record; the grammar is in wattgate-trace(5).
 * A writer declares the shape of a sample (a "form": which metrics, in which order) the first time
 * it is used, so that a sample is a short row of numbers. */
#ifndef WATTGATE_CORE_TELEMETRY_CODEC_H
#define WATTGATE_CORE_TELEMETRY_CODEC_H

#include "base/err.h"
#include "base/strbuf.h"
#include "core/telemetry/record.h"

struct codec_writer;
struct codec_reader;

struct codec_writer *codec_writer_new(void); /* NULL when memory is out */
void codec_writer_free(struct codec_writer *w);
/* Forgets all forms and the current time: what follows can be read without what came before. */
void codec_writer_reset(struct codec_writer *w);
/* Makes samples declare their forms again, so that a reader that lost some can go on. */
void codec_writer_restate_forms(struct codec_writer *w);
/* Makes the next record state its time whole, not as a step from the one before. */
void codec_writer_restate_time(struct codec_writer *w);
/* Appends the line(s) of one record. -ENOMEM, -EINVAL for a record that breaks a rule of record.h.
 */
int codec_write(struct codec_writer *w, const struct record *r, struct strbuf *out,
                struct err *err) MUST_CHECK;

struct codec_reader *codec_reader_new(void); /* NULL when memory is out */
void codec_reader_free(struct codec_reader *r);
void codec_reader_reset(struct codec_reader *r);
/* After damage a form may be another than the writer means: samples wait until it is restated. */
void codec_reader_forget_forms(struct codec_reader *r);
/* Reads one line without its newline. 1 and the record, borrowed until the next call (its strings
 * may lie in `line`); 0 for a line that only declares (form, time) or is blank; -EINVAL with the
 * column for a line that is malformed, names an entity that was not declared, or goes back in time.
 * A bad line changes nothing: the next one can be read. */
int codec_read(struct codec_reader *r, struct str line, const struct record **ret,
               struct err *err) MUST_CHECK;

DEFINE_AUTO_PTR(codec_writer)
DEFINE_AUTO_PTR(codec_reader)

#endif
