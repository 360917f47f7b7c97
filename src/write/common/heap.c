/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/common/heap.h"
#include "model/memory.h"
#include "model/metric.h"
#include "model/model.h"

#include <stdlib.h>

const struct sp_heap_series sp_heap_series[SP_HEAP_SERIES] = {
    [SP_HEAP_BYTES] = {"heap", "Memory that was allocated and not released", true},
    [SP_HEAP_BLOCKS] = {"heap blocks", "Blocks of memory that were allocated and not released", false},
    [SP_HEAP_RESIDENT] = {"resident size", "Memory of the process that is there", true},
};

bool sp_has_memory(const struct sp_model *m)
{
	for (size_t i = 0; i < m->n_metrics; i++)
		if (m->metrics[i].kind == SP_METRIC_MEMORY)
			return true;
	return false;
}

int sp_heaps_open(struct sp_heaps *h, const struct sp_model *m, struct sp_err *e)
{
	*h = (struct sp_heaps){.all = m->heaps};
	if (h->all || !sp_has_memory(m))
		return 0;
	if (sp_model_load(&h->raw, m->dir.p, SP_MODEL_RAW, e))
		return -1;
	if (h->raw->n_processes == m->n_processes)
		h->all = h->raw->heaps;
	return 0;
}

void sp_heaps_close(struct sp_heaps *h)
{
	if (h->raw)
		sp_model_free(h->raw);
	*h = (struct sp_heaps){.all = NULL};
}

/* Sorts by time, then by series, then by value: if a point and the peak have the same time, the smaller point comes
 * first. */
static int by_time(const void *x, const void *y)
{
	const struct sp_heap_count *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->what != b->what)
		return a->what < b->what ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

struct sp_heap_count *sp_heap_counts(const struct sp_heap *h, size_t *n)
{
	struct sp_heap_count *all = malloc((SP_HEAP_SERIES * h->n_points + 4) * sizeof *all), *to = all;

	if (!all)
		return NULL;
	for (size_t i = 0; i < h->n_points; i++) {
		const struct sp_heap_point *p = &h->points[i];
		*to++ = (struct sp_heap_count){p->time, p->bytes, SP_HEAP_BYTES};
		*to++ = (struct sp_heap_count){p->time, p->blocks, SP_HEAP_BLOCKS};
		if (p->resident)
			*to++ = (struct sp_heap_count){p->time, p->resident, SP_HEAP_RESIDENT};
	}
	if (h->peak_time != UINT64_MAX) {
		*to++ = (struct sp_heap_count){h->peak_time, h->peak_bytes, SP_HEAP_BYTES};
		*to++ = (struct sp_heap_count){h->peak_time, h->peak_blocks, SP_HEAP_BLOCKS};
	}
	if (h->resident_peak_time != UINT64_MAX)
		*to++ = (struct sp_heap_count){h->resident_peak_time, h->resident_peak, SP_HEAP_RESIDENT};
	*n = (size_t)(to - all);
	qsort(all, *n, sizeof *all, by_time);
	return all;
}
