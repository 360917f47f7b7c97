/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a thread's call-path profile, and the search for a node's child. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "record/buffer.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/metrics.h"
#include "record/process.h"
#include "record/thread.h"

enum { FIRST_NODES = 4 << 10, LAST_NODES = 256 << 10, FIRST_TABLE = 64 };

static struct sp_path_entry *find(const struct sp_thread *t, const struct sp_raw_node *parent, uint32_t region)
{
	uint32_t i = sp_path_hash(parent, region) & t->table_mask;
	struct sp_path_entry *all = t->table;
	while (all[i].node && !(all[i].parent == parent && all[i].node->region == region))
		i = (i + 1) & t->table_mask;
	return &all[i];
}

static int table_grow(struct sp_thread *t)
{
	uint32_t old_size = t->table ? t->table_mask + 1 : 0, size = old_size ? old_size * 2 : FIRST_TABLE;
	if (sp_process.pid != getpid())
		return -ECHILD; /* sp_process_is_foreign(): t is in pages shared with the parent, which would see an
		                   address of this process */
	struct sp_path_entry *old = t->table, *fresh = calloc(size, sizeof *fresh);
	if (!fresh)
		return -ENOMEM;
	t->table = fresh;
	t->table_mask = size - 1;
	for (uint32_t i = 0; i < old_size; i++)
		if (old[i].node)
			*find(t, old[i].parent, old[i].node->region) = old[i];
	free(old);
	return 0;
}

/* Makes space for at least one more node; the profile respects the memory limit. */
static int nodes_more(struct sp_thread *t)
{
	uint64_t bytes = t->node_chunk ? t->node_chunk->bytes * 2 : FIRST_NODES;
	if (bytes > LAST_NODES)
		bytes = LAST_NODES;
	pthread_mutex_lock(&sp_process.lock);
	uint64_t limit = sp_process.settings.trace_memory;
	while (bytes > FIRST_NODES && sp_process.mapped + bytes > limit)
		bytes /= 2;
	bool full = t->node_chunk && sp_process.mapped + bytes > limit;
	struct sp_raw_chunk *c = full ? NULL : sp_buffer_chunk(SP_RAW_NODES, t, bytes, t->node_chunks, t->loc.nodes);
	if (full)
		sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	if (c)
		t->node_chunks++;
	pthread_mutex_unlock(&sp_process.lock);
	if (!c)
		return -ENOSPC;
	/* the chunks before it stay mapped: stack and table point into them */
	c->reserved[0] = (uint64_t)t->node_chunk;
	t->node_chunk = c;
	t->node_next = (struct sp_raw_node *)(c + 1);
	t->node_end = t->node_next + (c->bytes - sizeof *c) / sizeof(struct sp_raw_node);
	return 0;
}

static struct sp_raw_node *node_new(struct sp_thread *t, uint32_t parent, uint32_t region)
{
	/* values of metrics occupy the slots of nodes after it */
	uint32_t values = parent == SP_RAW_NONE ? 0 : t->node_values;
	if (t->node_end - t->node_next <= (ptrdiff_t)values && nodes_more(t))
		return NULL;
	struct sp_raw_node *n = t->node_next;
	t->node_next += 1 + values;
	*n = (struct sp_raw_node){.parent = parent, .region = region, .min = UINT64_MAX, .child = (uint64_t)t->root};
	for (uint32_t i = 0; i < values; i++)
		*(struct sp_raw_values *)(n + 1 + i) = (struct sp_raw_values){SP_RAW_NONE, i * SP_RAW_VALUES, {0}};
	t->loc.nodes += 1 + values;
	__atomic_store_n(&t->node_chunk->used, t->node_chunk->used + 1 + values, __ATOMIC_RELEASE);
	return n;
}

uint32_t sp_callpath_index(const struct sp_thread *t, const struct sp_raw_node *n)
{
	const struct sp_raw_chunk *c = t->node_chunk;
	while (c && !((const char *)n >= (const char *)c && (const char *)n < (const char *)c + c->bytes))
		c = (const struct sp_raw_chunk *)c->reserved[0];
	return c ? (uint32_t)(c->base + (uint64_t)(n - (const struct sp_raw_node *)(c + 1))) : 0;
}

int sp_thread_nodes_init(struct sp_thread *t)
{
	if (table_grow(t))
		return -ENOMEM;
	t->root = node_new(t, SP_RAW_NONE, 0);
	if (!t->root)
		return -ENOSPC;
	/* the root represents "no child yet": no region has its id */
	t->root->child = (uint64_t)t->root;
	t->root->min = 0;
	/* made now, because there is no space when it is needed */
	t->collapsed = node_new(t, 0, SP_REGION_COLLAPSED_ID);
	return t->collapsed ? 0 : -ENOSPC;
}

