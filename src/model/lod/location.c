/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and checks the arrays of one location in the file. */
#include "base/guard.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/merge/pack.h"
#include "model/model.h"
#include "model/str.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 1 << 16 }; /* nodes with their cells, or entries: about 10 MiB */

int sp_lod_damaged(struct sp_err *e)
{
	return sp_fail(e, 0, "%s is damaged; remove it, and it is written again", SP_LOD_NAME);
}

/* ---- reading ---- */

static const void *array(const struct sp_lod *p, const struct sp_lod_file_location *l, const struct sp_lod_array *a,
                         size_t size)
{
	if (a->at % 8 || a->at > l->bytes || a->n > (l->bytes - a->at) / size)
		return NULL;
	return (const char *)p->map + l->at + a->at;
}

/* Divides n elements of the finest level and of those above among levels; each level has `more` additional elements at
 * its end. Returns the number of levels; 0 if the levels do not have `all` elements together. */
static unsigned divide(size_t n, size_t all, unsigned bits, size_t more, size_t at[SP_LOD_LEVELS],
                       size_t count[SP_LOD_LEVELS])
{
	size_t used = 0;
	unsigned level;

	for (level = 0; level < SP_LOD_LEVELS; level++) {
		if (n > all || used + n + more > all)
			return 0;
		at[level] = used;
		count[level] = n;
		used += n + more;
		if (n == 1)
			return used == all ? level + 1 : 0;
		n = sp_lod_up(n, bits);
	}
	return 0;
}

static bool set_levels(struct sp_lod_location *l, const struct sp_lod_node *nodes, const struct sp_lod_strip *strips,
                       const struct sp_lod_sum *sums)
{
	const struct sp_lod_file_location *t = l->place;
	const size_t n_strips = t->events / SP_LOD_STRIP + (t->events % SP_LOD_STRIP != 0);
	size_t at[SP_LOD_LEVELS], n[SP_LOD_LEVELS];
	unsigned i;

	if (t->points.n == 0)
		return t->nodes.n + t->strips.n + t->sums.n + t->events + t->n_sums == 0;
	l->n_levels = divide(t->points.n, t->nodes.n, SP_LOD_FAN_BITS, 1, at, n);
	for (i = 0; i < l->n_levels; i++)
		l->levels[i] = (struct sp_lod_level){nodes + at[i], n[i]};
	l->n_strips = divide(n_strips, t->strips.n, SP_LOD_FAN_BITS, 0, at, n);
	for (i = 0; i < l->n_strips; i++)
		l->strips[i] = (struct sp_lod_strips){strips + at[i], n[i]};
	l->n_sums = divide(t->n_sums, t->sums.n, SP_LOD_SUM_FAN_BITS, 1, at, n);
	for (i = 0; i < l->n_sums; i++)
		l->sums[i] = (struct sp_lod_sums){sums + at[i], n[i]};
	return l->n_levels && l->n_strips && l->n_sums;
}

bool sp_lod_of(const struct sp_lod *p, uint32_t location, struct sp_lod_location *l)
{
	const struct sp_lod_file_location *t = &p->places[location];
	const void *nodes, *strips, *sums;

	*l = (struct sp_lod_location){.place = t};
	if (t->at % 8 || t->at > p->bytes || t->bytes > p->bytes - t->at || t->begin > t->end)
		return false;
	l->points = array(p, t, &t->points, sizeof(*l->points));
	l->frames = array(p, t, &t->frames, sizeof(*l->frames));
	l->cells = array(p, t, &t->cells, sizeof(*l->cells));
	l->entries = array(p, t, &t->entries, sizeof(*l->entries));
	l->markers = array(p, t, &t->markers, sizeof(*l->markers));
	l->series = array(p, t, &t->series, sizeof(*l->series));
	l->samples = array(p, t, &t->samples, sizeof(*l->samples));
	l->groups = array(p, t, &t->groups, sizeof(*l->groups));
	l->steps = array(p, t, &t->steps, sizeof(*l->steps));
	l->gaps = array(p, t, &t->gaps, sizeof(*l->gaps));
	l->counts = t->counts.n ? array(p, t, &t->counts, sizeof(*l->counts)) : NULL;
	l->grown = t->counts.n ? array(p, t, &t->grown, sizeof(*l->grown)) : NULL;
	nodes = array(p, t, &t->nodes, sizeof(struct sp_lod_node));
	strips = array(p, t, &t->strips, sizeof(struct sp_lod_strip));
	sums = array(p, t, &t->sums, sizeof(struct sp_lod_sum));
	return l->points && l->frames && l->cells && l->entries && nodes && strips && sums && l->markers && l->series &&
	       l->samples && l->groups && l->steps && l->gaps && (t->counts.n == 0 || (l->counts && l->grown)) &&
	       set_levels(l, nodes, strips, sums);
}

/* ---- checking ---- */

/* Releases the pages of the previous elements after every MANY elements. */
static void release_previous(const struct sp_lod_location *l, size_t i)
{
	if (i % MANY == MANY - 1)
		sp_mapped_forget((const char *)l->points - l->place->points.at, l->place->bytes);
}

