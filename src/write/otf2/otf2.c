/* SPDX-License-Identifier: BSD-3-Clause */
/* An OTF2 archive, written with libotf2 in Score-P's layout. Events are written first, because the parameters with
 * their types and the number of events of each location are known only afterwards. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/otf2/archive.h"

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

/* Provides one chunk for each buffer, and reuses it after each flush. By default libotf2 collects many megabytes before
 * it flushes, and page faults of new memory cost more than writing the events. */
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
	if (!s.n || (!memchr(s.p, '\0', s.n) && s.p[s.n] == '\0'))
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

static int by_creator(const void *x, const void *y, void *arg)
{
	const struct sp_location *all = arg, *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];

	if (a->creator != b->creator)
		return a->creator < b->creator ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int define(struct sp_otf2 *a)
{
	uint64_t length = a->m->end_ns - a->m->begin_ns;

	if (length < a->last)
		length = a->last;
	OTF2_GlobalDefWriter_WriteClockProperties(a->defs, 1000000000, 0, length + 1, a->m->begin_ns);
	sp_otf2_define_locations(a);
	sp_otf2_define_code(a);
	sp_otf2_define_io(a);
	return a->failed ? -1 : 0;
}

static int define_location(struct sp_otf2 *a, OTF2_LocationRef location)
{
	OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(a->archive, location);

	if (!w || OTF2_Archive_CloseDefWriter(a->archive, w))
		return sp_otf2_fail(a, "the definitions of a thread could not be written");
	return 0;
}

/* Writes an empty file of local definitions for each location, which readers expect; all references are global. */
static int define_locally(struct sp_otf2 *a)
{
	if (OTF2_Archive_OpenDefFiles(a->archive))
		return sp_otf2_fail(a, "no definition files");
	for (uint32_t l = a->k.first; l < a->k.end; l++)
		if (define_location(a, sp_otf2_location(a->m, l)))
			return -1;
	for (uint32_t i = 0; i < a->n_strangers; i++)
		if (define_location(a, a->strangers[i].location))
			return -1;
	if (OTF2_Archive_CloseDefFiles(a->archive))
		return sp_otf2_fail(a, "the definition files could not be written");
	return 0;
}

static void number_teams(struct sp_otf2 *a)
{
	for (uint32_t i = 0; i < a->m->n_processes; i++)
		a->teams[i] =
		    sp_otf2_picked(a, i) && a->m->processes[i].locations ? COMM_TEAMS + a->n_teams++ : SP_NONE;
}

static int prepare(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;

	a->strings.arena = &a->arena;
	a->string_refs = sp_arena_alloc(&a->arena, m->n_strings * sizeof *a->string_refs);
	a->teams = sp_arena_alloc(&a->arena, m->n_processes * sizeof *a->teams);
	a->created = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->created);
	a->creation = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->creation);
	size_t slots = m->n_parameters * PARAMETER_TYPES;
	a->parameter_refs = sp_arena_alloc(&a->arena, slots * sizeof *a->parameter_refs);
	a->parameters = sp_arena_alloc(&a->arena, slots * sizeof *a->parameters);
	a->events = sp_arena_zalloc(&a->arena, m->n_locations, sizeof *a->events);
	a->handles = sp_arena_zalloc(&a->arena, m->n_io_handles, sizeof *a->handles);
	a->handle_order = sp_arena_alloc(&a->arena, m->n_io_handles * sizeof *a->handle_order);
	a->attributes = OTF2_AttributeList_New();
	if (!a->string_refs || !a->teams || !a->created || !a->creation || !a->parameter_refs || !a->parameters ||
	    !a->events || !a->handles || !a->handle_order || !a->attributes)
		return sp_otf2_fail_memory(a);
	a->files.arena = &a->arena;
	number_teams(a);
	if (sp_otf2_prepare_waits(a) || sp_otf2_prepare_mpi(a) || sp_otf2_prepare_samples(a) ||
	    sp_otf2_prepare_heaps(a))
		return -1;
	a->off = SP_NONE;
	for (uint32_t r = 1; r < m->n_regions; r++)
		if (m->regions[r].kind == SP_REGION_OFF)
			a->off = r;
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

/* Readers expect a file of events, too. */
static int put_strangers(struct sp_otf2 *a)
{
	if (sp_otf2_find_ranks(a))
		return -1;
	for (uint32_t i = 0; i < a->n_strangers; i++) {
		OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a->archive, a->strangers[i].location);
		if (!w || OTF2_Archive_CloseEvtWriter(a->archive, w))
			return sp_otf2_fail(a, "the events could not be written");
	}
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
	sp_otf2_literal(a, ""); /* reference 0, by convention */
	for (uint32_t l = a->k.first; l < a->k.end; l++)
		if (sp_otf2_events(a, l))
			return -1;
	if (put_strangers(a))
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
	if (a.attributes)
		OTF2_AttributeList_Delete(a.attributes);
	sp_intern_free(&a.strings);
	sp_intern_free(&a.files);
	sp_intern_free(&a.contexts);
	sp_intern_free(&a.rates);
	sp_heaps_close(&a.heaps);
	free(a.classes);
	free(a.waits.open);
	sp_arena_free(&a.arena);
	sp_pick_close(&a.k);
	return rc;
}
