/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of open frames: growth, frames with flags, and leaves that do not match the innermost frame. The hot path
 * calls this file for all of these. */
#include "record/buffer.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/events/task.h"
#include "record/hot.h"
#include "record/metrics.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/rewind.h"
#include "record/stack.h"
#include "record/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_STACK = 4 << 10 };

bool (*sp_stack_still_open)(const struct sp_raw_frame *f);
void (*sp_stack_out_of_date)(struct sp_thread *t);
__thread bool sp_stack_enters_other SP_TLS_MODEL;

static struct sp_raw_frame *top_of(const struct sp_thread *t)
{
	return (struct sp_raw_frame *)t->loc.top;
}

static bool is_root(const struct sp_thread *t, const struct sp_raw_frame *f)
{
	return (uint64_t)f == t->loc.base;
}

/* The last slot of the chunk is reserved for no_space(). */
static struct sp_raw_frame *real_end(const struct sp_thread *t)
{
	struct sp_raw_chunk *c = t->stack_chunk;
	return (struct sp_raw_frame *)(c + 1) + (c->bytes - sizeof *c) / sizeof(struct sp_raw_frame) - 1;
}

void sp_stack_limit(struct sp_thread *t)
{
	if (t->silent) {
		t->stack_end = NULL;
		return;
	}
	t->stack_end = real_end(t);
	const uint32_t limits[] = {t->depth_limit, sp_process.settings.profile_depth};
	for (int i = 0; i < 2; i++) {
		struct sp_raw_frame *deepest = (struct sp_raw_frame *)t->loc.base + limits[i] + t->marks + 1;
		if (limits[i] && deepest < t->stack_end)
			t->stack_end = deepest;
	}
}

static int stack_grow(struct sp_thread *t)
{
	uint64_t bytes = t->stack_chunk ? t->stack_chunk->bytes * 2 : FIRST_STACK;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_raw_chunk *old = t->stack_chunk;
	struct sp_raw_chunk *c = sp_buffer_chunk(SP_RAW_STACK, t, bytes, old ? old->seq + 1 : 0, 0);
	if (c) {
		size_t depth = old ? sp_stack_depth(t) : 0;
		struct sp_raw_frame *to = (struct sp_raw_frame *)(c + 1);
		if (old)
			memcpy(to, (void *)t->loc.base, (depth + 1) * sizeof *to);
		t->loc.base = (uint64_t)to;
		t->loc.top = (uint64_t)(to + depth);
		t->loc.stack = sp_buffer_offset(c);
		t->stack_chunk = c;
		sp_stack_limit(t);
		if (old) {
			old->type = SP_RAW_FREE;
			sp_buffer_done(old);
		}
	}
	pthread_mutex_unlock(&sp_process.lock);
	return c ? 0 : -ENOSPC;
}

int sp_thread_stack_init(struct sp_thread *t)
{
	if (stack_grow(t))
		return -ENOSPC;
	sp_stack_root(t);
	return 0;
}

void sp_stack_root(struct sp_thread *t)
{
	*(struct sp_raw_frame *)t->loc.base =
	    (struct sp_raw_frame){.node = (uint64_t)t->root, .flags = t->counts ? SP_RAW_FRAME_METRICS : 0};
}

/* Makes space for one more frame. Without space the call is not recorded. */
static bool has_space(struct sp_thread *t)
{
	return top_of(t) + 1 < real_end(t) || (top_of(t) < real_end(t) && !stack_grow(t));
}

/* Marks do not count for the depth limits. */
static void count_marks(struct sp_thread *t, int more)
{
	t->marks += (uint32_t)more;
	if (t->stack_end) /* not while the stack is out of date */
		sp_stack_limit(t);
}

static void push(struct sp_thread *t, uint64_t key, struct sp_raw_node *n, uint64_t now, uint64_t flags, uint64_t frame)
{
	struct sp_raw_frame *f = top_of(t) + 1;
	if (t->counts) {
		flags |= SP_RAW_FRAME_METRICS;
		if (!(flags & SP_RAW_FRAME_SKIPPED))
			sp_metrics_enter(t, sp_stack_depth(t) + 1, now);
	}
	*f = (struct sp_raw_frame){now, (uint64_t)n, flags ? ~key : key, frame, flags};
	t->loc.top = (uint64_t)f;
	if (flags & SP_RAW_FRAME_MARK)
		count_marks(t, 1);
}

