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

/* Returns a zeroed chunk of at least `bytes` bytes, header included, for the location t, or for the whole process if t
 * is NULL; seq, base: as in its header. Returns NULL if there is no space (the caller counts it), if t belongs to a
 * measurement that is over, or if the file belongs to another process. */
struct sp_raw_chunk *sp_buffer_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes,
                                     uint32_t seq, uint64_t base);
/* The same, but readers do not see the chunk before it is published: for a chunk with contents from the begin on. */
struct sp_raw_chunk *sp_buffer_unpublished(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes,
                                           uint32_t seq, uint64_t base);
void sp_buffer_publish(struct sp_raw_chunk *c);
/* The chunk is complete and no longer needed in memory. */
void sp_buffer_done(struct sp_raw_chunk *c);
/* Makes and maps a raw file in the directory dir. Returns 0 or a negative errno. */
int sp_buffer_open(const char *dir);
/* Truncates the file to its used length. */
void sp_buffer_close(void);
/* Writes the checksums of all chunks that are still mapped. Returns false, and writes none, if the process has other
 * threads, which may still write. */
bool sp_buffer_seal(void);
/* Maps bytes of the file at any multiple of SP_RAW_PAGE, for reading and writing. Returns NULL with errno. */
void *sp_buffer_map(int fd, uint64_t offset, uint64_t bytes);
void sp_buffer_unmap(void *p, uint64_t offset, uint64_t bytes);
/* Unmaps the segments, frees the array `segments` and unmaps the header, which may be NULL. */
void sp_buffer_unmap_all(struct sp_segment *segments, size_t n, struct sp_raw_header *header);
/* Bytes of the system's page; 0: not known yet. Only tests set it. */
extern size_t sp_buffer_page;
/* Returns the offset in the file, in bytes, of an address in a mapped segment. */
uint64_t sp_buffer_offset(const void *p);

#endif
