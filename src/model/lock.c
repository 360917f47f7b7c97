/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits: what one process says, and those of all processes. */
#include "model/private.h"

#include "base/grow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4096 };

const char *const sp_lock_kind_names[SP_LOCK_KINDS] = {
    "other",     "lock",   "rlock",        "condition", "semaphore", "event",  "barrier",        "queue",
    "thread",    "future", "process_lock", "process",   "pipe",      "sleep",  "select",         "socket",
    "file_lock", "gil",    "mutex",        "cond",      "sem",       "rwlock", "pthread_barrier"};

int sp_build_lock_record(struct sp_loading *l, const struct sp_str *text)
{
	struct sp_lock_defs *d = &l->locks;

	if (!sp_grow(&d->records, d->n_records, &d->record_room, sizeof(*d->records)))
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
	const struct sp_raw_file *f;
};

static uint32_t string_of(const struct reading *r, uint32_t id)
{
	const struct sp_ids *ids = &r->l->source->strings;

	return id && id < ids->n && ids->to[id] ? ids->to[id] - 1 : SP_NONE;
}

/* The place of a location among those of the file. */
static uint32_t thread_of(const struct reading *r, uint32_t id)
{
	size_t i;

	if (id < r->f->n_threads && r->f->threads[id].state.id == id)
		return id;
	for (i = 0; i < r->f->n_threads; i++)
		if (r->f->threads[i].state.id == id)
			return (uint32_t)i;
	return SP_NONE;
}

/* The regions from the root to a node, without those of values of parameters. */
static int stack_of(const struct reading *r, uint32_t thread, uint64_t pointer, struct sp_stack *out)
{
	const struct sp_ids *ids = &r->l->source->regions;
	const struct sp_raw_thread *t = thread == SP_NONE ? NULL : &r->f->threads[thread];
	uint32_t index = t && pointer ? sp_raw_node_index(r->f, t, pointer) : SP_RAW_NONE, stack[DEEPEST], n = 0, i;
	struct sp_raw_node node;

	*out = (struct sp_stack){NULL, 0};
	while (index != SP_RAW_NONE && index && n < DEEPEST && sp_raw_node_at(r->f, t, index, &node) &&
	       node.parent < index) {
		if (node.region < ids->n && ids->to[node.region] &&
		    r->b->m->regions[ids->to[node.region] - 1].kind != SP_REGION_PARAMETER)
			stack[n++] = ids->to[node.region] - 1;
		index = node.parent;
	}
	out->regions = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*out->regions));
	if (!out->regions)
		return -1;
	out->n = n;
	for (i = 0; i < n; i++)
		out->regions[i] = stack[n - 1 - i];
	return 0;
}

static int read_lock(const struct reading *r, const struct sp_raw_object *o, struct sp_lock *out, size_t n)
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
	                        .made_by = thread_of(r, o->made_by),
	                        .holder = thread_of(r, o->holder),
	                        .since = o->since,
	                        .count = o->count,
	                        .contended = o->contended,
	                        .waited = o->waited,
	                        .held = o->held};
	return stack_of(r, out->holder, o->holder_node, &out->holder_stack);
}

/* Ids are the places in the chunks; what does not fit ends the list. */
static int read_locks(const struct reading *r, struct sp_lock_defs *d)
{
	const struct sp_raw_part *p = r->f->parts + r->f->objects.first, *end = p + r->f->objects.count;
	struct sp_raw_object o;
	size_t n = 0, i;

	for (const struct sp_raw_part *q = p; q < end && q->base == n; q++)
		n += q->used;
	d->locks = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*d->locks));
	if (!d->locks)
		return -1;
	for (; p < end && p->base == d->n_locks; p++)
		for (i = 0; i < p->used; i++) {
			memcpy(&o, (const struct sp_raw_object *)sp_raw_payload(r->f, p) + i, sizeof(o));
			if (o.id != d->n_locks + 1) {
				sp_raw_report((struct sp_raw_file *)r->f, p->offset,
				              "object %zu has the number %" PRIu32, d->n_locks + 1, o.id);
				o.id = (uint32_t)d->n_locks + 1;
			}
			if (read_lock(r, &o, &d->locks[d->n_locks++], n))
				return -1;
		}
	if (p < end)
		sp_raw_report((struct sp_raw_file *)r->f, p->offset, "objects of waits from %zu on are lost",
		              d->n_locks);
	return 0;
}

