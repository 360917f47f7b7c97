/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives values from the merged rows: exclusive times, times without measurement overhead, totals. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/derive.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"

static double calls(const struct sp_value *v)
{
	return (double)v->visits + (double)v->resumed;
}

/* The rows of one location, sorted by path: a child comes after its parent. */
struct tree {
	struct sp_deriving *d;
	struct sp_row *rows;
	size_t n;
};

static uint32_t parent_row(const struct tree *t, size_t row) /* index + 1; 0: the parent has no row */
{
	return t->d->at[t->d->m->paths[t->rows[row].path].parent];
}

static struct sp_value *parent_of(struct tree *t, size_t row)
{
	uint32_t at = parent_row(t, row);

	return at ? &t->rows[at - 1].v : NULL;
}

static void exclusive(struct tree *t)
{
	struct sp_value *parent;
	size_t i;

	for (i = 0; i < t->n; i++)
		t->rows[i].v.excl = t->rows[i].v.incl;
	for (i = 0; i < t->n; i++) {
		parent = parent_of(t, i);
		if (parent)
			parent->excl -= t->rows[i].v.incl;
	}
}

/* The mean of the durations decreases to that of the new inclusive time; their spread is kept. */
static void set_inclusive(struct sp_value *v, double incl, double cost_in)
{
	double n = calls(v), old = n > 0 ? v->incl / n : 0, now = n > 0 ? incl / n : 0;

	v->incl = incl;
	if (n <= 0)
		return;
	v->sumsq = fmax(0, v->sumsq - n * old * old + n * now * now);
	v->max = fmax(now, v->max - fmax(0, old - now));
	v->min = fmin(now, fmax(0, v->min - cost_in));
}

static void compensate(struct tree *t, double in, double out)
{
	struct sp_value *v, *parent;
	size_t i;

	for (i = 0; i < t->n; i++) {
		v = &t->rows[i].v;
		parent = parent_of(t, i);
		v->excl -= calls(v) * in;
		if (parent)
			parent->excl -= calls(v) * out;
	}
	memset(t->d->children, 0, t->n * sizeof(*t->d->children));
	for (i = t->n; i-- > 0;) {
		v = &t->rows[i].v;
		v->excl = fmax(0, v->excl);
		set_inclusive(v, v->excl + t->d->children[i], in);
		if (parent_row(t, i))
			t->d->children[parent_row(t, i) - 1] += v->incl;
	}
}

/* The row may also contain an inherited frame (open when recording began) that ended before its function was called
 * again. The maximum of the calls limits the sum of their durations. */
double sp_value_each(const struct sp_value *v)
{
	return fmin(v->incl, calls(v) * v->max);
}

/* Fixed-point sums, so that the order of additions does not change the result. Units: 2^-32 ns, 2^-16 ns^2. Larger
 * values than any time are damage, and limited to `limit`. */
static unsigned __int128 fixed(double x, double unit, double limit)
{
	return x > 0 ? (unsigned __int128)((x < limit ? x : limit) * unit) : 0;
}

static void add_exact(struct sp_exact *to, const struct sp_value *v)
{
	to->incl += fixed(v->incl, 0x1p32, 0x1p64);
	to->each += fixed(sp_value_each(v), 0x1p32, 0x1p64);
	to->excl += fixed(v->excl, 0x1p32, 0x1p64);
	to->sumsq += fixed(v->sumsq, 0x1p16, 0x1p100);
}

static void add_total(struct sp_value *total, const struct sp_value *v)
{
	if (calls(v) > 0) {
		if (calls(total) <= 0 || v->min < total->min)
			total->min = v->min;
		total->max = fmax(total->max, v->max);
	}
	total->visits += v->visits;
	total->resumed += v->resumed;
	total->incl += v->incl;
	total->excl += v->excl;
	total->sumsq += v->sumsq;
}

static void add_totals(const struct tree *t, const uint64_t *metrics)
{
	const struct sp_model *m = t->d->m;
	const size_t width = m->n_metrics;
	uint64_t *to;
	size_t i, k;

	for (i = 0; i < t->n; i++) {
		add_total(&m->totals[t->rows[i].path], &t->rows[i].v);
		m->each[t->rows[i].path] += sp_value_each(&t->rows[i].v);
		if (t->d->exact)
			add_exact(&t->d->exact[t->rows[i].path], &t->rows[i].v);
		to = width ? m->total_metrics + t->rows[i].path * width : NULL;
		for (k = 0; k < width; k++)
			to[k] += *metrics++;
	}
}

static void add_up(const struct tree *t, struct sp_location *l)
{
	const struct sp_model *m = t->d->m;
	size_t i;

	l->visits = l->resumed = 0;
	l->busy = l->mpi = 0;
	for (i = 0; i < t->n; i++) {
		l->visits += t->rows[i].v.visits;
		l->resumed += t->rows[i].v.resumed;
		if (m->paths[t->rows[i].path].parent == 0)
			l->busy += t->rows[i].v.incl;
		if (t->d->mpi[t->rows[i].path])
			l->mpi += t->rows[i].v.excl;
	}
}

/* Divides the exclusive times into those on and off the processor. */
static void divide(const struct tree *t, uint64_t *metrics, struct sp_location *l)
{
	const struct sp_off_cpu_columns columns = t->d->off_cpu;
	size_t i;

	l->off_cpu = 0;
	for (i = 0; columns.waiting[0] && i < t->n; i++, metrics += t->d->m->n_metrics) {
		const double excl = t->rows[i].v.excl;
		const struct sp_off_cpu off = sp_off_cpu_of(&columns, metrics, excl);

		l->off_cpu += off.waiting + off.preempted;
		if (columns.running)
			metrics[columns.running - 1] = (uint64_t)fmin(excl - off.waiting - off.preempted, 0x1p63);
	}
}

