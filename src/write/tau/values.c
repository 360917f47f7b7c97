/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of one thread in a TAU profile. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"
#include "write/tau/tau.h"

int sp_tau_values_open(struct sp_tau_values *v, const struct sp_tau *t, struct sp_err *e)
{
	const size_t slots = sp_tau_slots(t);
	size_t rows = 1;

	for (uint32_t l = t->k.first; l < t->k.end; l++)
		rows = t->m->locations[l].values > rows ? t->m->locations[l].values : rows;
	*v = (struct sp_tau_values){
	    .calls = calloc(slots, sizeof *v->calls),
	    .subrs = calloc(slots, sizeof *v->subrs),
	    .pairs = calloc(slots * t->n_columns, sizeof *v->pairs),
	    .slots = calloc(slots, sizeof *v->slots),
	    .used = calloc(slots, sizeof *v->used),
	    .row_of = calloc(t->m->n_paths + 1, sizeof *v->row_of),
	    .below = calloc(rows, sizeof *v->below),
	    .of_row = calloc(rows, sizeof *v->of_row),
	};
	if (v->calls && v->subrs && v->pairs && v->slots && v->used && v->row_of && v->below && v->of_row)
		return 0;
	sp_tau_values_close(v);
	return sp_fail(e, ENOMEM, "out of memory");
}

void sp_tau_values_close(struct sp_tau_values *v)
{
	free(v->calls);
	free(v->subrs);
	free(v->pairs);
	free(v->slots);
	free(v->used);
	free(v->row_of);
	free(v->below);
	free(v->of_row);
	*v = (struct sp_tau_values){0};
}

static void use(struct sp_tau_values *v, uint32_t slot)
{
	if (v->used[slot])
		return;
	v->used[slot] = true;
	v->slots[v->n++] = slot;
}

static void clear(struct sp_tau_values *v, const struct sp_tau *t)
{
	for (size_t i = 0; i < v->n; i++) {
		uint32_t slot = v->slots[i];
		v->used[slot] = false;
		v->calls[slot] = v->subrs[slot] = 0;
		memset(v->pairs + (size_t)slot * t->n_columns, 0, t->n_columns * sizeof *v->pairs);
	}
	v->n = 0;
}

/* The slots to which a path adds: its function, the function with its parameters, its call path; SP_NONE: no such
 * slot. */
struct place {
	uint32_t function, labelled, callpath;
	bool entered; /* the call path differs from its caller's; calls that are too deep share one */
};

static struct place place_of(const struct sp_tau *t, uint32_t path)
{
	struct place p = {t->function[path], t->labelled[path], SP_NONE, true};

	if (p.labelled == p.function)
		p.labelled = SP_NONE;
	if (path) {
		p.callpath = t->n_functions + t->callpath[path];
		p.entered = t->callpath[path] != t->callpath[t->m->paths[path].parent];
	}
	return p;
}

/* Counts calls; to: v->calls or v->subrs */
static void count(struct sp_tau_values *v, double *to, uint32_t slot, double calls)
{
	if (slot == SP_NONE)
		return;
	use(v, slot);
	to[slot] += calls;
}

static void count_calls(struct sp_tau_values *v, const struct sp_tau *t, const struct sp_row *row)
{
	const struct place p = place_of(t, row->path), above = place_of(t, t->m->paths[row->path].parent);
	const double calls = (double)row->v.visits + (double)row->v.resumed;

	if (calls <= 0)
		return;
	count(v, v->calls, p.function, calls);
	count(v, v->calls, p.labelled, calls);
	count(v, v->subrs, above.function, calls);
	count(v, v->subrs, above.labelled, calls);
	if (!p.entered)
		return;
	count(v, v->calls, p.callpath, calls);
	count(v, v->subrs, above.callpath, calls);
	if (sp_tau_slot_function(t, p.callpath) == SP_TAU_DEEPER)
		count(v, v->calls, SP_TAU_DEEPER, calls);
}

/* ---- a column ---- */

static struct sp_tau_pair time_of(const struct sp_value *v)
{
	return (struct sp_tau_pair){v->excl * 1e-3, v->incl * 1e-3};
}

