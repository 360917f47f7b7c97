/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays of one location in the file: written, found, checked. */
#include "model/image.h"
#include "model/pyramid_private.h"

#include <stdlib.h>
#include <string.h>

int sp_pyramid_damaged(struct sp_err *e)
{
	return sp_fail(e, 0, "%s is damaged; remove it, and it is made anew", SP_PYRAMID_NAME);
}

/* ---- writing ---- */

struct putting {
	int fd;
	uint64_t at, begin;
	struct sp_err *e;
};

static int put(struct putting *p, struct sp_pyramid_array *a, struct sp_pyramid_list *l)
{
	const uint64_t bytes = l->n * l->size;

	if (a->n == 0)
		a->at = p->at - p->begin;
	a->n += l->n;
	if (bytes && sp_write_at(p->fd, l->p, bytes, p->at, p->e))
		return -1;
	p->at += bytes;
	free(l->p);
	l->p = NULL;
	l->n = l->room = 0;
	return 0;
}

uint64_t sp_pyramid_size(const struct sp_pyramid_made *x)
{
	uint64_t n = x->points.n * x->points.size + x->frames.n * x->frames.size + x->markers.n * x->markers.size +
	             x->series.n * x->series.size + x->samples.n * x->samples.size + x->groups.n * x->groups.size;
	unsigned i;

	for (i = 0; i < SP_PYRAMID_LEVELS; i++) {
		n += x->nodes[i].n * x->nodes[i].size + x->cells[i].n * x->cells[i].size;
		n += x->sums[i].n * x->sums[i].size + x->sum_entries[i].n * x->sum_entries[i].size;
		n += x->strips[i].n * x->strips[i].size;
	}
	return n;
}

/* Levels count from their own first cell or entry; in the file all count from one. */
static void number(struct sp_pyramid_made *x)
{
	uint64_t cells = 0, entries = 0;
	unsigned level;
	size_t i;

	for (level = 0; level < SP_PYRAMID_LEVELS; level++) {
		struct sp_pyramid_node *n = x->nodes[level].p;
		struct sp_pyramid_sum *s = x->sums[level].p;

		for (i = 0; i < x->nodes[level].n; i++)
			n[i].cells += cells;
		for (i = 0; i < x->sums[level].n; i++)
			s[i].entries += entries;
		cells += x->cells[level].n;
		entries += x->sum_entries[level].n;
	}
}

int sp_pyramid_put(int fd, struct sp_pyramid_made *x, uint64_t at, struct sp_err *e)
{
	struct putting p = {.fd = fd, .at = at, .begin = at, .e = e};
	struct sp_pyramid_place *to = &x->place;
	unsigned i;
	int rc;

	number(x);
	to->at = at;
	to->n_sums = x->sums[0].n ? x->sums[0].n - 1 : 0;
	rc = put(&p, &to->points, &x->points) || put(&p, &to->frames, &x->frames) ||
	     put(&p, &to->markers, &x->markers) || put(&p, &to->series, &x->series) ||
	     put(&p, &to->samples, &x->samples) || put(&p, &to->groups, &x->groups);
	for (i = 0; i < SP_PYRAMID_LEVELS && !rc; i++)
		rc = put(&p, &to->nodes, &x->nodes[i]);
	for (i = 0; i < SP_PYRAMID_LEVELS && !rc; i++)
		rc = put(&p, &to->cells, &x->cells[i]);
	for (i = 0; i < SP_PYRAMID_LEVELS && !rc; i++)
		rc = put(&p, &to->strips, &x->strips[i]);
	for (i = 0; i < SP_PYRAMID_LEVELS && !rc; i++)
		rc = put(&p, &to->sums, &x->sums[i]);
	for (i = 0; i < SP_PYRAMID_LEVELS && !rc; i++)
		rc = put(&p, &to->entries, &x->sum_entries[i]);
	to->bytes = p.at - at;
	return rc ? -1 : 0;
}

/* ---- reading ---- */

static const void *array(const struct sp_pyramid *p, const struct sp_pyramid_place *l, const struct sp_pyramid_array *a,
                         size_t size)
{
	if (a->at % 8 || a->at > l->bytes || a->n > (l->bytes - a->at) / size)
		return NULL;
	return (const char *)p->map + l->at + a->at;
}

/* Divides n things of the finest level and those above among levels; each has `more` behind its end. Returns how many
 * levels there are, 0 where they are not `all` things together. */
static unsigned divide(size_t n, size_t all, unsigned bits, size_t more, size_t at[SP_PYRAMID_LEVELS],
                       size_t count[SP_PYRAMID_LEVELS])
{
	size_t used = 0;
	unsigned level;

	for (level = 0; level < SP_PYRAMID_LEVELS; level++) {
		if (n > all || used + n + more > all)
			return 0;
		at[level] = used;
		count[level] = n;
		used += n + more;
		if (n == 1)
			return used == all ? level + 1 : 0;
		n = sp_pyramid_up(n, bits);
	}
	return 0;
}

