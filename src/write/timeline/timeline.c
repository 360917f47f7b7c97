/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/timeline/timeline.h"
#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdlib.h>

#define BATCH 4096

static int fail_memory(struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "out of memory");
}

/* ---- notes ---- */

static struct sp_note *note(struct sp_notes *n, const char *name, enum sp_note_kind kind)
{
	struct sp_note *new = &n->all[n->n++];

	*new = (struct sp_note){.name = sp_text(name), .nth = 1, .kind = (uint8_t)kind};
	return new;
}

void sp_notes_text(struct sp_notes *n, const char *name, struct sp_str text)
{
	note(n, name, SP_NOTE_TEXT)->u.text = text;
}

void sp_notes_uint(struct sp_notes *n, const char *name, uint64_t value)
{
	note(n, name, SP_NOTE_UINT)->u.uint = value;
}

void sp_notes_int(struct sp_notes *n, const char *name, int64_t value)
{
	note(n, name, SP_NOTE_INT)->u.sint = value;
}

void sp_notes_code(struct sp_notes *n, const struct sp_region *r, bool begins)
{
	if (!r->code.recorded)
		return;
	sp_notes_text(n, "file", r->file);
	sp_notes_uint(n, "line", r->line);
	sp_notes_uint(n, "argcount", r->code.argcount);
	sp_notes_uint(n, "nlocals", r->code.nlocals);
	sp_notes_uint(n, "stacksize", r->code.stacksize);
	if (begins)
		sp_notes_int(n, "lasti", r->code.lasti);
}

/* The notes of the innermost call. */
static const struct sp_note *notes_here(const struct sp_timeline *t)
{
	size_t i = t->n_notes;

	while (i > 0 && t->notes[i - 1].depth == t->depth)
		i--;
	return t->notes + i;
}

static bool same(struct sp_str a, struct sp_str b)
{
	return a.n == b.n && (a.p == b.p || memcmp(a.p, b.p, a.n) == 0);
}

/* Stores notes for the innermost call. Returns false if there is no room. */
static bool keep_notes(struct sp_timeline *t, const struct sp_notes *n)
{
	const size_t here = (size_t)(t->notes + t->n_notes - notes_here(t));

	if (t->depth == 0 || here + n->n > SP_TIMELINE_NOTES)
		return false;
	if (t->note_capacity < t->n_notes + n->n) {
		const size_t capacity = 2 * t->note_capacity;
		struct sp_note *larger = realloc(t->notes, capacity * sizeof *larger);
		if (!larger)
			return false;
		t->notes = larger;
		t->note_capacity = capacity;
	}
	const struct sp_note *first = t->notes + t->n_notes - here;
	for (size_t i = 0; i < n->n; i++) {
		struct sp_note *new = &t->notes[t->n_notes++];
		*new = n->all[i];
		new->depth = t->depth;
		for (const struct sp_note *old = first; old < new; old++)
			new->nth = (uint16_t)(new->nth + same(old->name, new->name));
	}
	return true;
}

void sp_timeline_instant(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                         const struct sp_notes *n, const struct sp_flow *flows, size_t n_flows)
{
	t->sink->mark(t->to, &(struct sp_mark){.time = time,
	                                       .kind = SP_MARK_INSTANT,
	                                       .region = SP_NONE,
	                                       .name = sp_text(name),
	                                       .category = category,
	                                       .notes = n ? n->all : NULL,
	                                       .n_notes = n ? n->n : 0,
	                                       .flows = flows,
	                                       .n_flows = n_flows});
}

void sp_timeline_note(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                      const struct sp_notes *n)
{
	if (!keep_notes(t, n))
		sp_timeline_instant(t, time, name, category, n, NULL, 0);
}

/* ---- events ---- */

