/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions and their data: groups, metrics, parameters, call paths. */
#include <stdlib.h>

#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/otf2/archive.h"

/* Regions that are not in the model. */
static OTF2_RegionRef threads_region(const struct sp_otf2 *a)
{
	return (OTF2_RegionRef)a->m->n_regions + 1;
}

static void define_own_region(struct sp_otf2 *a, OTF2_RegionRef ref, struct sp_str name, struct sp_str canonical,
                              OTF2_Paradigm paradigm)
{
	OTF2_GlobalDefWriter_WriteRegion(a->defs, ref, sp_otf2_string(a, name), sp_otf2_string(a, canonical),
	                                 sp_otf2_literal(a, ""), OTF2_REGION_ROLE_ARTIFICIAL, paradigm,
	                                 OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0);
}

static void define_regions(struct sp_otf2 *a)
{
	static const OTF2_RegionRole roles[] = {[SP_SCOREP_FUNCTION] = OTF2_REGION_ROLE_FUNCTION,
	                                        [SP_SCOREP_ARTIFICIAL] = OTF2_REGION_ROLE_ARTIFICIAL,
	                                        [SP_SCOREP_FILE_IO] = OTF2_REGION_ROLE_FILE_IO,
	                                        [SP_SCOREP_FILE_IO_METADATA] = OTF2_REGION_ROLE_FILE_IO_METADATA,
	                                        [SP_SCOREP_POINT2POINT] = OTF2_REGION_ROLE_POINT2POINT,
	                                        [SP_SCOREP_BARRIER] = OTF2_REGION_ROLE_BARRIER,
	                                        [SP_SCOREP_ONE2ALL] = OTF2_REGION_ROLE_COLL_ONE2ALL,
	                                        [SP_SCOREP_ALL2ONE] = OTF2_REGION_ROLE_COLL_ALL2ONE,
	                                        [SP_SCOREP_ALL2ALL] = OTF2_REGION_ROLE_COLL_ALL2ALL,
	                                        [SP_SCOREP_COLL_OTHER] = OTF2_REGION_ROLE_COLL_OTHER,
	                                        [SP_SCOREP_RMA] = OTF2_REGION_ROLE_RMA,
	                                        [SP_SCOREP_ATOMIC] = OTF2_REGION_ROLE_ATOMIC,
	                                        [SP_SCOREP_ALLOCATE] = OTF2_REGION_ROLE_ALLOCATE,
	                                        [SP_SCOREP_DEALLOCATE] = OTF2_REGION_ROLE_DEALLOCATE};
	static const OTF2_Paradigm paradigms[] = {[SP_SCOREP_USER] = OTF2_PARADIGM_USER,
	                                          [SP_SCOREP_MEASUREMENT] = OTF2_PARADIGM_MEASUREMENT_SYSTEM,
	                                          [SP_SCOREP_COMPILER] = OTF2_PARADIGM_COMPILER,
	                                          [SP_SCOREP_IO] = OTF2_PARADIGM_NONE,
	                                          [SP_SCOREP_MPI] = OTF2_PARADIGM_MPI};
	const struct sp_model *m = a->m;
	OTF2_StringRef none = sp_otf2_literal(a, "");
	struct sp_str command = sp_text(""), lost = sp_text("<not defined>"), threads = sp_text("THREADS");

	if (a->k.first < a->k.end)
		command = m->processes[m->locations[a->k.first].process].command;
	define_own_region(a, 0, lost, lost, OTF2_PARADIGM_MEASUREMENT_SYSTEM);
	for (uint32_t r = 1; r < m->n_regions; r++) {
		struct sp_scorep_region s = sp_scorep_region(&m->regions[r]);
		OTF2_StringRef name = sp_otf2_string(a, s.name);
		OTF2_GlobalDefWriter_WriteRegion(
		    a->defs, r, name, name, none, roles[s.role], paradigms[s.paradigm], OTF2_REGION_FLAG_NONE,
		    s.file.n ? sp_otf2_string(a, s.file) : OTF2_UNDEFINED_STRING, m->regions[r].line, 0);
	}
	define_own_region(a, sp_otf2_program_region(a), sp_scorep_program(command), command,
	                  OTF2_PARADIGM_MEASUREMENT_SYSTEM);
	define_own_region(a, threads_region(a), threads, threads, OTF2_PARADIGM_PTHREAD);
	sp_otf2_define_waits(a);
}

static int by_module(const void *x, const void *y, void *arg)
{
	const struct sp_region *all = arg;
	uint64_t i = *(const uint64_t *)x, k = *(const uint64_t *)y;
	int order = strcmp(all[i].module.p, all[k].module.p);

	return order ? order : i < k ? -1 : i > k;
}

