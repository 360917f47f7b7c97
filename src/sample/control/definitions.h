/* SPDX-License-Identifier: BSD-3-Clause */
/* A raw file that its process still writes, read by who looks at that process (format/FORMAT.md): nothing of it is
 * mapped, and all may be torn. */
#ifndef SP_SAMPLE_CONTROL_DEFINITIONS_H
#define SP_SAMPLE_CONTROL_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/* The next chunk of a type at *at or behind it (SP_RAW_PAGE: the first one). *at becomes the place behind it, at least
 * a page further on. false: there is none. file: -1 is one without chunks. */
bool sp_file_chunk(int file, uint64_t *at, enum sp_raw_chunk_type type, struct sp_raw_chunk *c);

/* A definition whose `text` has all bytes of its strings, one behind the other. true: it was the last that is wanted.
 */
typedef bool sp_file_definition(void *arg, const struct sp_raw_def *d, const char *text);
/* All definitions of the file, in their order, until one is wanted: whether one was. Of a chunk in which one cannot be
 * right, or is not written yet, what follows is passed over. */
bool sp_file_definitions(int file, sp_file_definition *each, void *arg);

#endif
