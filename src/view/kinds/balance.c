/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/report/balance.h"
#include "model/report/walk.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/ranged.h"
#include "view/span.h"
#include "view/view.h"

static const double S = 1e-9;
#define MAX_REGIONS 500
#define MAX_ROWS    500000

/* The numbers of a unit in a region. */
struct cell {
	double visits, incl, excl, running;
	bool ran;
};

struct line {
	uint32_t unit, region;
	double visits, incl, excl, running;
};

struct spread {
	const struct sp_viewed *v;
	const struct sp_model *m;
	struct sp_balance_report units; /* owned; only the units are used */
	uint32_t process, location;     /* SP_NONE: all */
	bool *outermost;                /* owned; for each path: no other path of its region is above it */
	double *time;                   /* owned; for each region, sum of all units: running time, else exclusive */
	/* owned; for each region: index of its cell; the last cell is for the other regions */
	uint32_t *slot;
	uint32_t *regions;  /* owned; region of each cell except the last one */
	struct cell *cells; /* owned; of the current unit */
	uint32_t n;         /* number of cells without the last one */
	bool rest;          /* the last cell is used */
	bool clipped;       /* limited to a part of the run */
	bool split;         /* running time is known in it */
	struct sp_lod *lod; /* NULL: there is no trace */
	struct sp_span span;
	struct sp_ranged ranged; /* owned */
	struct sp_value *values; /* owned; for each path, numbers of the current unit in the part */
	double *each;            /* owned; for each path */
	struct line *lines;      /* owned */
	size_t n_lines, capacity;
	double total;
};

/* running: of v->excl; all of it if running time is not known. */
typedef void row_fn(struct spread *s, uint32_t path, const struct sp_value *v, double running);

/* Sums the numbers of locations in the range. */
static int each_ranged(struct spread *s, uint32_t first, uint32_t end, row_fn *f, struct sp_err *e)
{
	const size_t n = s->m->n_paths;
	uint32_t l, p;

	memset(s->values, 0, n * sizeof(*s->values));
	if (s->split)
		memset(s->ranged.off, 0, n * sizeof(*s->ranged.off));
	for (l = first; l < end; l++)
		if (sp_ranged_add(&s->ranged, l, s->values, s->each, e))
			return -1;
	sp_ranged_rest(&s->ranged, s->values, s->each);
	sp_lod_inclusive(s->m, s->values);
	for (p = 1; p < n; p++) {
		const double excl = s->values[p].excl;

		f(s, p, &s->values[p],
		  s->split ? sp_balance_running(s->m, p, excl, sp_ranged_off_cpu(&s->ranged, p, excl)) : excl);
	}
	return 0;
}

/* Calls f for all paths of a unit's locations. */
static int each_row(struct spread *s, uint32_t unit, row_fn *f, struct sp_err *e)
{
	const uint32_t is = s->units.units[unit];
	const bool thread = s->units.over == SP_OVER_THREADS;
	const uint32_t first = thread ? is : s->m->processes[is].first_location;
	const uint32_t end = first + (thread ? 1 : s->m->processes[is].locations);
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(s->m);
	uint32_t l;
	size_t i;

	if (s->clipped)
		return each_ranged(s, first, end, f, e);
	for (l = first; l < end; l++) {
		const struct sp_location *from = &s->m->locations[l];

		for (i = from->first_value; i < from->first_value + from->values; i++)
			if (s->m->values[i].path)
				f(s, s->m->values[i].path, &s->m->values[i].v,
				  sp_balance_running_in(s->m, &columns, i));
	}
	return 0;
}

static void add_time(struct spread *s, uint32_t path, const struct sp_value *v, double running)
{
	(void)v;
	s->time[s->m->paths[path].region] += running;
}

static void add_cell(struct spread *s, uint32_t path, const struct sp_value *v, double running)
{
	struct cell *c = &s->cells[s->slot[s->m->paths[path].region]];

	if (!(v->visits || v->resumed || v->incl > 0))
		return;
	c->ran = true;
	c->visits += (double)v->visits;
	c->excl += v->excl;
	c->running += running;
	if (s->outermost[path])
		c->incl += v->incl;
}

