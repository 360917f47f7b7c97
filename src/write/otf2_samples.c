/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples, as Score-P writes them: a tree of calling contexts, each with its region, and for each sample the one it was
 * found in. A context without a place in the source stands for a function that called another one, from whatever line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "write/otf2_archive.h"

/* ---- contexts ---- */

/* What a context is told by; line 0: not told. */
struct context {
	uint32_t path, line;
};

static uint32_t add(struct sp_otf2 *a, uint32_t path, uint32_t line)
{
	const struct context c = {path, line};
	const uint32_t ref = sp_intern(&a->contexts, (const char *)&c, sizeof c);

	if (ref == SP_INTERN_FAILED)
		sp_otf2_fail_memory(a);
	return ref;
}

/* The context of a path at a line, behind those of its callers. Path 0 is the program itself, which calls nobody. */
static uint32_t context_of(struct sp_otf2 *a, uint32_t path, uint32_t line)
{
	size_t n = 0;

	for (uint32_t at = path; at && (at = a->m->paths[at].parent) && !a->context_seen[at]; n++)
		a->context_chain[n] = at;
	while (n > 0 && !a->failed) {
		a->context_seen[a->context_chain[--n]] = true;
		add(a, a->context_chain[n], 0);
	}
	return add(a, path, line);
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
	a->context_seen = sp_arena_zalloc(&a->arena, m->n_paths, sizeof *a->context_seen);
	a->context_chain = sp_arena_alloc(&a->arena, m->n_paths * sizeof *a->context_chain);
	return a->context_seen && a->context_chain ? 0 : sp_otf2_fail_memory(a);
}

/* ---- events ---- */

/* How many contexts were entered since the sample before, and one for the function that went on: OTF2's unwind
 * distance. 0: the thread did not run. What a function had in common with the one found before it was not left
 * meanwhile, as far as samples can tell. */
static uint32_t distance(const struct sp_otf2 *a, const struct sp_otf2_sampling *before, const struct sp_sample *now)
{
	const struct sp_path *paths = a->m->paths;
	uint32_t common = before->any ? before->path : 0, at = now->path, entered = 0;

	if (before->any && before->path == now->path && before->line == now->line && !now->cpu)
		return 0;
	while (at != common) {
		if (at > common) {
			at = paths[at].parent;
			entered++;
		} else {
			common = paths[common].parent;
		}
	}
	entered += now->path == 0 && !(before->any && before->path == 0);
	return entered + 1;
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

	*s = (struct sp_otf2_sampling){.any = false};
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

/* Sums from the begin of the thread on. */
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

int sp_otf2_sample(struct sp_otf2 *a, struct sp_otf2_sampling *s, OTF2_EvtWriter *w, const struct sp_sample *sample)
{
	s->sums[0] += sample->again + !sample->end;
	s->sums[1] += sample->cpu;
	for (size_t i = 0; i < SP_SAMPLE_COUNTERS; i++)
		s->sums[2 + i] += sample->counted[i];
	int rc = put_sums(s, w, sample->time);
	if (rc || sample->end)
		return rc;
	const uint32_t context = context_of(a, sample->path, sample->line);
	if (a->failed)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	OTF2_AttributeList_AddStringRef(a->attributes, ATTRIBUTE_STATE,
	                                sp_otf2_literal(a, sp_sample_state_names[sample->state]));
	const uint32_t steps = distance(a, s, sample);
	s->any = true;
	s->path = sample->path;
	s->line = sample->line;
	return OTF2_EvtWriter_CallingContextSample(w, a->attributes, sample->time, context, steps, s->generator);
}

/* ---- definitions ---- */

/* The place in the source: the line that runs in the region's file. */
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
	const uint32_t n = (uint32_t)a->contexts.n;

	define_generators(a);
	for (uint32_t i = 0; i < n && !a->failed; i++) {
		struct context c;
		memcpy(&c, a->contexts.entries[i].p, sizeof c);
		const uint32_t caller = c.path ? a->m->paths[c.path].parent : 0;
		OTF2_GlobalDefWriter_WriteCallingContext(
		    a->defs, i, c.path ? a->m->paths[c.path].region : sp_otf2_program_region(a),
		    place_of(a, &places, &c), caller ? add(a, caller, 0) : OTF2_UNDEFINED_CALLING_CONTEXT);
	}
	sp_intern_free(&places);
}
