/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of threads and tasks. */
#include "model/builder/clock.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/events/events.h"
#include "model/process.h"
#include "model/str.h"

static const uint8_t needed[] = {
    [SP_RAW_X_THREAD_CREATE] = 1, [SP_RAW_X_THREAD_JOIN] = 2, [SP_RAW_X_TASK_CREATE] = 1, [SP_RAW_X_TASK_SWITCH] = 1,
    [SP_RAW_X_TASK_END] = 2,      [SP_RAW_X_TASK_AWAITS] = 2, [SP_RAW_X_GIL_WAIT] = 1,    [SP_RAW_X_HANDOVER] = 2};

_Static_assert(SP_EVENT_HANDOVER - SP_EVENT_THREAD_CREATE == SP_RAW_X_HANDOVER - SP_RAW_X_THREAD_CREATE,
               "the same order");

static const struct sp_process *process_of(const struct sp_events *s)
{
	return &s->m->processes[s->m->locations[s->place - s->m->priv->places].process];
}

/* The last location with this thread id that had begun by `now`: the system reuses thread ids. */
static uint32_t joined(const struct sp_events *s, uint64_t tid, uint64_t now)
{
	const struct sp_process *p = process_of(s);
	uint32_t i;

	for (i = p->first_location + p->locations; i-- > p->first_location;)
		if (s->m->locations[i].tid == tid && s->m->locations[i].begin <= now)
			return i;
	return SP_NONE;
}

/* Decodes a word that makes two events: it is read twice. */
static int leaves(struct sp_events *s, uint32_t what, const uint64_t *payload, struct sp_event *out)
{
	const struct sp_source *source = s->source;

	s->again = !s->again;
	if (!s->again) {
		out->kind = SP_EVENT_TASK_SWITCH;
		out->id = sp_events_id(&source->tasks, payload[0] >> 32) - 1;
		return 1;
	}
	out->id = sp_events_id(&source->tasks, payload[0] & UINT32_MAX) - 1;
	if (what == SP_RAW_X_TASK_END) {
		out->u.uint = payload[1];
		if (payload[1] > SP_RAW_TASK_DROPPED)
			out->id = SP_NONE;
	} else {
		out->u.pair.first = sp_events_id(&source->regions, payload[1] & UINT32_MAX) - 1;
		out->u.pair.second = sp_events_id(&source->strings, payload[1] >> 32) - 1;
	}
	if (out->id != SP_NONE)
		return SP_EVENTS_AGAIN;
	s->again = false;
	return -1;
}

int sp_events_task(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	if (words < needed[what])
		return -1;
	out->kind = SP_EVENT_THREAD_CREATE + (what - SP_RAW_X_THREAD_CREATE);
	switch (what) {
	case SP_RAW_X_THREAD_CREATE:
		out->id = sp_events_id(&s->source->threads, payload[0]) - 1;
		if (out->id != SP_NONE)
			out->id =
			    out->id < process_of(s)->locations ? out->id + process_of(s)->first_location : SP_NONE;
		return 1;
	case SP_RAW_X_THREAD_JOIN:
		out->u.uint = sp_clock_length(&s->source->clock, payload[1]);
		out->id = joined(s, payload[0], sp_clock_ns(&s->source->clock, s->ticks));
		return 1;
	case SP_RAW_X_TASK_CREATE:
		/* a task that never began has only this event */
		out->id = sp_events_id(&s->source->tasks, payload[0]) - 1;
		return out->id != SP_NONE;
	case SP_RAW_X_TASK_SWITCH:
		out->id = sp_events_id(&s->source->tasks, payload[0]) - 1;
		return out->id != SP_NONE ? 1 : -1;
	case SP_RAW_X_TASK_END:
	case SP_RAW_X_TASK_AWAITS:
		return leaves(s, what, payload, out);
	case SP_RAW_X_GIL_WAIT:
		if (s->gil) {
			s->gil = false;
			return 0;
		}
		out->u.uint = sp_clock_length(&s->source->clock, payload[0]);
		return 1;
	default:
		out->u.pair.first = payload[1] != 0;
		out->u.pair.second = (uint32_t)payload[0];
		return 1;
	}
}

void sp_events_limit_off_cpu(struct sp_events *s, uint64_t before, struct sp_event *out)
{
	const uint64_t since = before == s->gil_ns ? s->gil_since : before;

	if (out->kind == SP_EVENT_GIL_WAIT) {
		s->gil_ns = out->time;
		s->gil_since = before;
	} else if (out->kind == SP_EVENT_OFF_CPU) {
		if (out->u.uint > out->time - since)
			out->u.uint = out->time - since;
		s->gil_ns = UINT64_MAX;
	}
}