static bool table_has_space(struct sp_thread *t, uint32_t entries)
{
	return (t->table_used + entries) * 2 <= t->table_mask || !table_grow(t);
}

static void table_add(struct sp_thread *t, struct sp_raw_node *parent, struct sp_raw_node *n)
{
	*find(t, parent, n->region) = (struct sp_path_entry){n, parent};
	t->table_used++;
}

/* The table contains the children of nodes with two or more children. An only child is found through its parent, so
 * that a deep recursion makes no large table, in which every new entry is a cache miss. */
SP_COLD static struct sp_raw_node *child_new(struct sp_thread *t, struct sp_raw_node *parent, uint32_t region)
{
	int error = errno;
	struct sp_raw_node *last = (struct sp_raw_node *)parent->child, *n = NULL;
	const bool first = last == t->root;
	if (first || table_has_space(t, 2))
		n = node_new(t, sp_callpath_index(t, parent), region);
	if (n && !first) {
		if (!find(t, parent, last->region)->node)
			table_add(t, parent, last);
		table_add(t, parent, n);
	}
	errno = error;
	return n;
}

/* Returns NULL if there is no space for the call path; the caller counts the call in the collapsed node. */
struct sp_raw_node *sp_callpath_child(struct sp_thread *t, struct sp_raw_node *parent, uint32_t region)
{
	if (region == SP_REGION_HIDES)
		return NULL;
	struct sp_raw_node *n = (struct sp_raw_node *)parent->child;
	if (n->region == region)
		return n;
	n = find(t, parent, region)->node;
	if (SP_UNLIKELY(!n))
		n = child_new(t, parent, region);
	if (n)
		parent->child = (uint64_t)n;
	return n;
}

/* ---- parameters ---- */

/* Stored in sumsq of a node of kind PARAMETER, which has no times: identifies such a node. */
#define PARAMETER_MARK (-1.0)

static struct sp_raw_node *node_at(const struct sp_thread *t, uint32_t index)
{
	const struct sp_raw_chunk *c = t->node_chunk;
	while (c && c->base > index)
		c = (const struct sp_raw_chunk *)c->reserved[0];
	return c ? (struct sp_raw_node *)(c + 1) + (index - c->base) : NULL;
}

/* Returns the node to which a value of the parameter is added: n, or, if n is below an earlier value of the same
 * parameter, the node to which that value was added. Otherwise a loop that sets a parameter would make ever deeper
 * paths. */
static struct sp_raw_node *before_parameter(const struct sp_thread *t, struct sp_raw_node *n, uint32_t parameter)
{
	struct sp_raw_node *at = n, *q;
	while (at->parent != SP_RAW_NONE && (q = node_at(t, at->parent)) && q->sumsq == PARAMETER_MARK) {
		at = node_at(t, q->parent);
		if (!at)
			break;
		if (q->max == parameter)
			return at;
	}
	return n;
}

void sp_callpath_parameter(struct sp_thread *t, uint32_t parameter, uint32_t region, uint64_t now)
{
	struct sp_raw_frame *f = (struct sp_raw_frame *)t->loc.top;
	struct sp_raw_node *n = (struct sp_raw_node *)f->node;
	if ((uint64_t)f == t->loc.base || f->flags & (SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_COLLAPSED))
		return;
	struct sp_raw_node *q = sp_callpath_child(t, before_parameter(t, n, parameter), region), *to = NULL;
	if (q) {
		q->sumsq = PARAMETER_MARK;
		q->max = parameter;
		to = sp_callpath_child(t, q, n->region);
	}
	if (!to)
		t->loc.lost_paths++;
	if (!to || to == n)
		return;
	/* the time of the call until now stays with its node, but the visit moves */
	n->incl += sp_ticks_between(f->enter, now);
	sp_metrics_divide(t, n, now);
	if (f->flags & (SP_RAW_FRAME_INHERITED | SP_RAW_FRAME_FORKED)) {
		/* it never was a visit */
	} else if (n->visits) {
		n->visits--;
		to->visits++;
	} else if (n->resumed) {
		n->resumed--;
		to->resumed++;
	}
	f->enter = now;
	f->node = (uint64_t)to;
}

void sp_callpath_reset(struct sp_thread *t)
{
	pthread_mutex_lock(&sp_process.lock);
	for (struct sp_raw_chunk *c = t->node_chunk, *before; c; c = before) {
		before = (struct sp_raw_chunk *)c->reserved[0];
		c->type = SP_RAW_FREE;
		sp_buffer_done(c);
	}
	pthread_mutex_unlock(&sp_process.lock);
	free(t->table);
	t->table = NULL;
	t->table_used = 0;
	t->node_chunk = NULL;
	t->node_next = t->node_end = NULL;
	t->node_chunks = 0;
	t->loc.nodes = 0;
	t->collapsed = NULL;
}
