/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of file I/O. */
#include "model/event.h"
#include "model/events/events.h"
#include "model/str.h"

static const uint8_t needed[] = {
    [SP_RAW_X_IO_CREATE] = 3, [SP_RAW_X_IO_DESTROY] = 1,  [SP_RAW_X_IO_DUP] = 2,    [SP_RAW_X_IO_SEEK] = 4,
    [SP_RAW_X_IO_BEGIN] = 4,  [SP_RAW_X_IO_COMPLETE] = 2, [SP_RAW_X_IO_ISSUED] = 2, [SP_RAW_X_IO_DELETE] = 2};

_Static_assert(SP_EVENT_IO_DELETE - SP_EVENT_IO_CREATE == SP_RAW_X_IO_DELETE - SP_RAW_X_IO_CREATE, "the same order");

enum { KNOWN = SP_RAW_IO_MODE_MASK | SP_RAW_IO_NON_BLOCKING | SP_RAW_IO_COLLECTIVE };

static int begin(struct sp_io *x, uint32_t words, const uint64_t *payload)
{
	x->mode = payload[1] & SP_RAW_IO_MODE_MASK;
	x->flags = (payload[1] & SP_RAW_IO_NON_BLOCKING ? SP_IO_NON_BLOCKING : 0u) |
	           (payload[1] & SP_RAW_IO_COLLECTIVE ? SP_IO_COLLECTIVE : 0u);
	x->asked = (int64_t)payload[2];
	x->offset = payload[3];
	x->matching = words > 4 ? payload[4] : 0;
	return x->mode <= SP_RAW_IO_FLUSH && (payload[1] & ~(uint64_t)KNOWN) == 0 ? 1 : -1;
}

int sp_events_io(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	struct sp_io *x;

	if (words < needed[what] || s->io_capacity == 0)
		return -1;
	out->kind = SP_EVENT_IO_CREATE + (what - SP_RAW_X_IO_CREATE);
	out->id = sp_events_id(what == SP_RAW_X_IO_DELETE ? &s->source->strings : &s->source->handles, payload[0]) - 1;
	if (out->id == SP_NONE)
		return -1;
	out->u.io = x = &s->io[s->n_io++];
	*x = (struct sp_io){.mode = 0};
	switch (what) {
	case SP_RAW_X_IO_DUP:
		x->to = sp_events_id(&s->source->handles, payload[1]) - 1;
		return x->to != SP_NONE ? 1 : -1;
	case SP_RAW_X_IO_SEEK:
		x->asked = (int64_t)payload[1];
		x->mode = (uint32_t)payload[2];
		x->offset = payload[3];
		break;
	case SP_RAW_X_IO_BEGIN:
		return begin(x, words, payload);
	case SP_RAW_X_IO_COMPLETE:
		x->bytes = payload[1];
		x->matching = words > 2 ? payload[2] : 0;
		break;
	case SP_RAW_X_IO_ISSUED:
		x->matching = payload[1];
		break;
	case SP_RAW_X_IO_DELETE:
		x->mode = payload[1] == SP_RAW_IO_MPI;
		break;
	}
	return 1;
}
