/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/otf2/archive.h"

#define BATCH 4096

enum marker { MARKER_USER, MARKER_LOST, MARKER_ENDED };

/* The state of writing a location. */
struct stream {
	struct sp_otf2 *a;
	OTF2_EvtWriter *w;
	uint32_t location;
	const uint32_t *created, *created_end;           /* remaining threads that it starts */
	const struct sp_heap_count *counts, *counts_end; /* remaining values of its process's memory */
	uint64_t next_aside;                             /* time of the next of these; UINT64_MAX: no more */
	uint64_t last;
	uint32_t skip;        /* number of following events that were already written */
	struct sp_event call; /* the last enter or leave of the previous batch */
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
	OTF2_MarkerWriter_WriteMarker(a->markers, time, 0, which, OTF2_MARKER_SCOPE_LOCATION,
	                              sp_otf2_location(a->m, s->location), text ? text : "");
}

static void put_lost(struct stream *s, uint64_t time, uint64_t n)
{
	char text[64];

	snprintf(text, sizeof text, "%" PRIu64 " events were not recorded", n);
	put_marker(s, time, MARKER_LOST, text);
}

static void put_creation(struct stream *s, uint32_t location, uint64_t time)
{
	const struct sp_location *l = &s->a->m->locations[location];

	if (s->a->creation[location] || l->creator != s->location)
		return;
	s->a->creation[location] = true;
	OTF2_EvtWriter_ThreadCreate(s->w, NULL, time, sp_otf2_team(s->a, location), l->id);
}

/* Writes records that do not come from the location's events, up to a time. A thread's creation is in the stream of its
 * creator, at the latest at the thread's begin. The memory of a process is in the stream of its first thread. */
static void put_asides(struct stream *s, uint64_t until)
{
	const struct sp_model *m = s->a->m;

	for (;;) {
		const uint64_t begin = s->created < s->created_end ? m->locations[*s->created].begin : UINT64_MAX;
		const uint64_t count = s->counts < s->counts_end ? s->counts->time : UINT64_MAX;
		s->next_aside = begin < count ? begin : count;
		if (s->next_aside > until || (s->created == s->created_end && s->counts == s->counts_end))
			return;
		const uint64_t time = s->next_aside > s->last ? s->next_aside : s->last;
		const uint32_t created = begin <= count ? *s->created++ : SP_NONE;
		if (created == SP_NONE)
			sp_otf2_heap(s->a, s->w, m->locations[s->location].process, time, s->counts++);
		else if (s->a->creation[created])
			continue;
		else
			put_creation(s, created, time);
		s->last = time;
	}
}

static int put_parameter(struct stream *s, const struct sp_event *ev)
{
	struct sp_otf2 *a = s->a;
	uint32_t ref = sp_otf2_parameter(a, ev->id, ev->kind);

	if (ev->kind == SP_EVENT_PARAMETER_INT)
		return OTF2_EvtWriter_ParameterInt(s->w, NULL, ev->time, ref, ev->u.sint);
	if (ev->kind == SP_EVENT_PARAMETER_UINT)
		return OTF2_EvtWriter_ParameterUnsignedInt(s->w, NULL, ev->time, ref, ev->u.uint);
	if (a->string_refs[ev->u.string] == SP_NONE)
		a->string_refs[ev->u.string] = sp_otf2_string(a, a->m->strings[ev->u.string]);
	return OTF2_EvtWriter_ParameterString(s->w, NULL, ev->time, ref, a->string_refs[ev->u.string]);
}

static bool is_call(const struct sp_event *ev)
{
	return ev->kind <= SP_EVENT_INHERIT;
}

