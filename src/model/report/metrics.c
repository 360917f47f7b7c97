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

int sp_metric_regions(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e)
{
	const struct sp_model *m = v->m;
	const size_t width = m->n_metrics;
	struct sp_sum *paths, *regions = calloc(m->n_regions * width + 1, sizeof(*regions));
	bool *outermost = sp_paths_outermost(m);
	size_t i, k;

	*sums = NULL;
	if (!outermost || !regions || sp_metric_paths(v, &paths, e)) {
		const bool complete = outermost && regions;

		free(outermost);
		free(regions);
		return complete ? -1 : sp_model_no_memory(e);
	}
	for (i = 1; i < m->n_paths; i++)
		for (k = 0; k < width; k++) {
			struct sp_sum *to = &regions[m->paths[i].region * width + k];

			to->excl += paths[i * width + k].excl;
			if (outermost[i])
				to->incl += paths[i * width + k].incl;
		}
	free(outermost);
	free(paths);
	*sums = regions;
	return 0;
}
