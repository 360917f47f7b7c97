/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics with and without what callees counted. */
#include "model/private.h"
#include "model/walk.h"

#include <stdlib.h>

const char *const sp_metric_kind_names[SP_METRIC_KINDS] = {"rusage", "papi",   "perf",  "bytes",
                                                           "wait",   "sample", "memory"};

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
			else /* calls that are still open have counted nothing yet, their callees have */
				parent[k].excl -=
				    parent[k].excl < all[i * width + k].incl ? parent[k].excl : all[i * width + k].incl;
	}
	return 0;
}

struct by_region {
	const struct sp_model *m;
	const struct sp_sum *paths;
	struct sp_sum *regions;
	uint32_t *open; /* how often each region is on the path */
};

static void enter(void *arg, uint32_t path)
{
	struct by_region *r = arg;
	const size_t width = r->m->n_metrics;
	const uint32_t region = r->m->paths[path].region;
	const bool outermost = r->open[region]++ == 0;
	size_t k;

	for (k = 0; k < width; k++) {
		r->regions[region * width + k].excl += r->paths[path * width + k].excl;
		if (outermost)
			r->regions[region * width + k].incl += r->paths[path * width + k].incl;
	}
}

static void leave(void *arg, uint32_t path)
{
	struct by_region *r = arg;

	r->open[r->m->paths[path].region]--;
}

int sp_metric_regions(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e)
{
	struct by_region r = {.m = v->m};
	struct sp_sum *paths;

	*sums = NULL;
	if (sp_metric_paths(v, &paths, e))
		return -1;
	r.paths = paths;
	r.regions = calloc(v->m->n_regions * v->m->n_metrics + 1, sizeof(*r.regions));
	r.open = calloc(v->m->n_regions, sizeof(*r.open));
	if (r.regions && r.open && v->m->n_metrics)
		sp_paths_walk(v->m, enter, leave, &r);
	free(paths);
	if (!r.open || !r.regions) {
		free(r.regions);
		free(r.open);
		return sp_model_no_memory(e);
	}
	free(r.open);
	*sums = r.regions;
	return 0;
}
