/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits. A wait is a slice within the call that waits. If a lock is acquired after a wait, an arrow leads
 * from its release to the acquisition. Other acquisitions and releases are not shown, because there may be millions of
 * them without contention. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/timeline/timeline.h"

enum { BATCH = 1024 };

/* The acquisition of a lock with this acquisition count, after a wait. */
struct sp_timeline_acquisition {
	uint64_t number;
	uint32_t lock;
};

/* ---- first pass: which acquisitions followed a wait ---- */

static int by_lock(const void *a, const void *b)
{
	const struct sp_timeline_acquisition *p = a, *q = b;

	if (p->lock != q->lock)
		return p->lock < q->lock ? -1 : 1;
	return p->number < q->number ? -1 : p->number > q->number;
}

struct finding {
	struct sp_timeline *t;
	size_t capacity;
	uint32_t waited; /* the lock of the last wait, if it has just succeeded; SP_NONE: no such wait */
};

static int add_acquisition(struct finding *f, const struct sp_event *ev)
{
	struct sp_timeline *t = f->t;

	if (ev->kind == SP_EVENT_WAIT_END && ev->u.pair.second == SP_WAIT_ACQUIRED) {
		f->waited = ev->id;
	} else if (ev->kind == SP_EVENT_LOCK_ACQUIRE && ev->id == f->waited && ev->u.uint) {
		if (!sp_grow(&t->acquisitions, t->n_acquisitions, &f->capacity, sizeof *t->acquisitions))
			return -1;
		t->acquisitions[t->n_acquisitions++] = (struct sp_timeline_acquisition){ev->u.uint, ev->id};
		f->waited = SP_NONE;
	}
	return 0;
}

static int look_in(struct finding *f, uint32_t location)
{
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n, i;
	int rc = 0;

	f->waited = SP_NONE;
	if (sp_events_open(&events, f->t->m, location, f->t->e))
		return -1;
	while (rc == 0 && (n = sp_events_read(events, batch, BATCH, f->t->e)) != 0) {
		for (i = 0; i < n && rc == 0; i++)
			rc = add_acquisition(f, &batch[i]);
		if (rc)
			sp_fail(f->t->e, ENOMEM, "out of memory");
		if (n < 0)
			rc = -1;
	}
	sp_events_close(events);
	return rc;
}

/* Whether the events of a location can contain locks. */
static bool has_locks(const struct sp_model *m, uint32_t location)
{
	const struct sp_process *p = &m->processes[m->locations[location].process];
	size_t low = 0, high = m->n_locks;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->locks[middle].process < m->locations[location].process)
			low = middle + 1;
		else
			high = middle;
	}
	return p->traced && low < m->n_locks && m->locks[low].process == m->locations[location].process;
}

int sp_timeline_find_locks(struct sp_timeline *t)
{
	struct finding f = {.t = t};

	if (t->m->n_locks == 0)
		return 0;
	if (sp_lock_names(&t->lock_names, t->m, &t->arena))
		return sp_fail(t->e, ENOMEM, "out of memory");
	for (uint32_t l = t->k.first; l < t->k.end; l++)
		if (has_locks(t->m, l) && look_in(&f, l))
			return -1;
	if (t->n_acquisitions)
		qsort(t->acquisitions, t->n_acquisitions, sizeof *t->acquisitions, by_lock);
	return 0;
}

/* Makes the arrow to the acquisition of a lock with this count; false: that one did not follow a wait. */
static bool arrow(const struct sp_timeline *t, uint32_t lock, uint64_t number, struct sp_flow *out)
{
	const struct sp_timeline_acquisition key = {number, lock}, *found = NULL;

	if (t->n_acquisitions)
		found = bsearch(&key, t->acquisitions, t->n_acquisitions, sizeof key, by_lock);
	if (found)
		*out = (struct sp_flow){.id = sp_flow_id(SP_FLOW_LOCK, (uint64_t)(found - t->acquisitions))};
	return found;
}

/* ---- second pass: while events are written ---- */

static struct sp_str joined(struct sp_timeline *t, const char *what, struct sp_str name)
{
	char *text = sp_arena_alloc(&t->arena, strlen(what) + name.n + 1);

	if (!text)
		return sp_text(what);
	char *end = mempcpy(stpcpy(text, what), name.p, name.n);
	*end = 0;
	return (struct sp_str){text, (size_t)(end - text)};
}

