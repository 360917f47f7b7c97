/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes each level of cells, strips and sums from the level below. */
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/lod/make.h"
#include "model/lod/opened.h"
#include "model/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static const struct sp_lod_cell empty = {
    .region = SP_NONE, .head = SP_LOD_NO_TIME, .tail = SP_LOD_NO_TIME, .tail_region = SP_NONE};

bool sp_lod_cells_reach(struct sp_lod_cells *c, uint32_t depth)
{
	struct sp_lod_cell *larger;
	uint32_t capacity;

	if (depth >= c->capacity) {
		capacity = depth * 2 + 64;
		larger = realloc(c->p, (capacity + (size_t)1) * sizeof(*larger));
		if (!larger)
			return false;
		c->p = larger;
		c->p[capacity] = empty;
		c->capacity = capacity;
	}
	if (c->low == c->high)
		c->low = c->high = depth;
	for (; c->high <= depth; c->high++) {
		c->p[c->high] = empty;
		c->p[c->high].depth = c->high;
	}
	for (; c->low > depth; c->low--) {
		c->p[c->low - 1] = empty;
		c->p[c->low - 1].depth = c->low - 1;
	}
	return true;
}

void sp_lod_cell_add(struct sp_lod_cell *c, uint64_t first, uint64_t last, uint32_t calls, uint64_t busy,
                     uint32_t region, uint64_t longest)
{
	if (c->calls == 0)
		c->first = first;
	c->last = last;
	c->calls = calls > UINT32_MAX - c->calls ? UINT32_MAX : c->calls + calls;
	c->busy += busy;
	if (c->region == region) {
		c->longest += longest;
	} else if (longest > c->longest || c->region == SP_NONE) {
		c->region = region;
		c->longest = longest;
	}
}

/* Adds a cell that follows c in time. */
static void join(struct sp_lod_cell *c, const struct sp_lod_cell *next)
{
	if (next->head != SP_LOD_NO_TIME && c->tail != SP_LOD_NO_TIME) {
		const uint64_t length = next->head - c->tail;

		sp_lod_cell_add(c, c->tail, next->head, 1, length, c->tail_region, length);
		c->tail = SP_LOD_NO_TIME;
		c->tail_region = SP_NONE;
	} else if (next->head != SP_LOD_NO_TIME) {
		c->head = next->head;
	}
	if (next->calls)
		sp_lod_cell_add(c, next->first, next->last, next->calls, next->busy, next->region, next->longest);
	if (next->tail != SP_LOD_NO_TIME) {
		c->tail = next->tail;
		c->tail_region = next->tail_region;
	}
}

static bool put_node(struct sp_lod_made *out, unsigned level, uint64_t time, uint64_t wide)
{
	struct sp_lod_node *n = sp_lod_more(&out->nodes[level], 1);

	if (n)
		*n = (struct sp_lod_node){time, out->cells[level].n | wide};
	return n;
}

static void make_narrow(struct sp_lod_narrow *to, const struct sp_lod_cell *c, size_t n, uint64_t begin)
{
	for (; n; n--, c++, to++)
		*to = (struct sp_lod_narrow){
		    .depth = c->depth,
		    .region = c->region,
		    .head = c->head == SP_LOD_NO_TIME ? SP_LOD_NO_OFFSET : (uint32_t)(c->head - begin),
		    .tail = c->tail == SP_LOD_NO_TIME ? SP_LOD_NO_OFFSET : (uint32_t)(c->tail - begin),
		    .first = (uint32_t)(c->first - begin),
		    .last = (uint32_t)(c->last - begin),
		    .busy = (uint32_t)c->busy,
		    .longest = (uint32_t)c->longest,
		    .calls = c->calls,
		    .tail_region = c->tail_region};
}

