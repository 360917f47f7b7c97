/* SPDX-License-Identifier: BSD-3-Clause */
/* The metrics of a Cube file and their numbers. */
#include <float.h>
#include <stdlib.h>

#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/cube/cube.h"

static uint64_t bits(double real)
{
	uint64_t u;

	memcpy(&u, &real, sizeof u);
	return u;
}

static uint64_t visits(const struct sp_value *v)
{
	return v->visits + v->resumed;
}

static uint64_t inclusive(const struct sp_value *v)
{
	return bits(v->incl * 1e-9);
}

static uint64_t shortest(const struct sp_value *v)
{
	return bits(v->visits + v->resumed ? v->min * 1e-9 : DBL_MAX);
}

static uint64_t longest(const struct sp_value *v)
{
	return bits(v->visits + v->resumed ? v->max * 1e-9 : 0);
}

static struct sp_cube_metric timed(const char *name, const char *shown, const char *type, const char *what,
                                   uint64_t (*of)(const struct sp_value *v))
{
	return (struct sp_cube_metric){.name = sp_text(name),
	                               .shown = sp_text(shown),
	                               .what = sp_text(what),
	                               .unit = sp_text(of == visits ? "occ" : "sec"),
	                               .inclusive = of == inclusive,
	                               .type = type,
	                               .none = of == shortest ? bits(DBL_MAX) : 0,
	                               .of = of,
	                               .column = SP_NONE,
	                               .part = SP_NONE,
	                               .parent = -1};
}

/* Adds a metric that Score-P has in every run, and below it the part of MPI. */
static struct sp_cube_metric *put_bytes(struct sp_cube *c, struct sp_cube_metric *to, const struct sp_scorep_bytes *b)
{
	const struct sp_model *m = c->m;
	const struct sp_str name = sp_text(b->name);
	const uint32_t column = sp_scorep_metric(m, b->name), part = b->part ? sp_scorep_metric(m, b->part) : SP_NONE;

	if (b->mpi && column == SP_NONE)
		return to;
	*to++ = (struct sp_cube_metric){.name = name,
	                                .shown = name,
	                                .what = sp_text(b->what),
	                                .unit = sp_text("bytes"),
	                                .inclusive = column != SP_NONE && !m->metrics[column].own,
	                                .type = "UINT64",
	                                .column = column,
	                                .part = part,
	                                .parent = -1};
	if (part == SP_NONE)
		return to;
	*to = (struct sp_cube_metric){.name = sp_text(b->part),
	                              .shown = sp_text("MPI-IO"),
	                              .what = m->metrics[part].what,
	                              .unit = sp_text("bytes"),
	                              .type = "UINT64",
	                              .column = part,
	                              .part = SP_NONE,
	                              .parent = (int)(to - c->metrics) - 1};
	return to + 1;
}

/* Adds the wait metrics after all others, as parts of the time. */
static struct sp_cube_metric *add_waits(struct sp_cube *c, struct sp_cube_metric *to)
{
	enum { TIME = 1 };
	const int first = (int)(to - c->metrics);

	for (int i = 0; i < SP_WAIT_METRICS; i++) {
		const struct sp_wait_metric *x = &sp_wait_metrics[i];
		*to++ = (struct sp_cube_metric){.name = sp_text(x->name),
		                                .shown = sp_text(x->shown),
		                                .what = sp_text(x->what),
		                                .unit = sp_text("sec"),
		                                .inclusive = true,
		                                .type = "DOUBLE",
		                                .column = SP_NONE,
		                                .part = SP_NONE,
		                                .kinds = x->kinds,
		                                .parent = x->parent < 0 ? TIME : first + x->parent};
	}
	return to;
}