/* Sends a resumed call, or one with arrows. */
static void enter_specially(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_region *r = &t->m->regions[ev->id];
	const char *also = ev->kind == SP_EVENT_RESUME    ? "resumed"
	                   : ev->kind == SP_EVENT_INHERIT ? "begun before"
	                                                  : NULL;
	struct sp_notes n = {.n = 0};

	if (r->kind == SP_REGION_MPI && sp_timeline_mpi_enter(t, ev))
		return;
	if (!also) {
		t->sink->enter(t->to, ev->time, ev->id);
		return;
	}
	sp_notes_code(&n, r, false);
	t->sink->mark(t->to, &(struct sp_mark){.time = ev->time,
	                                       .kind = SP_MARK_BEGIN,
	                                       .region = ev->id,
	                                       .category = sp_region_kind_names[r->kind],
	                                       .also = also,
	                                       .notes = n.all,
	                                       .n_notes = n.n});
}

/* Sends a leave with the call's notes. A call that was never left stays open if its end is unknown. */
static void leave_specially(struct sp_timeline *t, const struct sp_event *ev, bool never)
{
	const struct sp_note *notes = notes_here(t);
	const size_t n = (size_t)(t->notes + t->n_notes - notes);
	struct sp_mark mark = {.time = ev->time,
	                       .kind = never ? SP_MARK_INSTANT : SP_MARK_END,
	                       .region = ev->id,
	                       .category = sp_region_kind_names[t->m->regions[ev->id].kind],
	                       .also = never ? "never left" : NULL,
	                       .notes = notes,
	                       .n_notes = n};

	if (n || !never)
		t->sink->mark(t->to, &mark);
	t->n_notes -= n;
}

static void put_leave(struct sp_timeline *t, const struct sp_event *ev)
{
	const bool never = t->open && ev->u.uint;

	if (never || (t->n_notes && t->notes[t->n_notes - 1].depth == t->depth))
		leave_specially(t, ev, never);
	else
		t->sink->leave(t->to, ev->time);
	if (t->depth)
		t->depth--;
}

static double power(int exponent)
{
	double p = 1;

	for (int i = 0; i < exponent; i++)
		p *= 10;
	return p;
}

/* Sends a metric if it has changed: a count is valid until the next one. */
static void put_metric(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_metric *metric = &t->m->metrics[ev->id];
	const struct sp_track track = sp_timeline_metric(t, t->location, ev->id);
	const double value = (double)ev->u.uint;

	if (t->metric_seen[ev->id] && t->metrics[ev->id] == ev->u.uint)
		return;
	if (!t->metric_seen[ev->id])
		t->sink->track(t->to, &track);
	t->metric_seen[ev->id] = true;
	t->metrics[ev->id] = ev->u.uint;
	t->sink->count(t->to, &track, ev->time,
	               metric->exponent < 0 ? value / power(-metric->exponent) : value * power(metric->exponent));
}

static void put_counter(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_track track = sp_timeline_counter(t, t->process, ev->id);
	bool *seen = &t->counter_seen[(size_t)t->process * t->m->n_counters + ev->id];

	if (!*seen)
		t->sink->track(t->to, &track);
	*seen = true;
	t->sink->count(t->to, &track, ev->time, ev->u.real);
}

static void put_parameter(struct sp_timeline *t, const struct sp_event *ev)
{
	struct sp_notes n = {.n = 1};

	n.all[0] = (struct sp_note){.name = t->m->parameters[ev->id], .nth = 1};
	switch (ev->kind) {
	case SP_EVENT_PARAMETER_INT:
		n.all[0].kind = SP_NOTE_INT;
		n.all[0].u.sint = ev->u.sint;
		break;
	case SP_EVENT_PARAMETER_UINT:
		n.all[0].kind = SP_NOTE_UINT;
		n.all[0].u.uint = ev->u.uint;
		break;
	default:
		n.all[0].kind = SP_NOTE_TEXT;
		n.all[0].u.text = t->m->strings[ev->u.string];
	}
	sp_timeline_note(t, ev->time, "parameter", "user", &n);
}

/* A slice within the innermost call. When in the time since the previous event the thread did not run is not recorded:
 * the slice ends with that time. */
