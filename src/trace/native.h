/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of wattgate-trace(5) around the codec's lines: a first line, and blocks of lines each
 * closed by a line that has their length and checksum. */
#ifndef WATTGATE_TRACE_NATIVE_H
#define WATTGATE_TRACE_NATIVE_H

#define NATIVE_MAGIC "wattgate-trace"
#define NATIVE_VERSION 1
#define NATIVE_RESTATE_TICKS 64 /* forms are declared again after so many polling rounds */
#define NATIVE_BLOCK_BYTES ((size_t) 4 << 20) /* a writer closes a block before it is this long */

#endif
