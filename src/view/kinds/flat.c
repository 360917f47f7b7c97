/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/metric.h"
#include "model/model.h"
#include "model/report/imports.h"
#include "model/report/walk.h"
#include "view/select.h"

static const double S = 1e-9;

struct flat {
	const struct sp_selected *s;
	struct sp_numbers *regions; /* owned */
	struct sp_numbers *base;    /* owned; of the base, without `each`; NULL: no base */
	double *imported;           /* owned; for each region: the part of its time (as sorted by) that is in imports */
	bool *has;                  /* owned; for each region: some path of it has a row */
	uint32_t *order;            /* owned; regions that ran */
	size_t n;                   /* number of these that have rows */
	size_t ran;                 /* number of regions that ran */
};

static int sum_paths(struct flat *f)
{
	const struct sp_model *m = f->s->m;
	uint32_t i;

	for (i = 1; i < m->n_paths; i++)
		f->has[m->paths[i].region] |= sp_selected_has(f->s, i);
	if (f->base && sp_numbers_regions(m, f->s->base, NULL, f->base))
		return -1;
	for (i = 1; f->s->off && i < f->s->own->n_paths; i++)
		sp_off_cpu_add(&f->regions[m->paths[i].region].off, f->s->off[i]);
	return sp_numbers_regions(m, f->s->values, f->s->each, f->regions);
}

/* Sums the part of each region's time that is in imports. */
static int sum_imported(struct flat *f)
{
	const struct sp_model *m = f->s->own; /* imports of the base alone have no time here */
	bool *within = sp_paths_imported(m);

	f->imported = calloc(f->s->m->n_regions, sizeof *f->imported);
	for (uint32_t i = 1; within && f->imported && i < m->n_paths; i++) {
		struct sp_numbers path = {.v = f->s->values[i]};

		if (!within[i])
			continue;
		if (f->s->off && !f->base)
			path.off = f->s->off[i];
		f->imported[m->paths[i].region] += sp_numbers_running(&path);
	}
	free(within);
	return within && f->imported ? 0 : -1;
}

static double time_of(const struct flat *f, uint32_t region)
{
	const struct sp_numbers *x = &f->regions[region];

	return f->base ? fmax(x->v.excl, f->base[region].v.excl) : sp_numbers_running(x);
}

static int by_time(const void *a, const void *b, void *flat)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const double p = time_of(flat, i), q = time_of(flat, k);

	if (p != q)
		return p > q ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int sum(struct flat *f, const struct sp_selected *s, uint32_t limit)
{
	uint32_t i;

	*f = (struct flat){.s = s};
	f->regions = calloc(s->m->n_regions, sizeof(*f->regions));
	f->order = malloc((s->m->n_regions + 1) * sizeof(*f->order));
	if (s->base)
		f->base = calloc(s->m->n_regions, sizeof(*f->base));
	f->has = calloc(s->m->n_regions, sizeof(*f->has));
	if (!f->regions || !f->order || !f->has || (s->base && !f->base) || sum_paths(f) || sum_imported(f))
		return -1;
	for (i = 1; i < s->m->n_regions; i++)
		if (f->has[i])
			f->order[f->n++] = i;
	qsort_r(f->order, f->n, sizeof(*f->order), by_time, f);
	f->ran = f->n;
	if (limit && f->n > limit)
		f->n = limit;
	return 0;
}

enum { VISITS, INCL, EXCL, MEAN, MIN, MAX, STD, RESUMED, COLUMNS };

static int put_times(const struct flat *f, struct sp_columns *out)
{
	static const char *const names[COLUMNS] = {"visits", "incl", "excl", "mean", "min", "max", "std", "resumed"};
	const int n = f->s->resumed ? COLUMNS : RESUMED;
	uint32_t *region = sp_columns_reserve(out, "region", SP_COLUMN_U32, f->n);
	double *to[COLUMNS];
	size_t i;
	int k;

	for (k = 0; k < n; k++)
		to[k] = sp_columns_reserve(out, names[k], SP_COLUMN_F64, f->n);
	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < f->n; i++) {
		const struct sp_numbers *x = &f->regions[f->order[i]];

		region[i] = f->order[i];
		to[VISITS][i] = (double)x->v.visits;
		to[INCL][i] = x->v.incl * S;
		to[EXCL][i] = x->v.excl * S;
		to[MEAN][i] = sp_numbers_mean(x) * S;
		to[MIN][i] = x->v.min * S;
		to[MAX][i] = x->v.max * S;
		to[STD][i] = sp_numbers_std(x) * S;
		if (n == COLUMNS)
			to[RESUMED][i] = (double)x->v.resumed;
	}
	return 0;
}