void sp_stack_event(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t region)
{
	if (t->counts) {
		sp_off_cpu_gap(t, now, kind, region); /* before the next call changes loc.last */
		sp_metrics_event(t, now);
	}
	sp_event(t, now, kind, region);
}

/* A call for which the stack cannot grow is lost, and so are the calls from it. The last slot represents all of them
 * and counts them in `frame`: otherwise the leave of a lost call could be matched with a recorded call of the same
 * function. There are two counts, selected by the lowest bit of the key: when one hook replaces another, both report
 * the same ends, with keys that differ in this bit. */
static uint64_t lost_call(uint64_t key)
{
	return key & 1 ? UINT64_C(1) << 32 : 1;
}

static void no_space(struct sp_thread *t, uint64_t key, uint64_t now)
{
	t->loc.lost_events += 2;
	if (top_of(t) < real_end(t))
		push(t, 0, (struct sp_raw_node *)top_of(t)->node, now, SP_RAW_FRAME_SKIPPED, 0);
	top_of(t)->frame += lost_call(key);
}

static void leave_lost(struct sp_thread *t, uint64_t key)
{
	struct sp_raw_frame *f = top_of(t);
	bool counted = key & 1 ? f->frame >> 32 : f->frame & UINT32_MAX;
	if (counted)
		f->frame -= lost_call(key);
	if (!f->frame)
		t->loc.top = (uint64_t)(f - 1);
}

/* Closes a frame with flags: its time has no minimum or maximum, because the frame did not begin here. */
static void close_special(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now, unsigned kind)
{
	struct sp_raw_node *n = (struct sp_raw_node *)f->node;
	bool nested = f->flags & SP_RAW_FRAME_COLLAPSED && (f - 1)->flags & SP_RAW_FRAME_COLLAPSED;
	if (t->counts && !nested && !(f->flags & SP_RAW_FRAME_SKIPPED))
		sp_metrics_leave(t, sp_stack_depth(t), n, now);
	if (f->flags & SP_RAW_FRAME_MARK) {
		sp_mark_off(t, f, now);
		count_marks(t, -1);
	}
	t->loc.top = (uint64_t)(f - 1);
	if (f->flags & SP_RAW_FRAME_SKIPPED)
		return;
	if (!nested)
		n->incl += sp_ticks_between(f->enter, now);
	sp_stack_event(t, now, kind, sp_stack_region(f));
}

/* Closes a frame whose flags only concern its ends or its callees: removes the flags, so that the hot path closes
 * it. */
static void close_flagged(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now, unsigned kind)
{
	if (t->counts) {
		sp_metrics_leave(t, sp_stack_depth(t), (struct sp_raw_node *)f->node, now);
		sp_off_cpu_gap(t, now, SP_RAW_EXTRA, 0);
		sp_metrics_event(t, now);
	}
	f->key = ~f->key;
	f->flags = 0;
	sp_leave(t, f->key, now, kind);
}

static void close_top(struct sp_thread *t, uint64_t now, unsigned kind)
{
	struct sp_raw_frame *f = top_of(t);
	if (sp_stack_special(f) & ~(uint64_t)SP_RAW_FRAME_LEFT_OUT)
		close_special(t, f, now, kind);
	else if (f->flags)
		close_flagged(t, f, now, kind);
	else
		sp_leave(t, f->key, now, kind);
}

void sp_stack_pop(struct sp_thread *t, uint64_t now)
{
	close_top(t, now, SP_RAW_LEAVE);
}

void sp_stack_clear(struct sp_thread *t, uint64_t now)
{
	sp_stack_unmark(t, now); /* leaves marks whose end was before `now` */
	while (!is_root(t, top_of(t)))
		sp_stack_pop(t, now);
}

void sp_stack_inherit(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t frame, uint64_t flags, uint64_t now)
{
	struct sp_raw_node *parent = (struct sp_raw_node *)top_of(t)->node, *n = NULL;
	if (!has_space(t)) {
		no_space(t, key, now);
		return;
	}
	if (region == SP_REGION_HIDES)
		flags = SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_LEFT_OUT;
	if (flags & SP_RAW_FRAME_SKIPPED) {
		push(t, key, parent, now, flags, 0); /* a mark that is pushed again here marks nothing any more */
		return;
	}
	if (!(flags & SP_RAW_FRAME_COLLAPSED))
		n = sp_callpath_child(t, parent, region);
	if (n) {
		push(t, key, n, now, flags, frame);
	} else {
		t->loc.lost_paths++;
		push(t, key, t->collapsed, now, flags | SP_RAW_FRAME_COLLAPSED, region);
	}
	sp_stack_event(t, now, SP_RAW_INHERIT, region);
}