/* Writes the metrics from ev on, which belong to the next enter or leave. */
static int put_metrics(struct stream *s, const struct sp_event *ev, const struct sp_event *end)
{
	uint32_t metrics[UINT8_MAX];
	OTF2_MetricValue values[UINT8_MAX];
	OTF2_Type types[UINT8_MAX];
	const struct sp_event *at = ev;
	uint8_t n = 0;

	for (; at < end && at->kind == SP_EVENT_METRIC && n < UINT8_MAX; at++, n++) {
		metrics[n] = at->id;
		values[n].unsigned_int = at->u.uint;
		types[n] = OTF2_TYPE_UINT64;
	}
	s->skip = n - 1u;
	if (at < end && is_call(at) && at->id == s->a->off)
		return OTF2_SUCCESS;
	uint32_t ref = sp_otf2_class(s->a, metrics, n);
	return ref == SP_NONE ? OTF2_ERROR_MEM_ALLOC_FAILED
	                      : OTF2_EvtWriter_Metric(s->w, NULL, ev->time, ref, n, types, values);
}

/* Whether a handle was open before: it is used for the first time, and not in a call that opens it. */
static bool found_open(const struct stream *s, const struct sp_event *batch, const struct sp_event *ev)
{
	static const char *const opening[] = {"open", "creat", "fopen", "freopen", "fdopen", "tmpfile", "mk", "memfd"};
	const struct sp_event *call = ev;

	while (call > batch && !is_call(call))
		call--;
	if (!is_call(call))
		call = &s->call;
	if (ev->kind != SP_EVENT_IO_CREATE || call->kind != SP_EVENT_ENTER)
		return false;
	const struct sp_region *r = &s->a->m->regions[call->id];
	for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
		if (r->qualname.n >= strlen(opening[i]) && memcmp(r->qualname.p, opening[i], strlen(opening[i])) == 0)
			return false;
	return r->kind == SP_REGION_IO;
}

/* Writes an event other than enter and leave; not inlined, to keep the path of those short. Sets the number of events
 * after ev that were written with it. */
__attribute__((noinline)) static int put_rare(struct stream *s, const struct sp_event *batch, const struct sp_event *ev,
                                              const struct sp_event *end)
{
	OTF2_Type type = OTF2_TYPE_DOUBLE;
	OTF2_MetricValue value;

	s->skip = 0;
	switch (ev->kind) {
	case SP_EVENT_METRIC:
		return put_metrics(s, ev, end);
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
	default:
		if (ev->kind > SP_EVENT_IO_DELETE)
			return 0;
		return sp_otf2_io(s->a, s->w, s->location, ev, found_open(s, batch, ev));
	}
}

/* Writes off-CPU time as a value of its metric, at the end of the time. */
static int put_off_cpu(struct stream *s, const struct sp_event *ev)
{
	static const OTF2_Type type = OTF2_TYPE_UINT64;
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(s->a->m);
	const size_t column = ev->id == SP_OFF_CPU_WAITING ? columns.waiting[0] : columns.preempted;
	const uint32_t metric = (uint32_t)column - 1;
	const OTF2_MetricValue value = {.unsigned_int = ev->u.uint};
	uint32_t ref;

	if (!column)
		return 0;
	ref = sp_otf2_class(s->a, &metric, 1);
	return ref == SP_NONE ? -1 : OTF2_EvtWriter_Metric(s->w, NULL, ev->time, ref, 1, &type, &value);
}

/* Writes an event of threads, tasks and waits; before: time of the previous event. */
static int put_task(struct stream *s, const struct sp_event *ev, uint64_t before)
{
	if (ev->kind == SP_EVENT_OFF_CPU)
		return put_off_cpu(s, ev);
	if (ev->kind >= SP_EVENT_WAIT_BEGIN)
		return sp_otf2_wait(s->a, s->w, ev);
	if (ev->kind != SP_EVENT_THREAD_CREATE)
		return sp_otf2_task(s->a, s->w, s->location, ev, before);
	if (ev->id != SP_NONE)
		put_creation(s, ev->id, ev->time);
	return 0;
}