static int read_wait(const struct reading *r, uint32_t thread, const struct sp_raw_wait *w, struct sp_lock_wait *out)
{
	const struct sp_lock_defs *d = &r->l->locks;
	const uint64_t end = r->l->places[thread].end;

	*out = (struct sp_lock_wait){.location = thread,
	                             .kind = w->kind < SP_LOCK_KINDS ? (uint8_t)w->kind : SP_LOCK_OTHER,
	                             .lock = w->object && w->object <= d->n_locks ? w->object - 1 : SP_NONE,
	                             .file = string_of(r, w->file),
	                             .line = w->line,
	                             .holder = thread_of(r, w->holder),
	                             .count = w->count,
	                             .ns = w->ticks,
	                             .longest = w->longest,
	                             .open = w->since,
	                             .timed = w->flags & SP_RAW_WAIT_TIMED,
	                             .news = w->flags & SP_RAW_WAIT_FOR_NEWS,
	                             .since = w->since};
	if (w->since) {
		const uint64_t took = end > w->since ? end - w->since : 0;

		out->count++;
		out->ns += took;
		if (took > out->longest)
			out->longest = took;
	}
	return stack_of(r, thread, w->node, &out->stack) ||
	       stack_of(r, out->holder, w->holder_node, &out->holder_stack);
}

static int read_waits(const struct reading *r, struct sp_lock_defs *d)
{
	struct sp_raw_wait w;
	size_t n = 0, i, k, j;

	for (i = 0; i < r->f->n_threads; i++)
		for (k = 0; k < r->f->threads[i].waits.count; k++)
			n += r->f->parts[r->f->threads[i].waits.first + k].used;
	d->waits = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*d->waits));
	if (!d->waits)
		return -1;
	for (i = 0; i < r->f->n_threads; i++)
		for (k = 0; k < r->f->threads[i].waits.count; k++) {
			const struct sp_raw_part *p = &r->f->parts[r->f->threads[i].waits.first + k];

			for (j = 0; j < p->used; j++) {
				memcpy(&w, (const struct sp_raw_wait *)sp_raw_payload(r->f, p) + j, sizeof(w));
				if ((w.count || w.since) && read_wait(r, (uint32_t)i, &w, &d->waits[d->n_waits++]))
					return -1;
			}
		}
	return 0;
}

static int read_circles(const struct reading *r, struct sp_lock_defs *d)
{
	size_t i, k;

	d->circles = sp_arena_zalloc(&r->b->priv->arena, d->n_records, sizeof(*d->circles));
	if (!d->circles)
		return -1;
	for (i = 0; i < d->n_records; i++) {
		const size_t n = d->records[i].n / sizeof(struct sp_raw_deadlock);
		struct sp_lock_circle *c = &d->circles[d->n_circles];
		struct sp_raw_deadlock raw;

		*c = (struct sp_lock_circle){.interrupted = true, .n = (uint32_t)n};
		c->links = sp_arena_zalloc(&r->b->priv->arena, n, sizeof(*c->links));
		if (!c->links)
			return -1;
		for (k = 0; k < n; k++) {
			memcpy(&raw, d->records[i].p + k * sizeof(raw), sizeof(raw));
			c->links[k].location = thread_of(r, raw.location);
			c->links[k].lock = raw.object - 1;
			c->links[k].since = raw.since;
			if (c->links[k].location == SP_NONE || !raw.object || raw.object > d->n_locks)
				break;
		}
		if (n && k == n)
			d->n_circles++;
		else
			sp_raw_report((struct sp_raw_file *)r->f, 0, "the record of a deadlock is damaged");
	}
	return 0;
}

int sp_build_lock_process(struct sp_builder *b, struct sp_loading *l)
{
	const struct reading r = {b, l, l->source->raw};
	struct sp_lock_defs *d = &l->locks;

	if (read_locks(&r, d) || read_waits(&r, d) || read_circles(&r, d))
		return -1;
	sp_lock_defs_free(d);
	d->n_records = d->record_room = 0;
	return 0;
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
	for (i = 0; i < d->n_circles; i++) {
		struct sp_lock_circle *o = &m->lock_circles[m->n_lock_circles++];

		*o = d->circles[i];
		o->process = process;
		for (k = 0; k < o->n; k++) {
			place(&o->links[k].location, first);
			place(&o->links[k].lock, locks);
			o->links[k].since = sp_clock_ns(c, o->links[k].since);
		}
	}
}

