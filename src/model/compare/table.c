/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/compare/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/problem.h"
#include "model/metric.h"
#include "model/path.h"
#include "model/process.h"
#include "model/report/walk.h"
#include "model/str.h"

/* The numbers of all entries of all models, one model after the other. */
struct numbers {
	struct sp_numbers *n; /* owned */
	size_t entries;
};

struct building {
	struct sp_compare_table *t;
	const struct sp_compare *c;
	const struct sp_compare_query *q;
	struct numbers numbers;
	double *preempted; /* owned; of each model, ns */
};

static int gather_paths(struct building *b, size_t model, const struct sp_view *view)
{
	struct sp_value *values = calloc(b->numbers.entries, sizeof(*values));
	struct sp_numbers *out = b->numbers.n + model * b->numbers.entries;

	if (!values)
		return -1;
	sp_compare_paths(b->c, model, view->values, values);
	for (size_t p = 0; p < b->numbers.entries; p++)
		out[p].v = values[p];
	free(values);
	return 0;
}

static int gather_regions(struct building *b, size_t model, const struct sp_view *view, struct sp_err *e)
{
	struct sp_flat_row *rows = NULL;
	size_t n;

	if (sp_report_flat(view, SP_SORT_EXCL, 0, NULL, &rows, &n, e))
		return -1;
	sp_compare_flat(b->c, model, rows, n, b->numbers.n + model * b->numbers.entries);
	free(rows);
	return 0;
}

static int gather_model(struct building *b, size_t model, struct sp_err *e)
{
	struct sp_view view;
	int rc = sp_view_open(&view, b->c->models[model], SP_NONE, SP_NONE, e);

	if (rc == 0 && b->t->preempted)
		rc = sp_view_leave_out_preempted(&view, &b->preempted[model], e);
	if (rc == 0 && b->q->paths)
		rc = gather_paths(b, model, &view) ? sp_model_no_memory(e) : 0;
	else if (rc == 0)
		rc = gather_regions(b, model, &view, e);
	sp_view_close(&view);
	return rc;
}

/* The time in which threads were preempted, as the mean of each group. */
static void average_preempted(struct building *b)
{
	size_t first = 0;

	for (size_t g = 0; g < b->q->groups; g++) {
		for (uint32_t i = 0; i < b->q->runs[g]; i++)
			b->t->preempted[g] += b->preempted[first + i] / b->q->runs[g];
		first += b->q->runs[g];
	}
}

/* Whether preemption was measured in all processes; samples do not know it. */
static bool knows_preempted(const struct sp_model *m)
{
	bool all = sp_off_cpu_columns(m).preempted != 0;

	for (size_t i = 0; i < m->n_processes; i++)
		all &= m->processes[i].counted || !m->processes[i].sampled;
	return all;
}

bool sp_compare_without_preempted(const struct sp_compare *c)
{
	bool all = true;

	for (size_t k = 0; k < c->n_models; k++)
		all &= knows_preempted(c->models[k]);
	return all;
}

static int prepare(struct building *b)
{
	const bool all = sp_compare_without_preempted(b->c);

	b->numbers.entries = b->q->paths ? b->c->n_paths : b->c->n_regions;
	b->numbers.n = calloc(b->numbers.entries * b->c->n_models + 1, sizeof(*b->numbers.n));
	b->preempted = calloc(b->c->n_models + 1, sizeof(*b->preempted));
	if (all)
		b->t->preempted = sp_arena_zalloc(&b->t->arena, b->q->groups, sizeof(*b->t->preempted));
	return b->numbers.n && b->preempted && (!all || b->t->preempted) ? 0 : -1;
}

static int gather(struct building *b, struct sp_err *e)
{
	if (prepare(b))
		return sp_model_no_memory(e);
	for (size_t k = 0; k < b->c->n_models; k++)
		if (gather_model(b, k, e))
			return -1;
	if (b->t->preempted)
		average_preempted(b);
	return 0;
}

