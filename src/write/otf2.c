/* SPDX-License-Identifier: BSD-3-Clause */
/* An OTF2 archive by way of libotf2, laid out as Score-P does it. Events come first: which parameters are used with
 * which type and how many events a location has is known only then. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "write/formats.h"
#include "write/otf2_archive.h"

#define EVENT_CHUNK (1u << 20)
#define DEF_CHUNK   (4u << 20)

static OTF2_ErrorCode on_error(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list ap)
{
	struct sp_otf2 *a = arg;
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

int sp_otf2_fail(struct sp_otf2 *a, const char *what)
{
	if (!a->failed)
		sp_fail(a->e, 0, "libotf2: %s", what);
	a->failed = true;
	return -1;
}

int sp_otf2_fail_memory(struct sp_otf2 *a)
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

/* One chunk for each buffer, filled again after each flush: libotf2 by itself keeps many megabytes before it flushes,
 * and touching fresh memory costs more than writing the events. */
struct chunk {
	bool used;
	char bytes[] __attribute__((aligned(64)));
};

static void *get_chunk(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **buffer, uint64_t size)
{
	struct chunk *c = *buffer;

	(void)arg;
	(void)type;
	(void)location;
	if (!c)
		c = *buffer = aligned_alloc(64, sizeof *c + size);
	else if (c->used)
		return NULL;
	if (!c)
		return NULL;
	c->used = true;
	return c->bytes;
}

static void free_chunks(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **buffer, bool final)
{
	struct chunk *c = *buffer;

	(void)arg;
	(void)type;
	(void)location;
	if (c)
		c->used = false;
	if (final) {
		free(c);
		*buffer = NULL;
	}
}

const char *sp_otf2_text(struct sp_otf2 *a, struct sp_str s)
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

OTF2_StringRef sp_otf2_string(struct sp_otf2 *a, struct sp_str s)
{
	size_t known = a->strings.n;
	const char *text = sp_otf2_text(a, s);
	uint32_t ref = text ? sp_intern(&a->strings, text, strlen(text)) : SP_INTERN_FAILED;

	if (ref == SP_INTERN_FAILED)
		sp_otf2_fail_memory(a);
	else if (ref == known)
		OTF2_GlobalDefWriter_WriteString(a->defs, ref, text);
	return ref;
}

static OTF2_StringRef literal(struct sp_otf2 *a, const char *s)
{
	return sp_otf2_string(a, sp_text(s));
}

static int by_creator(const void *x, const void *y, void *arg)
{
	const struct sp_location *all = arg, *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];

	if (a->creator != b->creator)
		return a->creator < b->creator ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void define_regions(struct sp_otf2 *a)
{
	OTF2_StringRef none = literal(a, "");

	for (uint32_t r = 0; r < a->m->n_regions; r++) {
		const struct sp_region *region = &a->m->regions[r];
		bool real = region->kind != SP_REGION_COLLAPSED && region->kind != SP_REGION_ROOT;
		OTF2_StringRef name = sp_otf2_string(a, region->name);
		OTF2_GlobalDefWriter_WriteRegion(
		    a->defs, r, name, name, none, real ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_ARTIFICIAL,
		    OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
		    region->file.n ? sp_otf2_string(a, region->file) : OTF2_UNDEFINED_STRING, region->line, 0);
	}
}

/* One node for the machine, below it one for each host. Returns the references of the processes' hosts. */
static uint32_t *define_hosts(struct sp_otf2 *a)
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
			OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, id + 1, sp_otf2_string(a, host), node, 0);
			OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, id + 1,
			                                               OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
		}
		if (of)
			of[i] = id + 1;
	}
	sp_intern_free(&hosts);
	if (!of)
		sp_otf2_fail_memory(a);
	return of;
}

static bool picked(const struct sp_otf2 *a, uint32_t process)
{
	return a->o->process == SP_NONE || a->o->process == process;
}

static void define_processes(struct sp_otf2 *a)
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
		OTF2_GlobalDefWriter_WriteLocation(a->defs, l, sp_otf2_string(a, location->name),
		                                   OTF2_LOCATION_TYPE_CPU_THREAD, a->events[l], location->process);
		value.uint64 = location->tid;
		OTF2_GlobalDefWriter_WriteLocationProperty(a->defs, l, tid, OTF2_TYPE_UINT64, value);
	}
}