int sp_cube_metrics(struct sp_cube *c, struct sp_arena *arena)
{
	const struct sp_model *m = c->m;
	struct sp_cube_metric *to = sp_arena_zalloc(arena, m->n_metrics + 16 + SP_WAIT_METRICS, sizeof *to);

	size_t rows = 1;
	for (uint32_t l = c->k.first; l < c->k.end; l++)
		rows = m->locations[l].values > rows ? m->locations[l].values : rows;
	c->values = sp_arena_zalloc(arena, m->row_metrics || c->first_wait ? rows : 1, sizeof *c->values);
	c->below = sp_arena_zalloc(arena, m->row_metrics || c->first_wait ? m->n_paths : 1, sizeof *c->below);
	if (!to || !c->values || !c->below)
		return -1;
	c->metrics = to;
	*to++ = timed("visits", "Visits", "UINT64", "Number of visits", visits);
	*to++ = timed("time", "Time", "DOUBLE", "Total CPU allocation time", inclusive);
	*to++ =
	    timed("min_time", "Minimum Inclusive Time", "MINDOUBLE", "Minimum inclusive CPU allocation time", shortest);
	*to++ =
	    timed("max_time", "Maximum Inclusive Time", "MAXDOUBLE", "Maximum inclusive CPU allocation time", longest);
	for (const struct sp_scorep_bytes *b = sp_scorep_bytes; b->name; b++)
		to = put_bytes(c, to, b);
	const struct sp_cube_metric *fixed_end = to;
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const struct sp_metric *own = &m->metrics[i];
		const struct sp_cube_metric *f = c->metrics;
		while (f < fixed_end && f->column != i)
			f++;
		if (f == fixed_end)
			*to++ = (struct sp_cube_metric){.name = own->name,
			                                .shown = own->name,
			                                .what = own->what,
			                                .unit = own->unit,
			                                .exponent = own->exponent,
			                                .inclusive = !own->own,
			                                .type = "UINT64",
			                                .column = i,
			                                .part = SP_NONE,
			                                .parent = -1};
	}
	if (c->first_wait)
		to = add_waits(c, to);
	c->n_metrics = (uint32_t)(to - c->metrics);
	return 0;
}

/* ---- choice of rows ---- */

static uint32_t number_of(const struct sp_cube *c, const struct sp_cube_metric *metric, uint32_t cnode)
{
	return metric->inclusive ? c->wide[cnode] : cnode;
}

/* Reads a column of a location into c->values, one number for each of its rows. A frame that was open at the end has
 * counted nothing, but its callees have: an inclusive number is at least the sum of those below it. */
static void read_column(const struct sp_cube *c, const struct sp_cube_metric *metric, uint32_t location)
{
	const struct sp_model *m = c->m;
	const struct sp_location *l = &m->locations[location];

	if (metric->of)
		return;
	for (size_t i = l->values; i-- > 0;) {
		size_t row = l->first_value + i;
		uint32_t path = m->values[row].path, parent = m->paths[path].parent;
		const uint64_t *all = sp_metrics_at(m->row_metrics, row, m->n_metrics);
		uint64_t value = metric->kinds ? sp_cube_waited(c, location, path, metric->kinds) : 0;
		value += metric->column != SP_NONE ? all[metric->column] : 0;
		value += metric->part != SP_NONE ? all[metric->part] : 0;
		if (metric->kinds) /* waits are known only for the path itself */
			value += path ? c->below[path] : 0;
		else if (metric->inclusive && path && value < c->below[path])
			value = c->below[path];
		c->below[path] = 0;
		if (metric->inclusive && path && parent)
			c->below[parent] += value;
		c->values[i] = value;
	}
}

/* The value of a row; wait times in ns. Call after read_column() of the row's location. */
static uint64_t value_of(const struct sp_cube *c, const struct sp_cube_metric *metric, const struct sp_location *l,
                         size_t row)
{
	return metric->of ? metric->of(&c->m->values[row].v) : c->values[row - l->first_value];
}

static bool is_real(const struct sp_cube_metric *metric)
{
	return metric->of || metric->kinds;
}

/* Converts a result of value_of() to the form in the file. */
static uint64_t stored(const struct sp_cube_metric *metric, uint64_t value)
{
	return metric->kinds ? bits((double)value * 1e-9) : value;
}

/* Computes the values of the program and THREADS: in a location, the sum of the paths below them; for time in a
 * process's first thread at least the time from its begin to its end; for a metric at least the total count. */