void sp_derive_location(struct sp_deriving *d, struct sp_location *l, struct sp_row *rows, uint64_t *metrics,
                        const struct sp_process *p)
{
	struct tree t = {d, rows, l->values};
	size_t i;

	for (i = 0; i < t.n; i++)
		d->at[rows[i].path] = (uint32_t)i + 1;
	exclusive(&t);
	if (d->children)
		compensate(&t, p->cost_in, p->cost_out);
	/* rounding, or a damaged file: a child may have more time than its caller */
	for (i = 0; i < t.n; i++)
		rows[i].v.excl = fmax(0, rows[i].v.excl);
	divide(&t, metrics, l);
	add_totals(&t, metrics);
	add_up(&t, l);
	for (i = 0; i < t.n; i++)
		d->at[rows[i].path] = 0;
}

static void link_children(struct sp_model *m)
{
	size_t i, k;

	for (i = m->n_paths; i-- > 1;) {
		struct sp_path *p = &m->paths[i], *parent = &m->paths[p->parent];

		p->next_sibling = parent->first_child;
		parent->first_child = (uint32_t)i;
		if (p->parent)
			continue;
		m->totals[0].incl += m->totals[i].incl;
		for (k = 0; k < m->n_metrics; k++)
			if (!m->metrics[k].own)
				m->total_metrics[k] += m->total_metrics[i * m->n_metrics + k];
	}
}

int sp_derive_open(struct sp_deriving *d, struct sp_model *m, size_t limit, bool exact, struct sp_err *e)
{
	struct sp_arena *arena = &m->priv->arena;
	bool missing;

	*d = (struct sp_deriving){.m = m};
	m->totals = sp_arena_zalloc(arena, m->n_paths, sizeof(*m->totals));
	m->each = sp_arena_zalloc(arena, m->n_paths, sizeof(*m->each));
	m->total_metrics = m->n_metrics ? sp_arena_zalloc(arena, m->n_paths * m->n_metrics, sizeof(uint64_t)) : NULL;
	d->at = calloc(m->n_paths, sizeof(*d->at));
	d->children = limit ? calloc(limit + 1, sizeof(*d->children)) : NULL;
	d->exact = exact ? calloc(m->n_paths, sizeof(*d->exact)) : NULL;
	d->mpi = calloc(m->n_paths, sizeof(*d->mpi));
	missing = !m->totals || !m->each || (m->n_metrics && !m->total_metrics) || !d->at || !d->mpi ||
	          (limit && !d->children) || (exact && !d->exact);
	return missing ? sp_model_no_memory(e) : 0;
}

void sp_derive_add(struct sp_deriving *d, const struct sp_value *totals, const double *each,
                   const struct sp_exact *exact, const uint64_t *metrics)
{
	struct sp_model *m = d->m;
	size_t i;

	for (i = 0; i < m->n_paths; i++) {
		add_total(&m->totals[i], &totals[i]);
		m->each[i] += each[i];
		if (!d->exact)
			continue;
		d->exact[i].incl += exact[i].incl;
		d->exact[i].each += exact[i].each;
		d->exact[i].excl += exact[i].excl;
		d->exact[i].sumsq += exact[i].sumsq;
	}
	for (i = 0; i < m->n_paths * m->n_metrics; i++)
		m->total_metrics[i] += metrics[i];
}

void sp_derive_find_mpi(const struct sp_model *m, uint8_t *mpi)
{
	size_t i;

	for (i = 0; i < m->n_paths; i++)
		mpi[i] = m->regions[m->paths[i].region].kind == SP_REGION_MPI;
}

void sp_derive_totals(struct sp_deriving *d)
{
	struct sp_model *m = d->m;
	size_t i;

	for (i = 0; d->exact && i < m->n_paths; i++) {
		m->totals[i].incl = (double)d->exact[i].incl * 0x1p-32;
		m->each[i] = (double)d->exact[i].each * 0x1p-32;
		m->totals[i].excl = (double)d->exact[i].excl * 0x1p-32;
		m->totals[i].sumsq = (double)d->exact[i].sumsq * 0x1p-16;
	}
	free(d->exact);
	d->exact = NULL;
	link_children(m);
}

void sp_derive_close(struct sp_deriving *d)
{
	free(d->at);
	free(d->children);
	free(d->exact);
	free(d->mpi);
	memset(d, 0, sizeof(*d));
}

int sp_build_values(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	struct sp_deriving d;
	size_t i, limit = 0;
	int rc;

	for (i = 0; i < m->n_locations && b->flags & SP_MODEL_COMPENSATE; i++)
		if (m->locations[i].values >= limit)
			limit = m->locations[i].values + 1;
	rc = sp_derive_open(&d, m, limit, m->n_locations > 1, e);
	if (rc == 0)
		sp_derive_find_mpi(m, d.mpi);
	d.off_cpu = sp_off_cpu_columns(m);
	for (i = 0; i < m->n_locations && rc == 0; i++) {
		struct sp_location *l = &m->locations[i];

		if (l->values)
			sp_derive_location(&d, l, m->values + l->first_value,
			                   m->n_metrics ? m->row_metrics + l->first_value * m->n_metrics : NULL,
			                   &m->processes[l->process]);
	}
	if (rc == 0)
		sp_derive_totals(&d);
	sp_derive_close(&d);
	return rc;
}
