/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples as in Score-P: a tree of calling contexts, and for each sample its context. A context has a region and the
 * line that was running or that called the next context. */
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/otf2/archive.h"

/* ---- contexts ---- */

/* The key of a context. */
struct context {
	uint32_t path;
	uint32_t line;   /* 0: unknown */
	uint32_t parent; /* reference; SP_NONE: no parent */
};

/* Stores the contexts of a sample's call path in a->chain, the outermost first, and returns their number. Path 0 is the
 * program, which has no caller. */
static uint32_t find_contexts(struct sp_otf2 *a, const struct sp_sample *sample, const uint32_t *lines, size_t n_lines)
{
	uint32_t n = 1, parent = SP_NONE;

	for (uint32_t at = sample->path; at && a->m->paths[at].parent; at = a->m->paths[at].parent)
		n++;
	for (uint32_t at = sample->path, i = n; i > 0; at = a->m->paths[at].parent)
		a->chain[--i] = at;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t line = i + 1 == n ? sample->line : i < n_lines ? lines[i] : 0;
		const struct context c = {a->chain[i], line, parent};
		a->chain[i] = parent = sp_intern(&a->contexts, (const char *)&c, sizeof c);
		if (parent == SP_INTERN_FAILED)
			sp_otf2_fail_memory(a);
	}
	return n;
}

static struct context context_at(const struct sp_otf2 *a, uint32_t ref)
{
	struct context c;

	memcpy(&c, a->contexts.entries[ref].p, sizeof c);
	return c;
}

int sp_otf2_prepare_samples(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	bool exact = a->o->calls;

	for (uint32_t l = a->k.first; l < a->k.end; l++) {
		const struct sp_process *p = &m->processes[m->locations[l].process];
		a->samples |= p->sampled;
		exact |= p->traced;
	}
	a->samples &= !exact;
	a->contexts.arena = a->rates.arena = &a->arena;
	if (!a->samples)
		return 0;
	a->chain = sp_arena_alloc(&a->arena, m->n_paths * sizeof *a->chain);
	a->before = sp_arena_alloc(&a->arena, m->n_paths * sizeof *a->before);
	return a->chain && a->before ? 0 : sp_otf2_fail_memory(a);
}

/* ---- events ---- */

/* OTF2's unwind distance: the number of contexts entered since the previous sample, plus one for a function that
 * continued; 0: the thread did not run. Contexts in both stacks count as not left meanwhile, except for what a function
 * called from a different line. */
static uint32_t distance(const struct sp_otf2 *a, const struct sp_otf2_sampling *s, uint32_t n, bool ran)
{
	uint32_t same = 0;

	while (same < n && same < s->depth && a->chain[same] == a->before[same])
		same++;
	if (same == n && same == s->depth)
		return ran ? 1 : 0;
	if (same < n && same < s->depth && context_at(a, a->chain[same]).path == context_at(a, a->before[same]).path)
		return n - same; /* the function continued at a different line */
	return n - same + 1;
}

static OTF2_InterruptGeneratorRef generator_of(struct sp_otf2 *a, const struct sp_process *p)
{
	struct sp_str rate = sp_text("");

	for (size_t i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, "sample_rate") == 0)
			rate = p->meta[i].value;
	return sp_intern(&a->rates, rate.p, rate.n);
}

int sp_otf2_samples_begin(struct sp_otf2 *a, struct sp_otf2_sampling *s, uint32_t location,
                          const struct sp_events *events)
{
	uint32_t known[2 + SP_SAMPLE_COUNTERS];
	size_t n;

	*s = (struct sp_otf2_sampling){.depth = 0};
	sp_events_sampled(events, known, &n);
	for (size_t i = 0; i < n; i++)
		if (known[i] != SP_NONE) {
			s->which[s->n] = (uint8_t)i;
			s->metrics[s->n++] = known[i];
		}
	s->class = s->n ? sp_otf2_class(a, s->metrics, s->n) : SP_NONE;
	s->generator = generator_of(a, &a->m->processes[a->m->locations[location].process]);
	return a->failed || s->generator == SP_INTERN_FAILED ? sp_otf2_fail_memory(a) : 0;
}