/* Defines the group of MPI functions, which have no module. */
static void define_mpi_regions(struct sp_otf2 *a, uint64_t *members)
{
	uint32_t n = 0;

	for (uint32_t r = 1; r < a->m->n_regions; r++)
		if (a->m->regions[r].kind == SP_REGION_MPI)
			members[n++] = r;
	if (n)
		OTF2_GlobalDefWriter_WriteGroup(a->defs, a->n_groups++, sp_otf2_literal(a, "MPI"),
		                                OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n,
		                                members);
}

/* Defines a group of regions for each module; viewers colour regions by group. */
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
	define_mpi_regions(a, members);
}

/* ---- parameters ---- */

uint32_t sp_otf2_parameter(struct sp_otf2 *a, uint32_t parameter, uint32_t kind)
{
	uint32_t slot = PARAMETER_TYPES * parameter + kind - SP_EVENT_PARAMETER_INT;

	if (a->parameter_refs[slot] == SP_NONE) {
		a->parameters[a->n_parameter_refs] = slot;
		a->parameter_refs[slot] = a->n_parameter_refs++;
	}
	return a->parameter_refs[slot];
}

static void define_parameters(struct sp_otf2 *a)
{
	static const OTF2_ParameterType types[] = {OTF2_PARAMETER_TYPE_INT64, OTF2_PARAMETER_TYPE_UINT64,
	                                           OTF2_PARAMETER_TYPE_STRING};

	for (size_t i = 0; i < a->m->n_parameter_values; i++)
		sp_otf2_parameter(a, a->m->parameter_values[i].parameter, a->m->parameter_values[i].kind);
	for (uint32_t ref = 0; ref < a->n_parameter_refs; ref++) {
		uint32_t slot = a->parameters[ref];
		OTF2_GlobalDefWriter_WriteParameter(a->defs, ref,
		                                    sp_otf2_string(a, a->m->parameters[slot / PARAMETER_TYPES]),
		                                    types[slot % PARAMETER_TYPES]);
	}
}

/* ---- metrics ---- */

uint32_t sp_otf2_class(struct sp_otf2 *a, const uint32_t *metrics, uint8_t n)
{
	uint32_t i = 0;

	for (; i < a->n_classes; i++)
		if (a->classes[i].n == n && memcmp(a->classes[i].metrics, metrics, n * sizeof *metrics) == 0)
			return a->first_class + i;
	struct sp_otf2_class *grown = realloc(a->classes, (i + 1) * sizeof *grown);
	if (grown)
		a->classes = grown;
	uint32_t *copy = grown ? sp_arena_alloc(&a->arena, n * sizeof *copy) : NULL;
	if (!copy) {
		sp_otf2_fail_memory(a);
		return SP_NONE;
	}
	memcpy(copy, metrics, n * sizeof *copy);
	a->classes[a->n_classes++] = (struct sp_otf2_class){copy, n};
	return a->first_class + i;
}

static OTF2_MetricType type_of(const struct sp_metric *metric)
{
	switch (metric->kind) {
	case SP_METRIC_RUSAGE:
		return OTF2_METRIC_TYPE_RUSAGE;
	case SP_METRIC_PAPI:
		return OTF2_METRIC_TYPE_PAPI;
	default:
		return OTF2_METRIC_TYPE_OTHER;
	}
}

/* The mode of a metric. Samples count from the begin of their thread; other exclusive metrics have the value of a
 * single event. */
static OTF2_MetricMode mode_of(const struct sp_metric *x)
{
	const bool sampled = x->kind == SP_METRIC_SAMPLE || x->kind == SP_METRIC_PERF;

	return (x->own && !sampled) || x->level ? OTF2_METRIC_ABSOLUTE_POINT : OTF2_METRIC_ACCUMULATED_START;
}

/* Defines the members of metrics: counters, those that Score-P has in every trace, then the model's. member: receives
 * the reference of each of the model's. Returns the next reference. */
static OTF2_MetricMemberRef define_members(struct sp_otf2 *a, OTF2_MetricMemberRef *member)
{
	const struct sp_model *m = a->m;
	OTF2_MetricMemberRef ref = 0;
	OTF2_StringRef none = sp_otf2_literal(a, ""), bytes = sp_otf2_literal(a, "bytes");

	for (; ref < m->n_counters; ref++)
		OTF2_GlobalDefWriter_WriteMetricMember(a->defs, ref, sp_otf2_string(a, m->counters[ref]), none,
		                                       OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT,
		                                       OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, none);
	memset(member, 0xff, m->n_metrics * sizeof *member);
	for (const struct sp_scorep_bytes *b = sp_scorep_bytes; b->name; b++) {
		uint32_t known = sp_scorep_metric(m, b->name);
		if (known != SP_NONE && m->metrics[known].own)
			member[known] = ref;
		OTF2_GlobalDefWriter_WriteMetricMember(
		    a->defs, ref++, sp_otf2_literal(a, b->name), sp_otf2_literal(a, b->what), OTF2_METRIC_TYPE_OTHER,
		    OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, bytes);
	}
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const struct sp_metric *x = &m->metrics[i];
		if (member[i] != SP_NONE)
			continue;
		member[i] = ref;
		OTF2_GlobalDefWriter_WriteMetricMember(
		    a->defs, ref++, sp_otf2_string(a, x->name), sp_otf2_string(a, x->what), type_of(x), mode_of(x),
		    OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, x->exponent, sp_otf2_string(a, x->unit));
	}
	sp_otf2_define_heap_members(a, ref);
	return ref;
}

