/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits: reads those of one process, and collects those of all processes. */

#include "base/grow.h"
#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/stack_reader.h"
#include "model/builder/steps.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

const char *const sp_lock_kind_names[SP_LOCK_KINDS] = {
    "other",     "lock",   "rlock",        "condition", "semaphore", "event",  "barrier",        "queue",
    "thread",    "future", "process_lock", "process",   "pipe",      "sleep",  "select",         "socket",
    "file_lock", "gil",    "mutex",        "cond",      "sem",       "rwlock", "pthread_barrier"};

int sp_build_lock_record(struct sp_loading *l, const struct sp_str *text)
{
	struct sp_lock_defs *d = &l->locks;

	if (!sp_grow(&d->records, d->n_records, &d->record_capacity, sizeof(*d->records)))
		return -1;
	d->records[d->n_records++] = *text;
	return 0;
}

void sp_lock_defs_free(struct sp_lock_defs *d)
{
	free(d->records);
	d->records = NULL;
}

/* ---- one process ---- */

struct reading {
	struct sp_builder *b;
	struct sp_loading *l;
	struct sp_raw_file *f;
	struct sp_stack_reader stacks;
};

static uint32_t string_of(const struct reading *r, uint32_t id)
{
	const struct sp_ids *ids = &r->l->source->strings;

	return id && id < ids->n && ids->to[id] ? ids->to[id] - 1 : SP_NONE;
}

static int read_lock(struct reading *r, const struct sp_raw_object *o, struct sp_lock *out, size_t n)
{
	*out = (struct sp_lock){.number = o->id,
	                        .kind = o->kind < SP_LOCK_KINDS ? (uint8_t)o->kind : SP_LOCK_OTHER,
	                        .freed = o->freed,
	                        .gone = o->holder == SP_RAW_HOLDER_GONE,
	                        .address = o->address,
	                        .type = string_of(r, o->type),
	                        .user = o->user && o->user <= n ? o->user - 1 : SP_NONE,
	                        .made_file = string_of(r, o->made_file),
	                        .made_line = o->made_line,
	                        .made_by = sp_stack_reader_location(&r->stacks, o->made_by),
	                        .holder = sp_stack_reader_location(&r->stacks, o->holder),
	                        .since = o->since,
	                        .count = o->count,
	                        .contended = o->contended,
	                        .waited = o->waited,
	                        .held = o->held};
	return sp_stack_reader_find(&r->stacks, out->holder, o->holder_node, &out->holder_stack);
}

/* Reads the locks. Their ids are their positions in the chunks; an inconsistent chunk ends the list. */
static int read_locks(struct reading *r, struct sp_lock_defs *d)
{
	const struct sp_raw_part *p, *end;
	struct sp_raw_object o;
	size_t n = 0, i;

	if (!r->f->objects.count)
		return 0;
	p = r->f->parts + r->f->objects.first;
	end = p + r->f->objects.count;
	for (const struct sp_raw_part *q = p; q < end && q->base == n; q++)
		n += q->used;
	d->locks = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*d->locks));
	if (!d->locks)
		return -1;
	for (; p < end && p->base == d->n_locks; p++)
		for (i = 0; i < p->used; i++) {
			memcpy(&o, (const struct sp_raw_object *)sp_raw_payload(r->f, p) + i, sizeof(o));
			if (o.id != d->n_locks + 1) {
				sp_raw_report(r->f, p->offset, "object %zu has the number %" PRIu32, d->n_locks + 1,
				              o.id);
				o.id = (uint32_t)d->n_locks + 1;
			}
			if (read_lock(r, &o, &d->locks[d->n_locks++], n))
				return -1;
		}
	if (p < end)
		sp_raw_report(r->f, p->offset, "objects of waits from %zu on are lost", d->n_locks);
	return 0;
}

/* Calls each() with every row of a thread; a result other than 0 ends the loop. */
typedef int row_fn(void *arg, const struct sp_raw_wait *w);
static int each_row(const struct sp_raw_file *f, const struct sp_raw_thread *t, row_fn *each, void *arg)
{
	const struct sp_raw_part *p = f->parts + t->waits.first, *end = p + t->waits.count;
	struct sp_raw_wait w;
	size_t i;
	int rc = 0;

	for (; p < end; p++)
		for (i = 0; i < p->used && rc == 0; i++) {
			memcpy(&w, (const struct sp_raw_wait *)sp_raw_payload(f, p) + i, sizeof(w));
			rc = each(arg, &w);
		}
	return rc;
}

/* The begins of a thread's outstanding waits. */
struct open_waits {
	uint64_t since[64]; /* at most 64 nested waits; more is damage */
	size_t n;
	uint64_t end; /* end of the thread; all times are ticks */
};

