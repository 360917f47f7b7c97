/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes plain enters and leaves, the most frequent events, in batches. */
#include "model/builder/source.h"
#include "model/event.h"
#include "model/events/events.h"

const uint8_t sp_events_kinds[8] = {[SP_RAW_ENTER] = SP_EVENT_ENTER,
                                    [SP_RAW_LEAVE] = SP_EVENT_LEAVE,
                                    [SP_RAW_RESUME] = SP_EVENT_RESUME,
                                    [SP_RAW_SUSPEND] = SP_EVENT_SUSPEND,
                                    [SP_RAW_INHERIT] = SP_EVENT_INHERIT};

/* Whether all times from here to the end of the trace can be converted with one multiplication. */
static bool is_simple(const struct sp_events *s)
{
	const struct sp_clock *c = &s->source->clock;

	return c->first <= s->ticks && s->ticks <= s->place->end && s->place->end <= INT64_MAX &&
	       (double)(int64_t)(s->place->end - c->first) * c->ns < 0x1p62;
}

/* Has no branch that depends on enter or leave: the processor could not predict it. */
size_t sp_events_plain(struct sp_events *s, struct sp_event *out, size_t n)
{
	static const uint8_t leaves = 1u << SP_RAW_LEAVE | 1u << SP_RAW_SUSPEND;
	const uint32_t *const to = s->source->regions.to;
	const size_t ids = s->source->regions.n, buffer = s->stack_capacity;
	const uint64_t *w = s->words + s->at, *end = w + (n < s->n - s->at ? n : s->n - s->at);
	const uint64_t last = s->place->end, latest = s->end, first = s->source->clock.first,
	               offset = s->source->clock.offset;
	const double each = s->source->clock.ns;
	uint32_t *const stack = s->stack;
	size_t depth = s->depth;
	uint64_t ticks = s->ticks, ns = s->ns;

	if (!is_simple(s))
		return 0;
	for (; w < end; w++, out++) {
		const uint64_t at = ticks + (*w >> SP_RAW_DELTA_SHIFT), id = *w >> SP_RAW_KIND_BITS & SP_RAW_ID_MAX;
		const unsigned kind = *w & 7, leave = leaves >> kind & 1;
		const size_t call = depth - leave;
		uint32_t region;
		uint64_t is;

		if (kind - 1u >= SP_RAW_INHERIT || at > last || id >= ids || call >= buffer)
			break;
		region = to[id];
		if (region == 0 || (leave & (stack[call] != region - 1)))
			break;
		stack[call] = region - 1;
		depth = call + 1 - leave;
		ticks = at;
		is = offset + (uint64_t)(int64_t)((double)(int64_t)(at - first) * each);
		is = is < latest ? is : latest;
		ns = is > ns ? is : ns;
		out->time = ns;
		out->kind = sp_events_kinds[kind];
		out->id = region - 1;
		out->u.uint = 0;
	}
	n = (size_t)(w - s->words) - s->at;
	s->at += n;
	s->depth = depth;
	s->ticks = ticks;
	s->ns = ns;
	return n;
}