/* Writes the cells of a node of this level, which ends at `end`. */
static bool put_cells(struct sp_lod_maker *x, unsigned level, uint64_t end)
{
	const struct sp_lod_cells *c = &x->cells[level];
	const bool wide = end - c->begin >= SP_LOD_NO_OFFSET;
	const size_t n = c->high - c->low;
	void *to;

	if (!put_node(x->out, level, c->begin, wide ? SP_LOD_WIDE : 0))
		return false;
	if (n == 0)
		return true;
	to = sp_lod_more(&x->out->cells[level], n * (wide ? SP_LOD_WIDE_WORDS : SP_LOD_NARROW_WORDS));
	if (!to)
		return false;
	if (wide)
		memcpy(to, c->p + c->low, n * sizeof(*c->p));
	else
		make_narrow(to, c->p + c->low, n, c->begin);
	return true;
}

/* Completes a node of a level, and adds its cells to the current node of the next level. */
static bool complete_node(struct sp_lod_maker *x, unsigned level, uint64_t end)
{
	struct sp_lod_cells *c = &x->cells[level], *up = c + 1;
	uint32_t d;

	if (!put_cells(x, level, end))
		return false;
	if (up->nodes++ == 0) {
		up->begin = c->begin;
		up->low = up->high = 0;
	}
	if (c->high > c->low && (!sp_lod_cells_reach(up, c->low) || !sp_lod_cells_reach(up, c->high - 1)))
		return false;
	for (d = c->low; d < c->high; d++)
		join(&up->p[d], &c->p[d]);
	c->low = c->high = 0;
	c->nodes = 0;
	return true;
}

void sp_lod_node_done(struct sp_lod_maker *x, uint64_t end, bool all)
{
	struct sp_lod_made *out = x->out;
	unsigned level;

	if (out->points.n > out->nodes[0].n && !x->failed && !complete_node(x, 0, end))
		x->failed = true;
	for (level = 1; level + 1 < SP_LOD_LEVELS && !x->failed; level++) {
		if (x->cells[level].nodes < SP_LOD_FAN && !(all && out->nodes[level - 1].n > 1))
			break;
		if (x->cells[level].nodes && !complete_node(x, level, end))
			x->failed = true;
	}
	for (level = 0; all && level < SP_LOD_LEVELS && out->nodes[level].n && !x->failed; level++)
		x->failed = !put_node(out, level, end, 0);
}

/* ---- strips ---- */

static bool complete_strip(struct sp_lod_maker *x, unsigned level, uint64_t end)
{
	struct sp_lod_times *t = &x->times[level], *up = t + 1;
	struct sp_lod_strip *s = sp_lod_more(&x->out->strips[level], 1);
	uint32_t i, best = SP_NONE;
	uint64_t longest = 0;

	if (!up->ns) {
		up->ns = calloc(x->m->n_regions, sizeof(*up->ns));
		up->touched = malloc((x->m->n_regions + 1) * sizeof(*up->touched));
	}
	if (!s || !up->ns || !up->touched)
		return false;
	if (up->strips++ == 0)
		up->begin = t->begin;
	for (i = 0; i < t->n; i++) {
		const uint32_t region = t->touched[i];
		const uint64_t ns = t->ns[region];

		if (ns > longest || (ns == longest && region < best)) {
			longest = ns;
			best = region;
		}
		if (up->ns[region] == 0)
			up->touched[up->n++] = region;
		up->ns[region] += ns;
		t->ns[region] = 0;
	}
	*s = (struct sp_lod_strip){t->begin, best, (float)longest};
	t->n = t->strips = 0;
	t->begin = end;
	return true;
}

void sp_lod_strip_done(struct sp_lod_maker *x, uint64_t end, bool all)
{
	struct sp_lod_made *out = x->out;
	unsigned level;

	if (!all && !x->failed && !complete_strip(x, 0, end))
		x->failed = true;
	for (level = 1; level + 1 < SP_LOD_LEVELS && !x->failed; level++) {
		if (x->times[level].strips < SP_LOD_FAN && !(all && out->strips[level - 1].n > 1))
			break;
		if (x->times[level].strips && !complete_strip(x, level, end))
			x->failed = true;
	}
	/* also clear the times of the level above the last one */
	for (; all && level < SP_LOD_LEVELS; level++)
		while (x->times[level].n)
			x->times[level].ns[x->times[level].touched[--x->times[level].n]] = 0;
}

