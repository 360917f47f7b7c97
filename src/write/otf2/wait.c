/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits. A wait is a region of its kind, with its data as attributes. The metrics of waits have each wait's
 * time at its end, without that of waits within it, as in the profile. A lock's number is its index in the model + 1,
 * which is unique over all processes; properties of the process describe it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/event.h"
#include "model/metric.h"
#include "model/str.h"
#include "write/otf2/archive.h"

static OTF2_RegionRef region_of(const struct sp_otf2 *a, unsigned kind)
{
	return (OTF2_RegionRef)a->m->n_regions + 1 + a->waits.regions[kind];
}

OTF2_RegionRef sp_otf2_wait_region(struct sp_otf2 *a, unsigned kind)
{
	struct sp_otf2_waits *x = &a->waits;

	if (!x->regions[kind]) {
		x->kinds[x->n_regions] = kind;
		x->regions[kind] = ++x->n_regions;
	}
	return region_of(a, kind);
}

static OTF2_RegionRole role_of(unsigned kind)
{
	switch (kind) {
	case SP_LOCK_BARRIER:
	case SP_LOCK_PTHREAD_BARRIER:
		return OTF2_REGION_ROLE_BARRIER;
	case SP_LOCK_THREAD:
		return OTF2_REGION_ROLE_THREAD_WAIT;
	case SP_LOCK_FUTURE:
		return OTF2_REGION_ROLE_TASK_WAIT;
	case SP_LOCK_FILE_LOCK:
		return OTF2_REGION_ROLE_FILE_IO;
	default: /* OTF2 has no role for waiting */
		return OTF2_REGION_ROLE_ARTIFICIAL;
	}
}

/* The paradigm of waits: Pthread for waits between threads. OTF2 defines no paradigm for waits for other processes or
 * for time. */
static OTF2_Paradigm paradigm_of(unsigned kind)
{
	return kind >= SP_LOCK_PROCESS_LOCK && kind <= SP_LOCK_FILE_LOCK ? OTF2_PARADIGM_NONE : OTF2_PARADIGM_PTHREAD;
}

void sp_otf2_define_waits(struct sp_otf2 *a)
{
	for (uint32_t i = 0; i < a->waits.n_regions; i++) {
		const unsigned kind = a->waits.kinds[i];
		const OTF2_StringRef name = sp_otf2_literal(a, sp_lock_wait_words[kind]);
		OTF2_GlobalDefWriter_WriteRegion(a->defs, region_of(a, kind), name, name, sp_otf2_literal(a, ""),
		                                 role_of(kind), paradigm_of(kind), OTF2_REGION_FLAG_NONE,
		                                 OTF2_UNDEFINED_STRING, 0, 0);
	}
}

void sp_otf2_define_locks(struct sp_otf2 *a)
{
	char name[32];

	for (uint32_t i = 0; i < a->m->n_locks; i++) {
		if (!sp_otf2_picked(a, a->m->locks[i].process))
			continue;
		snprintf(name, sizeof name, "lock %u", i + 1);
		const OTF2_AttributeValue value = {.stringRef = sp_otf2_string(a, a->waits.names[i])};
		OTF2_GlobalDefWriter_WriteLocationGroupProperty(a->defs, sp_otf2_process(a, a->m->locks[i].process),
		                                                sp_otf2_literal(a, name), OTF2_TYPE_STRING, value);
	}
}

int sp_otf2_prepare_waits(struct sp_otf2 *a)
{
	a->waits.metrics[0] = a->waits.metrics[1] = SP_NONE;
	for (uint32_t i = 0; i < a->m->n_metrics; i++) {
		const struct sp_metric *x = &a->m->metrics[i];
		if (x->kind == SP_METRIC_WAIT && strcmp(x->name.p, "wait_time") == 0)
			a->waits.metrics[0] = i;
		else if (x->kind == SP_METRIC_WAIT && strcmp(x->name.p, "waits") == 0)
			a->waits.metrics[1] = i;
	}
	return sp_lock_names(&a->waits.names, a->m, &a->arena) ? sp_otf2_fail_memory(a) : 0;
}

