/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and tasks. A task has a track on which it alternately runs and waits; its calls are on the track of the
 * thread. */
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "model/task.h"
#include "write/timeline/timeline.h"

static struct sp_str task_name(const struct sp_model *m, uint32_t task)
{
	return m->tasks[task].name.n ? m->tasks[task].name : sp_text("task");
}

/* ---- tasks ---- */

static void step(struct sp_timeline *t, uint32_t task, uint64_t time, enum sp_mark_kind kind, const struct sp_notes *n,
                 const struct sp_flow *flow)
{
	const struct sp_track track = sp_timeline_task(t, task);
	const uint32_t region = t->m->tasks[task].region;

	t->sink->mark(t->to, &(struct sp_mark){.time = time,
	                                       .on = &track,
	                                       .kind = (uint8_t)kind,
	                                       .region = region,
	                                       .name = sp_text("running"),
	                                       .category = "task",
	                                       .notes = n ? n->all : NULL,
	                                       .n_notes = n ? n->n : 0,
	                                       .flows = flow,
	                                       .n_flows = flow ? 1 : 0});
}

static void wait(struct sp_timeline *t, uint32_t task, uint64_t time, enum sp_mark_kind kind, const struct sp_notes *n)
{
	const struct sp_track track = sp_timeline_task(t, task);

	t->sink->mark(t->to, &(struct sp_mark){.time = time,
	                                       .on = &track,
	                                       .kind = (uint8_t)kind,
	                                       .region = SP_NONE,
	                                       .name = sp_text("waiting"),
	                                       .category = "task",
	                                       .also = "wait",
	                                       .notes = n ? n->all : NULL,
	                                       .n_notes = n ? n->n : 0});
	t->task_states[task] = (uint8_t)(kind == SP_MARK_BEGIN ? t->task_states[task] | SP_TASK_OPEN
	                                                       : t->task_states[task] & ~SP_TASK_OPEN);
}

/* Ends a step. A task that several threads run has only its steps, not its waits: each location is read to its end
 * before the next one. */
static void leave_task(struct sp_timeline *t, uint64_t time)
{
	const struct sp_model *m = t->m;
	struct sp_notes n = {.n = 0};

	if (t->ended != SP_NONE)
		sp_notes_text(&n, "ended", sp_text(sp_task_state_names[t->ended]));
	step(t, t->task, time, SP_MARK_END, &n, NULL);
	n.n = 0;
	if (t->awaits[0] != SP_NONE)
		sp_notes_text(&n, "awaits in", m->regions[t->awaits[0]].name);
	if (t->awaits[1] != SP_NONE)
		sp_notes_text(&n, "awaits", m->strings[t->awaits[1]]);
	if (t->ended == SP_NONE && m->tasks[t->task].location == t->location)
		wait(t, t->task, time, SP_MARK_BEGIN, &n);
	t->task = t->ended = t->awaits[0] = t->awaits[1] = SP_NONE;
}

static void enter_task(struct sp_timeline *t, uint32_t task, uint64_t time)
{
	const struct sp_flow flow = {.id = sp_flow_id(SP_FLOW_TASK, task), .in = true};
	const bool first = !(t->task_states[task] & SP_TASK_BEGUN);

	if (t->task_states[task] & SP_TASK_OPEN)
		wait(t, task, time, SP_MARK_END, NULL);
	step(t, task, time, SP_MARK_BEGIN, NULL, first ? &flow : NULL);
	t->task_states[task] |= SP_TASK_BEGUN;
	t->task = task;
}

static void put_created(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_flow flow = {.id = sp_flow_id(SP_FLOW_TASK, ev->id)};
	const struct sp_task *task = &t->m->tasks[ev->id];
	struct sp_notes n = {.n = 0};

	sp_notes_text(&n, "task", task_name(t->m, ev->id));
	sp_notes_uint(&n, "number", task->number);
	if (task->region != SP_NONE)
		sp_notes_text(&n, "coroutine", t->m->regions[task->region].name);
	sp_timeline_instant(t, ev->time, "task created", "task", &n, &flow, 1);
}

