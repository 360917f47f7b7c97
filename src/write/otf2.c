/* SPDX-License-Identifier: BSD-3-Clause */
/* An OTF2 archive by way of libotf2, laid out as Score-P does it. Events come first: which parameters are used with
 * which type and how many events a location has is known only then. References: a location is its index in the model, a
 * region as well; a parameter with type t is 3 * index + t; a counter's metric member and class have its index. */
#include <errno.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "write/formats.h"
#include "write/out.h"

#define BATCH       4096
#define EVENT_CHUNK (4u << 20)
#define DEF_CHUNK   (4u << 20)

enum marker { MARKER_USER, MARKER_LOST, MARKERS };
enum parameter_type { PARAMETER_INT, PARAMETER_UINT, PARAMETER_STRING, PARAMETER_TYPES };

struct archive {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_err *e;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *defs;
	OTF2_MarkerWriter *markers; /* NULL until the first marker */
	struct sp_arena arena;
	struct sp_intern strings; /* number in the table = OTF2 reference */
	uint32_t *string_refs;    /* of each string of the model, SP_NONE: not yet used */
	uint32_t *created;        /* locations whose creator is known, by creator and time */
	size_t n_created;
	bool *parameter_used;       /* of each OTF2 parameter reference */
	uint64_t *events;           /* written for each location */
	uint64_t done, total, last; /* last: the greatest time written */
	bool failed;                /* e is set */
};

/* The state of the location being written. */
struct stream {
	struct archive *a;
	OTF2_EvtWriter *w;
	uint32_t location;
	const uint32_t *created, *created_end; /* threads it starts from here on */
	uint64_t next_created;                 /* when it starts the next one, UINT64_MAX: never */
	uint64_t last;
};

static OTF2_ErrorCode on_error(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list ap)
{
	struct archive *a = arg;
	char text[300];

	(void)file;
	(void)line;
	(void)function;
	if (code == OTF2_SUCCESS || a->failed)
		return code;
	vsnprintf(text, sizeof text, format, ap);
	sp_fail(a->e, errno, "libotf2: %s: %s", OTF2_Error_GetDescription(code), text);
	a->failed = true;
	return code;
}

static int fail(struct archive *a, const char *what)
{
	if (!a->failed)
		sp_fail(a->e, 0, "libotf2: %s", what);
	a->failed = true;
	return -1;
}

static int fail_memory(struct archive *a)
{
	a->failed = true;
	return sp_fail(a->e, ENOMEM, "out of memory");
}

static OTF2_FlushType before_flush(void *arg, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)arg;
	(void)type;
	(void)location;
	(void)caller;
	(void) final;
	return OTF2_FLUSH;
}

/* OTF2 strings end at NUL: one inside is shown as \x00. */
static const char *c_string(struct archive *a, struct sp_str s)
{
	if (!s.n || !memchr(s.p, '\0', s.n))
		return s.n ? s.p : "";
	char *text = sp_arena_alloc(&a->arena, 4 * s.n + 1), *to = text;
	if (!text)
		return NULL;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i])
			*to++ = s.p[i];
		else
			to = mempcpy(to, "\\x00", 4);
	}
	*to = '\0';
	return text;
}

/* The reference of a string, which is defined when it is met for the first time. */
static OTF2_StringRef string(struct archive *a, struct sp_str s)
{
	size_t known = a->strings.n;
	const char *text = c_string(a, s);
	uint32_t ref = text ? sp_intern(&a->strings, text, strlen(text)) : SP_INTERN_FAILED;

	if (ref == SP_INTERN_FAILED)
		fail_memory(a);
	else if (ref == known)
		OTF2_GlobalDefWriter_WriteString(a->defs, ref, text);
	return ref;
}

static OTF2_StringRef literal(struct archive *a, const char *s)
{
	return string(a, sp_text(s));
}

/* Markers */