static void put_off_cpu(struct sp_timeline *t, const struct sp_event *ev)
{
	const bool waiting = ev->id == SP_OFF_CPU_WAITING;
	const uint64_t since = ev->time - ev->u.uint;
	struct sp_mark mark = {.time = since > t->last ? since : t->last,
	                       .kind = SP_MARK_BEGIN,
	                       .region = SP_NONE,
	                       .name = sp_text(waiting ? "waiting" : "preempted"),
	                       .category = "off_cpu"};

	/* waits that were recorded have separate slices, which say more */
	if (t->waits || mark.time >= ev->time)
		return;
	t->sink->mark(t->to, &mark);
	mark.time = ev->time;
	mark.kind = SP_MARK_END;
	t->sink->mark(t->to, &mark);
}

/* Handles an event other than enter and leave; not inlined, to keep the path of those short. */
__attribute__((noinline)) static void put_rare(struct sp_timeline *t, const struct sp_event *ev)
{
	struct sp_notes n = {.n = 0};

	switch (ev->kind) {
	case SP_EVENT_METRIC:
		put_metric(t, ev);
		break;
	case SP_EVENT_COUNTER:
		put_counter(t, ev);
		break;
	case SP_EVENT_PARAMETER_INT:
	case SP_EVENT_PARAMETER_UINT:
	case SP_EVENT_PARAMETER_STRING:
		put_parameter(t, ev);
		break;
	case SP_EVENT_MARKER:
		t->sink->mark(t->to, &(struct sp_mark){.time = ev->time,
		                                       .kind = SP_MARK_INSTANT,
		                                       .region = SP_NONE,
		                                       .name = t->m->strings[ev->id],
		                                       .category = "marker"});
		break;
	case SP_EVENT_OFF:
		sp_timeline_instant(t, ev->time, "recording off", "off", NULL, NULL, 0);
		break;
	case SP_EVENT_ON:
		sp_timeline_instant(t, ev->time, "recording on", "off", NULL, NULL, 0);
		break;
	case SP_EVENT_LOST:
		sp_notes_uint(&n, "events", ev->u.uint);
		sp_timeline_instant(t, ev->time, "events lost", "lost", &n, NULL, 0);
		break;
	default:
		if (ev->kind <= SP_EVENT_IO_DELETE)
			sp_timeline_io(t, ev);
		else if (ev->kind <= SP_EVENT_RMA_LOCK)
			sp_timeline_mpi(t, ev);
		else if (ev->kind == SP_EVENT_OFF_CPU)
			put_off_cpu(t, ev);
		else if (ev->kind >= SP_EVENT_WAIT_BEGIN)
			sp_timeline_wait(t, ev);
		else
			sp_timeline_task_event(t, ev);
	}
}

static void put_batch(struct sp_timeline *t, const struct sp_event *batch, long n)
{
	for (const struct sp_event *ev = batch; ev < batch + n; ev++) {
		switch (ev->kind) {
		case SP_EVENT_ENTER:
			t->depth++;
			if (t->m->regions[ev->id].kind == SP_REGION_MPI)
				enter_specially(t, ev);
			else
				t->sink->enter(t->to, ev->time, ev->id);
			break;
		case SP_EVENT_RESUME:
		case SP_EVENT_INHERIT:
			t->depth++;
			enter_specially(t, ev);
			break;
		case SP_EVENT_LEAVE:
		case SP_EVENT_SUSPEND:
			put_leave(t, ev);
			break;
		default:
			put_rare(t, ev);
		}
		t->last = ev->time;
	}
}

/* Marks the begin of a thread, except for the first thread of a process. */
static void put_begin(struct sp_timeline *t)
{
	const struct sp_location *l = &t->m->locations[t->location];
	const struct sp_flow flow = {.id = sp_flow_id(SP_FLOW_THREAD, t->location), .in = true};
	struct sp_notes n = {.n = 0};

	if (t->location == t->m->processes[t->process].first_location)
		return;
	sp_notes_uint(&n, "tid", l->tid);
	if (l->creator != SP_NONE)
		sp_notes_text(&n, "started by", t->m->locations[l->creator].name);
	sp_timeline_instant(t, l->begin, "thread begins", "thread", &n, &flow, 1);
}