static bool set_levels(struct sp_pyramid_location *l, const struct sp_pyramid_node *nodes,
                       const struct sp_pyramid_strip *strips, const struct sp_pyramid_sum *sums)
{
	const struct sp_pyramid_place *t = l->place;
	const size_t n_strips = t->events / SP_PYRAMID_STRIP + (t->events % SP_PYRAMID_STRIP != 0);
	size_t at[SP_PYRAMID_LEVELS], n[SP_PYRAMID_LEVELS];
	unsigned i;

	if (t->points.n == 0)
		return t->nodes.n + t->strips.n + t->sums.n + t->events + t->n_sums == 0;
	l->n_levels = divide(t->points.n, t->nodes.n, SP_PYRAMID_FAN_BITS, 1, at, n);
	for (i = 0; i < l->n_levels; i++)
		l->levels[i] = (struct sp_pyramid_level){nodes + at[i], n[i]};
	l->n_strips = divide(n_strips, t->strips.n, SP_PYRAMID_FAN_BITS, 0, at, n);
	for (i = 0; i < l->n_strips; i++)
		l->strips[i] = (struct sp_pyramid_strips){strips + at[i], n[i]};
	l->n_sums = divide(t->n_sums, t->sums.n, SP_PYRAMID_SUM_FAN_BITS, 1, at, n);
	for (i = 0; i < l->n_sums; i++)
		l->sums[i] = (struct sp_pyramid_sums){sums + at[i], n[i]};
	return l->n_levels && l->n_strips && l->n_sums;
}

bool sp_pyramid_of(const struct sp_pyramid *p, uint32_t location, struct sp_pyramid_location *l)
{
	const struct sp_pyramid_place *t = &p->places[location];
	const void *nodes, *strips, *sums;

	*l = (struct sp_pyramid_location){.place = t};
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
	nodes = array(p, t, &t->nodes, sizeof(struct sp_pyramid_node));
	strips = array(p, t, &t->strips, sizeof(struct sp_pyramid_strip));
	sums = array(p, t, &t->sums, sizeof(struct sp_pyramid_sum));
	return l->points && l->frames && l->cells && l->entries && nodes && strips && sums && l->markers && l->series &&
	       l->samples && l->groups && set_levels(l, nodes, strips, sums);
}

/* ---- checking ---- */

static bool points_are_sound(const struct sp_pyramid_location *l)
{
	const struct sp_pyramid_place *t = l->place;
	size_t i;

	for (i = 0; i < t->points.n; i++) {
		const struct sp_pyramid_point *x = &l->points[i], *before = i ? x - 1 : NULL;

		if (x->time < t->begin || x->time > t->end || x->event % SP_PYRAMID_STRIP || x->event >= t->events ||
		    x->frame > t->frames.n || x->depth > t->frames.n || (x->frame == 0) != (x->depth == 0) ||
		    (before ? before->time > x->time || before->event >= x->event : x->event || x->depth))
			return false;
	}
	return true;
}

static bool frames_are_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	size_t i;

	for (i = 0; i < l->place->frames.n; i++) {
		const struct sp_pyramid_frame *x = &l->frames[i];

		/* callers and what was before are further to the front, so that every chain ends */
		if (x->caller > i || x->same > i || x->path >= m->n_paths || x->region >= m->n_regions ||
		    x->begin > x->end || (x->parameter != SP_NONE && x->parameter >= m->n_parameter_values))
			return false;
	}
	return true;
}

static bool nodes_are_sound(const struct sp_pyramid_location *l)
{
	uint64_t cells = 0;
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_levels; level++)
		for (i = 0; i <= l->levels[level].n; i++) {
			const struct sp_pyramid_node *x = &l->levels[level].nodes[i];

			if (x->cells < cells || x->cells > l->place->cells.n || (i && x[-1].time > x->time))
				return false;
			cells = x->cells;
		}
	return true;
}

static bool cells_are_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	size_t i;

	for (i = 0; i < l->place->cells.n; i++) {
		const struct sp_pyramid_cell *x = &l->cells[i];

		if (x->depth > l->place->events || (x->calls && (x->region >= m->n_regions || x->first > x->last)) ||
		    (x->tail != SP_PYRAMID_NO_TIME && x->tail_region >= m->n_regions))
			return false;
	}
	return true;
}

static bool strips_are_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_strips; level++)
		for (i = 0; i < l->strips[level].n; i++) {
			const struct sp_pyramid_strip *x = &l->strips[level].p[i];

			if ((x->region != SP_NONE && x->region >= m->n_regions) || (i && x[-1].time > x->time) ||
			    !(x->ns >= 0))
				return false;
		}
	return true;
}

static bool sums_are_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	uint64_t entries = 0;
	unsigned level;
	size_t i;

	for (level = 0; level < l->n_sums; level++)
		for (i = 0; i <= l->sums[level].n; i++) {
			const struct sp_pyramid_sum *x = &l->sums[level].p[i];

			if (x->entries < entries || x->entries > l->place->entries.n ||
			    x->bucket > l->place->points.n || (i && (x[-1].time > x->time || x[-1].bucket > x->bucket)))
				return false;
			entries = x->entries;
		}
	for (i = 0; i < l->place->entries.n; i++)
		if (l->entries[i].path >= m->n_paths)
			return false;
	return true;
}

static bool notes_are_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	const struct sp_pyramid_place *t = l->place;
	size_t i;

	for (i = 0; i < t->markers.n; i++)
		if (l->markers[i].string >= m->n_strings)
			return false;
	for (i = 0; i < t->series.n; i++) {
		const struct sp_pyramid_series *x = &l->series[i];

		if (x->counter >= m->n_counters || x->n > t->samples.n || x->first > t->samples.n - x->n ||
		    x->group > t->groups.n || (x->n + SP_PYRAMID_GROUP - 1) / SP_PYRAMID_GROUP > t->groups.n - x->group)
			return false;
	}
	return true;
}

bool sp_pyramid_sound(const struct sp_model *m, const struct sp_pyramid_location *l)
{
	return points_are_sound(l) && frames_are_sound(m, l) && nodes_are_sound(l) && cells_are_sound(m, l) &&
	       strips_are_sound(m, l) && sums_are_sound(m, l) && notes_are_sound(m, l);
}