uint32_t sp_stack_region(const struct sp_raw_frame *f)
{
	return f->flags & SP_RAW_FRAME_COLLAPSED ? (uint32_t)f->frame : ((const struct sp_raw_node *)f->node)->region;
}

bool sp_stack_settle(struct sp_thread *t, uint64_t now)
{
	while ((top_of(t)->flags & (SP_RAW_FRAME_INHERITED | SP_RAW_FRAME_COLLAPSED)) == SP_RAW_FRAME_INHERITED &&
	       sp_stack_still_open && !sp_stack_still_open(top_of(t)))
		sp_stack_pop(t, now);
	return is_root(t, top_of(t));
}

void sp_enter_collapsed(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	if (region == SP_REGION_HIDES) {
		push(t, key, (struct sp_raw_node *)top_of(t)->node, now, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_LEFT_OUT,
		     0);
		return;
	}
	t->loc.lost_paths++;
	t->collapsed->visits++;
	push(t, key, t->collapsed, now, SP_RAW_FRAME_COLLAPSED, region);
	sp_stack_event(t, now, kind, region);
}

/* The hot path's enter, with metrics. */
static void enter_metrics(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_node *n = sp_callpath_child(t, (struct sp_raw_node *)top_of(t)->node, region);
	if (SP_UNLIKELY(!n)) {
		sp_enter_collapsed(t, region, key, now, kind);
		return;
	}
	if (kind == SP_RAW_RESUME)
		n->resumed++;
	else
		n->visits++;
	push(t, key, n, now, 0, 0);
	sp_stack_event(t, now, kind, region);
}

/* Enters a call below the maximum depth of the profile: all calls below share one node, but the trace contains them. */
static void enter_deeper(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_node *n = (struct sp_raw_node *)top_of(t)->node;
	if (!(top_of(t)->flags & SP_RAW_FRAME_COLLAPSED))
		n = sp_callpath_child(t, n, SP_REGION_DEEPER_ID);
	if (!n) {
		sp_enter_collapsed(t, region, key, now, kind);
		return;
	}
	n->visits++;
	push(t, key, n, now, SP_RAW_FRAME_COLLAPSED, region);
	sp_stack_event(t, now, kind, region);
}

bool sp_stack_mark(struct sp_thread *t, uint64_t value, bool enters, uint64_t now)
{
	if (!has_space(t))
		return false;
	push(t, 0, (struct sp_raw_node *)top_of(t)->node, now,
	     SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_HIDDEN | SP_RAW_FRAME_MARK, value);
	t->marked = enters;
	return true;
}

void sp_stack_unmark(struct sp_thread *t, uint64_t now)
{
	while (SP_UNLIKELY(top_of(t)->flags & SP_RAW_FRAME_MARK)) {
		sp_mark_over(t, top_of(t), now);
		sp_stack_pop(t, now);
	}
}

/* A Python or C function, not a user region, a region of a library or a compiled function. */
static bool is_function(uint64_t key)
{
	return (key & 7) <= 2;
}

/* Enters a call below a function that is excluded with all functions that it calls. */
static void enter_left_out(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_frame *f = top_of(t);
	const uint64_t flags = f->flags;
	if (is_function(key)) {
		push(t, key, (struct sp_raw_node *)f->node, now, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_LEFT_OUT, 0);
		return;
	}
	if (t->counts) {
		enter_metrics(t, region, key, now, kind);
	} else {
		f->flags = 0;
		sp_enter(t, region, key, now, kind);
		f->flags = flags;
	}
	f = top_of(t);
	if (!f->flags)
		f->key = ~key;
	f->flags |= SP_RAW_FRAME_LEFT_OUT;
}

/* Enters a region in a thread whose functions are not recorded. */
static void enter_in_silence(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	if (is_function(key))
		return;
	t->silent = false;
	if (t->epoch == sp_epoch)
		sp_stack_limit(t);
	sp_enter_slow(t, region, key, now, kind);
	t->silent = true;
	t->stack_end = NULL;
}