static void find_roots(const struct sp_cube *c, const struct sp_cube_metric *metric, uint32_t location,
                       uint64_t roots[SP_CUBE_SIDES])
{
	const struct sp_model *m = c->m;
	const struct sp_location *l = &m->locations[location];
	struct sp_value v = {0};
	uint64_t counted = 0, whole = 0;

	for (size_t i = l->first_value; i < l->first_value + l->values; i++) {
		uint32_t path = m->values[i].path;
		if (path && m->paths[path].parent == 0) {
			v.incl += m->values[i].v.incl;
			if (!metric->of && metric->inclusive)
				counted += value_of(c, metric, l, i);
		} else if (!path && !metric->of) {
			whole = value_of(c, metric, l, i);
		}
	}
	if (!metric->of)
		roots[SP_CUBE_PROGRAM] = whole > counted ? whole : counted;
	roots[SP_CUBE_THREADS] = metric->of ? metric->of(&v) : metric->inclusive ? roots[SP_CUBE_PROGRAM] : 0;
	if (!metric->of)
		return;
	if (sp_cube_side(m, location) == SP_CUBE_PROGRAM) {
		double life = (double)(l->end - l->begin);
		v.incl = v.min = v.max = life > v.incl ? life : v.incl;
		v.visits = 1;
	}
	roots[SP_CUBE_PROGRAM] = metric->of(&v);
}

/* The row of a path in a location, or NULL. */
static const struct sp_row *row_of(const struct sp_model *m, const struct sp_location *l, uint32_t path)
{
	const struct sp_row *rows = m->values + l->first_value;
	size_t begin = 0, end = l->values;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (rows[middle].path < path)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < l->values && rows[begin].path == path ? &rows[begin] : NULL;
}

static void mark_row(struct sp_cube_rows *r, const struct sp_cube *c, const uint32_t *cnode, uint32_t path)
{
	size_t n = 0;

	if (cnode[path] != SP_NONE) {
		r->place[cnode[path]] = 0;
		return;
	}
	for (const struct sp_cube_share *s = sp_cube_shares(&c->tree, path, &n); n--; s++)
		if (cnode[s->follower] != SP_NONE)
			r->place[cnode[s->follower]] = 0;
}

/* Marks the rows of a column that have a number other than 0. */
static void mark_rows(struct sp_cube_rows *r, const struct sp_cube *c, const struct sp_cube_metric *metric)
{
	const struct sp_model *m = c->m;

	for (uint32_t l = c->k.first; l < c->k.end; l++) {
		const struct sp_location *location = &m->locations[l];
		int side = sp_cube_side(m, l);
		const uint32_t *cnode = c->tree.cnode[side];
		uint64_t roots[SP_CUBE_SIDES];
		read_column(c, metric, l);
		for (size_t i = location->first_value; i < location->first_value + location->values; i++)
			if (m->values[i].path && value_of(c, metric, location, i))
				mark_row(r, c, cnode, m->values[i].path);
		find_roots(c, metric, l, roots);
		if (roots[SP_CUBE_PROGRAM])
			r->place[0] = 0;
		if (side == SP_CUBE_THREADS && cnode[0] != SP_NONE && roots[SP_CUBE_THREADS])
			r->place[cnode[0]] = 0;
	}
}

int sp_cube_rows(struct sp_cube_rows *r, const struct sp_cube *c, const struct sp_cube_metric *metric)
{
	uint32_t n = c->tree.n_cnodes;

	*r = (struct sp_cube_rows){malloc((n + 1) * sizeof *r->place), malloc((n + 1) * sizeof *r->stored), 0};
	if (!r->place || !r->stored)
		return -1;
	memset(r->place, metric->of ? 0 : 0xff, n * sizeof *r->place);
	if (metric->kinds ||
	    (!metric->of && (metric->column != SP_NONE || metric->part != SP_NONE) && c->m->row_metrics))
		mark_rows(r, c, metric);
	/* marks the used numbers, then counts the used ones before each */
	memset(r->stored, 0, n * sizeof *r->stored);
	for (uint32_t i = 0; i < n; i++)
		if (r->place[i] == 0)
			r->stored[number_of(c, metric, i)] = 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t used = r->stored[i];
		r->stored[i] = r->n;
		r->n += used;
	}
	for (uint32_t i = 0; i < n; i++)
		if (r->place[i] == 0)
			r->place[i] = r->stored[number_of(c, metric, i)];
	for (uint32_t i = 0; i < n; i++)
		r->stored[i] = SP_NONE;
	for (uint32_t i = 0; i < n; i++)
		if (r->place[i] != SP_NONE)
			r->stored[r->place[i]] = number_of(c, metric, i);
	return 0;
}

void sp_cube_rows_free(struct sp_cube_rows *r)
{
	free(r->place);
	free(r->stored);
}

/* ---- cells ---- */