/* A frame that was open at the end has counted nothing, but its callees have. */
static struct sp_tau_pair metric_of(const struct sp_metric *metric, uint64_t value, double below)
{
	double v = (double)value;

	if (metric->own)
		return (struct sp_tau_pair){v, v + below};
	return (struct sp_tau_pair){fmax(0, v - below), fmax(v, below)};
}

/* Reads a column of all rows, callees first. Returns the inclusive sum of the calls directly below the program. */
static double read_rows(struct sp_tau_values *v, const struct sp_tau *t, const struct sp_location *l, uint32_t column)
{
	const struct sp_model *m = t->m;
	const uint32_t metric = column ? t->metrics[column - 1] : 0;
	double all = 0;

	memset(v->below, 0, l->values * sizeof *v->below);
	for (size_t i = l->values; i-- > 0;) {
		const size_t at = l->first_value + i;
		uint32_t above = m->values[at].path;
		v->of_row[i] =
		    column ? metric_of(&m->metrics[metric], m->row_metrics[at * m->n_metrics + metric], v->below[i])
		           : time_of(&m->values[at].v);
		if (!above)
			continue;
		do /* a caller without a row has no numbers */
			above = m->paths[above].parent;
		while (above && !v->row_of[above]);
		if (v->row_of[above])
			v->below[v->row_of[above] - 1] += v->of_row[i].incl;
		if (!above)
			all += v->of_row[i].incl;
	}
	return all;
}

static void add(struct sp_tau_values *v, const struct sp_tau *t, uint32_t slot, uint32_t column, double excl,
                double incl)
{
	struct sp_tau_pair *pair = &v->pairs[(size_t)slot * t->n_columns + column];

	use(v, slot);
	pair->excl += excl;
	pair->incl += incl;
}

static void add_column(struct sp_tau_values *v, const struct sp_tau *t, uint32_t location, uint32_t column)
{
	const struct sp_location *l = &t->m->locations[location];
	const double called = read_rows(v, t, l, column);
	/* the program runs from the thread's begin to its end */
	double life = column ? 0 : (double)(l->end - l->begin) * 1e-3, own = 0;

	for (size_t i = 0; i < l->values; i++) {
		const uint32_t path = t->m->values[l->first_value + i].path;
		const struct sp_tau_pair *pair = &v->of_row[i];
		if (!path) {
			life = fmax(life, pair->incl);
			own = pair->excl;
			continue;
		}
		if (pair->excl <= 0 && pair->incl <= 0)
			continue;
		const struct place p = place_of(t, path);
		add(v, t, p.function, column, pair->excl, t->outermost[path] & SP_TAU_FUNCTION ? pair->incl : 0);
		if (p.labelled != SP_NONE)
			add(v, t, p.labelled, column, pair->excl,
			    t->outermost[path] & SP_TAU_LABELLED ? pair->incl : 0);
		add(v, t, p.callpath, column, pair->excl, p.entered ? pair->incl : 0);
	}
	life = fmax(life, called + (column ? own : 0));
	add(v, t, 0, column, life - called, life);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void sp_tau_values_read(struct sp_tau_values *v, const struct sp_tau *t, uint32_t location)
{
	const struct sp_location *l = &t->m->locations[location];
	const struct sp_row *rows = t->m->values + l->first_value;

	clear(v, t);
	for (size_t i = 0; i < l->values; i++)
		v->row_of[rows[i].path] = (uint32_t)i + 1;
	for (size_t i = 0; i < l->values; i++)
		if (rows[i].path)
			count_calls(v, t, &rows[i]);
	for (uint32_t c = 0; c < t->n_columns; c++)
		add_column(v, t, location, c);
	for (size_t i = 0; i < l->values; i++)
		v->row_of[rows[i].path] = 0;
	/* readers ignore rows without calls: what was running before recording began gets one call */
	for (size_t i = 0; i < v->n; i++)
		if (v->calls[v->slots[i]] <= 0)
			v->calls[v->slots[i]] = 1;
	v->calls[0] = 1;
	qsort(v->slots, v->n, sizeof *v->slots, by_number);
}