void sp_thread_functions(struct sp_thread *t, bool on)
{
	t->silent = !on;
	if (!on || t->epoch == sp_epoch)
		sp_stack_limit(t);
}

void sp_enter_slow(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	if (t->silent) {
		enter_in_silence(t, region, key, now, kind);
		return;
	}
	/* with metrics nearly every enter takes this branch */
	if (top_of(t)->flags == SP_RAW_FRAME_METRICS && top_of(t) + 1 < t->stack_end) {
		enter_metrics(t, region, key, now, kind);
		return;
	}
	int error = errno;
	sp_stack_enters_other = key & 6;
	if (t->epoch != sp_epoch && sp_stack_out_of_date)
		sp_stack_out_of_date(t);
	bool begun = t->epoch == sp_epoch && t->stack_end;
	if (begun)
		sp_stack_settle(t, now);
	sp_stack_enters_other = false;
	if (t->marked)
		t->marked = false;
	else
		sp_stack_unmark(t, now);
	if (!begun)
		return; /* paused, or a thread that could not begin: its loss is counted */
	if (!has_space(t)) {
		no_space(t, key, now);
		errno = error;
		return;
	}
	struct sp_raw_frame *f = top_of(t);
	size_t depth = sp_stack_depth(t) - t->marks;
	if (f->flags & SP_RAW_FRAME_LEFT_OUT) {
		enter_left_out(t, region, key, now, kind);
	} else if (region == SP_REGION_HIDES) {
		push(t, key, (struct sp_raw_node *)f->node, now, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_LEFT_OUT, 0);
	} else if ((f->flags & SP_RAW_FRAME_SKIPPED && !(f->flags & SP_RAW_FRAME_HIDDEN)) ||
	           (t->depth_limit && depth >= t->depth_limit)) {
		t->loc.deeper++;
		push(t, key, (struct sp_raw_node *)f->node, now, SP_RAW_FRAME_SKIPPED, 0);
	} else if (sp_process.settings.profile_depth && depth >= sp_process.settings.profile_depth) {
		enter_deeper(t, region, key, now, kind);
	} else if (f->flags & SP_RAW_FRAME_COLLAPSED) {
		sp_enter_collapsed(t, region, key, now, kind);
	} else if (t->counts) {
		enter_metrics(t, region, key, now, kind);
	} else {
		uint64_t flags = f->flags;
		f->flags = 0; /* use the hot path: there is space now */
		sp_enter(t, region, key, now, kind);
		f->flags = flags;
	}
	errno = error;
}

struct sp_raw_frame *sp_stack_find(const struct sp_thread *t, uint64_t key)
{
	struct sp_raw_frame *f = top_of(t);
	if (f == real_end(t))
		return NULL;
	while (!is_root(t, f) && sp_stack_key(f) != key)
		f--;
	return is_root(t, f) ? NULL : f;
}

/* A leave whose key is not on top. If the frame is open further out, the frames above it ended unseen and are left
 * with it. Otherwise the frame began before recording or was filtered. */
bool sp_leave_slow(struct sp_thread *t, uint64_t key, uint64_t now, unsigned kind)
{
	struct sp_raw_frame *f = top_of(t);
	if (f->flags == SP_RAW_FRAME_METRICS && f->key == ~key) {
		close_flagged(t, f, now, kind);
		return true;
	}
	if (f == real_end(t)) {
		leave_lost(t, key);
		return true;
	}
	f = sp_stack_find(t, key);
	if (!f)
		return false;
	while (top_of(t) > f) {
		sp_stack_unmark(t, now);
		if (top_of(t) > f)
			sp_stack_pop(t, now);
	}
	close_top(t, now, kind);
	return true;
}

/* ---- suspended generators and stacks ---- */