/* Mean and variance of n runs, whose numbers are at a distance of `stride` elements. */
static struct sp_compare_side side_of(const struct sp_numbers *n, size_t stride, uint32_t runs)
{
	struct sp_compare_side s = {.n = runs};

	for (uint32_t i = 0; i < runs; i++) {
		s.visits += (double)n[i * stride].v.visits / runs;
		s.excl += n[i * stride].v.excl / runs;
		s.incl += n[i * stride].v.incl / runs;
	}
	for (uint32_t i = 0; runs > 1 && i < runs; i++) {
		s.visits_var += ((double)n[i * stride].v.visits - s.visits) *
		                ((double)n[i * stride].v.visits - s.visits) / (runs - 1);
		s.excl_var += (n[i * stride].v.excl - s.excl) * (n[i * stride].v.excl - s.excl) / (runs - 1);
		s.incl_var += (n[i * stride].v.incl - s.incl) * (n[i * stride].v.incl - s.incl) / (runs - 1);
	}
	return s;
}

static void put_sides(const struct building *b, const struct sp_numbers *n, size_t stride, struct sp_compare_side *out)
{
	size_t first = 0;

	for (size_t g = 0; g < b->q->groups; g++) {
		out[g] = side_of(n + first * stride, stride, b->q->runs[g]);
		first += b->q->runs[g];
	}
}

static int row_init(struct building *b, struct sp_compare_row *r, uint32_t entry)
{
	*r = (struct sp_compare_row){.entry = entry};
	r->sides = sp_arena_zalloc(&b->t->arena, b->q->groups, sizeof(*r->sides));
	r->changes = sp_arena_zalloc(&b->t->arena, b->q->groups, sizeof(*r->changes));
	return r->sides && r->changes ? 0 : -1;
}

static void judge(const struct building *b, struct sp_compare_row *r)
{
	const struct sp_compare_side *whole = b->t->all.sides;

	for (size_t g = 0; g < b->q->groups; g++) {
		const struct sp_compare_side *x = &r->sides[0], *y = &r->sides[g];

		r->changes[g].p = g ? sp_welch(x->excl, x->excl_var, x->n, y->excl, y->excl_var, y->n) : -1;
		r->changes[g].holm = r->changes[g].margin = -1;
		r->changes[g].large = x->excl >= b->q->share * whole[0].excl || y->excl >= b->q->share * whole[g].excl;
		if (g && r->changes[g].large)
			r->changes[g].margin = sp_welch_margin(x->excl_var, x->n, y->excl_var, y->n);
	}
}

/* Sums over all entries; exclusive times add up to the whole. */
static int make_all(struct building *b)
{
	struct sp_numbers *sums = calloc(b->c->n_models, sizeof(*sums));

	if (!sums || row_init(b, &b->t->all, 0)) {
		free(sums);
		return -1;
	}
	for (size_t k = 0; k < b->c->n_models; k++)
		for (size_t i = 1; i < b->numbers.entries; i++) {
			const struct sp_value *v = &b->numbers.n[k * b->numbers.entries + i].v;

			sums[k].v.excl += v->excl;
			sums[k].v.visits += v->visits;
		}
	for (size_t k = 0; k < b->c->n_models; k++)
		sums[k].v.incl = sums[k].v.excl;
	put_sides(b, sums, 1, b->t->all.sides);
	judge(b, &b->t->all);
	free(sums);
	return 0;
}

static bool anywhere(const struct building *b, size_t entry)
{
	for (size_t k = 0; k < b->c->n_models; k++) {
		const struct sp_value *v = &b->numbers.n[k * b->numbers.entries + entry].v;

		if (v->visits || v->resumed || v->incl > 0)
			return true;
	}
	return false;
}

static int make_rows(struct building *b)
{
	struct sp_compare_table *t = b->t;
	const struct sp_compare *c = b->c;

	t->rows = sp_arena_alloc(&t->arena, (b->numbers.entries + 1) * sizeof(*t->rows));
	if (!t->rows)
		return -1;
	for (uint32_t i = 1; i < b->numbers.entries; i++) {
		if (!anywhere(b, i) ||
		    !sp_region_matches(sp_compare_name(c, b->q->paths ? c->paths[i].region : i), b->q->match))
			continue;
		if (row_init(b, &t->rows[t->n], i))
			return -1;
		put_sides(b, b->numbers.n + i, b->numbers.entries, t->rows[t->n].sides);
		judge(b, &t->rows[t->n++]);
	}
	return 0;
}

