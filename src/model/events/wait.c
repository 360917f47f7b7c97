/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of locks and waits: balanced, as enters and leaves are. */
#include "model/event.h"
#include "model/events/events.h"
#include "model/model.h"
#include "model/str.h"

/* The lock with this number. Locks are numbered from 1 in each process, without gaps. SP_NONE: no such lock. */
static uint32_t lock_of(const struct sp_events *s, uint64_t number)
{
	const struct sp_model *m = s->m;
	const uint32_t process = m->locations[s->place - m->priv->places].process;
	size_t low = 0, high = m->n_locks;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct sp_lock *o = &m->locks[middle];

		if (o->process < process || (o->process == process && o->number < number))
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->n_locks && m->locks[low].process == process && m->locks[low].number == number ? (uint32_t)low
	                                                                                              : SP_NONE;
}

/* The row of the model that counts this wait. */
static uint32_t row_of(const struct sp_events *s, uint64_t number)
{
	const struct sp_model *m = s->m;
	const uint32_t location = (uint32_t)(s->place - m->priv->places);
	size_t low = 0, high = number ? m->n_lock_waits : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct sp_lock_wait *w = &m->lock_waits[middle];

		if (w->location < location || (w->location == location && w->number < number))
			low = middle + 1;
		else
			high = middle;
	}
	return number && low < m->n_lock_waits && m->lock_waits[low].location == location &&
	               m->lock_waits[low].number == number
	           ? (uint32_t)low
	           : SP_NONE;
}

static uint32_t kind_of(uint64_t word)
{
	return word >> 32 < SP_LOCK_KINDS ? (uint32_t)(word >> 32) : SP_LOCK_OTHER;
}

void sp_events_end_wait(struct sp_events *s, unsigned how, struct sp_event *out)
{
	const struct sp_events_wait *w = &s->waits[--s->n_waits];

	out->kind = SP_EVENT_WAIT_END;
	out->id = w->lock;
	out->u.pair.first = w->kind;
	out->u.pair.second = how;
	s->gil = w->kind == SP_LOCK_GIL;
}

static int begin(struct sp_events *s, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	struct sp_events_wait *w = &s->waits[s->n_waits];

	if (s->n_waits == SP_EVENTS_WAITS)
		return -1;
	*w = (struct sp_events_wait){lock_of(s, payload[0] & UINT32_MAX), kind_of(payload[0]), s->depth};
	s->n_waits++;
	s->gil = false;
	out->kind = SP_EVENT_WAIT_BEGIN;
	out->id = w->lock;
	out->u.pair.first = w->kind;
	out->u.pair.second = words > 1 ? row_of(s, payload[1]) : SP_NONE;
	return 1;
}

/* Ends the innermost wait of this kind and all waits within it; an end without a begin is dropped. */
static int end(struct sp_events *s, const uint64_t *payload, struct sp_event *out)
{
	const uint32_t lock = lock_of(s, payload[0] & UINT32_MAX), kind = kind_of(payload[0]);
	unsigned i = s->n_waits;

	while (i > 0 && (s->waits[i - 1].lock != lock || s->waits[i - 1].kind != kind))
		i--;
	if (i == 0) {
		s->dropped++;
		return 0;
	}
	if (i < s->n_waits) {
		sp_events_end_wait(s, SP_WAIT_UNSEEN, out);
		return SP_EVENTS_AGAIN;
	}
	sp_events_end_wait(s,
	                   payload[1] == SP_RAW_WAIT_NONE ? SP_WAIT_NONE
	                   : payload[1]                   ? SP_WAIT_ACQUIRED
	                                                  : SP_WAIT_FAILED,
	                   out);
	return 1;
}

int sp_events_wait(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	if (words < (what == SP_RAW_X_WAIT_END ? 2u : 1u))
		return -1;
	if (what == SP_RAW_X_WAIT_BEGIN)
		return begin(s, words, payload, out);
	if (what == SP_RAW_X_WAIT_END)
		return end(s, payload, out);
	out->kind = what == SP_RAW_X_LOCK_ACQUIRE ? SP_EVENT_LOCK_ACQUIRE : SP_EVENT_LOCK_RELEASE;
	out->id = lock_of(s, payload[0]);
	out->u.uint = words > 1 ? payload[1] : 0;
	if (out->id != SP_NONE)
		return 1;
	return s->raw->header.ended == SP_RAW_RUNNING ? 0 : -1; /* made since the file was read */
}