static int put_batch(struct stream *s, const struct sp_event *batch, const struct sp_event *end)
{
	OTF2_EvtWriter *w = s->w;
	const uint32_t off = s->a->off;
	int rc = 0;

	for (const struct sp_event *ev = batch; ev < end && rc == 0; ev++) {
		if (ev->time >= s->next_aside)
			put_asides(s, ev->time);
		const uint64_t before = s->last;
		s->last = ev->time;
		switch (ev->kind) {
		case SP_EVENT_ENTER:
		case SP_EVENT_RESUME:
		case SP_EVENT_INHERIT:
			if (ev->id != off)
				rc = OTF2_EvtWriter_Enter(w, NULL, ev->time, ev->id);
			break;
		case SP_EVENT_LEAVE:
		case SP_EVENT_SUSPEND:
			if (ev->id != off)
				rc = OTF2_EvtWriter_Leave(w, NULL, ev->time, ev->id);
			break;
		default:
			if (ev->kind >= SP_EVENT_MPI_SEND && ev->kind <= SP_EVENT_RMA_LOCK) {
				rc = sp_otf2_mpi(s->a, w, ev);
				break;
			}
			if (ev->kind >= SP_EVENT_THREAD_CREATE) {
				rc = put_task(s, ev, before);
				break;
			}
			rc = put_rare(s, batch, ev, end);
			ev += s->skip;
		}
	}
	return rc || s->a->failed ? sp_otf2_fail(s->a, "an event could not be written") : 0;
}

/* Writes a begin of the program, with the name and the words of its command. */
static void put_program(struct stream *s, const struct sp_process *p, uint64_t time)
{
	struct sp_otf2 *a = s->a;
	/* a word takes at least one character and the blank after it */
	OTF2_StringRef *words = sp_arena_alloc(&a->arena, (p->command.n / 2 + 2) * sizeof *words);
	struct sp_str word;
	uint32_t n = 0;
	size_t at = 0;

	if (!words) {
		sp_otf2_fail_memory(a);
		return;
	}
	while (sp_scorep_word(p->command, &at, &word))
		words[n++] = sp_otf2_string(a, word);
	if (!n)
		words[n++] = sp_otf2_string(a, p->file);
	OTF2_AttributeList_AddUint64(a->attributes, ATTRIBUTE_PROCESS, (uint64_t)p->pid);
	OTF2_EvtWriter_ProgramBegin(s->w, a->attributes, time, words[0], n - 1, words + 1);
}

/* A thread's number, if its creator is known. */
static uint64_t thread_number(const struct sp_location *l)
{
	return l->creator != SP_NONE ? l->id : OTF2_UNDEFINED_UINT64;
}

/* The begin of a location: of the program for the first location of a process, of a thread for others. */
static void put_begin(struct stream *s, uint64_t first)
{
	struct sp_otf2 *a = s->a;
	const struct sp_location *l = &a->m->locations[s->location];
	const struct sp_process *p = &a->m->processes[l->process];
	uint64_t time = l->begin < first ? l->begin : first;

	if (s->location == p->first_location) {
		time = p->begin < time ? p->begin : time;
		put_program(s, p, time);
	} else {
		OTF2_AttributeList_AddUint64(a->attributes, ATTRIBUTE_THREAD, l->tid);
		OTF2_EvtWriter_ThreadBegin(s->w, a->attributes, time, sp_otf2_team(a, s->location), thread_number(l));
	}
	s->last = time;
}

static void put_end(struct stream *s)
{
	const struct sp_location *l = &s->a->m->locations[s->location];
	const struct sp_process *p = &s->a->m->processes[l->process];
	uint64_t time = l->end > s->last ? l->end : s->last;

	put_asides(s, UINT64_MAX);
	if (s->last > time)
		time = s->last;
	if (s->location == p->first_location) {
		time = p->stop > time ? p->stop : time;
		if (p->end == SP_END_ABRUPT)
			put_marker(s, time, MARKER_ENDED, "killed or crashed");
		if (p->lost_reason)
			put_marker(s, time, MARKER_LOST, p->lost_reason);
		OTF2_EvtWriter_ProgramEnd(s->w, NULL, time, OTF2_UNDEFINED_INT64);
	} else {
		OTF2_EvtWriter_ThreadEnd(s->w, NULL, time, sp_otf2_team(s->a, s->location), thread_number(l));
	}
	if (time > s->a->last)
		s->a->last = time;
}

static void put_first(struct stream *s, uint64_t time)
{
	put_begin(s, time);
	put_asides(s, 0);
}

