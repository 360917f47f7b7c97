/* SPDX-License-Identifier: BSD-3-Clause */

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/builder/stack_reader.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
/* Converts call paths of nodes to lists of regions, which do not change when paths are folded or merged.
 *
 * Many records may refer to one deep node, so a small damaged file could demand any amount of memory. The file's size
 * therefore limits the total length of all lists. */

enum { DEEPEST = 4096, STEPS_PER_BYTE = 4, STEPS = 1 << 16 };

void sp_stack_reader_open(struct sp_stack_reader *k, struct sp_builder *b, struct sp_loading *l)
{
	*k = (struct sp_stack_reader){.b = b, .l = l, .left = l->source->raw->size * STEPS_PER_BYTE + STEPS};
}

uint32_t sp_stack_reader_location(const struct sp_stack_reader *k, uint32_t id)
{
	const struct sp_raw_file *f = k->l->source->raw;
	size_t low = 0, high = f->n_threads;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->threads[middle].state.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n_threads && f->threads[low].state.id == id ? (uint32_t)low : SP_NONE;
}

static void too_many(struct sp_stack_reader *k)
{
	if (!k->reported)
		sp_raw_report(
		    k->l->source->raw, 0,
		    "call paths of some waits are left out: all of them are too large for a file of its size");
	k->reported = true;
}

int sp_stack_reader_find(struct sp_stack_reader *k, uint32_t thread, uint64_t pointer, struct sp_stack *out)
{
	const struct sp_raw_file *f = k->l->source->raw;
	const struct sp_ids *ids = &k->l->source->regions;
	const struct sp_raw_thread *t = thread == SP_NONE || !pointer ? NULL : &f->threads[thread];
	uint32_t index = t ? sp_raw_node_index(f, t, pointer) : SP_RAW_NONE, stack[DEEPEST], n = 0, steps = 0, i;
	struct sp_raw_node node;

	*out = (struct sp_stack){NULL, 0};
	/* a parent with a larger index is damage, which tree.c reports */
	while (index != SP_RAW_NONE && index && n < DEEPEST && steps < k->left && sp_raw_node_at(f, t, index, &node) &&
	       node.parent < index) {
		const uint32_t region = node.region < ids->n ? ids->to[node.region] : 0;

		if (region && k->b->m->regions[region - 1].kind != SP_REGION_PARAMETER)
			stack[n++] = region - 1;
		index = node.parent;
		steps++;
	}
	if (steps == k->left && index != SP_RAW_NONE && index) {
		too_many(k);
		n = 0;
	}
	k->left -= steps;
	out->regions = sp_arena_zalloc(&k->b->priv->arena, n, sizeof(*out->regions));
	if (!out->regions)
		return -1;
	out->n = n;
	for (i = 0; i < n; i++)
		out->regions[i] = stack[n - 1 - i];
	return 0;
}

void sp_stack_regions(const struct sp_stack *s, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		visit(arg, &s->regions[i]);
}