static bool points_are_sound(const struct sp_lod_location *l)
{
	const struct sp_lod_file_location *t = l->place;
	size_t i;

	for (i = 0; i < t->points.n; i++) {
		const struct sp_lod_point *x = &l->points[i], *before = i ? x - 1 : NULL;

		if (x->time < t->begin || x->time > t->end || x->event % SP_LOD_STRIP || x->event >= t->events ||
		    x->frame > t->frames.n || x->depth > t->frames.n || (x->frame == 0) != (x->depth == 0) ||
		    (before ? before->time > x->time || before->event >= x->event : x->event || x->depth))
			return false;
	}
	return true;
}

static bool frames_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	size_t i;

	for (i = 0; i < l->place->frames.n; i++) {
		const struct sp_lod_frame *x = &l->frames[i];

		/* callers and earlier frames of the call have smaller indices, so every chain ends */
		if (x->caller > i || x->same > i || x->path >= m->n_paths || x->region >= m->n_regions ||
		    x->begin > x->end || (x->parameter != SP_NONE && x->parameter >= m->n_parameter_values))
			return false;
	}
	return true;
}

static bool nodes_are_sound(const struct sp_lod_location *l)
{
	uint64_t before = 0, cells;
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_levels; level++)
		for (i = 0; i <= l->levels[level].n; i++) {
			const struct sp_lod_node *x = &l->levels[level].nodes[i];

			cells = x->cells & ~SP_LOD_WIDE;
			if (cells < before || cells > l->place->cells.n || (i && x[-1].time > x->time))
				return false;
			before = cells;
		}
	return true;
}

static bool cells_are_sound(const struct sp_model *m, const struct sp_lod_location *l, const struct sp_lod_node *n)
{
	const size_t cells = sp_lod_cells(n);
	size_t i;

	for (i = 0; i < cells; i++) {
		const struct sp_lod_cell x = sp_lod_cell_at(l, n, i);

		if (x.depth > l->place->events || (x.calls && (x.region >= m->n_regions || x.first > x.last)) ||
		    (x.tail != SP_LOD_NO_TIME && x.tail_region >= m->n_regions))
			return false;
	}
	return true;
}

static bool all_cells_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_levels; level++)
		for (i = 0; i < l->levels[level].n; i++) {
			if (!cells_are_sound(m, l, &l->levels[level].nodes[i]))
				return false;
			release_previous(l, i);
		}
	return true;
}

static bool strips_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_strips; level++)
		for (i = 0; i < l->strips[level].n; i++) {
			const struct sp_lod_strip *x = &l->strips[level].p[i];

			if ((x->region != SP_NONE && x->region >= m->n_regions) || (i && x[-1].time > x->time) ||
			    !(x->ns >= 0))
				return false;
		}
	return true;
}

static bool sums_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	uint64_t entries = 0;
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_sums; level++)
		for (i = 0; i <= l->sums[level].n; i++) {
			const struct sp_lod_sum *x = &l->sums[level].p[i];

			if (x->entries < entries || x->entries > l->place->entries.n ||
			    x->bucket > l->place->points.n || (i && (x[-1].time > x->time || x[-1].bucket > x->bucket)))
				return false;
			entries = x->entries;
		}
	for (i = 0; i < l->place->entries.n; i++) {
		if (l->entries[i].path >= m->n_paths)
			return false;
		release_previous(l, i);
	}
	return true;
}

static bool notes_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	const struct sp_lod_file_location *t = l->place;
	size_t i;

	for (i = 0; i < t->markers.n; i++)
		if (l->markers[i].string >= m->n_strings)
			return false;
	for (i = 0; i < t->series.n; i++) {
		const struct sp_lod_series *x = &l->series[i];

		if (x->counter >= m->n_counters || x->n > t->samples.n || x->first > t->samples.n - x->n ||
		    x->group > t->groups.n || (x->n + SP_LOD_GROUP - 1) / SP_LOD_GROUP > t->groups.n - x->group)
			return false;
	}
	return true;
}

static bool metrics_are_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	const struct sp_lod_file_location *t = l->place;
	const size_t width = sp_lod_metrics(m);
	size_t i;

	if (t->counts.n == 0)
		return t->grown.n == 0;
	if (width == 0 || t->counts.n / (width + 1) != t->points.n + 1 || t->counts.n % (width + 1) ||
	    t->grown.n / width != t->entries.n || t->grown.n % width)
		return false;
	for (i = 0; i <= t->points.n; i++)
		if (l->counts[i * (width + 1)] > t->end)
			return false;
	return true;
}

bool sp_lod_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	return points_are_sound(l) && frames_are_sound(m, l) && nodes_are_sound(l) && all_cells_are_sound(m, l) &&
	       strips_are_sound(m, l) && sums_are_sound(m, l) && notes_are_sound(m, l) && metrics_are_sound(m, l) &&
	       sp_lod_steps_sound(m, l) && sp_lod_gaps_sound(m, l);
}
