/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory over time: one metric instance for each process, recorded by its first thread. */
#include "model/memory.h"
#include "model/model.h"
#include "model/str.h"
#include "write/otf2/archive.h"

/* References: those of counters, then a class for each series, then the instances of each process. */
int sp_otf2_prepare_heaps(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	uint32_t next = (uint32_t)m->n_counters;

	a->first_class = next;
	if (sp_heaps_open(&a->heaps, m, a->e)) {
		a->failed = true;
		return -1;
	}
	a->heap_refs = sp_arena_alloc(&a->arena, m->n_processes * sizeof *a->heap_refs);
	if (!a->heap_refs)
		return sp_otf2_fail_memory(a);
	for (uint32_t p = 0; p < m->n_processes; p++) {
		a->heap_refs[p] = SP_NONE;
		if (!sp_heaps_of(&a->heaps, p) || !sp_otf2_picked(a, p) || !m->processes[p].locations)
			continue;
		next += next == m->n_counters ? SP_HEAP_SERIES : 0;
		a->heap_refs[p] = next;
		next += SP_HEAP_SERIES;
	}
	a->first_class = next;
	return 0;
}

static bool has_heaps(const struct sp_otf2 *a)
{
	return a->first_class > a->m->n_counters;
}

int sp_otf2_heap(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t process, uint64_t time, const struct sp_heap_count *c)
{
	OTF2_Type type = OTF2_TYPE_UINT64;
	OTF2_MetricValue value = {.unsigned_int = c->value};

	return OTF2_EvtWriter_Metric(w, NULL, time, a->heap_refs[process] + c->what, 1, &type, &value);
}

void sp_otf2_define_heap_members(struct sp_otf2 *a, OTF2_MetricMemberRef first)
{
	for (uint32_t i = 0; has_heaps(a) && i < SP_HEAP_SERIES; i++)
		OTF2_GlobalDefWriter_WriteMetricMember(a->defs, first + i, sp_otf2_literal(a, sp_heap_series[i].name),
		                                       sp_otf2_literal(a, sp_heap_series[i].what),
		                                       OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
		                                       OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
		                                       sp_otf2_literal(a, sp_heap_series[i].bytes ? "bytes" : "#"));
}

void sp_otf2_define_heaps(struct sp_otf2 *a, OTF2_MetricMemberRef first)
{
	const struct sp_model *m = a->m;
	const OTF2_MetricRef class = (OTF2_MetricRef)m->n_counters;

	for (uint32_t i = 0; has_heaps(a) && i < SP_HEAP_SERIES; i++)
		OTF2_GlobalDefWriter_WriteMetricClass(a->defs, class + i, 1, (OTF2_MetricMemberRef[]){first + i},
		                                      OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT);
	for (uint32_t p = 0; p < m->n_processes; p++)
		for (uint32_t i = 0; a->heap_refs[p] != SP_NONE && i < SP_HEAP_SERIES; i++)
			OTF2_GlobalDefWriter_WriteMetricInstance(a->defs, a->heap_refs[p] + i, class + i,
			                                         sp_otf2_location(m, m->processes[p].first_location),
			                                         OTF2_SCOPE_LOCATION_GROUP, sp_otf2_process(a, p));
}

void sp_otf2_define_peaks(struct sp_otf2 *a, uint32_t process)
{
	const struct sp_heap *h = a->heap_refs[process] == SP_NONE ? NULL : sp_heaps_of(&a->heaps, process);
	OTF2_AttributeValue value;

	if (!h)
		return;
	value.uint64 = h->peak_bytes;
	OTF2_GlobalDefWriter_WriteLocationGroupProperty(a->defs, sp_otf2_process(a, process),
	                                                sp_otf2_literal(a, "heap peak"), OTF2_TYPE_UINT64, value);
	value.uint64 = h->resident_peak;
	OTF2_GlobalDefWriter_WriteLocationGroupProperty(a->defs, sp_otf2_process(a, process),
	                                                sp_otf2_literal(a, "resident peak"), OTF2_TYPE_UINT64, value);
}
