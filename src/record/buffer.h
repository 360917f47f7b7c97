/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of the mapped file. All functions need the process lock. */
#ifndef SP_RECORD_BUFFER_H
#define SP_RECORD_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct sp_segment;
struct sp_thread;

/* A zeroed chunk of at least `bytes` in all, of t's location; t NULL: of none. NULL: no room (counted by the caller),
 * or t is of a measurement that is over. */
struct sp_raw_chunk *sp_buffer_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes);
/* The chunk is complete and not needed in memory any more. */
void sp_buffer_done(struct sp_raw_chunk *c);
int sp_buffer_open(const char *dir);
void sp_buffer_close(void); /* cuts the file at what is used */
/* Gives checksums to all chunks that are still mapped. False: other threads are left, which may write. */
bool sp_buffer_seal(void);
void sp_buffer_unmap(struct sp_segment *segments, size_t n, struct sp_raw_header *header); /* takes over segments */
uint64_t sp_buffer_offset(const void *p);

#endif