static void define_threads(struct sp_otf2 *a)
{
	uint32_t n = a->k.end - a->k.first;
	uint64_t *members = sp_arena_zalloc(&a->arena, n, sizeof *members);
	OTF2_StringRef name = literal(a, "PTHREAD"), team = literal(a, "SPARTITO_GROUP_PTHREAD");

	if (!members) {
		sp_otf2_fail_memory(a);
		return;
	}
	OTF2_GlobalDefWriter_WriteParadigm(a->defs, OTF2_PARADIGM_PTHREAD, literal(a, "Pthread"),
	                                   OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT);
	for (uint32_t i = 0; i < n; i++)
		members[i] = a->k.first + i;
	OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups++, name, OTF2_GROUP_TYPE_COMM_LOCATIONS,
	                                OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE, n, members);
	for (uint32_t i = 0; i < n; i++)
		members[i] = i; /* from here on ranks in the group above */
	for (uint32_t i = 0; i < a->m->n_processes; i++) {
		const struct sp_process *p = &a->m->processes[i];
		if (!picked(a, i))
			continue;
		OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups, team, OTF2_GROUP_TYPE_COMM_GROUP,
		                                OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE, p->locations,
		                                members + p->first_location - a->k.first);
		OTF2_GlobalDefWriter_WriteComm(a->defs, i, literal(a, ""), a->n_groups++, OTF2_UNDEFINED_COMM,
		                               OTF2_COMM_FLAG_NONE);
	}
}

static int by_module(const void *x, const void *y, void *arg)
{
	const struct sp_region *all = arg;
	uint64_t i = *(const uint64_t *)x, k = *(const uint64_t *)y;
	int order = strcmp(all[i].module.p, all[k].module.p);

	return order ? order : i < k ? -1 : i > k;
}

/* A group of regions for each module, by which a viewer colours them. */
static void define_modules(struct sp_otf2 *a)
{
	const struct sp_region *all = a->m->regions;
	size_t n = a->m->n_regions, end;
	uint64_t *members = sp_arena_zalloc(&a->arena, n, sizeof *members);

	if (!members) {
		sp_otf2_fail_memory(a);
		return;
	}
	for (size_t r = 0; r < n; r++)
		members[r] = r;
	qsort_r(members, n, sizeof *members, by_module, a->m->regions);
	for (size_t begin = 0; begin < n; begin = end) {
		struct sp_str module = all[members[begin]].module;
		for (end = begin; end < n && strcmp(all[members[end]].module.p, module.p) == 0; end++)
			;
		if (module.n)
			OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups++, sp_otf2_string(a, module),
			                                OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_NONE,
			                                OTF2_GROUP_FLAG_NONE, (uint32_t)(end - begin), members + begin);
	}
}

static void define_values(struct sp_otf2 *a)
{
	static const OTF2_ParameterType types[] = {OTF2_PARAMETER_TYPE_INT64, OTF2_PARAMETER_TYPE_UINT64,
	                                           OTF2_PARAMETER_TYPE_STRING};
	OTF2_StringRef none = literal(a, "");

	for (uint32_t ref = 0; ref < a->n_parameter_refs; ref++) {
		uint32_t slot = a->parameters[ref];
		OTF2_GlobalDefWriter_WriteParameter(a->defs, ref,
		                                    sp_otf2_string(a, a->m->parameters[slot / PARAMETER_TYPES]),
		                                    types[slot % PARAMETER_TYPES]);
	}
	for (uint32_t i = 0; i < a->m->n_counters; i++) {
		OTF2_GlobalDefWriter_WriteMetricMember(a->defs, i, sp_otf2_string(a, a->m->counters[i]), none,
		                                       OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT,
		                                       OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, none);
		OTF2_GlobalDefWriter_WriteMetricClass(a->defs, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS,
		                                      OTF2_RECORDER_KIND_CPU);
	}
}

