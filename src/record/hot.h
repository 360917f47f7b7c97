/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole path of an event: no lock, no allocation, no call except of the rare `…_slow` functions. The caller passes
 * its thread and the timestamp. */
#ifndef SP_RECORD_HOT_H
#define SP_RECORD_HOT_H

#include <assert.h>

#include "record/callpath.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

/* Without it -O2 shares one copy between the hooks, in which the kind is a variable. */
#define SP_HOT __attribute__((always_inline)) static inline

/* In builds with assertions: checks that the words are inside the thread's chunk and that the chunk's header is
 * intact. */
SP_HOT void sp_assert_in_chunk(const struct sp_thread *t, const uint64_t *w, size_t words)
{
#ifndef NDEBUG
	const struct sp_raw_chunk *c = t->ev_chunk;
	assert(c && c->magic == SP_RAW_CHUNK_MAGIC && w >= (const uint64_t *)(c + 1) && w + words <= t->ev_end);
#else
	(void)t, (void)w, (void)words;
#endif
}

/* Stores one word of the trace. Without a trace next and ev_end are both NULL. After a long time without an event, and
 * if the clock went back, the event takes the slow path, which finds out whether the thread ran. */
SP_HOT void sp_event(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t id)
{
	uint64_t *w = (uint64_t *)t->loc.next;
	uint64_t delta = now - t->loc.last;
	t->loc.last = now;
	if (SP_LIKELY(w < t->ev_end && delta <= t->quiet)) {
		sp_assert_in_chunk(t, w, 1);
		*w = delta << SP_RAW_DELTA_SHIFT | (uint64_t)id << SP_RAW_KIND_BITS | kind;
		t->loc.next = (uint64_t)(w + 1);
	} else if (SP_UNLIKELY(t->traced | (delta > t->quiet))) {
		sp_event_slow(t, now, delta, kind, id);
	}
}

/* A region begins (kind ENTER) or continues (RESUME). key: the key that its leave will pass, not 0; now: ticks. */
SP_HOT void sp_enter(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_frame *f = (struct sp_raw_frame *)t->loc.top;
	if (SP_UNLIKELY(f->flags != 0 || f + 1 >= t->stack_end)) {
		sp_enter_slow(t, region, key, now, kind);
		return;
	}
	struct sp_raw_node *parent = (struct sp_raw_node *)f->node;
	struct sp_raw_node *n = (struct sp_raw_node *)parent->child;
	if (SP_UNLIKELY(n->region != region)) {
		/* another child than the last one: most are at the first position in the table */
		struct sp_path_entry *e = &t->table[sp_path_hash(parent, region) & t->table_mask];
		n = e->node;
		if (SP_LIKELY(e->parent == parent && n->region == region))
			parent->child = (uint64_t)n;
		else
			n = sp_callpath_child(t, parent, region);
		if (SP_UNLIKELY(!n)) {
			sp_enter_collapsed(t, region, key, now, kind);
			return;
		}
	}
	if (kind == SP_RAW_RESUME)
		n->resumed++;
	else
		n->visits++;
	f[1].enter = now;
	f[1].node = (uint64_t)n;
	f[1].key = key;
	f[1].flags = 0;
	t->loc.top = (uint64_t)(f + 1);
	sp_event(t, now, kind, region);
}

/* A region ends (kind LEAVE) or is suspended (SUSPEND). Returns whether a frame with this key was open. */
SP_HOT bool sp_leave(struct sp_thread *t, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_frame *f = (struct sp_raw_frame *)t->loc.top;
	if (SP_UNLIKELY(f->key != key))
		return sp_leave_slow(t, key, now, kind);
	struct sp_raw_node *n = (struct sp_raw_node *)f->node;
	uint64_t d = now - f->enter;
	if (d > n->max) {
		if (SP_UNLIKELY((int64_t)d < 0))
			d = 0; /* the clock went back: detected here at no extra cost */
		else
			n->max = d;
	}
	n->incl += d;
	if (d < n->min)
		n->min = d;
	double signed_d = (double)(int64_t)d; /* the conversion of an unsigned value costs a branch */
	n->sumsq += signed_d * signed_d;
	t->loc.top = (uint64_t)(f - 1);
	sp_event(t, now, kind, n->region);
	return true;
}

#endif