struct block {
	const struct sp_cube *c;
	const struct sp_cube_rows *rows;
	uint32_t first, end;
	uint64_t *cells;
};

static void fill_cell(const struct block *b, uint32_t cnode, uint32_t location, uint64_t value)
{
	uint32_t at = b->rows->place[cnode];

	if (at >= b->first && at < b->end)
		b->cells[(size_t)(at - b->first) * b->c->n_columns + b->c->column[location]] = value;
}

static void add_to_cell(const struct block *b, uint32_t cnode, uint32_t location, double part, bool real)
{
	uint32_t at = b->rows->place[cnode];

	if (at < b->first || at >= b->end)
		return;
	uint64_t *cell = &b->cells[(size_t)(at - b->first) * b->c->n_columns + b->c->column[location]];
	double sum;
	memcpy(&sum, cell, sizeof sum);
	*cell = real ? bits(sum + part) : *cell + (uint64_t)part;
}

/* Distributes the value of a path without a cnode to the paths in which its calls continued, in proportion to their
 * visits. */
static void share_out(const struct block *b, const struct sp_cube_metric *metric, uint32_t location, size_t row)
{
	const struct sp_model *m = b->c->m;
	const struct sp_location *l = &m->locations[location];
	const uint32_t *cnode = b->c->tree.cnode[sp_cube_side(m, location)];
	size_t n = 0;
	const struct sp_cube_share *s = sp_cube_shares(&b->c->tree, m->values[row].path, &n);
	double whole = metric->of      ? m->values[row].v.incl * 1e-9
	               : metric->kinds ? (double)value_of(b->c, metric, l, row) * 1e-9
	                               : (double)value_of(b->c, metric, l, row);
	double of = 0, seen = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sp_row *r = row_of(m, l, s[i].follower);
		of += r ? (double)visits(&r->v) : 0;
	}
	for (size_t i = 0; i < n && of > 0; i++) {
		const struct sp_row *r = row_of(m, l, s[i].follower);
		if (!r)
			continue;
		seen += (double)visits(&r->v);
		/* integers stay integers with the same sum */
		double until = is_real(metric) ? whole * seen / of : (double)(uint64_t)(whole * seen / of);
		add_to_cell(b, cnode[s[i].follower], location, until - before, is_real(metric));
		before = until;
	}
}

/* Distributes the values of paths without cnodes after all other values are set. */
static void share_all(const struct block *b, const struct sp_cube_metric *metric, uint32_t location)
{
	const struct sp_model *m = b->c->m;
	const struct sp_location *l = &m->locations[location];
	const uint32_t *cnode = b->c->tree.cnode[sp_cube_side(m, location)];

	if (!b->c->tree.n_shares || (metric->of && metric->of != inclusive))
		return; /* paths without cnodes have no visits */
	for (size_t i = l->first_value; i < l->first_value + l->values; i++)
		if (m->values[i].path && cnode[m->values[i].path] == SP_NONE)
			share_out(b, metric, location, i);
}

void sp_cube_fill(const struct sp_cube *c, const struct sp_cube_metric *metric, const struct sp_cube_rows *r,
                  uint32_t first, uint32_t end, uint64_t *cells)
{
	const struct sp_model *m = c->m;
	const struct block b = {c, r, first, end, cells};

	for (size_t i = 0; i < (size_t)(end - first) * c->n_columns; i++)
		cells[i] = metric->none;
	for (uint32_t l = c->k.first; l < c->k.end; l++) {
		const struct sp_location *location = &m->locations[l];
		int side = sp_cube_side(m, l);
		const uint32_t *cnode = c->tree.cnode[side];
		uint64_t roots[SP_CUBE_SIDES];
		read_column(c, metric, l);
		for (size_t i = location->first_value; i < location->first_value + location->values; i++)
			if (m->values[i].path && cnode[m->values[i].path] != SP_NONE)
				fill_cell(&b, cnode[m->values[i].path], l,
				          stored(metric, value_of(c, metric, location, i)));
		share_all(&b, metric, l);
		find_roots(c, metric, l, roots);
		if (side == SP_CUBE_THREADS && cnode[0] != SP_NONE)
			fill_cell(&b, cnode[0], l, stored(metric, roots[SP_CUBE_THREADS]));
		fill_cell(&b, 0, l, stored(metric, roots[SP_CUBE_PROGRAM]));
	}
}