/* The name of waits for a lock, made once. */
static struct sp_str wait_name(struct sp_timeline *t, const struct sp_event *ev)
{
	if (ev->id == SP_NONE || ev->u.pair.first == SP_LOCK_GIL)
		return sp_text(sp_lock_wait_words[ev->u.pair.first]);
	if (!t->wait_names)
		t->wait_names = sp_arena_zalloc(&t->arena, t->m->n_locks, sizeof *t->wait_names);
	if (!t->wait_names)
		return sp_text(sp_lock_wait_words[ev->u.pair.first]);
	if (!t->wait_names[ev->id].p)
		t->wait_names[ev->id] = joined(t, "waiting for ", t->lock_names[ev->id]);
	return t->wait_names[ev->id];
}

/* Adds the notes of a row of waits: source location and lock holder. */
static void say_row(const struct sp_model *m, const struct sp_lock_wait *w, struct sp_notes *n)
{
	if (w->holder != SP_NONE)
		sp_notes_text(n, "held by", m->locations[w->holder].name);
	if (w->holder_stack.n)
		sp_notes_text(n, "which acquired it in",
		              m->regions[w->holder_stack.regions[w->holder_stack.n - 1]].name);
	if (w->file != SP_NONE)
		sp_notes_text(n, "file", m->strings[w->file]);
	if (w->line)
		sp_notes_uint(n, "line", w->line);
}

static void say_lock(const struct sp_model *m, uint32_t lock, struct sp_notes *n)
{
	const struct sp_lock *o = &m->locks[lock];

	if (o->made_file == SP_NONE)
		return;
	sp_notes_text(n, "made in", m->strings[o->made_file]);
	if (o->made_line)
		sp_notes_uint(n, "at line", o->made_line);
}

static void put_begin(struct sp_timeline *t, const struct sp_event *ev)
{
	struct sp_notes n = {.n = 0};

	sp_notes_text(&n, "for", sp_text(sp_lock_kind_names[ev->u.pair.first]));
	if (ev->u.pair.second != SP_NONE)
		say_row(t->m, &t->m->lock_waits[ev->u.pair.second], &n);
	if (ev->id != SP_NONE)
		say_lock(t->m, ev->id, &n);
	t->sink->mark(t->to, &(struct sp_mark){.time = ev->time,
	                                       .kind = SP_MARK_BEGIN,
	                                       .region = SP_NONE,
	                                       .name = wait_name(t, ev),
	                                       .category = ev->u.pair.first == SP_LOCK_GIL ? "gil" : "lock",
	                                       .also = "wait",
	                                       .notes = n.all,
	                                       .n_notes = n.n});
}

/* Ends a wait. A wait that had not ended stays open if its end is unknown. */
static void put_end(struct sp_timeline *t, const struct sp_event *ev)
{
	struct sp_notes n = {.n = 0};

	if (t->open && ev->u.pair.second == SP_WAIT_OPEN)
		return;
	if (sp_lock_end_words[ev->u.pair.second])
		sp_notes_text(&n, "ended", sp_text(sp_lock_end_words[ev->u.pair.second]));
	t->sink->mark(t->to, &(struct sp_mark){.time = ev->time,
	                                       .kind = SP_MARK_END,
	                                       .region = SP_NONE,
	                                       .category = "lock",
	                                       .notes = n.all,
	                                       .n_notes = n.n});
}

static void put_lock(struct sp_timeline *t, const struct sp_event *ev)
{
	const bool acquisitions = ev->kind == SP_EVENT_LOCK_ACQUIRE;
	struct sp_notes n = {.n = 0};
	struct sp_flow flow;

	/* the next acquisition has the next count */
	if (!arrow(t, ev->id, acquisitions ? ev->u.uint : ev->u.uint + 1, &flow))
		return;
	flow.in = acquisitions;
	sp_notes_text(&n, "lock", t->lock_names[ev->id]);
	sp_timeline_instant(t, ev->time, acquisitions ? "lock acquired" : "lock released", "lock", &n, &flow, 1);
}

void sp_timeline_wait(struct sp_timeline *t, const struct sp_event *ev)
{
	if (ev->kind == SP_EVENT_WAIT_BEGIN) {
		put_begin(t, ev);
		t->waits++;
	} else if (ev->kind == SP_EVENT_WAIT_END) {
		put_end(t, ev);
		t->waits--;
	} else
		put_lock(t, ev);
}
