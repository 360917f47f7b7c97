/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a raw file while its process still writes it (format/FORMAT.md), without mapping it. Everything read may be
 * inconsistent. */
#ifndef SP_SAMPLE_CONTROL_DEFINITIONS_H
#define SP_SAMPLE_CONTROL_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/* Finds the next chunk of a type at *at or later (SP_RAW_PAGE: the first one). *at becomes the offset after it, at
 * least one page further. Returns false if there is no such chunk. file -1 has no chunks. */
bool sp_file_chunk(int file, uint64_t *at, enum sp_raw_chunk_type type, struct sp_raw_chunk *c);

/* Receives a definition; `text` has the bytes of all its strings, one after the other. Returns true to stop: it was the
 * last one needed. */
typedef bool sp_file_definition(void *arg, const struct sp_raw_def *d, const char *text);
/* Calls each() for all definitions of the file, in their order, until one returns true. Returns whether one did. The
 * rest of a chunk is skipped after a definition that is invalid or not written yet. */
bool sp_file_definitions(int file, sp_file_definition *each, void *arg);

#endif