static void begin_location(struct sp_timeline *t, uint32_t location)
{
	const struct sp_location *l = &t->m->locations[location];
	const uint8_t end = t->m->processes[l->process].end;

	t->location = location;
	t->process = l->process;
	t->open = end == SP_END_ABRUPT || end == SP_END_RUNNING;
	t->last = l->begin;
	t->depth = t->waits = 0;
	t->n_notes = 0;
	t->task = t->ended = t->awaits[0] = t->awaits[1] = SP_NONE;
	memset(t->metric_seen, 0, t->m->n_metrics * sizeof *t->metric_seen);
	t->sink->thread(t->to, location);
	put_begin(t);
}

static void end_location(struct sp_timeline *t)
{
	const struct sp_process *p = &t->m->processes[t->process];
	const uint64_t end = t->m->locations[t->location].end;

	if (end > t->last)
		t->last = end;
	sp_timeline_task_stop(t, t->last);
	if (t->location + 1 == p->first_location + p->locations)
		sp_timeline_tasks_end(t);
}

static int put_location(struct sp_timeline *t, uint32_t location)
{
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n;

	if (sp_events_open(&events, t->m, location, t->e))
		return -1;
	begin_location(t, location);
	while ((n = sp_events_read(events, batch, BATCH, t->e)) > 0) {
		put_batch(t, batch, n);
		t->done += (uint64_t)n;
		if (sp_write_tick(t->o, t->done, t->total, t->e)) {
			n = -1;
			break;
		}
	}
	if (n == 0)
		end_location(t);
	sp_events_close(events);
	return n < 0 ? -1 : 0;
}

/* Damage is found while events are read. */
static void put_problems(struct sp_timeline *t)
{
	const struct sp_track root = {.number = 0};

	if (t->m->n_problems == 0)
		return;
	t->sink->thread(t->to, SP_NONE);
	for (size_t i = 0; i < t->m->n_problems; i++) {
		struct sp_notes n = {.n = 0};
		sp_notes_text(&n, "problem", t->m->problems[i].text);
		t->sink->mark(t->to, &(struct sp_mark){.on = &root,
		                                       .kind = SP_MARK_INSTANT,
		                                       .region = SP_NONE,
		                                       .name = sp_text("damage found"),
		                                       .category = "lost",
		                                       .notes = n.all,
		                                       .n_notes = n.n});
	}
}

int sp_timeline_send(struct sp_timeline *t, const struct sp_timeline_sink *sink, void *to)
{
	t->sink = sink;
	t->to = to;
	if (sp_timeline_places(t))
		return fail_memory(t->e);
	for (uint32_t l = t->k.first; l < t->k.end; l++)
		if (sp_process_has_events(&t->m->processes[t->m->locations[l].process]) && put_location(t, l))
			return -1;
	put_problems(t);
	return 0;
}

int sp_timeline_open(struct sp_timeline *t, const struct sp_model *m, const struct sp_write_options *o,
                     struct sp_err *e)
{
	*t = (struct sp_timeline){.m = m, .o = o, .e = e};
	if (sp_pick_open(&t->k, m, o, e) || sp_heaps_open(&t->heaps, m, e))
		return -1;
	t->task_states = sp_arena_zalloc(&t->arena, m->n_tasks, sizeof *t->task_states);
	t->counter_seen = sp_arena_zalloc(&t->arena, m->n_processes * m->n_counters, sizeof *t->counter_seen);
	t->metrics = sp_arena_zalloc(&t->arena, m->n_metrics, sizeof *t->metrics);
	t->metric_seen = sp_arena_zalloc(&t->arena, m->n_metrics, sizeof *t->metric_seen);
	t->note_capacity = SP_TIMELINE_NOTES;
	t->notes = malloc(t->note_capacity * sizeof *t->notes);
	if (!t->task_states || !t->counter_seen || !t->metrics || !t->metric_seen || !t->notes || sp_timeline_number(t))
		return fail_memory(e);
	for (uint32_t l = t->k.first; l < t->k.end; l++)
		t->total += sp_events_count(m, l);
	if (sp_timeline_find_locks(t))
		return -1;
	return sp_timeline_match(t);
}

void sp_timeline_close(struct sp_timeline *t)
{
	sp_timeline_unmatch(t);
	sp_heaps_close(&t->heaps);
	free(t->acquisitions);
	free(t->notes);
	sp_arena_free(&t->arena);
	sp_pick_close(&t->k);
}