static struct sp_waiting **chain_of(const struct sp_waiting_table *w, uint64_t id)
{
	return &w->chains[(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (w->size - 1)];
}

static void waiting_grow(struct sp_waiting_table *w)
{
	struct sp_waiting_table bigger = {.size = w->size ? w->size * 2 : 16};
	bigger.chains = calloc(bigger.size, sizeof *bigger.chains);
	if (!bigger.chains)
		return;
	for (uint32_t i = 0; i < w->size; i++)
		for (struct sp_waiting *one = w->chains[i], *next; one; one = next) {
			next = one->next;
			struct sp_waiting **chain = chain_of(&bigger, one->id);
			one->next = *chain;
			*chain = one;
		}
	bigger.n = w->n;
	free(w->chains);
	*w = bigger;
}

/* Takes over `one`, which may be NULL. Returns whether it is in the table now. */
static bool waiting_put(struct sp_waiting_table *w, struct sp_waiting *one, uint64_t id)
{
	if (one && w->n == w->size)
		waiting_grow(w);
	if (!one || !w->size) {
		free(one);
		return false;
	}
	struct sp_waiting **chain = chain_of(w, id);
	*one = (struct sp_waiting){*chain, id};
	*chain = one;
	w->n++;
	return true;
}

static void *waiting_take(struct sp_waiting_table *w, uint64_t id)
{
	for (struct sp_waiting **p = w->n ? chain_of(w, id) : NULL; p && *p; p = &(*p)->next)
		if ((*p)->id == id) {
			struct sp_waiting *one = *p;
			*p = one->next;
			w->n--;
			return one;
		}
	return NULL;
}

static void waiting_free(struct sp_waiting_table *w)
{
	for (uint32_t i = 0; i < w->size; i++)
		for (struct sp_waiting *one = w->chains[i], *next; one; one = next) {
			next = one->next;
			free(one);
		}
	free(w->chains);
	*w = (struct sp_waiting_table){0};
}

/* ---- user regions of suspended generators ---- */

/* The user regions of one suspended generator. */
struct aside {
	struct sp_waiting waiting;
	uint32_t n;
	uint32_t regions[]; /* innermost first */
};

void sp_stack_set_aside(struct sp_thread *t, uint64_t key, uint64_t id, uint64_t now)
{
	const struct sp_raw_frame *f = top_of(t);
	uint32_t n = 0;
	while (!is_root(t, f - n) && !sp_stack_special(f - n) && sp_is_user_key(sp_stack_key(f - n)))
		n++;
	/* if the generator is filtered or unknown, the regions belong to its caller and stay open */
	if (sp_stack_key(f - n) != key)
		return;
	struct aside *a = n ? malloc(sizeof *a + n * sizeof a->regions[0]) : NULL;
	if (!waiting_put(&t->aside, (struct sp_waiting *)a, id))
		return;
	a->n = n;
	for (uint32_t i = 0; i < n; i++) {
		a->regions[i] = ((const struct sp_raw_node *)(f - i)->node)->region;
		close_top(t, now, SP_RAW_SUSPEND);
	}
}

void sp_stack_bring_back(struct sp_thread *t, uint64_t id, uint64_t now)
{
	struct aside *a = waiting_take(&t->aside, id);
	for (uint32_t i = a ? a->n : 0; i-- > 0;)
		sp_enter(t, a->regions[i], sp_user_key(a->regions[i]), now, SP_RAW_RESUME);
	free(a);
}

/* A new generator may be at the address of one that was freed while suspended. */
void sp_stack_forget_aside(struct sp_thread *t, uint64_t id)
{
	free(waiting_take(&t->aside, id));
}

/* ---- stacks that alternate in one thread ---- */

/* One suspended stack. */
struct fiber {
	struct sp_waiting waiting;
	size_t n;
	struct sp_raw_frame frames[];
};

void sp_stack_switch(struct sp_thread *t, const void *from, const void *to, uint64_t now)
{
	size_t n = sp_stack_depth(t);
	struct fiber *f = n ? malloc(sizeof *f + n * sizeof f->frames[0]) : NULL;
	if (waiting_put(&t->fibers, (struct sp_waiting *)f, (uint64_t)from)) {
		f->n = n;
		memcpy(f->frames, (struct sp_raw_frame *)t->loc.base + 1, n * sizeof f->frames[0]);
	}
	sp_stack_clear(t, now); /* counts the time until now */
	f = waiting_take(&t->fibers, (uint64_t)to);
	for (size_t i = 0; f && i < f->n; i++) {
		const struct sp_raw_frame *s = &f->frames[i];
		sp_stack_inherit(t, sp_stack_region(s), sp_stack_key(s), s->frame, sp_stack_reopened(s), now);
	}
	free(f);
}

void sp_stack_free_aside(struct sp_thread *t)
{
	sp_rewind_free(t);
	free(t->begun);
	t->begun = NULL;
	t->n_begun = 0;
	waiting_free(&t->aside);
	waiting_free(&t->fibers);
}