/* Adds the lock holder and the source location of the wait. */
static void add_row(struct sp_otf2 *a, const struct sp_lock_wait *w)
{
	OTF2_AttributeList *to = a->attributes;

	if (w->holder != SP_NONE)
		OTF2_AttributeList_AddLocationRef(to, ATTRIBUTE_HOLDER, sp_otf2_location(a->m, w->holder));
	if (w->holder_stack.n)
		OTF2_AttributeList_AddRegionRef(to, ATTRIBUTE_HELD_IN, w->holder_stack.regions[w->holder_stack.n - 1]);
	if (w->file == SP_NONE)
		return;
	if (a->string_refs[w->file] == SP_NONE)
		a->string_refs[w->file] = sp_otf2_string(a, a->m->strings[w->file]);
	OTF2_AttributeList_AddStringRef(to, ATTRIBUTE_FILE, a->string_refs[w->file]);
	OTF2_AttributeList_AddUint32(to, ATTRIBUTE_LINE, w->line);
}

static int begin(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	struct sp_otf2_waits *x = &a->waits;

	if (!sp_grow(&x->open, x->n, &x->capacity, sizeof *x->open))
		return sp_otf2_fail_memory(a);
	x->open[x->n++] = (struct sp_otf2_wait){.begin = ev->time};
	if (ev->id != SP_NONE)
		OTF2_AttributeList_AddStringRef(a->attributes, ATTRIBUTE_LOCK, sp_otf2_string(a, x->names[ev->id]));
	if (ev->u.pair.second != SP_NONE)
		add_row(a, &a->m->lock_waits[ev->u.pair.second]);
	return OTF2_EvtWriter_Enter(w, a->attributes, ev->time, sp_otf2_wait_region(a, ev->u.pair.first));
}

static int end(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	static const OTF2_Type types[2] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
	struct sp_otf2_waits *x = &a->waits;
	const struct sp_otf2_wait done = x->open[--x->n];
	const uint64_t took = ev->time - done.begin;
	const OTF2_MetricValue values[2] = {{.unsigned_int = took - done.inner}, {.unsigned_int = 1}};

	if (x->n && ev->u.pair.second != SP_WAIT_NONE)
		x->open[x->n - 1].inner += took;
	if (x->metrics[0] != SP_NONE && x->metrics[1] != SP_NONE && ev->u.pair.second != SP_WAIT_NONE) {
		const uint32_t ref = sp_otf2_class(a, x->metrics, 2);
		if (ref == SP_NONE || OTF2_EvtWriter_Metric(w, NULL, ev->time, ref, 2, types, values))
			return -1;
	}
	if (sp_lock_end_words[ev->u.pair.second])
		OTF2_AttributeList_AddStringRef(a->attributes, ATTRIBUTE_WAIT_ENDED,
		                                sp_otf2_literal(a, sp_lock_end_words[ev->u.pair.second]));
	return OTF2_EvtWriter_Leave(w, a->attributes, ev->time, region_of(a, ev->u.pair.first));
}

int sp_otf2_wait(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	const uint32_t lock = ev->id + 1, order = (uint32_t)ev->u.uint;

	switch (ev->kind) {
	case SP_EVENT_WAIT_BEGIN:
		return begin(a, w, ev);
	case SP_EVENT_WAIT_END:
		return end(a, w, ev);
	case SP_EVENT_LOCK_ACQUIRE:
		return OTF2_EvtWriter_ThreadAcquireLock(w, NULL, ev->time, OTF2_PARADIGM_PTHREAD, lock, order);
	default:
		return OTF2_EvtWriter_ThreadReleaseLock(w, NULL, ev->time, OTF2_PARADIGM_PTHREAD, lock, order);
	}
}