static int put_some(struct stream *s, const struct sp_event *batch, long n)
{
	if (put_batch(s, batch, batch + n))
		return -1;
	for (long i = n; i-- > 0;)
		if (is_call(&batch[i])) {
			s->call = batch[i];
			break;
		}
	return 0;
}

static int put_events(struct stream *s, struct sp_events *events)
{
	struct sp_otf2 *a = s->a;
	struct sp_event batch[BATCH];
	bool begun = false;
	long held = 0, n;

	while ((n = sp_events_read(events, batch + held, (size_t)(BATCH - held), a->e)) > 0) {
		if (!begun)
			put_first(s, batch[0].time);
		begun = true;
		a->done += (uint64_t)n;
		n += held;
		/* keep metrics together with the following enter or leave */
		for (held = 0; held < n && held < BATCH / 2 && batch[n - 1 - held].kind == SP_EVENT_METRIC;)
			held++;
		if (put_some(s, batch, n - held))
			return -1;
		memmove(batch, batch + n - held, (size_t)held * sizeof *batch);
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
		put_first(s, UINT64_MAX);
	if (put_some(s, batch, held))
		return -1;
	put_end(s);
	return a->failed ? -1 : 0;
}

static int put_samples(struct stream *s, struct sp_events *events)
{
	struct sp_otf2 *a = s->a;
	struct sp_sample sample;
	struct sp_otf2_sampling sampling;
	bool begun = false;
	long n;

	if (sp_otf2_samples_begin(a, &sampling, s->location, events))
		return -1;
	while ((n = sp_events_read_samples(events, &sample, 1, a->e)) > 0) {
		if (!begun)
			put_first(s, sample.time);
		begun = true;
		if (sample.time >= s->next_aside)
			put_asides(s, sample.time);
		s->last = sample.time;
		if (sp_otf2_sample(a, &sampling, s->w, &sample, events))
			return sp_otf2_fail(a, "a sample could not be written");
		if (++a->done % BATCH == 0 && sp_write_tick(a->o, a->done, a->total, a->e))
			break;
	}
	if (n != 0) {
		a->failed = true;
		return -1;
	}
	if (!begun)
		put_first(s, UINT64_MAX);
	put_end(s);
	return a->failed ? -1 : 0;
}

/* The memory values of the process, if this is its first location. The caller owns them; NULL: none. */
static struct sp_heap_count *counts_of(struct stream *s)
{
	struct sp_otf2 *a = s->a;
	const uint32_t process = a->m->locations[s->location].process;
	struct sp_heap_count *counts;
	size_t n = 0;

	if (a->heap_refs[process] == SP_NONE || a->m->processes[process].first_location != s->location)
		return NULL;
	counts = sp_heap_counts(&a->heaps.all[process], &n);
	if (!counts)
		sp_otf2_fail_memory(a);
	s->counts = counts;
	s->counts_end = counts + n;
	return counts;
}

int sp_otf2_events(struct sp_otf2 *a, uint32_t location)
{
	struct stream s = {.a = a, .location = location, .next_aside = UINT64_MAX};
	struct sp_events *events;
	const uint32_t *c = a->created, *end = a->created + a->n_created;

	while (c < end && a->m->locations[*c].creator < location)
		c++;
	s.created = s.created_end = c;
	while (s.created_end < end && a->m->locations[*s.created_end].creator == location)
		s.created_end++;
	s.w = OTF2_Archive_GetEvtWriter(a->archive, sp_otf2_location(a->m, location));
	if (!s.w)
		return sp_otf2_fail(a, "no event writer");
	if (sp_events_open(&events, a->m, location, a->e)) {
		a->failed = true;
		return -1;
	}
	struct sp_heap_count *counts = counts_of(&s);
	int rc = a->failed                                             ? -1
	         : a->samples && sp_events_sampled(events, NULL, NULL) ? put_samples(&s, events)
	                                                               : put_events(&s, events);
	sp_events_close(events);
	free(counts);
	if (rc == 0)
		OTF2_EvtWriter_GetNumberOfEvents(s.w, &a->events[location]);
	if (OTF2_Archive_CloseEvtWriter(a->archive, s.w) && rc == 0)
		rc = sp_otf2_fail(a, "the events could not be written");
	return rc;
}
