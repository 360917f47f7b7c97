/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, and the call tree of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rawgen_inner.h"

void rg_flush_words(struct rg_thread *t, bool full)
{
	struct sp_raw_chunk c = {.type = SP_RAW_EVENTS, .location = t->state.id, .base = t->chunk_base};

	if (t->n_words == 0)
		return;
	c.seq = t->event_chunks++;
	c.used = full ? t->n_words : 0; /* the last chunk of a run: up to the first zero word */
	rg_put_chunk(t->process, c, t->words, t->n_words * 8);
	t->n_words = 0;
	t->chunk_base = t->state.last;
}

/* Makes room for an event with this payload. A chunk's base is the time before its first event, so the room must
 * suffice for the whole event and a TIME before it. */
static void reserve(struct rg_thread *t, unsigned payload)
{
	if (t->n_words + payload + 3 > EVENT_WORDS)
		rg_flush_words(t, true);
}

void rg_word(struct rg_thread *t, uint64_t word)
{
	reserve(t, 0);
	t->words[t->n_words++] = word;
}

static uint64_t delta(struct rg_thread *t, uint64_t at)
{
	uint64_t d = at - t->state.last;

	if (d > SP_RAW_DELTA_MAX) {
		rg_extra(t, t->state.last, SP_RAW_X_TIME, (uint64_t[]){d - 1}, 1);
		d = 1;
	}
	t->state.last = at;
	return d;
}

static void event(struct rg_thread *t, uint64_t at, enum sp_raw_event kind, uint32_t region)
{
	uint64_t d;

	if (t->process->header.flags & SP_RAW_FLAG_TRACE) {
		reserve(t, 0);
		d = delta(t, at);
		t->words[t->n_words++] = d << SP_RAW_DELTA_SHIFT | (uint64_t)region << SP_RAW_KIND_BITS | kind;
	}
	t->state.last = at;
}

void rg_extra(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, const uint64_t *payload, unsigned words)
{
	reserve(t, words + 3);
	event(t, at, SP_RAW_EXTRA, (uint32_t)what | words << 8);
	while (words-- && (t->process->header.flags & SP_RAW_FLAG_TRACE))
		t->words[t->n_words++] = *payload++;
}

void rg_counter(struct rg_thread *t, uint64_t at, uint32_t counter, double value)
{
	uint64_t payload[2] = {counter};

	memcpy(&payload[1], &value, 8);
	rg_extra(t, at, SP_RAW_X_COUNTER, payload, 2);
}

static size_t node_slot(const struct rg_thread *t, uint32_t parent, uint32_t region)
{
	size_t i = (((uint64_t)parent << 32 | region) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & t->slot_mask;
	const struct sp_raw_node *n;

	for (; t->slots[i]; i = (i + 1) & t->slot_mask) {
		n = &t->nodes[t->slots[i]];
		if (n->parent == parent && n->region == region)
			break;
	}
	return i;
}

static void grow_nodes(struct rg_thread *t)
{
	size_t i;

	if (t->n_nodes == t->node_capacity) {
		t->node_capacity *= 2;
		t->nodes = rg_grown(t->nodes, t->node_capacity * sizeof(*t->nodes));
	}
	if (t->slots && t->n_nodes * 2 <= t->slot_mask)
		return;
	t->slot_mask = t->node_capacity * 4 - 1;
	free(t->slots);
	t->slots = rg_grown(NULL, (t->slot_mask + 1) * sizeof(*t->slots));
	memset(t->slots, 0, (t->slot_mask + 1) * sizeof(*t->slots));
	for (i = 1; i < t->n_nodes; i++)
		t->slots[node_slot(t, t->nodes[i].parent, t->nodes[i].region)] = (uint32_t)i;
}

uint32_t rg_node(struct rg_thread *t, uint32_t parent, uint32_t region)
{
	size_t slot;

	grow_nodes(t);
	slot = node_slot(t, parent, region);
	if (!t->slots[slot]) {
		t->nodes[t->n_nodes] = (struct sp_raw_node){.parent = parent, .region = region, .min = UINT64_MAX};
		t->slots[slot] = (uint32_t)t->n_nodes++;
	}
	return t->slots[slot];
}

struct sp_raw_node *rg_node_at(struct rg_thread *t, uint32_t node)
{
	return &t->nodes[node];
}

uint64_t *rg_value(struct rg_thread *t, uint32_t node, uint32_t column)
{
	const size_t width = t->process->n_columns;

	if (t->value_capacity < t->n_nodes) {
		t->values = rg_grown(t->values, t->node_capacity * width * sizeof(*t->values));
		memset(t->values + t->value_capacity * width, 0,
		       (t->node_capacity - t->value_capacity) * width * sizeof(*t->values));
		t->value_capacity = t->node_capacity;
	}
	return &t->values[node * width + column];
}

uint32_t rg_top(const struct rg_thread *t)
{
	return (uint32_t)t->frames[t->depth].node;
}

/* The call is a visit of its last node; each node has the time that the call was in it. */
void rg_parameter(struct rg_thread *t, uint32_t region)
{
	struct sp_raw_frame *f = &t->frames[t->depth];
	uint32_t was = (uint32_t)f->node, called = t->nodes[was].region, is;

	is = rg_node(t, rg_node(t, was, region), called);
	t->nodes[was].visits--;
	t->nodes[was].incl += t->state.last - f->enter;
	t->nodes[is].visits++;
	f->node = is;
	f->enter = t->state.last;
}

static void open_frame(struct rg_thread *t, uint64_t at, uint32_t region, uint64_t flags, enum sp_raw_event kind)
{
	struct sp_raw_frame *top = &t->frames[t->depth];
	uint32_t node = rg_node(t, (uint32_t)top->node, region);

	if (t->depth + 1 == MAX_DEPTH) {
		errno = E2BIG;
		rg_die("too many open frames");
	}
	t->frames[++t->depth] = (struct sp_raw_frame){.enter = at, .node = node, .flags = flags};
	if (kind == SP_RAW_ENTER)
		t->nodes[node].visits++;
	else if (kind == SP_RAW_RESUME)
		t->nodes[node].resumed++;
	event(t, at, kind, region);
}

static void close_frame(struct rg_thread *t, uint64_t at, enum sp_raw_event kind)
{
	struct sp_raw_frame *f = &t->frames[t->depth--];
	struct sp_raw_node *n = &t->nodes[f->node];
	uint64_t d = at - f->enter;

	n->incl += d;
	if (!(f->flags & SP_RAW_FRAME_INHERITED)) {
		if (d < n->min)
			n->min = d;
		if (d > n->max)
			n->max = d;
		n->sumsq += (double)d * (double)d;
	}
	event(t, at, kind, n->region);
}

void rg_enter(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, 0, SP_RAW_ENTER);
}

