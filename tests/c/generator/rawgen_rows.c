/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits, objects and memory: rows that refer to nodes. */
#include "rawgen_inner.h"

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

void rg_site(struct rg_thread *t, const struct sp_raw_site *s)
{
	t->sites = rg_grown(t->sites, (t->n_sites + 1) * sizeof(*t->sites));
	t->sites[t->n_sites++] = *s;
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

/* Call after all nodes are written. */
void rg_put_waits(struct rg_process *p, uint32_t location, struct rg_thread *t)
{
	size_t i;

	for (i = 0; i < t->n_waits; i++) {
		t->waits[i].node = node_address(p, location, t->waits[i].node);
		t->waits[i].holder_node = node_address(p, t->waits[i].holder, t->waits[i].holder_node);
	}
	for (i = 0; i < t->n_sites; i++)
		t->sites[i].node = node_address(p, location, t->sites[i].node);
	if (t->n_waits)
		rg_chunk(p, SP_RAW_WAITS, location, t->n_waits, t->waits, t->n_waits * sizeof(*t->waits));
	if (t->n_sites)
		rg_chunk(p, SP_RAW_SITES, location, t->n_sites, t->sites, t->n_sites * sizeof(*t->sites));
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
