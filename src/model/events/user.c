/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that the program itself records: values of counters and parameters, markers. */
#include "model/event.h"
#include "model/events/events.h"
#include "model/model.h"
#include "model/str.h"

#include <string.h>

static int counter(struct sp_events *s, const uint64_t *payload, struct sp_event *out)
{
	out->kind = SP_EVENT_COUNTER;
	out->id = sp_events_id(&s->source->counters, payload[0]) - 1;
	memcpy(&out->u.real, &payload[1], sizeof(out->u.real));
	return out->id != SP_NONE;
}

static int parameter(struct sp_events *s, uint32_t what, const uint64_t *payload, struct sp_event *out)
{
	out->id = sp_events_id(&s->source->parameters, payload[0]) - 1;
	out->u.uint = payload[1];
	out->kind = what == SP_RAW_X_PARAMETER_INT ? SP_EVENT_PARAMETER_INT : SP_EVENT_PARAMETER_UINT;
	if (what == SP_RAW_X_PARAMETER_STRING) {
		out->kind = SP_EVENT_PARAMETER_STRING;
		out->u.uint = 0;
		out->u.string = sp_events_id(&s->source->strings, payload[1]) - 1;
		return out->id != SP_NONE && out->u.string != SP_NONE;
	}
	return out->id != SP_NONE;
}

int sp_events_user(struct sp_events *s, uint32_t what, const uint64_t *payload, struct sp_event *out)
{
	if (what == SP_RAW_X_COUNTER)
		return counter(s, payload, out) ? 1 : -1;
	if (what != SP_RAW_X_MARKER)
		return parameter(s, what, payload, out) ? 1 : -1;
	out->kind = SP_EVENT_MARKER;
	out->id = sp_events_id(&s->source->strings, payload[0]) - 1;
	return out->id != SP_NONE ? 1 : -1;
}