static int add_since(void *arg, const struct sp_raw_wait *w)
{
	struct open_waits *open = arg;

	if (w->since && open->n < sizeof(open->since) / sizeof(*open->since))
		open->since[open->n++] = w->since;
	return 0;
}

/* Duration of one of them: until the thread's end, or until another wait began within it. */
static uint64_t open_ticks(const struct open_waits *open, uint64_t since)
{
	uint64_t until = open->end;
	size_t i;

	for (i = 0; i < open->n; i++)
		if (open->since[i] > since && open->since[i] < until)
			until = open->since[i];
	return until > since ? until - since : 0;
}

static int read_wait(struct reading *r, uint32_t thread, const struct open_waits *open, const struct sp_raw_wait *w,
                     struct sp_lock_wait *out)
{
	const struct sp_lock_defs *d = &r->l->locks;

	*out = (struct sp_lock_wait){.location = thread,
	                             .number = w->number,
	                             .kind = w->kind < SP_LOCK_KINDS ? (uint8_t)w->kind : SP_LOCK_OTHER,
	                             .lock = w->object && w->object <= d->n_locks ? w->object - 1 : SP_NONE,
	                             .file = string_of(r, w->file),
	                             .line = w->line,
	                             .holder = sp_stack_reader_location(&r->stacks, w->holder),
	                             .count = w->count,
	                             .ns = w->ticks,
	                             .longest = w->longest,
	                             .open = w->since,
	                             .timed = w->flags & SP_RAW_WAIT_TIMED,
	                             .news = w->flags & SP_RAW_WAIT_FOR_NEWS,
	                             .since = w->since};
	if (w->since) {
		const uint64_t took = open_ticks(open, w->since);

		out->count++;
		out->ns += took;
		if (took > out->longest)
			out->longest = took;
	}
	return sp_stack_reader_find(&r->stacks, thread, w->node, &out->stack) ||
	       sp_stack_reader_find(&r->stacks, out->holder, w->holder_node, &out->holder_stack);
}

struct waits_of {
	struct reading *r;
	uint32_t thread;
	struct open_waits open;
};

static int read_row(void *arg, const struct sp_raw_wait *w)
{
	const struct waits_of *x = arg;
	struct sp_lock_defs *d = &x->r->l->locks;

	/* also rows that count nothing: waits in the trace may have begun there, before their holder was known */
	return read_wait(x->r, x->thread, &x->open, w, &d->waits[d->n_waits++]);
}

static int read_waits(struct reading *r, struct sp_lock_defs *d)
{
	size_t n = 0, i, k;

	for (i = 0; i < r->f->n_threads; i++)
		for (k = 0; k < r->f->threads[i].waits.count; k++)
			n += r->f->parts[r->f->threads[i].waits.first + k].used;
	d->waits = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*d->waits));
	if (!d->waits)
		return -1;
	for (i = 0; i < r->f->n_threads; i++) {
		struct waits_of x = {r, (uint32_t)i, {.end = r->l->places[i].end}};

		each_row(r->f, &r->f->threads[i], add_since, &x.open);
		if (each_row(r->f, &r->f->threads[i], read_row, &x))
			return -1;
	}
	return 0;
}

static int read_circles(struct reading *r, struct sp_lock_defs *d)
{
	size_t i, k;

	d->cycles = sp_arena_zalloc(&r->b->priv->arena, d->n_records, sizeof(*d->cycles));
	if (!d->cycles)
		return -1;
	for (i = 0; i < d->n_records; i++) {
		const size_t n = d->records[i].n / sizeof(struct sp_raw_deadlock);
		struct sp_lock_cycle *c = &d->cycles[d->n_cycles];
		struct sp_raw_deadlock raw;

		*c = (struct sp_lock_cycle){.interrupted = true, .n = (uint32_t)n};
		c->links = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*c->links));
		if (!c->links)
			return -1;
		for (k = 0; k < n; k++) {
			memcpy(&raw, d->records[i].p + k * sizeof(raw), sizeof(raw));
			c->links[k].location = sp_stack_reader_location(&r->stacks, raw.location);
			c->links[k].lock = raw.object - 1;
			c->links[k].since = raw.since;
			if (c->links[k].location == SP_NONE || !raw.object || raw.object > d->n_locks)
				break;
		}
		if (n && k == n)
			d->n_cycles++;
		else
			sp_raw_report(r->f, 0, "the record of a deadlock is damaged");
	}
	return 0;
}

