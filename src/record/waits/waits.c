/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/adapter.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/hot.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/rows.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/waits/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 200000, MAX_CYCLE = 64, DEEPEST = 16 };

/* The row of a key. */
struct entry {
	struct sp_wait_key key;
	struct sp_raw_wait *row; /* NULL: free */
};

/* An outstanding wait of a thread. longjmp can leave its frame without an end, and other data can then be at its
 * address on the stack. It is therefore identified by its address, and only its own functions read it. */
struct open {
	const struct sp_wait *wait;
	struct sp_raw_wait *row;
	uint64_t inner; /* ticks of the waits inside this one */
};

/* One thread's rows and outstanding waits. */
struct sp_waits {
	struct sp_raw_wait *row; /* row of the innermost outstanding wait, for other threads */
	struct entry *table;     /* owned; open-addressed */
	struct entry *last;      /* the entry found last; NULL: none */
	uint32_t mask, n;
	struct sp_raw_chunk *chunk; /* the newest chunk of rows */
	uint32_t depth;
	struct open open[DEEPEST]; /* `depth` entries; the innermost one last */
};

_Atomic bool sp_waits_wanted;
bool sp_waits_parallel;
static bool missing; /* the META record about missing rows is written */
/* Offsets of the two columns in a node, bytes; 0: no such columns. */
static _Atomic size_t time_at, count_at;

/* Nanoseconds per tick, computed from the start until the latest update. Waits do not update it each time; threads
 * that update it at the same time compute nearly the same value. */
static double tick_ns;
static uint64_t next_tick; /* ticks: time of the next update */
static struct sp_raw_sync tick_first;

SP_COLD static void look_at_clock(uint64_t now)
{
	pthread_mutex_lock(&sp_process.lock); /* another measurement may begin */
	const struct sp_raw_sync first = tick_first, last = sp_clock_sync();
	const uint64_t ticks = sp_ticks_between(first.ticks, last.ticks);
	double ns = ticks ? (double)(last.mono_ns - first.mono_ns) / (double)ticks : 1;
	__atomic_store(&tick_ns, &ns, __ATOMIC_RELAXED);
	__atomic_store_n(&next_tick, now + ticks / 2, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sp_process.lock);
}

uint64_t sp_waits_ns(uint64_t ticks, uint64_t now)
{
	double ns;
	if (SP_UNLIKELY(now >= __atomic_load_n(&next_tick, __ATOMIC_ACQUIRE)))
		look_at_clock(now);
	__atomic_load(&tick_ns, &ns, __ATOMIC_RELAXED);
	return (uint64_t)(int64_t)((double)(int64_t)ticks * ns);
}

static size_t column_at(unsigned column)
{
	const struct sp_raw_values *values = NULL;
	return sizeof(struct sp_raw_node) + sizeof *values * (column / SP_RAW_VALUES) +
	       offsetof(struct sp_raw_values, value) + sizeof *values->value * (column % SP_RAW_VALUES);
}

void sp_waits_columns(void)
{
	sp_waits_wanted = sp_process.settings.waits;
	time_at = count_at = 0;
	pthread_mutex_lock(&sp_process.lock);
	tick_first = sp_process.header->first;
	__atomic_store_n(&next_tick, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&sp_process.lock);
	if (!sp_waits_wanted)
		return;
	const int time =
	              sp_define_metric("wait_time", "s", -9, "time waited for locks, other threads, processes, sleeps",
	                               SP_RAW_METRIC_WAIT | SP_RAW_METRIC_EXCLUSIVE),
	          count = sp_define_metric("waits", "#", 0, "how often that was waited for",
	                                   SP_RAW_METRIC_WAIT | SP_RAW_METRIC_EXCLUSIVE);
	if (time >= 0 && count >= 0) {
		time_at = column_at((unsigned)time);
		count_at = column_at((unsigned)count);
	}
}

void sp_waits_forget(void)
{
	__atomic_store_n(&missing, false, __ATOMIC_RELAXED);
	sp_objects_forget();
}

/* ---- rows ---- */

