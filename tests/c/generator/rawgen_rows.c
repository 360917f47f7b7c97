/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits, objects, memory, off-CPU time: rows that refer to nodes. */
#include "rawgen_inner.h"

#include "format/checksum.h"

#include <stdlib.h>
#include <string.h>

void rg_wait(struct rg_thread *t, const struct sp_raw_wait *w)
{
	t->waits = rg_grown(t->waits, (t->n_waits + 1) * sizeof(*t->waits));
	t->waits[t->n_waits++] = *w;
}

void rg_object(struct rg_process *p, const struct sp_raw_object *o)
{
	p->objects = rg_grown(p->objects, (p->n_objects + 1) * sizeof(*p->objects));
	p->objects[p->n_objects] = *o;
	p->objects[p->n_objects].id = (uint32_t)p->n_objects + 1;
	p->n_objects++;
}

void rg_row(struct rg_thread *t, enum sp_raw_chunk_type type, const void *row)
{
	struct rg_rows *r = t->rows;

	while (r < t->rows + t->n_rows && r->type != type)
		r++;
	if (r == t->rows + t->n_rows) {
		t->rows = rg_grown(t->rows, (t->n_rows + 1) * sizeof(*t->rows));
		r = &t->rows[t->n_rows++];
		*r = (struct rg_rows){.type = type, .size = sp_raw_unit(type)};
	}
	r->p = rg_grown(r->p, (r->n + 1) * r->size);
	memcpy(r->p + r->n++ * r->size, row, r->size);
}

void rg_heap(struct rg_process *p, const struct sp_raw_heap *h, const struct sp_raw_point *points, size_t n)
{
	p->heap = rg_grown(p->heap, sizeof(*p->heap));
	*p->heap = *h;
	rg_chunk(p, SP_RAW_SERIES, SP_RAW_NONE, n, points, n * sizeof(*points));
}

/* Converts the number of a node to its address; all nodes of a thread are in one chunk. */
static uint64_t node_address(const struct rg_process *p, uint32_t location, uint64_t node)
{
	const size_t values = (p->n_columns + SP_RAW_VALUES - 1) / SP_RAW_VALUES;

	if (!node || location >= p->n_threads)
		return 0;
	if (node == RG_ROOT)
		return p->nodes_at[location];
	return p->nodes_at[location] + (1 + (node - 1) * (1 + values)) * sizeof(struct sp_raw_node);
}

static void put_rows(struct rg_process *p, uint32_t location, struct rg_rows *r)
{
	uint64_t node;
	size_t i;

	/* the first element of OFF_CPU is the thread's clock */
	for (i = r->type == SP_RAW_OFF_CPU; i < r->n; i++) {
		memcpy(&node, r->p + i * r->size, sizeof(node));
		node = node_address(p, location, node);
		memcpy(r->p + i * r->size, &node, sizeof(node));
	}
	rg_chunk(p, r->type, location, r->n, r->p, r->n * r->size);
	free(r->p);
}

/* Call after all nodes are written. */
void rg_put_rows(struct rg_process *p, uint32_t location, struct rg_thread *t)
{
	size_t i;

	for (i = 0; i < t->n_waits; i++) {
		t->waits[i].node = node_address(p, location, t->waits[i].node);
		t->waits[i].holder_node = node_address(p, t->waits[i].holder, t->waits[i].holder_node);
	}
	if (t->n_waits)
		rg_chunk(p, SP_RAW_WAITS, location, t->n_waits, t->waits, t->n_waits * sizeof(*t->waits));
	for (i = 0; i < t->n_rows; i++)
		put_rows(p, location, &t->rows[i]);
}

void rg_put_objects(struct rg_process *p)
{
	size_t i;

	for (i = 0; i < p->n_objects; i++)
		p->objects[i].holder_node = node_address(p, p->objects[i].holder, p->objects[i].holder_node);
	if (p->n_objects)
		rg_chunk(p, SP_RAW_OBJECTS, SP_RAW_NONE, p->n_objects, p->objects, p->n_objects * sizeof(*p->objects));
	if (p->heap) {
		p->heap->passed_node = node_address(p, p->heap->passed_location, p->heap->passed_node);
		rg_chunk(p, SP_RAW_HEAP, SP_RAW_NONE, sizeof(*p->heap), p->heap, sizeof(*p->heap));
	}
}