/* Writes sums since the begin of the thread. */
static int put_sums(struct sp_otf2_sampling *s, OTF2_EvtWriter *w, uint64_t time)
{
	OTF2_MetricValue values[2 + SP_SAMPLE_COUNTERS];
	OTF2_Type types[2 + SP_SAMPLE_COUNTERS];

	if (s->class == SP_NONE)
		return OTF2_SUCCESS;
	for (uint8_t i = 0; i < s->n; i++) {
		values[i].unsigned_int = s->sums[s->which[i]];
		types[i] = OTF2_TYPE_UINT64;
	}
	return OTF2_EvtWriter_Metric(w, NULL, time, s->class, s->n, types, values);
}

int sp_otf2_sample(struct sp_otf2 *a, struct sp_otf2_sampling *s, OTF2_EvtWriter *w, const struct sp_sample *sample,
                   const struct sp_events *events)
{
	size_t n_lines;
	const uint32_t *lines = sp_events_call_lines(events, &n_lines);

	s->sums[0] += sample->again + !sample->end;
	s->sums[1] += sample->cpu;
	for (size_t i = 0; i < SP_SAMPLE_COUNTERS; i++)
		s->sums[2 + i] += sample->counted[i];
	int rc = put_sums(s, w, sample->time);
	if (rc || sample->end)
		return rc;
	const uint32_t n = find_contexts(a, sample, lines, n_lines);
	if (a->failed)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	OTF2_AttributeList_AddStringRef(a->attributes, ATTRIBUTE_STATE,
	                                sp_otf2_literal(a, sp_sample_state_names[sample->state]));
	const uint32_t steps = distance(a, s, n, sample->cpu > 0);
	s->depth = n;
	memcpy(a->before, a->chain, n * sizeof *a->before);
	return OTF2_EvtWriter_CallingContextSample(w, a->attributes, sample->time, a->chain[n - 1], steps,
	                                           s->generator);
}

/* ---- definitions ---- */

/* The source location of a context: the line in the region's file. */
static OTF2_SourceCodeLocationRef place_of(struct sp_otf2 *a, struct sp_intern *places, const struct context *c)
{
	const struct sp_region *r = &a->m->regions[a->m->paths[c->path].region];
	const size_t known = places->n;

	if (!c->line || !r->file.n)
		return OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
	const uint32_t key[] = {sp_otf2_string(a, r->file), c->line};
	const uint32_t ref = sp_intern(places, (const char *)key, sizeof key);
	if (ref == SP_INTERN_FAILED)
		sp_otf2_fail_memory(a);
	else if (ref == known)
		OTF2_GlobalDefWriter_WriteSourceCodeLocation(a->defs, ref, key[0], c->line);
	return ref;
}

static void define_generators(struct sp_otf2 *a)
{
	char name[64];

	for (uint32_t i = 0; i < a->rates.n; i++) {
		const unsigned long hertz = strtoul(a->rates.entries[i].p, NULL, 10);
		snprintf(name, sizeof name, "sampling at %lu Hz", hertz);
		OTF2_GlobalDefWriter_WriteInterruptGenerator(a->defs, i, sp_otf2_literal(a, name),
		                                             OTF2_INTERRUPT_GENERATOR_MODE_TIME, OTF2_BASE_DECIMAL, -9,
		                                             hertz ? 1000000000 / hertz : 0);
	}
}

void sp_otf2_define_samples(struct sp_otf2 *a)
{
	struct sp_intern places = {.arena = &a->arena};

	define_generators(a);
	for (uint32_t i = 0; i < a->contexts.n && !a->failed; i++) {
		const struct context c = context_at(a, i);
		OTF2_GlobalDefWriter_WriteCallingContext(
		    a->defs, i, c.path ? a->m->paths[c.path].region : sp_otf2_program_region(a),
		    place_of(a, &places, &c), c.parent == SP_NONE ? OTF2_UNDEFINED_CALLING_CONTEXT : c.parent);
	}
	sp_intern_free(&places);
}