int sp_build_lock_process(struct sp_builder *b, struct sp_loading *l)
{
	struct reading r = {.b = b, .l = l, .f = l->source->raw};
	struct sp_lock_defs *d = &l->locks;
	int rc;

	sp_stack_reader_open(&r.stacks, b, l);
	rc = read_locks(&r, d) || read_waits(&r, d) || read_circles(&r, d) ? -1 : 0;
	sp_lock_defs_free(d);
	d->n_records = d->record_capacity = 0;
	return rc;
}

/* ---- outstanding waits, added to columns of the call tree; the thread itself adds a wait only at its end ---- */

enum { WAIT_TIME, WAITS, GIL_WAIT, COLUMNS };

struct adding {
	const struct sp_raw_file *f;
	const struct sp_raw_thread *t;
	const struct sp_clock *clock;
	struct open_waits open;
	sp_node_row_fn *row;
	void *arg;
	size_t at[COLUMNS]; /* index of the column in a row; SIZE_MAX: not defined */
};

static int add_open(void *arg, const struct sp_raw_wait *w)
{
	struct adding *a = arg;
	const uint32_t node = w->since ? sp_raw_node_index(a->f, a->t, w->node) : SP_RAW_NONE;
	uint32_t path = SP_NONE;
	uint64_t *values, ns;
	int i;

	if (node == SP_RAW_NONE || !node)
		return 0;
	if (a->row(a->arg, node, &path, &values))
		return -1;
	ns = sp_clock_length(a->clock, open_ticks(&a->open, w->since));
	for (i = 0; i < COLUMNS && path != SP_NONE; i++)
		if (a->at[i] != SIZE_MAX && (i != GIL_WAIT || w->kind == SP_RAW_WAIT_GIL))
			values[a->at[i]] += i == WAITS ? 1 : ns;
	return 0;
}

