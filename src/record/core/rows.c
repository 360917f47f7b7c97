/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/rows.h"
#include "record/buffer.h"
#include "record/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = SP_RAW_PAGE, MAX_BYTES = 256 << 10 };

/* ---- chunks ---- */

static bool is_allowed(uint64_t bytes)
{
	if (sp_process.mapped + bytes <= sp_process.settings.trace_memory)
		return true;
	sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	return false;
}

struct sp_raw_chunk *sp_rows_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t,
                                   const struct sp_raw_chunk *old, uint64_t base)
{
	uint64_t bytes = old ? old->bytes * 2 : FIRST_BYTES;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	return is_allowed(bytes) ? sp_buffer_chunk(type, t, bytes, old ? old->seq + 1 : 0, base) : NULL;
}

void *sp_rows_next(struct sp_thread *t, enum sp_raw_chunk_type type, size_t bytes, struct sp_raw_chunk **newest)
{
	struct sp_raw_chunk *old = *newest, *c = old;
	if (!c || (c->used + 1) * bytes > c->bytes - sizeof *c) {
		if (sp_process.pid != getpid())
			return NULL;
		pthread_mutex_lock(&sp_process.lock);
		c = sp_rows_chunk(type, t, old, 0);
		pthread_mutex_unlock(&sp_process.lock);
		if (!c)
			return NULL;
		c->reserved[0] = (uint64_t)old;
		*newest = c;
	}
	return (char *)(c + 1) + c->used * bytes;
}

void sp_rows_discard(struct sp_raw_chunk *newest)
{
	for (struct sp_raw_chunk *c = newest; c; c = (struct sp_raw_chunk *)c->reserved[0])
		c->type = SP_RAW_FREE;
	sp_rows_done(newest);
}

void sp_rows_done(struct sp_raw_chunk *newest)
{
	for (struct sp_raw_chunk *c = newest, *before; c; c = before) {
		before = (struct sp_raw_chunk *)c->reserved[0];
		sp_buffer_done(c);
	}
}

/* ---- rows of nodes ---- */

struct sp_node_entry {
	const struct sp_raw_node *node; /* NULL: free */
	uint32_t number;
	void *row;
};

/* Returns the entry of a node and number, or the free entry where it would be. */
static struct sp_node_entry *entry_of(struct sp_node_entry *table, uint32_t mask, const struct sp_raw_node *node,
                                      uint32_t number)
{
	uint32_t i = sp_path_hash(node, number) & mask;
	while (table[i].node && (table[i].node != node || table[i].number != number))
		i = (i + 1) & mask;
	return &table[i];
}

static bool table_grow(struct sp_node_rows *r)
{
	const uint32_t n = r->table ? (r->mask + 1) * 2 : 16;
	struct sp_node_entry *fresh = calloc(n, sizeof *fresh);
	for (uint32_t i = 0; fresh && r->table && i <= r->mask; i++)
		if (r->table[i].node)
			*entry_of(fresh, n - 1, r->table[i].node, r->table[i].number) = r->table[i];
	if (!fresh)
		return false;
	free(r->table);
	r->table = fresh;
	r->mask = n - 1;
	return true;
}

void *sp_node_row(struct sp_node_rows *r, struct sp_thread *t, enum sp_raw_chunk_type type, size_t bytes,
                  const struct sp_raw_node *node, uint32_t number)
{
	if ((!r->table || r->n * 2 > r->mask) && !table_grow(r))
		return NULL;
	struct sp_node_entry *e = entry_of(r->table, r->mask, node, number);
	if (e->node)
		return e->row;
	void *row = sp_rows_next(t, type, bytes, &r->chunk);
	if (!row)
		return NULL;
	memset(row, 0, bytes);
	*(uint64_t *)row = (uint64_t)node;
	*e = (struct sp_node_entry){node, number, row};
	r->n++;
	sp_rows_added(r->chunk);
	return row;
}

void sp_node_rows_free(struct sp_node_rows *r)
{
	free(r->table);
	*r = (struct sp_node_rows){0};
}