/* Applies Holm's correction to all tests of large entries as one family. */
static int correct(struct building *b)
{
	struct sp_compare_table *t = b->t;
	double *p = malloc((t->n * b->q->groups + 1) * sizeof(*p));
	size_t n = 0, at = 0;
	int rc;

	if (!p)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		for (size_t g = 1; g < b->q->groups; g++)
			if (t->rows[i].changes[g].large && t->rows[i].changes[g].p >= 0)
				p[n++] = t->rows[i].changes[g].p;
	rc = sp_holm(p, n);
	for (size_t i = 0; rc == 0 && i < t->n; i++)
		for (size_t g = 1; g < b->q->groups; g++)
			if (t->rows[i].changes[g].large && t->rows[i].changes[g].p >= 0)
				t->rows[i].changes[g].holm = p[at++];
	free(p);
	return rc;
}

struct sorted {
	double key, more;
	const char *name;
	struct sp_compare_row row;
};

static int by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int c = x->name ? strcmp(x->name, y->name) : 0;

	if (c)
		return c;
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	if (x->more != y->more)
		return x->more > y->more ? -1 : 1;
	return x->row.entry < y->row.entry ? -1 : x->row.entry > y->row.entry;
}

static double key_of(const struct sp_compare_query *q, const struct sp_compare_row *r)
{
	const struct sp_compare_side *x = &r->sides[0], *y = &r->sides[q->groups - 1];

	switch (q->sort) {
	case SP_COMPARE_CHANGE:
		return fabs(y->excl - x->excl);
	case SP_COMPARE_TOTAL:
		return fabs(y->incl - x->incl);
	case SP_COMPARE_RELATIVE:
		if (!(x->excl > 0) || !(y->excl > 0))
			return x->excl == y->excl ? 0 : INFINITY;
		return fabs(log(y->excl / x->excl));
	case SP_COMPARE_EXCL:
		return fmax(x->excl, y->excl);
	case SP_COMPARE_INCL:
		return fmax(x->incl, y->incl);
	case SP_COMPARE_VISITS:
		return fabs(y->visits - x->visits);
	default:
		return 0;
	}
}

static int sort(struct building *b)
{
	struct sp_compare_table *t = b->t;
	struct sorted *s = malloc((t->n + 1) * sizeof(*s));

	if (!s)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		const struct sp_compare_row *r = &t->rows[i];
		uint32_t region = b->q->paths ? b->c->paths[r->entry].region : r->entry;

		s[i] = (struct sorted){.key = key_of(b->q, r),
		                       .more = fabs(r->sides[b->q->groups - 1].excl - r->sides[0].excl),
		                       .row = *r};
		if (b->q->sort == SP_COMPARE_NAME)
			s[i].name = sp_compare_name(b->c, region)->name.p;
	}
	qsort(s, t->n, sizeof(*s), by_key);
	for (size_t i = 0; i < t->n; i++)
		t->rows[i] = s[i].row;
	free(s);
	return 0;
}

int sp_compare_table(struct sp_compare_table *t, const struct sp_compare *c, const struct sp_compare_query *q,
                     struct sp_err *e)
{
	struct building b = {.t = t, .c = c, .q = q};
	int rc;

	*t = (struct sp_compare_table){.n = 0};
	rc = gather(&b, e);
	if (rc == 0 && (make_all(&b) || make_rows(&b) || correct(&b) || sort(&b)))
		rc = sp_model_no_memory(e);
	free(b.numbers.n);
	free(b.preempted);
	return rc;
}

void sp_compare_table_free(struct sp_compare_table *t)
{
	sp_arena_free(&t->arena);
	*t = (struct sp_compare_table){.n = 0};
}