/* The last wait of a location that has not ended and that only another thread can end; NULL: there is none. */
static const struct sp_lock_wait *open_wait(const struct sp_model *m, const uint32_t *open, uint32_t location)
{
	const struct sp_lock_wait *w = open[location] ? &m->lock_waits[open[location] - 1] : NULL;

	return w && w->lock != SP_NONE && !w->timed && !w->news ? w : NULL;
}

/* The circle that begins with a location, if it comes back to it and no smaller number is in it; its length. */
static uint32_t circle_from(const struct sp_model *m, const uint32_t *open, uint32_t location,
                            struct sp_lock_link *links)
{
	uint32_t n = 0, at = location;
	const struct sp_lock_wait *w;

	while ((w = open_wait(m, open, at)) && n < m->n_locations) {
		if (links)
			links[n] = (struct sp_lock_link){at, w->lock, w->since};
		n++;
		at = m->locks[w->lock].holder;
		if (at == location)
			return n;
		if (at == SP_NONE || at < location)
			return 0;
	}
	return 0;
}

/* What stands in a circle at the end. */
static int find_circles(struct sp_builder *b, size_t *n)
{
	struct sp_model *m = b->m;
	uint32_t *open = calloc(m->n_locations + 1, sizeof(*open)), i, length;
	struct sp_lock_circle *c;

	if (!open)
		return -1;
	for (i = 0; i < m->n_lock_waits; i++) {
		const struct sp_lock_wait *w = &m->lock_waits[i];

		if (w->open && (!open[w->location] || m->lock_waits[open[w->location] - 1].since < w->since))
			open[w->location] = i + 1;
	}
	for (i = 0, *n = 0; i < m->n_locations; i++) {
		length = circle_from(m, open, i, NULL);
		if (!length)
			continue;
		++*n;
		if (!m->lock_circles)
			continue;
		c = &m->lock_circles[m->n_lock_circles++];
		*c = (struct sp_lock_circle){.process = m->locations[i].process, .n = length};
		c->links = sp_arena_zalloc(&b->priv->arena, length, sizeof(*c->links));
		if (!c->links) {
			free(open);
			return -1;
		}
		circle_from(m, open, i, c->links);
	}
	free(open);
	return 0;
}

int sp_build_locks(struct sp_builder *b, struct sp_err *e)
{
	struct sp_arena *arena = &b->priv->arena;
	struct sp_model *m = b->m;
	size_t n[3] = {0}, open = 0, i;

	for (i = 0; i < b->n_loading; i++) {
		n[0] += b->loading[i].locks.n_locks;
		n[1] += b->loading[i].locks.n_waits;
		n[2] += b->loading[i].locks.n_circles;
	}
	m->locks = sp_arena_zalloc(arena, n[0], sizeof(*m->locks));
	m->lock_waits = sp_arena_zalloc(arena, n[1], sizeof(*m->lock_waits));
	/* a location is in one circle at most */
	m->lock_circles = sp_arena_zalloc(arena, n[2] + (n[1] ? m->n_locations : 0), sizeof(*m->lock_circles));
	if (!m->locks || !m->lock_waits || !m->lock_circles)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++)
		place_process(m, &b->loading[i], (uint32_t)i);
	return n[1] && find_circles(b, &open) ? sp_model_no_memory(e) : 0;
}

static void visit_stack(const struct sp_stack *s, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		visit(arg, &s->regions[i]);
}

void sp_lock_def_regions(struct sp_lock_defs *d, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	size_t i;

	for (i = 0; i < d->n_locks; i++)
		visit_stack(&d->locks[i].holder_stack, visit, arg);
	for (i = 0; i < d->n_waits; i++) {
		visit_stack(&d->waits[i].stack, visit, arg);
		visit_stack(&d->waits[i].holder_stack, visit, arg);
	}
}

void sp_build_lock_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	struct sp_lock_defs d = {
	    .locks = m->locks, .n_locks = m->n_locks, .waits = m->lock_waits, .n_waits = m->n_lock_waits};

	sp_lock_def_regions(&d, visit, arg);
}
