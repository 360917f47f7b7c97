/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops regions that nothing refers to, which were defined while the interpreter started or the measurement overhead
 * was determined. */

#include <stdlib.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

/* Whether every event of the process added to a call path of its region; false if any were dropped. */
static bool events_have_paths(const struct sp_loading *l)
{
	if (!l->source->raw && !l->source->closed)
		return true; /* the process has no events */
	return !l->source->damaged && (l->process.locations == 0 || l->process.lost.paths == 0);
}

static void mark_region(void *to, uint32_t *region)
{
	if (*region != SP_NONE)
		((uint32_t *)to)[*region] = 1;
}

static void renumber_region(void *to, uint32_t *region)
{
	if (*region != SP_NONE)
		*region = ((uint32_t *)to)[*region] - 1;
}

static void mark(struct sp_builder *b, uint32_t *to)
{
	const struct sp_model *m = b->m;
	bool collapsed = false;
	size_t i, k;

	to[0] = 1;
	sp_build_task_regions(b->m, mark_region, to);
	sp_build_lock_regions(b->m, mark_region, to);
	for (i = 0; i < m->n_lines; i++)
		to[m->lines[i].region] = 1;
	for (i = 0; i < m->n_sites; i++) {
		mark_region(to, &m->sites[i].region);
		mark_region(to, &m->sites[i].own_region);
	}
	for (i = 0; m->heaps && i < m->n_processes; i++)
		if (m->heaps[i].there)
			mark_region(to, &m->heaps[i].passed_region);
	/* keep user regions: a trace may be rewound to one, which then is in no profile */
	for (i = 0; i < m->n_regions; i++)
		to[i] |= m->regions[i].kind == SP_REGION_USER;
	for (i = 0; i < m->n_paths; i++) {
		to[m->paths[i].region] = 1;
		collapsed |= m->regions[m->paths[i].region].kind == SP_REGION_COLLAPSED;
	}
	for (i = 0; i < b->n_loading; i++) {
		const struct sp_source *s = b->loading[i].source;

		if (!collapsed && events_have_paths(&b->loading[i]))
			continue;
		for (k = 0; k < s->regions.n; k++)
			if (s->regions.to[k] && m->regions[s->regions.to[k] - 1].kind != SP_REGION_PARAMETER)
				to[s->regions.to[k] - 1] = 1;
	}
}

static void renumber_ids(struct sp_ids *ids, const uint32_t *to)
{
	size_t k;

	for (k = 0; k < ids->n; k++)
		if (ids->to[k])
			ids->to[k] = to[ids->to[k] - 1];
}

int sp_build_drop_unused(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	/* table from regions to new indices + 1; 0: unused */
	uint32_t *to = calloc(m->n_regions, sizeof(*to)), n = 0;
	size_t i;

	if (!to)
		return sp_model_no_memory(e);
	mark(b, to);
	for (i = 0; i < m->n_regions; i++)
		if (to[i]) {
			m->regions[n++] = m->regions[i];
			to[i] = n;
		}
	m->n_regions = n;
	for (i = 0; i < m->n_paths; i++)
		m->paths[i].region = to[m->paths[i].region] - 1;
	sp_build_task_regions(m, renumber_region, to);
	sp_build_lock_regions(m, renumber_region, to);
	for (i = 0; i < m->n_lines; i++)
		m->lines[i].region = to[m->lines[i].region] - 1; /* in their original order */
	for (i = 0; i < m->n_sites; i++) {
		renumber_region(to, &m->sites[i].region);
		renumber_region(to, &m->sites[i].own_region);
	}
	for (i = 0; m->heaps && i < m->n_processes; i++)
		if (m->heaps[i].passed_region != SP_NONE && m->heaps[i].there)
			renumber_region(to, &m->heaps[i].passed_region);
	for (i = 0; i < b->priv->n_sources; i++) {
		renumber_ids(&b->priv->sources[i].regions, to);
		renumber_ids(&b->priv->sources[i].sampled_regions, to);
	}
	free(to);
	return 0;
}