static uint32_t hash_of(const struct sp_wait_key *k)
{
	uint64_t h = k->node >> 6 ^ k->code ^ (uint64_t)k->at << 40 ^ (uint64_t)k->object << 20 ^ k->holder_node ^
	             (uint64_t)k->holder << 50 ^ k->kind;
	return (uint32_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static bool is_same(const struct sp_wait_key *a, const struct sp_wait_key *b)
{
	return !((a->node ^ b->node) | (a->code ^ b->code) | (a->holder_node ^ b->holder_node) | (a->at ^ b->at) |
	         (a->object ^ b->object) | (a->holder ^ b->holder) | (a->kind ^ b->kind));
}

/* Returns the entry of the key, or the free entry where it would be. */
static struct entry *find_entry(struct entry *table, uint32_t mask, const struct sp_wait_key *key)
{
	for (uint32_t i = hash_of(key) & mask;; i = (i + 1) & mask)
		if (!table[i].row || is_same(&table[i].key, key))
			return &table[i];
}

SP_WAITS_TOGETHER struct sp_raw_wait *sp_waits_find(const struct sp_thread *t, const struct sp_wait_key *key)
{
	struct sp_waits *w = t->waits;
	if (SP_UNLIKELY(!w || !w->table))
		return NULL;
	if (!w->last || !is_same(&w->last->key, key))
		w->last = find_entry(w->table, w->mask, key);
	return w->last->row;
}

/* Returns the waits of t. The thread makes them itself without a lock; release order, so that a thread that searches
 * for a deadlock sees them complete. They are freed with the process lock held, and the search holds it too. */
static struct sp_waits *waits_of(struct sp_thread *t)
{
	struct sp_waits *w = __atomic_load_n(&t->waits, __ATOMIC_RELAXED);
	if (SP_UNLIKELY(!w) && (w = calloc(1, sizeof *w)))
		__atomic_store_n(&t->waits, w, __ATOMIC_RELEASE);
	return w;
}

static bool table_grow(struct sp_waits *w)
{
	const uint32_t n = w->table ? (w->mask + 1) * 2 : 64;
	struct entry *fresh = calloc(n, sizeof *fresh);
	for (uint32_t i = 0; fresh && w->table && i <= w->mask; i++)
		if (w->table[i].row)
			*find_entry(fresh, n - 1, &w->table[i].key) = w->table[i];
	if (!fresh)
		return false;
	free(w->table);
	w->table = fresh;
	w->last = NULL;
	w->mask = n - 1;
	return true;
}

struct sp_raw_wait *sp_waits_add(struct sp_thread *t, const struct sp_wait_key *key, uint32_t file, uint32_t line)
{
	int error = errno;
	struct sp_waits *w = waits_of(t);
	struct sp_raw_wait *row = NULL;
	if (w && w->n < MAX_ROWS && ((w->table && w->n * 2 <= w->mask) || table_grow(w)))
		row = sp_rows_next(t, SP_RAW_WAITS, sizeof *row, &w->chunk);
	if (row) {
		*row = (struct sp_raw_wait){.node = key->node,
		                            .object = key->object,
		                            .kind = (uint16_t)key->kind,
		                            .file = file,
		                            .line = line,
		                            .holder = key->holder,
		                            .number = w->n + 1,
		                            .holder_node = key->holder_node};
		struct entry *e = find_entry(w->table, w->mask, key);
		e->key = *key;
		e->row = row;
		w->n++;
		sp_rows_added(w->chunk);
	} else if (!__atomic_exchange_n(&missing, true, __ATOMIC_RELAXED)) {
		static const char why[] = "waits at some places, because there were too many places in a thread";
		sp_define_meta("missing_places", why, sizeof why - 1);
	}
	errno = error;
	return row;
}

/* Adds to a count of an object. For the GIL and for objects of the C library several threads count at the same time; a
 * waiter for one of Python's own objects holds the GIL, if there is one. */
static inline void count_for(const struct sp_raw_object *o, uint64_t *number, uint64_t more)
{
	enum { SHARED = 1 << SP_RAW_WAIT_THREAD | 1 << SP_RAW_WAIT_FILE_LOCK };
	if (SP_LIKELY(o->kind < SP_RAW_WAIT_GIL && !(SHARED >> o->kind & 1) && !sp_waits_parallel))
		*number += more;
	else
		__atomic_fetch_add(number, more, __ATOMIC_RELAXED);
}

static void show_innermost(struct sp_waits *all)
{
	__atomic_store_n(&all->row, all->depth ? all->open[all->depth - 1].row : NULL, __ATOMIC_RELEASE);
}

/* Removes the innermost wait without an end: no thread waits there any more. */
SP_COLD static void give_up_innermost(struct sp_waits *all)
{
	struct sp_raw_wait *row = all->open[--all->depth].row;
	if (row)
		__atomic_store_n(&row->since, 0, __ATOMIC_RELAXED);
	show_innermost(all);
}

bool sp_waits_within(struct sp_thread *t, const struct sp_wait *w)
{
	struct sp_waits *all = t->waits;
	while (all && all->depth && (const char *)all->open[all->depth - 1].wait <= (const char *)w)
		give_up_innermost(all);
	return all && all->depth;
}

/* Waits beyond the maximum depth do not count as inside another one. */
static void push(struct sp_waits *all, const struct sp_wait *w)
{
	if (all->depth == DEEPEST)
		return;
	all->open[all->depth++] = (struct open){w, w->row, 0};
	show_innermost(all);
}

/* Removes a wait and returns its exclusive time in ticks. A wait for the GIL is not in the list, nor is one that was
 * given up. */
static uint64_t pop(struct sp_waits *all, const struct sp_wait *w, uint64_t took)
{
	unsigned level = all ? all->depth : 0;
	uint64_t inner = 0;
	while (level && all->open[level - 1].wait != w)
		level--;
	if (level) {
		while (all->depth > level)
			give_up_innermost(all);
		inner = all->open[--all->depth].inner;
		show_innermost(all);
	}
	if (all && all->depth)
		all->open[all->depth - 1].inner += took;
	return took > inner ? took - inner : 0;
}

SP_WAITS_TOGETHER void sp_wait_begin(struct sp_wait *w, struct sp_thread *t, uint64_t node, struct sp_raw_wait *row,
                                     struct sp_raw_object *object, unsigned flags)
{
	struct sp_waits *all = waits_of(t);
	sp_waits_within(t, w);
	*w = (struct sp_wait){
	    .t = t, .row = row, .object = object, .node = node, .process = sp_adapter_read(&sp_adapter_process)};
	/* a wait for the GIL ends without the GIL, possibly while another thread searches for a cycle; no other wait
	 * is inside it */
	if (all && (!row || row->kind != SP_RAW_WAIT_GIL))
		push(all, w);
	w->begin = sp_ticks();
	if (row) {
		/* release order: a reader that sees the time also sees the flags */
		__atomic_store_n(&row->flags, (uint16_t)flags, __ATOMIC_RELAXED);
		__atomic_store_n(&row->since, w->begin, __ATOMIC_RELEASE);
	}
	if (object)
		count_for(object, &object->contended, 1);
	if (SP_UNLIKELY(t->traced) && row) {
		const uint64_t payload[2] = {(uint64_t)row->object | (uint64_t)row->kind << 32, row->number};
		sp_extra_at(t, SP_RAW_X_WAIT_BEGIN, payload, 2, w->begin);
	}
}

SP_WAITS_TOGETHER bool sp_wait_end(struct sp_wait *w, bool got)
{
	struct sp_thread *t = w->t;
	if (sp_self != t || w->process != sp_adapter_read(&sp_adapter_process))
		return false;
	const uint64_t end = sp_ticks(), took = sp_ticks_between(w->begin, end);
	const uint64_t own = pop(t->waits, w, took);
	w->took = took;
	struct sp_raw_wait *row = w->row;
	if (row) {
		row->count++;
		row->ticks += own;
		if (own > row->longest)
			row->longest = own;
		__atomic_store_n(&row->since, 0, __ATOMIC_RELAXED);
	}
	if (w->object)
		count_for(w->object, &w->object->waited, own);
	if (!sp_recording || t->epoch != sp_epoch)
		return true; /* paused meanwhile: no frame is open for it */
	sp_off_cpu_waited(t, own);
	if (SP_UNLIKELY(t->traced) && row) {
		const uint64_t payload[2] = {(uint64_t)row->object | (uint64_t)row->kind << 32, got};
		sp_extra_at(t, SP_RAW_X_WAIT_END, payload, 2, end);
	}
	struct sp_raw_node *n = (struct sp_raw_node *)w->node;
	const size_t time = time_at, count = count_at;
	if (n != t->root && time && count) {
		*(uint64_t *)((char *)n + time) += sp_waits_ns(own, end);
		*(uint64_t *)((char *)n + count) += 1;
	}
	return true;
}

void sp_wait_move(struct sp_wait *w, struct sp_raw_wait *row)
{
	if (!row)
		return;
	if (w->row) {
		__atomic_store_n(&row->flags, w->row->flags, __ATOMIC_RELAXED);
		__atomic_store_n(&w->row->since, 0, __ATOMIC_RELAXED);
	}
	w->row = row;
}

void sp_wait_drop(struct sp_wait *w)
{
	struct sp_thread *t = w->t;
	if (sp_self != t || w->process != sp_adapter_read(&sp_adapter_process))
		return;
	pop(t->waits, w, 0);
	if (w->row)
		__atomic_store_n(&w->row->since, 0, __ATOMIC_RELAXED);
	if (w->object)
		count_for(w->object, &w->object->contended, UINT64_MAX); /* subtracts 1 */
	if (SP_UNLIKELY(t->traced) && w->row && sp_recording && t->epoch == sp_epoch) {
		const uint64_t payload[2] = {(uint64_t)w->row->object | (uint64_t)w->row->kind << 32, SP_RAW_WAIT_NONE};
		sp_extra_at(t, SP_RAW_X_WAIT_END, payload, 2, sp_ticks());
	}
}

bool sp_wait_begin_gil(struct sp_wait *w, struct sp_thread *t)
{
	struct sp_raw_object *o = sp_object_gil();
	uint64_t unnamed = 0;
	const struct sp_wait_key key = {.node = (uint64_t)sp_stack_node(t, &unnamed),
	                                .object = o ? o->id : 0,
	                                .holder = SP_RAW_NONE,
	                                .kind = SP_RAW_WAIT_GIL};
	struct sp_raw_wait *row = o ? sp_waits_find(t, &key) : NULL;
	if (o && !row)
		row = sp_waits_add(t, &key, 0, 0);
	if (row)
		sp_wait_begin(w, t, key.node, row, o, SP_RAW_WAIT_TIMED | SP_RAW_WAIT_FOR_NEWS);
	return row;
}

/* ---- deadlock cycles ---- */

/* Returns the object that a location waits for without a timeout, and the lock holder. Returns false if it does not
 * wait or the object has no living holder. Rows exist as long as their thread, which cannot end while the process lock
 * is held. */
static bool waits_for(uint32_t location, struct sp_raw_deadlock *link, uint32_t *holder)
{
	const struct sp_thread *t = sp_process.threads;
	while (t && t->loc.id != location)
		t = t->next;
	const struct sp_waits *waits = t ? __atomic_load_n(&t->waits, __ATOMIC_ACQUIRE) : NULL;
	const struct sp_raw_wait *row = waits ? __atomic_load_n(&waits->row, __ATOMIC_ACQUIRE) : NULL;
	const uint64_t since = row ? __atomic_load_n(&row->since, __ATOMIC_ACQUIRE) : 0;
	const bool timed = since && __atomic_load_n(&row->flags, __ATOMIC_RELAXED) & SP_RAW_WAIT_TIMED;
	const struct sp_raw_object *o = since && !timed ? sp_object_of(row->object) : NULL;
	const uint32_t held_by = o ? sp_object_holder(o) : SP_RAW_NONE;
	if (held_by >= SP_RAW_HOLDER_GONE)
		return false;
	*link = (struct sp_raw_deadlock){location, o->id, since, row->node};
	*holder = held_by;
	return true;
}

/* Finds the deadlock cycle that begins at a location. Returns its length; 0: no cycle. Needs the process lock. */
static size_t circle_from(uint32_t first, struct sp_raw_deadlock *cycle)
{
	uint32_t location = first;
	size_t n = 0;
	do
		if (n == MAX_CYCLE || !waits_for(location, &cycle[n++], &location))
			return 0;
	while (location != first);
	return n;
}

void sp_waits_find_cycle(const struct sp_wait *w)
{
	struct sp_raw_deadlock cycle[MAX_CYCLE], again[MAX_CYCLE];
	if (!w->row || w->row->flags & SP_RAW_WAIT_TIMED)
		return;
	pthread_mutex_lock(&sp_process.lock);
	size_t n = circle_from(w->t->loc.id, cycle);
	/* waits of threads without the GIL may have changed during the search: a real cycle persists */
	if (n && (circle_from(w->t->loc.id, again) != n || memcmp(cycle, again, n * sizeof *cycle)))
		n = 0;
	pthread_mutex_unlock(&sp_process.lock);
	const struct sp_text text = {(const char *)cycle, n * sizeof *cycle};
	if (n)
		sp_define(SP_RAW_DEF_DEADLOCK, 0, 0, 0, &text, 1);
}

/* ---- begin and end ---- */

void sp_waits_restart(struct sp_thread *t)
{
	pthread_mutex_lock(&sp_process.lock);
	sp_rows_discard(t->waits ? t->waits->chunk : NULL);
	sp_waits_free(t, false);
	pthread_mutex_unlock(&sp_process.lock);
}

void sp_waits_free(struct sp_thread *t, bool done)
{
	struct sp_waits *w = __atomic_exchange_n(&t->waits, NULL, __ATOMIC_ACQUIRE);
	if (!w)
		return;
	if (done)
		sp_rows_done(w->chunk);
	free(w->table);
	free(w);
}