static int put_split(const struct flat *f, struct sp_columns *out)
{
	double *running, *waiting;
	size_t i;

	if (!f->s->off || f->base) /* a comparison is of exclusive times */
		return 0;
	running = sp_columns_reserve(out, "running", SP_COLUMN_F64, f->n);
	waiting = sp_columns_reserve(out, "waiting", SP_COLUMN_F64, f->n);
	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < f->n; i++) {
		running[i] = sp_numbers_running(&f->regions[f->order[i]]) * S;
		waiting[i] = f->regions[f->order[i]].off.waiting * S;
	}
	return 0;
}

static int put_imported(const struct flat *f, struct sp_columns *out)
{
	bool any = false;

	for (size_t i = 0; f->imported && i < f->n; i++)
		any |= f->imported[f->order[i]] > 0;
	if (!any)
		return 0;

	double *imported = sp_columns_reserve(out, "imported", SP_COLUMN_F64, f->n);
	if (!imported)
		return -1;
	for (size_t i = 0; i < f->n; i++)
		imported[i] = f->imported[f->order[i]] * S;
	return 0;
}

static int put_base(const struct flat *f, struct sp_columns *out)
{
	double *visits, *incl, *excl;
	size_t i;

	if (!f->base)
		return 0;
	visits = sp_columns_reserve(out, "base_visits", SP_COLUMN_F64, f->n);
	incl = sp_columns_reserve(out, "base_incl", SP_COLUMN_F64, f->n);
	excl = sp_columns_reserve(out, "base_excl", SP_COLUMN_F64, f->n);
	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < f->n; i++) {
		visits[i] = (double)f->base[f->order[i]].v.visits;
		incl[i] = f->base[f->order[i]].v.incl * S;
		excl[i] = f->base[f->order[i]].v.excl * S;
	}
	return 0;
}

double *sp_view_metric(struct sp_columns *out, const struct sp_metric *x, const char *which, size_t n)
{
	char *name;
	double *p;

	if (asprintf(&name, "metric:%s:%s", x->name.p, which) < 0)
		return NULL;
	p = sp_columns_reserve(out, name, SP_COLUMN_F64, n);
	free(name);
	return p;
}

/* Writes the columns of one metric; recursion counts once for each region. */
static int put_metric(const struct flat *f, size_t metric, const struct sp_counted *paths, const bool *outermost,
                      struct sp_counted *regions, struct sp_columns *out)
{
	const struct sp_model *m = f->s->own;
	double *incl = sp_view_metric(out, &m->metrics[metric], "incl", f->n);
	double *excl = sp_view_metric(out, &m->metrics[metric], "excl", f->n);
	size_t i;

	if (!incl || !excl)
		return -1;
	for (i = 0; i < m->n_regions; i++)
		regions[i] = (struct sp_counted){0, 0};
	for (i = 1; i < m->n_paths; i++) {
		const struct sp_counted *from = &paths[i * m->n_metrics + metric];
		struct sp_counted *to = &regions[m->paths[i].region];

		to->excl += from->excl;
		if (outermost[i])
			to->incl += from->incl;
	}
	for (i = 0; i < f->n; i++) {
		const bool own = f->order[i] < m->n_regions; /* metrics of the base are not shown */

		incl[i] = own ? regions[f->order[i]].incl : 0;
		excl[i] = own ? regions[f->order[i]].excl : 0;
	}
	return 0;
}

static int put_metrics(const struct flat *f, const struct sp_viewed *v, const struct sp_view_query *q,
                       struct sp_columns *out, struct sp_err *e)
{
	const struct sp_model *m = f->s->own;
	struct sp_counted *paths, *regions;
	bool *outermost;
	size_t k;
	int rc;

	if (!m->n_metrics)
		return 0;
	rc = sp_selected_metrics(f->s, v, q, &paths, e);
	outermost = sp_paths_outermost(m);
	regions = malloc(m->n_regions * sizeof(*regions));
	if (rc == 0 && (!outermost || !regions))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	for (k = 0; k < m->n_metrics && rc == 0; k++)
		if (sp_selected_counts(f->s, &m->metrics[k]) && put_metric(f, k, paths, outermost, regions, out))
			rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_selected_unranged(f->s, out);
	free(paths);
	free(outermost);
	free(regions);
	return rc;
}

int sp_view_flat(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_selected s;
	struct flat f = {.n = 0};
	int rc = sp_select(&s, v, q, e);

	if (rc == 0) {
		sp_selected_meta(&s, out);
		rc = sum(&f, &s, q->limit) || put_times(&f, out) || put_split(&f, out) || put_imported(&f, out) ||
		             put_base(&f, out)
		         ? sp_fail(e, ENOMEM, "not enough memory")
		         : put_metrics(&f, v, q, out, e);
		sp_meta_uint(out, "functions", f.ran);
	}
	free(f.regions);
	free(f.base);
	free(f.imported);
	free(f.order);
	free(f.has);
	sp_selected_close(&s);
	return rc;
}