/* ---- sums ---- */

static bool put_sum(struct sp_lod_made *out, unsigned level, uint64_t time, uint64_t bucket)
{
	struct sp_lod_sum *s = sp_lod_more(&out->sums[level], 1);

	if (s)
		*s = (struct sp_lod_sum){time, out->sum_entries[level].n, bucket};
	return s;
}

/* Writes all numbers of stats as entries, and clears them. */
static bool put_entries(struct sp_lod_maker *x, unsigned level)
{
	struct sp_lod_entry *to;
	size_t i;

	if (x->n_touched == 0)
		return true;
	if (x->n_metrics && !sp_lod_grown_put(x, level))
		return false;
	to = sp_lod_more(&x->out->sum_entries[level], x->n_touched);
	if (!to)
		return false;
	for (i = 0; i < x->n_touched; i++) {
		struct sp_lod_stat *s = &x->stats[x->touched[i]];

		to[i] =
		    (struct sp_lod_entry){.path = x->touched[i],
		                          .resumed = (uint32_t)(s->calls[1] < UINT32_MAX ? s->calls[1] : UINT32_MAX),
		                          .visits = s->calls[0],
		                          .excl = s->excl,
		                          .each = s->each,
		                          .min = ~s->not_min,
		                          .max = s->max,
		                          .sumsq = s->sumsq};
		*s = (struct sp_lod_stat){.excl = 0};
	}
	x->n_touched = 0;
	return true;
}

void sp_lod_sum_done(struct sp_lod_maker *x, uint64_t end, uint64_t next_bucket)
{
	if (!put_sum(x->out, 0, x->sum_begin, x->sum_bucket) || !put_entries(x, 0))
		x->failed = true;
	x->sum_begin = end;
	x->sum_event = x->events;
	x->sum_bucket = next_bucket;
}

static void add_entry(struct sp_lod_maker *x, const struct sp_lod_entry *from)
{
	struct sp_lod_stat *s = &x->stats[from->path];

	if (!s->touched) {
		s->touched = true;
		x->touched[x->n_touched++] = from->path;
	}
	s->calls[0] += from->visits;
	s->calls[1] += from->resumed;
	s->excl += from->excl;
	s->each += from->each;
	s->sumsq += from->sumsq;
	if (~from->min > s->not_min)
		s->not_min = ~from->min;
	if (from->max > s->max)
		s->max = from->max;
}

static bool next_level(struct sp_lod_maker *x, unsigned level)
{
	struct sp_lod_made *out = x->out;
	const size_t n = out->sums[level - 1].n;
	size_t i;
	uint64_t k;

	for (i = 0; i < n; i += SP_LOD_SUM_FAN) {
		const struct sp_lod_sum *from = (struct sp_lod_sum *)out->sums[level - 1].p + i;
		const struct sp_lod_entry *entries = out->sum_entries[level - 1].p;
		const uint64_t end =
		    i + SP_LOD_SUM_FAN < n ? from[SP_LOD_SUM_FAN].entries : out->sum_entries[level - 1].n;

		if (!put_sum(out, level, from->time, from->bucket))
			return false;
		for (k = from->entries; k < end; k++) {
			add_entry(x, &entries[k]);
			if (x->n_metrics)
				sp_lod_grown_add(x, level - 1, k, entries[k].path);
		}
		if (!put_entries(x, level))
			return false;
	}
	return true;
}

void sp_lod_sums_finish(struct sp_lod_maker *x, uint64_t end)
{
	struct sp_lod_made *out = x->out;
	unsigned level, top = 0;

	if (x->events > x->sum_event && !x->failed)
		sp_lod_sum_done(x, end, out->points.n);
	if (x->failed)
		return;
	for (level = 1; level < SP_LOD_LEVELS && out->sums[level - 1].n > 1; level++, top++)
		if (!next_level(x, level)) {
			x->failed = true;
			return;
		}
	for (level = 0; level <= top && out->sums[0].n && !x->failed; level++)
		x->failed = !put_sum(out, level, end, out->points.n);
}
