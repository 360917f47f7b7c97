/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins of threads, waits for the GIL with --gil, and tasks. OTF2 identifies a task by the thread that created it (its
 * rank in the team of its process) and a number; the thread that runs a task switches to it. What a thread does outside
 * of tasks is its task 0. Data without an OTF2 record are attributes. */
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "model/task.h"
#include "write/otf2/archive.h"

static uint32_t place_of(const struct sp_model *m, uint32_t location)
{
	return location == SP_NONE ? 0 : location - m->processes[m->locations[location].process].first_location;
}

static void add_string(struct sp_otf2 *a, enum attribute which, struct sp_str s)
{
	if (s.n)
		OTF2_AttributeList_AddStringRef(a->attributes, which, sp_otf2_string(a, s));
}

static void add_region(struct sp_otf2 *a, enum attribute which, uint32_t region)
{
	if (region != SP_NONE)
		OTF2_AttributeList_AddRegionRef(a->attributes, which, region);
}

/* Writes a switch, with the attributes of the wait that precedes it. */
static int put_switch(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev)
{
	const struct sp_model *m = a->m;
	const OTF2_CommRef team = sp_otf2_team(a, location);
	const struct sp_task *t = ev->id == SP_NONE ? NULL : &m->tasks[ev->id];

	return OTF2_EvtWriter_ThreadTaskSwitch(w, a->attributes, ev->time, team, place_of(m, t ? t->by : location),
	                                       t ? t->number : 0);
}

static int put_gil(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev, uint64_t before)
{
	uint64_t begin = ev->time - (ev->u.uint < ev->time ? ev->u.uint : ev->time);

	if (OTF2_EvtWriter_Enter(w, NULL, begin > before ? begin : before, sp_otf2_wait_region(a, SP_LOCK_GIL)))
		return -1;
	return OTF2_EvtWriter_Leave(w, NULL, ev->time, sp_otf2_wait_region(a, SP_LOCK_GIL));
}

int sp_otf2_task(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, uint64_t before)
{
	const struct sp_model *m = a->m;
	const OTF2_CommRef team = sp_otf2_team(a, location);
	const struct sp_task *t;

	switch (ev->kind) {
	case SP_EVENT_THREAD_JOIN:
		if (ev->id == SP_NONE || m->locations[ev->id].creator == SP_NONE)
			return 0;
		return OTF2_EvtWriter_ThreadWait(w, NULL, ev->time, team, m->locations[ev->id].id);
	case SP_EVENT_GIL_WAIT:
		return put_gil(a, w, ev, before);
	case SP_EVENT_TASK_CREATE:
		t = &m->tasks[ev->id];
		add_string(a, ATTRIBUTE_TASK, t->name);
		add_region(a, ATTRIBUTE_COROUTINE, t->region);
		return OTF2_EvtWriter_ThreadTaskCreate(w, a->attributes, ev->time, team, place_of(m, t->by), t->number);
	case SP_EVENT_TASK_SWITCH:
		return put_switch(a, w, location, ev);
	case SP_EVENT_TASK_AWAITS:
		add_region(a, ATTRIBUTE_AWAITS_IN, ev->u.pair.first);
		if (ev->u.pair.second != SP_NONE)
			add_string(a, ATTRIBUTE_AWAITS, m->strings[ev->u.pair.second]);
		return 0;
	case SP_EVENT_TASK_END:
		t = &m->tasks[ev->id];
		add_string(a, ATTRIBUTE_ENDED, sp_text(sp_task_state_names[ev->u.uint]));
		return OTF2_EvtWriter_ThreadTaskComplete(w, a->attributes, ev->time, team, place_of(m, t->by),
		                                         t->number);
	default:
		return 0; /* OTF2 has no record for a hand-over */
	}
}
