/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/lod/read.h"
#include "model/builder/problem.h"
#include "model/event.h"
#include "model/events/events.h"
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/str.h"

#include <stdlib.h>

int sp_lod_reader_open(struct sp_lod_reader *r, struct sp_lod *p, uint32_t location, struct sp_err *e)
{
	*r = (struct sp_lod_reader){.p = p, .location = location, .next = SIZE_MAX};
	return sp_lod_of(p, location, &r->l) ? 0 : sp_lod_damaged(e);
}

void sp_lod_reader_close(struct sp_lod_reader *r)
{
	sp_events_close(r->events);
	if (r->taken)
		sp_lod_raw_give(r->p, r->location);
	free(r->calls);
}

int sp_lod_reader_reserve(struct sp_lod_reader *r, size_t depth, struct sp_err *e)
{
	struct sp_lod_call *larger;
	size_t capacity;

	if (depth < r->capacity)
		return 0;
	capacity = depth * 2 + 64;
	larger = realloc(r->calls, capacity * sizeof(*larger));
	if (!larger)
		return sp_model_no_memory(e);
	for (; r->capacity < capacity; r->capacity++)
		larger[r->capacity] = (struct sp_lod_call){.begin = 0};
	r->calls = larger;
	return 0;
}

int sp_lod_reader_calls(struct sp_lod_reader *r, size_t bucket, struct sp_err *e)
{
	const struct sp_lod_point *p = &r->l.points[bucket];
	uint32_t f = p->frame, d = p->depth;

	if (d > r->l.place->frames.n)
		return sp_lod_damaged(e);
	if (sp_lod_reader_reserve(r, d, e))
		return -1;
	r->depth = d;
	for (; d > 0 && f; f = r->l.frames[f - 1].caller) {
		const struct sp_lod_frame *x = &r->l.frames[f - 1];

		r->calls[--d] = (struct sp_lod_call){x->begin, x->path, x->region, x->parameter, x->kind};
	}
	return d == 0 && f == 0 ? 0 : sp_lod_damaged(e);
}

int sp_lod_reader_go(struct sp_lod_reader *r, size_t bucket, struct sp_err *e)
{
	const struct sp_lod_point *p = &r->l.points[bucket];
	const struct sp_events_position place = {p->ticks, p->time, p->part, p->at};
	uint32_t *regions;
	size_t i;

	if (!r->taken) {
		if (sp_lod_raw_take(r->p, r->location, &r->raw, e))
			return -1;
		r->taken = true;
	}
	if (!r->events && sp_events_open_quiet(&r->events, r->p->m, r->location, r->raw, e))
		return -1;
	r->events->stays = true;
	if (r->next == bucket)
		return 0;
	regions = sp_events_seek(r->events, &place, r->depth, e);
	if (!regions)
		return -1;
	for (i = 0; i < r->depth; i++)
		regions[i] = r->calls[i].region;
	r->next = bucket;
	return 0;
}

int sp_lod_reader_span(struct sp_lod_reader *r, size_t bucket, size_t until, uint64_t *events, struct sp_err *e)
{
	const struct sp_lod_location *l = &r->l;
	const uint64_t end = until < l->place->points.n ? l->points[until].event : l->place->events;

	*events = end - l->points[bucket].event;
	r->next = SIZE_MAX;
	return sp_lod_reader_calls(r, bucket, e) || sp_lod_reader_go(r, bucket, e) ? -1 : 0;
}

int sp_lod_reader_follow(struct sp_lod_reader *r, const struct sp_event *ev, struct sp_err *e)
{
	struct sp_lod_call *top = r->depth ? &r->calls[r->depth - 1] : NULL;

	switch (ev->kind) {
	case SP_EVENT_ENTER:
	case SP_EVENT_RESUME:
	case SP_EVENT_INHERIT:
		if (r->depth >= r->capacity && sp_lod_reader_reserve(r, r->depth, e))
			return -1;
		r->calls[r->depth] = (struct sp_lod_call){
		    .begin = ev->time, .path = SP_NONE, .region = ev->id, .parameter = SP_NONE, .kind = ev->kind};
		r->depth++;
		break;
	case SP_EVENT_LEAVE:
	case SP_EVENT_SUSPEND:
		r->depth -= r->depth > 0;
		break;
	case SP_EVENT_PARAMETER_INT:
	case SP_EVENT_PARAMETER_UINT:
	case SP_EVENT_PARAMETER_STRING:
		if (top && top->path != SP_NONE)
			top->path = sp_path_with(&r->p->index, top->path, &top->parameter, ev);
	}
	return 0;
}

size_t sp_lod_bucket_at(const struct sp_lod_location *l, uint64_t time)
{
	size_t low = 0, high = l->place->points.n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->points[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

size_t sp_lod_bucket_of(const struct sp_lod_location *l, uint64_t event)
{
	size_t low = 0, high = l->place->points.n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->points[mid].event <= event)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}