void sp_timeline_task_stop(struct sp_timeline *t, uint64_t time)
{
	if (t->task != SP_NONE && !t->open)
		step(t, t->task, time, SP_MARK_END, NULL, NULL);
	t->task = SP_NONE;
}

static uint32_t first_task(const struct sp_model *m, uint32_t process)
{
	uint32_t low = 0, high = (uint32_t)m->n_tasks;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (m->tasks[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sp_timeline_tasks_end(struct sp_timeline *t)
{
	const struct sp_model *m = t->m;
	const uint64_t stop = m->processes[t->process].stop;

	if (t->open)
		return;
	if (stop > t->last)
		t->last = stop;
	for (uint32_t i = first_task(m, t->process); i < m->n_tasks && m->tasks[i].process == t->process; i++)
		if (t->task_states[i] & SP_TASK_OPEN)
			wait(t, i, t->last, SP_MARK_END, NULL);
}

/* ---- threads ---- */

static void put_thread(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_flow flow = {.id = sp_flow_id(SP_FLOW_THREAD, ev->id)};
	const bool known = ev->id != SP_NONE;
	struct sp_notes n = {.n = 0};

	sp_notes_text(&n, "thread", known ? t->m->locations[ev->id].name : sp_text("(not known)"));
	if (ev->kind == SP_EVENT_THREAD_CREATE) {
		sp_timeline_instant(t, ev->time, "thread started", "thread", &n, &flow, known);
		return;
	}
	sp_notes_uint(&n, "waited ns", ev->u.uint);
	sp_timeline_instant(t, ev->time, "thread joined", "thread", &n, NULL, 0);
}

/* Sends a wait for the GIL; it begins at the earliest at the thread's previous event. */
static void put_gil(struct sp_timeline *t, const struct sp_event *ev)
{
	const uint64_t since = ev->time - (ev->u.uint < ev->time ? ev->u.uint : ev->time);
	struct sp_mark mark = {.time = since > t->last ? since : t->last,
	                       .kind = SP_MARK_BEGIN,
	                       .region = SP_NONE,
	                       .name = sp_text("waiting for the GIL"),
	                       .category = "gil",
	                       .also = "wait"};

	t->sink->mark(t->to, &mark);
	mark.kind = SP_MARK_END;
	mark.time = ev->time;
	t->sink->mark(t->to, &mark);
}

static void put_handover(struct sp_timeline *t, const struct sp_event *ev)
{
	const bool taken = ev->u.pair.first;
	const struct sp_flow flow = {
	    .id = sp_flow_id(SP_FLOW_HANDOVER, ((uint64_t)t->process << 32 | ev->u.pair.second) & ~(UINT64_MAX << 56)),
	    .in = taken};
	struct sp_notes n = {.n = 0};

	sp_notes_uint(&n, "number", ev->u.pair.second);
	sp_timeline_instant(t, ev->time, taken ? "work taken" : "work given", "thread", &n, &flow, 1);
}

void sp_timeline_task_event(struct sp_timeline *t, const struct sp_event *ev)
{
	switch (ev->kind) {
	case SP_EVENT_THREAD_CREATE:
	case SP_EVENT_THREAD_JOIN:
		put_thread(t, ev);
		break;
	case SP_EVENT_TASK_CREATE:
		put_created(t, ev);
		break;
	case SP_EVENT_TASK_SWITCH:
		if (t->task != SP_NONE)
			leave_task(t, ev->time);
		if (ev->id != SP_NONE)
			enter_task(t, ev->id, ev->time);
		break;
	case SP_EVENT_TASK_END:
		t->ended = (uint32_t)ev->u.uint;
		break;
	case SP_EVENT_TASK_AWAITS:
		t->awaits[0] = ev->u.pair.first;
		t->awaits[1] = ev->u.pair.second;
		break;
	case SP_EVENT_GIL_WAIT:
		put_gil(t, ev);
		break;
	default:
		put_handover(t, ev);
	}
}