static void define_metrics(struct sp_otf2 *a)
{
	OTF2_MetricMemberRef *member = sp_arena_zalloc(&a->arena, a->m->n_metrics, sizeof *member), refs[UINT8_MAX];

	if (!member) {
		sp_otf2_fail_memory(a);
		return;
	}
	const OTF2_MetricMemberRef heap = define_members(a, member);
	for (uint32_t i = 0; i < a->m->n_counters; i++)
		OTF2_GlobalDefWriter_WriteMetricClass(a->defs, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS,
		                                      OTF2_RECORDER_KIND_CPU);
	sp_otf2_define_heaps(a, heap);
	for (uint32_t i = 0; i < a->n_classes; i++) {
		const struct sp_otf2_class *c = &a->classes[i];
		for (unsigned k = 0; k < c->n; k++)
			refs[k] = member[c->metrics[k]];
		const bool sampled = a->m->metrics[c->metrics[0]].kind == SP_METRIC_SAMPLE;
		OTF2_GlobalDefWriter_WriteMetricClass(
		    a->defs, a->first_class + i, c->n, refs,
		    sampled ? OTF2_METRIC_ASYNCHRONOUS : OTF2_METRIC_SYNCHRONOUS_STRICT, OTF2_RECORDER_KIND_CPU);
	}
}

/* ---- call paths ---- */

static void define_path_parameters(struct sp_otf2 *a, uint32_t cnode, uint32_t path, uint32_t *chain)
{
	const struct sp_model *m = a->m;
	size_t n = 0;

	for (uint32_t i = m->paths[path].parameter; i != SP_NONE; i = m->parameter_values[i].before)
		chain[n++] = i;
	while (n--) {
		const struct sp_parameter_value *v = &m->parameter_values[chain[n]];
		OTF2_AttributeValue value = {0};
		OTF2_Type type = OTF2_TYPE_STRING;
		if (v->kind == SP_EVENT_PARAMETER_INT) {
			value.int64 = strtoll(v->text.p, NULL, 10);
			type = OTF2_TYPE_INT64;
		} else if (v->kind == SP_EVENT_PARAMETER_UINT) {
			value.uint64 = strtoull(v->text.p, NULL, 10);
			type = OTF2_TYPE_UINT64;
		} else {
			value.stringRef = sp_otf2_string(a, v->text);
		}
		OTF2_GlobalDefWriter_WriteCallpathParameter(a->defs, cnode, sp_otf2_parameter(a, v->parameter, v->kind),
		                                            type, value);
	}
}

static void define_paths(struct sp_otf2 *a)
{
	struct sp_cube_tree t;
	uint32_t *chain = sp_arena_alloc(&a->arena, a->m->n_parameter_values * sizeof *chain);
	struct sp_err e;
	int rc = sp_cube_tree(&t, a->m, &a->k, &a->arena, &e);

	sp_cube_tree_free(&t);
	if (!chain || rc) {
		sp_otf2_fail_memory(a);
		return;
	}
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		for (uint32_t p = 0; p < a->m->n_paths; p++) {
			uint32_t cnode = t.cnode[side][p], parent, region;
			if (cnode == SP_NONE)
				continue;
			if (p == 0) {
				parent = side == SP_CUBE_PROGRAM ? OTF2_UNDEFINED_CALLPATH : 0;
				region = side == SP_CUBE_PROGRAM ? sp_otf2_program_region(a) : threads_region(a);
			} else {
				parent = t.cnode[side][a->m->paths[p].parent];
				region = a->m->paths[p].region;
			}
			OTF2_GlobalDefWriter_WriteCallpath(a->defs, cnode, parent, region);
			define_path_parameters(a, cnode, p, chain);
		}
}

void sp_otf2_define_code(struct sp_otf2 *a)
{
	define_regions(a);
	define_modules(a);
	define_metrics(a);
	define_parameters(a);
	define_paths(a);
	sp_otf2_define_samples(a);
}