void rg_leave(struct rg_thread *t, uint64_t at)
{
	close_frame(t, at, SP_RAW_LEAVE);
}

void rg_resume(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, 0, SP_RAW_RESUME);
}

void rg_suspend(struct rg_thread *t, uint64_t at)
{
	close_frame(t, at, SP_RAW_SUSPEND);
}

void rg_inherit(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, SP_RAW_FRAME_INHERITED, SP_RAW_INHERIT);
}

/* The nodes, each except the root followed by its values. */
static struct sp_raw_node *with_values(struct rg_thread *t, size_t values, size_t *n)
{
	const size_t each = 1 + values, columns = t->process->n_columns;
	struct sp_raw_node *slots;
	struct sp_raw_values v;
	size_t i, k, c;

	*n = 1 + (t->n_nodes - 1) * each;
	slots = rg_grown(NULL, *n * sizeof(*slots));
	slots[0] = t->nodes[0];
	for (i = 1; i < t->n_nodes; i++) {
		struct sp_raw_node *to = &slots[1 + (i - 1) * each];

		*to = t->nodes[i];
		to->parent = to->parent ? (uint32_t)(1 + (to->parent - 1) * each) : 0;
		for (k = 0; k < values; k++) {
			v = (struct sp_raw_values){.none = SP_RAW_NONE, .first = (uint32_t)k * SP_RAW_VALUES};
			for (c = 0; c < SP_RAW_VALUES && v.first + c < columns; c++)
				v.value[c] = *rg_value(t, (uint32_t)i, (uint32_t)(v.first + c));
			memcpy(to + 1 + k, &v, sizeof(v));
		}
	}
	return slots;
}

void rg_put_nodes(struct rg_thread *t)
{
	const size_t limit = (NODES_BYTES - sizeof(struct sp_raw_chunk)) / sizeof(struct sp_raw_node);
	const size_t values = (t->process->n_columns + SP_RAW_VALUES - 1) / SP_RAW_VALUES;
	struct sp_raw_chunk c = {.type = SP_RAW_NODES, .location = t->state.id};
	size_t total, i, n, at, slot[MAX_DEPTH];
	struct sp_raw_node *slots = with_values(t, values, &total);
	unsigned d;

	for (d = 0; d <= t->depth; d++)
		slot[d] = t->frames[d].node ? 1 + (t->frames[d].node - 1) * (1 + values) : 0;
	for (i = 0; i < total; i += n, c.seq++) {
		n = total - i < limit ? total - i : limit;
		while (i + n < total && (i + n - 1) % (1 + values))
			n--; /* values must be in the same chunk as their node */
		c.base = i;
		c.used = n;
		at = rg_put_chunk(t->process, c, &slots[i], n * sizeof(*slots));
		if (i == 0)
			t->process->nodes_at[t->state.id] = ADDRESS + at + sizeof(c);
		for (d = 0; d <= t->depth; d++)
			if (slot[d] >= i && slot[d] < i + n)
				t->frames[d].node = ADDRESS + at + sizeof(c) + (slot[d] - i) * sizeof(*slots);
	}
	t->state.nodes = total;
	free(slots);
}