static void put_marker(struct stream *s, uint64_t time, enum marker which, const char *text)
{
	struct archive *a = s->a;

	if (!a->markers) {
		a->markers = OTF2_Archive_GetMarkerWriter(a->archive);
		OTF2_MarkerWriter_WriteDefMarker(a->markers, MARKER_USER, "Spartito", "marker", OTF2_SEVERITY_NONE);
		OTF2_MarkerWriter_WriteDefMarker(a->markers, MARKER_LOST, "Spartito", "events lost",
		                                 OTF2_SEVERITY_HIGH);
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

/* Events */

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
	struct archive *a = s->a;
	uint32_t type = ev->kind - SP_EVENT_PARAMETER_INT, ref = PARAMETER_TYPES * ev->id + type;

	a->parameter_used[ref] = true;
	if (ev->kind == SP_EVENT_PARAMETER_INT)
		return OTF2_EvtWriter_ParameterInt(s->w, NULL, ev->time, ref, ev->u.sint);
	if (ev->kind == SP_EVENT_PARAMETER_UINT)
		return OTF2_EvtWriter_ParameterUnsignedInt(s->w, NULL, ev->time, ref, ev->u.uint);
	if (a->string_refs[ev->u.string] == SP_NONE)
		a->string_refs[ev->u.string] = string(a, a->m->strings[ev->u.string]);
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
		put_marker(s, ev->time, MARKER_USER, c_string(s->a, s->a->m->strings[ev->id]));
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
	return rc || s->a->failed ? fail(s->a, "an event could not be written") : 0;
}

/* Words between blanks; one in quotes keeps its blanks. Returns how many of at most max. */
static size_t split(struct archive *a, struct sp_str s, OTF2_StringRef *to, size_t max)
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
			fail_memory(a);
			break;
		}
		to[n++] = string(a, (struct sp_str){word, len});
		i += len + (end != NULL);
	}
	return n;
}

/* The first location of a process begins the program, others are threads that begin. */
static void put_begin(struct stream *s, uint64_t first)
{
	struct archive *a = s->a;
	const struct sp_location *l = &a->m->locations[s->location];
	const struct sp_process *p = &a->m->processes[l->process];
	uint64_t time = l->begin < first ? l->begin : first;

	if (s->location == p->first_location) {
		OTF2_StringRef words[256];
		size_t n = split(a, p->command, words, 256);
		if (!n)
			words[n++] = string(a, p->file);
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
		OTF2_EvtWriter_ProgramEnd(s->w, NULL, time, OTF2_UNDEFINED_INT64);
	} else if (l->creator != SP_NONE) {
		OTF2_EvtWriter_ThreadEnd(s->w, NULL, time, l->process, l->id);
	}
	if (time > s->a->last)
		s->a->last = time;
}

static int put_events(struct stream *s, struct sp_events *events)
{
	struct archive *a = s->a;
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

static int put_location(struct archive *a, uint32_t location)
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
		return fail(a, "no event writer");
	if (sp_events_open(&events, a->m, location, a->e)) {
		a->failed = true;
		return -1;
	}
	int rc = put_events(&s, events);
	sp_events_close(events);
	if (rc == 0)
		OTF2_EvtWriter_GetNumberOfEvents(s.w, &a->events[location]);
	if (OTF2_Archive_CloseEvtWriter(a->archive, s.w) && rc == 0)
		rc = fail(a, "the events could not be written");
	return rc;
}

/* Definitions */

static int by_creator(const void *x, const void *y, void *arg)
{
	const struct sp_location *all = arg, *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];

	if (a->creator != b->creator)
		return a->creator < b->creator ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void define_regions(struct archive *a)
{
	OTF2_StringRef none = literal(a, "");

	for (uint32_t r = 0; r < a->m->n_regions; r++) {
		const struct sp_region *region = &a->m->regions[r];
		bool real = region->kind != SP_REGION_COLLAPSED && region->kind != SP_REGION_ROOT;
		OTF2_StringRef name = string(a, region->name);
		OTF2_GlobalDefWriter_WriteRegion(
		    a->defs, r, name, name, none, real ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_ARTIFICIAL,
		    OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
		    region->file.n ? string(a, region->file) : OTF2_UNDEFINED_STRING, region->line, 0);
	}
}

/* One node for the machine, below it one for each host. Returns the references of the processes' hosts. */
static uint32_t *define_hosts(struct archive *a)
{
	struct sp_intern hosts = {.arena = &a->arena};
	uint32_t *of = sp_arena_zalloc(&a->arena, a->m->n_processes, sizeof *of);
	OTF2_StringRef node = literal(a, "node");

	OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, 0, literal(a, "Linux"), literal(a, "machine"),
	                                         OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
	for (size_t i = 0; of && i < a->m->n_processes; i++) {
		struct sp_str host = a->m->processes[i].host;
		size_t known = hosts.n;
		uint32_t id = sp_intern(&hosts, host.p, host.n);
		if (id == SP_INTERN_FAILED) {
			of = NULL;
		} else if (id == known) {
			OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, id + 1, string(a, host), node, 0);
			OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, id + 1,
			                                               OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
		}
		if (of)
			of[i] = id + 1;
	}
	sp_intern_free(&hosts);
	if (!of)
		fail_memory(a);
	return of;
}

