/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a thread in chunks of the file. */
#ifndef SP_RECORD_ROWS_H
#define SP_RECORD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "record/thread.h"

/* Returns a chunk to use after `old` (NULL: none yet), twice as large; base: as in its header. Returns NULL if there is
 * no space (counted). Needs the process lock. */
struct sp_raw_chunk *sp_rows_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t,
                                   const struct sp_raw_chunk *old, uint64_t base);
/* Returns the place of a row of `bytes` bytes behind the last one of *newest, the thread's newest chunk of this type;
 * NULL for none yet. If it is full, *newest becomes another one; `reserved` links it to the one before. The caller
 * fills the row, then calls sp_rows_added(). Returns NULL if there is no space, or if the calling process is a child of
 * a raw clone(), whose file is its parent's. Takes the process lock. */
void *sp_rows_next(struct sp_thread *t, enum sp_raw_chunk_type type, size_t bytes, struct sp_raw_chunk **newest);
/* The row at that place is complete: readers, which are other processes, see it. */
static inline void sp_rows_added(struct sp_raw_chunk *newest)
{
	__atomic_store_n(&newest->used, newest->used + 1, __ATOMIC_RELEASE);
}
/* For all chunks from the newest one back, which may be NULL: their nodes are discarded, and they with them; they will
 * not be written again. Need the process lock. */
void sp_rows_discard(struct sp_raw_chunk *newest);
void sp_rows_done(struct sp_raw_chunk *newest);

/* Finds or makes the row of a node and a number. It begins with the node's pointer; a new one is otherwise 0. A reader
 * may see it before the caller has filled it. Returns NULL if there is no space, which the process counts as lost. */
void *sp_node_row(struct sp_node_rows *r, struct sp_thread *t, enum sp_raw_chunk_type type, size_t bytes,
                  const struct sp_raw_node *node, uint32_t number);
/* Frees the table, not the chunks. */
void sp_node_rows_free(struct sp_node_rows *r);

#endif