static int by_time(const void *a, const void *b, void *times)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const double *time = times;

	if (time[i] != time[k])
		return time[i] > time[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Keeps only the threads of the selected process, or the selected thread. */
static void only_selected(struct spread *s)
{
	uint32_t u, n = 0;

	for (u = 0; u < s->units.n_units && s->units.over == SP_OVER_THREADS; u++) {
		const uint32_t i = s->units.units[u];

		if ((s->process == SP_NONE || s->m->locations[i].process == s->process) &&
		    (s->location == SP_NONE || i == s->location))
			s->units.units[n++] = i;
	}
	if (s->units.over == SP_OVER_THREADS)
		s->units.n_units = n;
}

/* Chooses the regions with separate cells. */
static int choose(struct spread *s, const struct sp_view_query *q, struct sp_err *e)
{
	const size_t all = s->m->n_regions, limit = MAX_ROWS / (s->units.n_units + 1);
	uint32_t i, u, want = q->regions ? q->regions : MAX_REGIONS;

	for (u = 0; u < s->units.n_units; u++)
		if (each_row(s, u, add_time, e))
			return -1;
	if (want > limit)
		want = limit ? (uint32_t)limit : 1;
	for (i = 0; i < all; i++)
		s->regions[i] = i;
	qsort_r(s->regions, all, sizeof(*s->regions), by_time, s->time);
	if (q->region != SP_NONE) {
		s->regions[0] = q->region;
		s->n = 1;
	} else {
		s->n = want < all ? want : (uint32_t)all;
		s->rest = s->n < all;
	}
	for (i = 0; i < all; i++)
		s->slot[i] = s->n;
	for (i = 0; i < s->n; i++)
		s->slot[s->regions[i]] = i;
	return 0;
}

static int put_line(struct spread *s, uint32_t unit, uint32_t cell)
{
	const struct cell *c = &s->cells[cell];
	const bool rest = cell == s->n;

	if (!sp_grow(&s->lines, s->n_lines, &s->capacity, sizeof(*s->lines)))
		return -1;
	s->lines[s->n_lines++] = (struct line){unit,        rest ? SP_NONE : s->regions[cell],
	                                       c->visits,   (rest ? c->excl : c->incl) * S,
	                                       c->excl * S, c->running * S};
	return 0;
}

static int put_units(struct spread *s, struct sp_err *e)
{
	const uint32_t cells = s->n + s->rest;
	uint32_t u, c;

	for (u = 0; u < s->units.n_units; u++) {
		memset(s->cells, 0, (s->n + 1) * sizeof(*s->cells));
		if (each_row(s, u, add_cell, e))
			return -1;
		for (c = 0; c < cells; c++) {
			if (s->cells[c].ran && put_line(s, u, c))
				return sp_fail(e, ENOMEM, "not enough memory");
			s->total += s->cells[c].excl * S;
		}
	}
	return 0;
}

static int put_columns(const struct spread *s, struct sp_columns *out)
{
	const size_t n = s->n_lines;
	uint32_t *unit = sp_columns_reserve(out, "unit", SP_COLUMN_U32, n);
	uint32_t *region = sp_columns_reserve(out, "region", SP_COLUMN_U32, n);
	double *visits = sp_columns_reserve(out, "visits", SP_COLUMN_F64, n);
	double *incl = sp_columns_reserve(out, "incl", SP_COLUMN_F64, n);
	double *excl = sp_columns_reserve(out, "excl", SP_COLUMN_F64, n);
	double *running = s->split ? sp_columns_reserve(out, "running", SP_COLUMN_F64, n) : NULL;
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < n; i++) {
		unit[i] = s->lines[i].unit;
		region[i] = s->lines[i].region;
		visits[i] = s->lines[i].visits;
		incl[i] = s->lines[i].incl;
		excl[i] = s->lines[i].excl;
		if (running)
			running[i] = s->lines[i].running;
	}
	return 0;
}

static const char *const overs[] = {"auto", "ranks", "processes", "threads"};

static void put_meta(const struct spread *s, struct sp_columns *out)
{
	uint32_t u;

	sp_meta_text(out, "over", sp_literal(overs[s->units.over]));
	sp_meta_open(out, "units", '[');
	for (u = 0; u < s->units.n_units; u++)
		sp_meta_uint(out, NULL, s->units.units[u]);
	sp_meta_close(out, ']');
	sp_meta_uint(out, "regions", s->n);
	sp_meta_real(out, "total", s->total);
}

static int find_units(struct spread *s, const struct sp_view_query *q, struct sp_err *e)
{
	unsigned over = 0;

	if (q->over)
		while (over < 4 && strcmp(overs[over], q->over) != 0)
			over++;
	if (over == 4)
		return sp_fail(e, EINVAL, "over cannot be %.40s; one of auto, ranks, processes, threads", q->over);
	if (q->process != SP_NONE || q->location != SP_NONE) {
		if (over == SP_OVER_RANKS || over == SP_OVER_PROCESSES)
			return sp_fail(e, EINVAL, "over cannot be %s: one process has threads alone", q->over);
		over = SP_OVER_THREADS;
	}
	if (sp_balance_units(&s->units, s->m, (enum sp_balance_over)over, e))
		return -1;
	only_selected(s);
	return 0;
}

static int reserve(struct spread *s)
{
	const size_t n = s->m->n_regions + 1;

	s->outermost = sp_paths_outermost(s->m);
	s->time = calloc(n, sizeof(*s->time));
	s->slot = malloc(n * sizeof(*s->slot));
	s->regions = malloc(n * sizeof(*s->regions));
	s->cells = malloc((n + 1) * sizeof(*s->cells));
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(s->m);
	s->split = sp_off_cpu_split(&columns);
	if (s->clipped) {
		s->values = malloc(s->m->n_paths * sizeof(*s->values));
		s->each = calloc(s->m->n_paths, sizeof(*s->each)); /* required by sp_ranged_add(), not used here */
		if (!s->values || !s->each || sp_ranged_init(&s->ranged, s->v, s->lod, s->span.begin, s->span.end))
			return -1;
		s->split = s->ranged.off;
	}
	return s->outermost && s->time && s->slot && s->regions && s->cells ? 0 : -1;
}

/* Determines the selected part of the run. */
static int find_range(struct spread *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e)
{
	if (isnan(q->begin) && isnan(q->end))
		return sp_model_rows(v->m, e);
	s->clipped = true;
	return sp_span_of(&s->span, v->m, q, e) || sp_view_lod_if_any(v, &s->lod, e) ? -1 : 0;
}

int sp_view_balance(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct spread s = {.v = v, .m = v->m, .process = q->process, .location = q->location};
	int rc = find_units(&s, q, e) || find_range(&s, v, q, e) ? -1 : 0;

	if (rc == 0 && reserve(&s))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	if (rc == 0)
		rc = choose(&s, q, e) || put_units(&s, e) ? -1 : 0;
	if (rc == 0 && put_columns(&s, out))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	if (rc == 0)
		put_meta(&s, out);
	sp_balance_report_free(&s.units);
	free(s.outermost);
	free(s.time);
	free(s.slot);
	free(s.regions);
	free(s.cells);
	free(s.values);
	free(s.each);
	sp_ranged_free(&s.ranged);
	free(s.lines);
	return rc;
}