static bool picked(const struct archive *a, uint32_t process)
{
	return a->o->process == SP_NONE || a->o->process == process;
}

static void define_processes(struct archive *a)
{
	const uint32_t *host = define_hosts(a);
	OTF2_StringRef tid = literal(a, "tid"), pid = literal(a, "pid");
	OTF2_AttributeValue value;
	char text[32];

	for (uint32_t i = 0; host && i < a->m->n_processes; i++) {
		const struct sp_process *p = &a->m->processes[i];
		if (!picked(a, i))
			continue;
		snprintf(text, sizeof text, "Process %" PRId32, p->pid);
		bool parent = p->parent != SP_NONE && picked(a, p->parent);
		OTF2_GlobalDefWriter_WriteLocationGroup(a->defs, i, literal(a, text), OTF2_LOCATION_GROUP_TYPE_PROCESS,
		                                        host[i], parent ? p->parent : OTF2_UNDEFINED_LOCATION_GROUP);
		value.int64 = p->pid;
		OTF2_GlobalDefWriter_WriteLocationGroupProperty(a->defs, i, pid, OTF2_TYPE_INT64, value);
	}
	for (uint32_t l = a->k.first; host && l < a->k.end; l++) {
		const struct sp_location *location = &a->m->locations[l];
		OTF2_GlobalDefWriter_WriteLocation(a->defs, l, string(a, location->name), OTF2_LOCATION_TYPE_CPU_THREAD,
		                                   a->events[l], location->process);
		value.uint64 = location->tid;
		OTF2_GlobalDefWriter_WriteLocationProperty(a->defs, l, tid, OTF2_TYPE_UINT64, value);
	}
}

static void define_threads(struct archive *a)
{
	uint32_t n = a->k.end - a->k.first, group = 0;
	uint64_t *members = sp_arena_zalloc(&a->arena, n, sizeof *members);
	OTF2_StringRef name = literal(a, "PTHREAD"), team = literal(a, "SPARTITO_GROUP_PTHREAD");

	if (!members) {
		fail_memory(a);
		return;
	}
	OTF2_GlobalDefWriter_WriteParadigm(a->defs, OTF2_PARADIGM_PTHREAD, literal(a, "Pthread"),
	                                   OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT);
	for (uint32_t i = 0; i < n; i++)
		members[i] = a->k.first + i;
	OTF2_GlobalDefWriter_WriteGroup(a->defs, group++, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_PTHREAD,
	                                OTF2_GROUP_FLAG_NONE, n, members);
	for (uint32_t i = 0; i < n; i++)
		members[i] = i; /* from here on ranks in the group above */
	for (uint32_t i = 0; i < a->m->n_processes; i++) {
		const struct sp_process *p = &a->m->processes[i];
		if (!picked(a, i))
			continue;
		OTF2_GlobalDefWriter_WriteGroup(a->defs, group, team, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_PTHREAD,
		                                OTF2_GROUP_FLAG_NONE, p->locations,
		                                members + p->first_location - a->k.first);
		OTF2_GlobalDefWriter_WriteComm(a->defs, i, literal(a, ""), group++, OTF2_UNDEFINED_COMM,
		                               OTF2_COMM_FLAG_NONE);
	}
}

static void define_values(struct archive *a)
{
	static const OTF2_ParameterType types[] = {OTF2_PARAMETER_TYPE_INT64, OTF2_PARAMETER_TYPE_UINT64,
	                                           OTF2_PARAMETER_TYPE_STRING};
	OTF2_StringRef none = literal(a, "");

	for (uint32_t i = 0; i < a->m->n_parameters * PARAMETER_TYPES; i++)
		if (a->parameter_used[i])
			OTF2_GlobalDefWriter_WriteParameter(
			    a->defs, i, string(a, a->m->parameters[i / PARAMETER_TYPES]), types[i % PARAMETER_TYPES]);
	for (uint32_t i = 0; i < a->m->n_counters; i++) {
		OTF2_GlobalDefWriter_WriteMetricMember(a->defs, i, string(a, a->m->counters[i]), none,
		                                       OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT,
		                                       OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, none);
		OTF2_GlobalDefWriter_WriteMetricClass(a->defs, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS,
		                                      OTF2_RECORDER_KIND_CPU);
	}
}