int sp_build_open_waits(const struct sp_builder *b, const struct sp_loading *l, const struct sp_raw_thread *t,
                        uint64_t end, sp_node_row_fn *row, void *arg)
{
	static const char *const names[COLUMNS] = {
	    [WAIT_TIME] = "wait_time", [WAITS] = "waits", [GIL_WAIT] = "gil_wait"};
	const struct sp_raw_file *f = l->source->raw;
	struct adding a = {f, t, &l->source->clock, {.end = end}, row, arg, {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
	size_t k;
	int i;

	/* a wait that began before a pause is not counted */
	if (f->header.flags & SP_RAW_FLAG_PAUSED)
		return 0;
	for (k = 0; k < b->m->n_metrics; k++)
		for (i = 0; i < COLUMNS && b->m->metrics[k].kind == SP_METRIC_WAIT; i++)
			if (strcmp(b->m->metrics[k].name.p, names[i]) == 0)
				a.at[i] = k;
	if (a.at[WAIT_TIME] == SIZE_MAX)
		return 0;
	each_row(f, t, add_since, &a.open);
	return each_row(f, t, add_open, &a);
}

/* ---- all processes ---- */

static void place(uint32_t *location, uint32_t first)
{
	if (*location != SP_NONE)
		*location += first;
}

static void place_process(struct sp_model *m, const struct sp_loading *l, uint32_t process)
{
	const struct sp_lock_defs *d = &l->locks;
	const struct sp_clock *c = &l->source->clock;
	const uint32_t first = m->processes[process].first_location, locks = (uint32_t)m->n_locks;
	size_t i, k;

	for (i = 0; i < d->n_locks; i++) {
		struct sp_lock *o = &m->locks[m->n_locks++];

		*o = d->locks[i];
		o->process = process;
		place(&o->user, locks);
		place(&o->made_by, first);
		place(&o->holder, first);
		o->since = o->since ? sp_clock_ns(c, o->since) : 0;
		o->waited = sp_clock_length(c, o->waited);
		o->held = sp_clock_length(c, o->held);
	}
	for (i = 0; i < d->n_waits; i++) {
		struct sp_lock_wait *w = &m->lock_waits[m->n_lock_waits++];

		*w = d->waits[i];
		place(&w->location, first);
		place(&w->lock, locks);
		place(&w->holder, first);
		w->ns = sp_clock_length(c, w->ns);
		w->longest = sp_clock_length(c, w->longest);
		w->since = w->open ? sp_clock_ns(c, w->since) : 0;
	}
	for (i = 0; i < d->n_cycles; i++) {
		struct sp_lock_cycle *o = &m->lock_cycles[m->n_lock_cycles++];

		*o = d->cycles[i];
		o->process = process;
		for (k = 0; k < o->n; k++) {
			place(&o->links[k].location, first);
			place(&o->links[k].lock, locks);
			o->links[k].since = sp_clock_ns(c, o->links[k].since);
		}
	}
}

/* The last outstanding wait of a location that only another thread can end; NULL: no such wait. */
static const struct sp_lock_wait *open_wait(const struct sp_model *m, const uint32_t *open, uint32_t location)
{
	const struct sp_lock_wait *w = open[location] ? &m->lock_waits[open[location] - 1] : NULL;

	return w && w->lock != SP_NONE && !w->timed && !w->news ? w : NULL;
}

/* Follows the locations from one on, each of which waits for what the next one holds, until one was already visited. If
 * the chain returns to one of its locations, it is a cycle, and lengths[its smallest index] becomes the cycle's
 * length. */
static void follow(const struct sp_model *m, const uint32_t *open, uint32_t from, uint32_t *met, uint32_t *lengths)
{
	const struct sp_lock_wait *w;
	uint32_t at = from, smallest, n, end;

	while (at < m->n_locations && !met[at] && (w = open_wait(m, open, at))) {
		met[at] = from + 1;
		at = m->locks[w->lock].holder;
	}
	if (at >= m->n_locations || met[at] != from + 1)
		return;
	end = smallest = at;
	n = 0;
	do {
		n++;
		at = m->locks[open_wait(m, open, at)->lock].holder;
		if (at < smallest)
			smallest = at;
	} while (at != end);
	lengths[smallest] = n;
}

static int add_circle(struct sp_builder *b, const uint32_t *open, uint32_t first, uint32_t n)
{
	struct sp_model *m = b->m;
	struct sp_lock_cycle *c = &m->lock_cycles[m->n_lock_cycles];
	uint32_t at = first, i;

	*c = (struct sp_lock_cycle){.process = m->locations[first].process, .n = n};
	c->links = sp_arena_zalloc(&b->priv->arena, n, sizeof(*c->links));
	if (!c->links)
		return -1;
	m->n_lock_cycles++;
	for (i = 0; i < n; i++) {
		const struct sp_lock_wait *w = open_wait(m, open, at);

		c->links[i] = (struct sp_lock_link){at, w->lock, w->since};
		at = m->locks[w->lock].holder;
	}
	return 0;
}

/* Finds the deadlock cycles at the end of the run. */
static int find_circles(struct sp_builder *b)
{
	struct sp_model *m = b->m;
	const size_t n = m->n_locations;
	uint32_t *open = calloc(3 * n + 1, sizeof(*open)), *met, *lengths, i;
	int rc = 0;

	if (!open)
		return -1;
	met = open + n;
	lengths = met + n;
	for (i = 0; i < m->n_lock_waits; i++) {
		const struct sp_lock_wait *w = &m->lock_waits[i];

		if (w->open && (!open[w->location] || m->lock_waits[open[w->location] - 1].since < w->since))
			open[w->location] = i + 1;
	}
	for (i = 0; i < n; i++)
		follow(m, open, i, met, lengths);
	for (i = 0; i < n && rc == 0; i++)
		if (lengths[i])
			rc = add_circle(b, open, i, lengths[i]);
	free(open);
	return rc;
}

int sp_build_locks(struct sp_builder *b, struct sp_err *e)
{
	struct sp_arena *arena = &b->priv->arena;
	struct sp_model *m = b->m;
	size_t n[3] = {0}, i;

	for (i = 0; i < b->n_loading; i++) {
		n[0] += b->loading[i].locks.n_locks;
		n[1] += b->loading[i].locks.n_waits;
		n[2] += b->loading[i].locks.n_cycles;
	}
	m->locks = sp_arena_zalloc(arena, n[0], sizeof(*m->locks));
	m->lock_waits = sp_arena_zalloc(arena, n[1], sizeof(*m->lock_waits));
	/* a location is in at most one cycle */
	m->lock_cycles = sp_arena_zalloc(arena, n[2] + (n[1] ? m->n_locations : 0), sizeof(*m->lock_cycles));
	if (!m->locks || !m->lock_waits || !m->lock_cycles)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++)
		place_process(m, &b->loading[i], (uint32_t)i);
	return n[1] && find_circles(b) ? sp_model_no_memory(e) : 0;
}

void sp_lock_def_regions(struct sp_lock_defs *d, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	size_t i;

	for (i = 0; i < d->n_locks; i++)
		sp_stack_regions(&d->locks[i].holder_stack, visit, arg);
	for (i = 0; i < d->n_waits; i++) {
		sp_stack_regions(&d->waits[i].stack, visit, arg);
		sp_stack_regions(&d->waits[i].holder_stack, visit, arg);
	}
}

void sp_build_lock_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	struct sp_lock_defs d = {
	    .locks = m->locks, .n_locks = m->n_locks, .waits = m->lock_waits, .n_waits = m->n_lock_waits};

	sp_lock_def_regions(&d, visit, arg);
}
