/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics with and without callees. */
#include "model/builder/problem.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/report/walk.h"

#include <stdlib.h>

const char *const sp_metric_kind_names[SP_METRIC_KINDS] = {"rusage", "papi",   "perf",   "bytes",
                                                           "wait",   "sample", "memory", "off_cpu"};

int sp_metric_paths(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e)
{
	const struct sp_model *m = v->m;
	const size_t width = m->n_metrics;
	struct sp_sum *all, *parent;
	size_t i, k;

	*sums = all = calloc(m->n_paths * width + 1, sizeof(*all));
	if (!all)
		return sp_model_no_memory(e);
	for (i = 0; i < m->n_paths * width; i++)
		all[i].incl = all[i].excl = v->metrics[i];
	for (i = m->n_paths; i-- > 1;) {
		parent = &all[m->paths[i].parent * width];
		for (k = 0; k < width; k++)
			if (m->metrics[k].own)
				parent[k].incl += all[i * width + k].incl;
			else /* a call that is still open has counted nothing yet, but its callees have */
				parent[k].excl -=
				    parent[k].excl < all[i * width + k].incl ? parent[k].excl : all[i * width + k].incl;
	}
	return 0;
}

/* Adds metric k to the sums of regions. rest: memory for a number of each path. The recorder measured either the value
 * without callees (`own`) or the one with them; rest becomes the other one. */
static void add_metric(const struct sp_view *v, size_t k, const bool *outermost, uint64_t *rest, struct sp_sum *regions)
{
	const struct sp_model *m = v->m;
	const size_t width = m->n_metrics;
	const bool own = m->metrics[k].own;

	for (size_t i = 0; i < m->n_paths; i++)
		rest[i] = v->metrics[i * width + k];
	for (size_t i = m->n_paths; i-- > 1;) { /* a caller has a smaller index than its callees */
		struct sp_sum *to = &regions[m->paths[i].region * width + k];
		uint64_t *parent = &rest[m->paths[i].parent];
		const uint64_t counted = v->metrics[i * width + k];

		if (own)
			*parent += rest[i];
		else /* as in sp_metric_paths() */
			*parent -= *parent < counted ? *parent : counted;
		to->excl += own ? counted : rest[i];
		if (outermost[i])
			to->incl += own ? rest[i] : counted;
	}
}

int sp_metric_regions(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e)
{
	const struct sp_model *m = v->m;
	struct sp_sum *regions = calloc(m->n_regions * m->n_metrics + 1, sizeof(*regions));
	uint64_t *rest = m->n_metrics ? malloc(m->n_paths * sizeof(*rest)) : NULL;
	bool *outermost = sp_paths_outermost(m);
	const bool complete = regions && outermost && (rest || !m->n_metrics);

	for (size_t k = 0; complete && k < m->n_metrics; k++)
		add_metric(v, k, outermost, rest, regions);
	free(outermost);
	free(rest);
	if (!complete) {
		free(regions);
		regions = NULL;
	}
	*sums = regions;
	return complete ? 0 : sp_model_no_memory(e);
}