static int define(struct archive *a)
{
	define_regions(a);
	define_processes(a);
	if (a->n_created)
		define_threads(a);
	define_values(a);
	uint64_t length = a->m->end_ns - a->m->begin_ns;
	if (length < a->last)
		length = a->last;
	OTF2_GlobalDefWriter_WriteClockProperties(a->defs, 1000000000, 0, length + 1, a->m->begin_ns);
	return a->failed ? -1 : 0;
}

/* A reader expects a file of local definitions for each location: empty, as all references are global. */
static int define_locally(struct archive *a)
{
	if (OTF2_Archive_OpenDefFiles(a->archive))
		return fail(a, "no definition files");
	for (uint32_t l = a->k.first; l < a->k.end; l++) {
		OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(a->archive, l);
		if (!w || OTF2_Archive_CloseDefWriter(a->archive, w))
			return fail(a, "the definitions of a thread could not be written");
	}
	if (OTF2_Archive_CloseDefFiles(a->archive))
		return fail(a, "the definition files could not be written");
	return 0;
}

static int prepare(struct archive *a)
{
	const struct sp_model *m = a->m;

	a->strings.arena = &a->arena;
	a->string_refs = sp_arena_alloc(&a->arena, m->n_strings * sizeof *a->string_refs);
	a->created = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->created);
	a->parameter_used = sp_arena_zalloc(&a->arena, m->n_parameters, PARAMETER_TYPES * sizeof *a->parameter_used);
	a->events = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->events);
	if (!a->string_refs || !a->created || !a->parameter_used || !a->events)
		return fail_memory(a);
	memset(a->string_refs, 0xff, m->n_strings * sizeof *a->string_refs);
	for (uint32_t l = a->k.first; l < a->k.end; l++) {
		a->total += sp_events_count(m, l);
		if (m->locations[l].creator != SP_NONE)
			a->created[a->n_created++] = l;
	}
	qsort_r(a->created, a->n_created, sizeof *a->created, by_creator, m->locations);
	return 0;
}

static int put_all(struct archive *a)
{
	static const OTF2_FlushCallbacks flush = {before_flush, NULL};

	OTF2_Archive_SetFlushCallbacks(a->archive, &flush, NULL);
	OTF2_Archive_SetSerialCollectiveCallbacks(a->archive);
	OTF2_Archive_SetCreator(a->archive, "Spartito");
	a->defs = OTF2_Archive_GetGlobalDefWriter(a->archive);
	if (!a->defs || OTF2_Archive_OpenEvtFiles(a->archive))
		return fail(a, "no event files");
	literal(a, ""); /* reference 0, as is the custom */
	for (uint32_t l = a->k.first; l < a->k.end; l++)
		if (put_location(a, l))
			return -1;
	if (OTF2_Archive_CloseEvtFiles(a->archive))
		return fail(a, "the event files could not be written");
	if (define_locally(a) || define(a))
		return -1;
	if (a->markers && OTF2_Archive_CloseMarkerWriter(a->archive, a->markers))
		return fail(a, "the markers could not be written");
	return 0;
}

int sp_write_otf2(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct archive a = {.m = m, .o = o, .e = e};
	char *part;

	if (sp_pick_open(&a.k, m, o, e))
		return -1;
	int rc = sp_out_dir_open(&part, path, e);
	if (rc == 0) {
		OTF2_Error_RegisterCallback(on_error, &a);
		rc = prepare(&a);
		if (rc == 0)
			a.archive = OTF2_Archive_Open(part, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK, DEF_CHUNK,
			                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
		if (rc == 0)
			rc = a.archive ? put_all(&a) : fail(&a, "no archive");
		if (a.archive && OTF2_Archive_Close(a.archive) && rc == 0)
			rc = fail(&a, "the archive could not be closed");
		OTF2_Error_RegisterCallback(NULL, NULL);
		rc = sp_out_dir_close(part, path, rc || a.failed ? -1 : 0, e);
	}
	sp_intern_free(&a.strings);
	sp_arena_free(&a.arena);
	sp_pick_close(&a.k);
	return rc;
}
