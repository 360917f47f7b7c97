/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "write/otf2_archive.h"

#define BATCH 4096

enum marker { MARKER_USER, MARKER_LOST, MARKER_ENDED };

/* The state of the location being written. */
struct stream {
	struct sp_otf2 *a;
	OTF2_EvtWriter *w;
	uint32_t location;
	const uint32_t *created, *created_end; /* threads it starts from here on */
	uint64_t next_created;                 /* when it starts the next one, UINT64_MAX: never */
	uint64_t last;
};

static void put_marker(struct stream *s, uint64_t time, enum marker which, const char *text)
{
	struct sp_otf2 *a = s->a;

	if (!a->markers) {
		a->markers = OTF2_Archive_GetMarkerWriter(a->archive);
		OTF2_MarkerWriter_WriteDefMarker(a->markers, MARKER_USER, "Spartito", "marker", OTF2_SEVERITY_NONE);
		OTF2_MarkerWriter_WriteDefMarker(a->markers, MARKER_LOST, "Spartito", "events lost",
		                                 OTF2_SEVERITY_HIGH);
		OTF2_MarkerWriter_WriteDefMarker(a->markers, MARKER_ENDED, "Spartito", "ended abruptly",
		                                 OTF2_SEVERITY_MEDIUM);
	}
	OTF2_MarkerWriter_WriteMarker(a->markers, time, 0, which, OTF2_MARKER_SCOPE_LOCATION, s->location,
	                              text ? text : "");
}

static void put_lost(struct stream *s, uint64_t time, uint64_t n)
{
	char text[64];

	snprintf(text, sizeof text, "%" PRIu64 " events were not recorded", n);
	put_marker(s, time, MARKER_LOST, text);
}

/* Threads are started in the stream of their creator at the moment in which they begin. */
static void put_created(struct stream *s, uint64_t until)
{
	const struct sp_model *m = s->a->m;

	while (s->created < s->created_end && m->locations[*s->created].begin <= until) {
		const struct sp_location *l = &m->locations[*s->created++];
		uint64_t time = l->begin > s->last ? l->begin : s->last;
		OTF2_EvtWriter_ThreadCreate(s->w, NULL, time, l->process, l->id);
		s->last = time;
	}
	s->next_created = s->created < s->created_end ? m->locations[*s->created].begin : UINT64_MAX;
}

static int put_parameter(struct stream *s, const struct sp_event *ev)
{
	struct sp_otf2 *a = s->a;
	uint32_t slot = PARAMETER_TYPES * ev->id + ev->kind - SP_EVENT_PARAMETER_INT;

	if (a->parameter_refs[slot] == SP_NONE) {
		a->parameters[a->n_parameter_refs] = slot;
		a->parameter_refs[slot] = a->n_parameter_refs++;
	}
	uint32_t ref = a->parameter_refs[slot];
	if (ev->kind == SP_EVENT_PARAMETER_INT)
		return OTF2_EvtWriter_ParameterInt(s->w, NULL, ev->time, ref, ev->u.sint);
	if (ev->kind == SP_EVENT_PARAMETER_UINT)
		return OTF2_EvtWriter_ParameterUnsignedInt(s->w, NULL, ev->time, ref, ev->u.uint);
	if (a->string_refs[ev->u.string] == SP_NONE)
		a->string_refs[ev->u.string] = sp_otf2_string(a, a->m->strings[ev->u.string]);
	return OTF2_EvtWriter_ParameterString(s->w, NULL, ev->time, ref, a->string_refs[ev->u.string]);
}

/* What is neither an enter nor a leave. */
static int put_rare(struct stream *s, const struct sp_event *ev)
{
	OTF2_Type type = OTF2_TYPE_DOUBLE;
	OTF2_MetricValue value;

	switch (ev->kind) {
	case SP_EVENT_COUNTER:
		value.floating_point = ev->u.real;
		return OTF2_EvtWriter_Metric(s->w, NULL, ev->time, ev->id, 1, &type, &value);
	case SP_EVENT_PARAMETER_INT:
	case SP_EVENT_PARAMETER_UINT:
	case SP_EVENT_PARAMETER_STRING:
		return put_parameter(s, ev);
	case SP_EVENT_MARKER:
		put_marker(s, ev->time, MARKER_USER, sp_otf2_text(s->a, s->a->m->strings[ev->id]));
		return 0;
	case SP_EVENT_OFF:
		return OTF2_EvtWriter_MeasurementOnOff(s->w, NULL, ev->time, OTF2_MEASUREMENT_OFF);
	case SP_EVENT_ON:
		return OTF2_EvtWriter_MeasurementOnOff(s->w, NULL, ev->time, OTF2_MEASUREMENT_ON);
	case SP_EVENT_LOST:
		put_lost(s, ev->time, ev->u.uint);
		return 0;
	}
	return 0;
}