static int define(struct sp_otf2 *a)
{
	define_regions(a);
	define_processes(a);
	if (a->n_created)
		define_threads(a);
	define_modules(a);
	define_values(a);
	uint64_t length = a->m->end_ns - a->m->begin_ns;
	if (length < a->last)
		length = a->last;
	OTF2_GlobalDefWriter_WriteClockProperties(a->defs, 1000000000, 0, length + 1, a->m->begin_ns);
	return a->failed ? -1 : 0;
}

/* A reader expects a file of local definitions for each location: empty, as all references are global. */
static int define_locally(struct sp_otf2 *a)
{
	if (OTF2_Archive_OpenDefFiles(a->archive))
		return sp_otf2_fail(a, "no definition files");
	for (uint32_t l = a->k.first; l < a->k.end; l++) {
		OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(a->archive, l);
		if (!w || OTF2_Archive_CloseDefWriter(a->archive, w))
			return sp_otf2_fail(a, "the definitions of a thread could not be written");
	}
	if (OTF2_Archive_CloseDefFiles(a->archive))
		return sp_otf2_fail(a, "the definition files could not be written");
	return 0;
}

static int prepare(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;

	a->strings.arena = &a->arena;
	a->string_refs = sp_arena_alloc(&a->arena, m->n_strings * sizeof *a->string_refs);
	a->created = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->created);
	size_t slots = m->n_parameters * PARAMETER_TYPES;
	a->parameter_refs = sp_arena_alloc(&a->arena, slots * sizeof *a->parameter_refs);
	a->parameters = sp_arena_alloc(&a->arena, slots * sizeof *a->parameters);
	a->events = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->events);
	if (!a->string_refs || !a->created || !a->parameter_refs || !a->parameters || !a->events)
		return sp_otf2_fail_memory(a);
	memset(a->parameter_refs, 0xff, slots * sizeof *a->parameter_refs);
	memset(a->string_refs, 0xff, m->n_strings * sizeof *a->string_refs);
	for (uint32_t l = a->k.first; l < a->k.end; l++) {
		a->total += sp_events_count(m, l);
		if (m->locations[l].creator != SP_NONE)
			a->created[a->n_created++] = l;
	}
	qsort_r(a->created, a->n_created, sizeof *a->created, by_creator, m->locations);
	return 0;
}

static int put_all(struct sp_otf2 *a)
{
	static const OTF2_FlushCallbacks flush = {before_flush, NULL};
	static const OTF2_MemoryCallbacks memory = {get_chunk, free_chunks};

	OTF2_Archive_SetFlushCallbacks(a->archive, &flush, NULL);
	OTF2_Archive_SetMemoryCallbacks(a->archive, &memory, NULL);
	OTF2_Archive_SetSerialCollectiveCallbacks(a->archive);
	OTF2_Archive_SetCreator(a->archive, "Spartito");
	a->defs = OTF2_Archive_GetGlobalDefWriter(a->archive);
	if (!a->defs || OTF2_Archive_OpenEvtFiles(a->archive))
		return sp_otf2_fail(a, "no event files");
	literal(a, ""); /* reference 0, as is the custom */
	for (uint32_t l = a->k.first; l < a->k.end; l++)
		if (sp_otf2_events(a, l))
			return -1;
	if (OTF2_Archive_CloseEvtFiles(a->archive))
		return sp_otf2_fail(a, "the event files could not be written");
	if (define_locally(a) || define(a))
		return -1;
	if (a->markers && OTF2_Archive_CloseMarkerWriter(a->archive, a->markers))
		return sp_otf2_fail(a, "the markers could not be written");
	return 0;
}

int sp_write_otf2(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_otf2 a = {.m = m, .o = o, .e = e};
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
			rc = a.archive ? put_all(&a) : sp_otf2_fail(&a, "no archive");
		if (a.archive && OTF2_Archive_Close(a.archive) && rc == 0)
			rc = sp_otf2_fail(&a, "the archive could not be closed");
		OTF2_Error_RegisterCallback(NULL, NULL);
		if (a.failed && e->code != ECANCELED)
			sp_fail_in(e, "%s", path);
		rc = sp_out_dir_close(part, path, rc || a.failed ? -1 : 0, e);
	}
	sp_intern_free(&a.strings);
	sp_arena_free(&a.arena);
	sp_pick_close(&a.k);
	return rc;
}