static int put_batch(struct stream *s, const struct sp_event *ev, long n)
{
	OTF2_EvtWriter *w = s->w;
	int rc = 0;

	for (const struct sp_event *end = ev + n; ev < end && rc == 0; ev++) {
		if (ev->time >= s->next_created)
			put_created(s, ev->time);
		s->last = ev->time;
		switch (ev->kind) {
		case SP_EVENT_ENTER:
		case SP_EVENT_RESUME:
		case SP_EVENT_INHERIT:
			rc = OTF2_EvtWriter_Enter(w, NULL, ev->time, ev->id);
			break;
		case SP_EVENT_LEAVE:
		case SP_EVENT_SUSPEND:
			rc = OTF2_EvtWriter_Leave(w, NULL, ev->time, ev->id);
			break;
		default:
			rc = put_rare(s, ev);
		}
	}
	return rc || s->a->failed ? sp_otf2_fail(s->a, "an event could not be written") : 0;
}

/* Words between blanks; one in quotes keeps its blanks. Returns how many of at most max. */
static size_t split(struct sp_otf2 *a, struct sp_str s, OTF2_StringRef *to, size_t max)
{
	size_t n = 0, i = 0;

	while (n < max) {
		while (i < s.n && s.p[i] == ' ')
			i++;
		if (i == s.n)
			break;
		char quote = s.p[i] == '\'' || s.p[i] == '"' ? s.p[i++] : ' ';
		const char *end = memchr(s.p + i, quote, s.n - i);
		size_t len = end ? (size_t)(end - s.p) - i : s.n - i;
		char *word = sp_arena_copy(&a->arena, s.p + i, len);
		if (!word) {
			sp_otf2_fail_memory(a);
			break;
		}
		to[n++] = sp_otf2_string(a, (struct sp_str){word, len});
		i += len + (end != NULL);
	}
	return n;
}

/* The first location of a process begins the program, others are threads that begin. */
static void put_begin(struct stream *s, uint64_t first)
{
	struct sp_otf2 *a = s->a;
	const struct sp_location *l = &a->m->locations[s->location];
	const struct sp_process *p = &a->m->processes[l->process];
	uint64_t time = l->begin < first ? l->begin : first;

	if (s->location == p->first_location) {
		OTF2_StringRef words[256];
		size_t n = split(a, p->command, words, 256);
		if (!n)
			words[n++] = sp_otf2_string(a, p->file);
		time = p->begin < time ? p->begin : time;
		OTF2_EvtWriter_ProgramBegin(s->w, NULL, time, words[0], (uint32_t)n - 1, words + 1);
	} else if (l->creator != SP_NONE) {
		OTF2_EvtWriter_ThreadBegin(s->w, NULL, time, l->process, l->id);
	}
	s->last = time;
}

static void put_end(struct stream *s)
{
	const struct sp_location *l = &s->a->m->locations[s->location];
	const struct sp_process *p = &s->a->m->processes[l->process];
	uint64_t time = l->end > s->last ? l->end : s->last;

	put_created(s, UINT64_MAX);
	if (s->last > time)
		time = s->last;
	if (s->location == p->first_location) {
		time = p->stop > time ? p->stop : time;
		if (p->end == SP_END_ABRUPT)
			put_marker(s, time, MARKER_ENDED, "killed, crashed or ended by os._exit");
		if (p->lost_reason)
			put_marker(s, time, MARKER_LOST, p->lost_reason);
		OTF2_EvtWriter_ProgramEnd(s->w, NULL, time, OTF2_UNDEFINED_INT64);
	} else if (l->creator != SP_NONE) {
		OTF2_EvtWriter_ThreadEnd(s->w, NULL, time, l->process, l->id);
	}
	if (time > s->a->last)
		s->a->last = time;
}

static int put_events(struct stream *s, struct sp_events *events)
{
	struct sp_otf2 *a = s->a;
	struct sp_event batch[BATCH];
	bool begun = false;
	long n;

	while ((n = sp_events_read(events, batch, BATCH, a->e)) > 0) {
		if (!begun)
			put_begin(s, batch[0].time);
		if (!begun)
			put_created(s, 0);
		begun = true;
		if (put_batch(s, batch, n))
			return -1;
		a->done += (uint64_t)n;
		if (sp_write_tick(a->o, a->done, a->total, a->e)) {
			a->failed = true;
			return -1;
		}
	}
	if (n < 0) {
		a->failed = true;
		return -1;
	}
	if (!begun)
		put_begin(s, UINT64_MAX);
	put_end(s);
	return 0;
}

int sp_otf2_events(struct sp_otf2 *a, uint32_t location)
{
	struct stream s = {.a = a, .location = location, .next_created = UINT64_MAX};
	struct sp_events *events;
	const uint32_t *c = a->created, *end = a->created + a->n_created;

	while (c < end && a->m->locations[*c].creator < location)
		c++;
	s.created = s.created_end = c;
	while (s.created_end < end && a->m->locations[*s.created_end].creator == location)
		s.created_end++;
	s.w = OTF2_Archive_GetEvtWriter(a->archive, location);
	if (!s.w)
		return sp_otf2_fail(a, "no event writer");
	if (sp_events_open(&events, a->m, location, a->e)) {
		a->failed = true;
		return -1;
	}
	int rc = put_events(&s, events);
	sp_events_close(events);
	if (rc == 0)
		OTF2_EvtWriter_GetNumberOfEvents(s.w, &a->events[location]);
	if (OTF2_Archive_CloseEvtWriter(a->archive, s.w) && rc == 0)
		rc = sp_otf2_fail(a, "the events could not be written");
	return rc;
}
