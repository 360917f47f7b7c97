/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree in drawing order, without a stack or lists of children. Sorted by inclusive time, all paths come after
 * their callers. One backward pass then sums up the number of rows below each path, and one forward pass gives each
 * path its row. Paths without a separate row are not sorted. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/path.h"
#include "model/report/imports.h"
#include "model/str.h"
#include "view/select.h"

static const double S = 1e-9;
#define MAX_PATHS 200000

struct key {
	double incl;
	uint32_t path;
};

/* A path that has a row, or the root, which has no row but is above all of them. */
struct place {
	uint32_t row;
	uint32_t next;   /* the row of its next callee */
	uint32_t below;  /* number of rows below it, including its own */
	uint32_t hidden; /* number of paths that are left out below it */
	/* sums over its left-out callees */
	double visits, resumed, incl, running;
	double base_visits, base_incl;
};

struct tree {
	const struct sp_selected *s;
	/* owned; all paths that ran, except the root; those with rows come first, sorted by time */
	struct key *keys;
	size_t n, shown;         /* number of these paths, and of those with rows */
	uint32_t *place_of;      /* owned; for each path; SP_NONE: it has no row */
	struct place *places;    /* owned; for the root, then for each key */
	double *running;         /* owned; for each path: the part of incl in which threads ran; NULL: not split */
	bool *imported;          /* owned; for each path whether it is part of an import; NULL: none that ran is */
	struct sp_counted *sums; /* owned; the metric that determines the order; NULL: time does */
	size_t metric;
};

/* The value that determines the order of a path, and whether it has a row. */
static double weight_of(const struct tree *t, uint32_t path)
{
	if (t->sums)
		return path < t->s->own->n_paths ? t->sums[path * t->s->own->n_metrics + t->metric].incl : 0;
	const double incl = t->s->values[path].incl;

	return t->s->base ? fmax(incl, t->s->base[path].incl) : incl;
}

/* Finds the paths that ran. Limits the time of a callee to that of its caller, which it may exceed after the overhead
 * was subtracted. */
static int find(struct tree *t)
{
	const struct sp_model *m = t->s->m;
	double *incl = malloc(m->n_paths * sizeof(*incl));
	bool *ran = calloc(m->n_paths, sizeof(*ran));
	uint32_t i;

	t->keys = malloc(m->n_paths * sizeof(*t->keys));
	if (incl && ran && t->keys) {
		for (i = (uint32_t)m->n_paths; i-- > 1;)
			if (ran[i] || sp_selected_has(t->s, i))
				ran[i] = ran[m->paths[i].parent] = true;
		incl[0] = HUGE_VAL;
		for (i = 1; i < m->n_paths; i++) {
			incl[i] = fmin(weight_of(t, i), incl[m->paths[i].parent]);
			if (ran[i])
				t->keys[t->n++] = (struct key){incl[i], i};
		}
	}
	i = incl && ran && t->keys;
	free(incl);
	free(ran);
	return i ? 0 : -1;
}

/* Sums up the time in which threads ran, unless times are not split, or another run or a metric is shown beside them.
 */
static int sum_running(struct tree *t)
{
	const struct sp_selected *s = t->s;

	if (!s->off || s->compared || t->sums)
		return 0;
	t->running = calloc(s->m->n_paths + 1, sizeof(*t->running));
	if (!t->running)
		return -1;
	for (uint32_t i = (uint32_t)s->m->n_paths; i-- > 1;) { /* a caller has a smaller index than its callees */
		const struct sp_numbers path = {.v = s->values[i], .off = s->off[i]};

		t->running[i] = fmin(t->running[i] + sp_numbers_running(&path), s->values[i].incl);
		t->running[s->m->paths[i].parent] += t->running[i];
	}
	return 0;
}

static int find_imported(struct tree *t)
{
	bool any = false;

	t->imported = sp_paths_imported(t->s->m);
	if (!t->imported)
		return -1;
	for (size_t i = 0; i < t->n && !any; i++)
		any = t->imported[t->keys[i].path];
	if (!any) {
		free(t->imported);
		t->imported = NULL;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct key *p = a, *q = b;

	if (p->incl != q->incl)
		return p->incl > q->incl ? -1 : 1;
	return p->path < q->path ? -1 : p->path > q->path;
}

static void swap(struct key *a, struct key *b)
{
	const struct key was = *a;

	*a = *b;
	*b = was;
}

/* Moves the first `max` of n keys to the front, in any order: Hoare's selection, which usually halves the rest in each
 * round. Falls back to sorting if it does not. */
static void select_first(struct key *keys, size_t n, size_t max)
{
	size_t first = 0, last = n - 1, i, k, rounds = 0;

	while (first < last) {
		if (++rounds > 200) {
			qsort(keys + first, last + 1 - first, sizeof(*keys), by_time);
			return;
		}
		const struct key middle = keys[first + (last - first) / 2];

		for (i = first, k = last;;) {
			while (by_time(&keys[i], &middle) < 0)
				i++;
			while (by_time(&middle, &keys[k]) < 0)
				k--;
			if (i >= k)
				break;
			swap(&keys[i++], &keys[k--]);
		}
		/* all keys differ: [first, k] come before those after k */
		if (max <= k)
			last = k;
		else
			first = k + 1;
	}
}

/* Adds paths that are left out to the row of the caller of the outermost one. */
static int hide(struct tree *t)
{
	const struct sp_path *paths = t->s->m->paths;
	/* number of left-out paths below a path, including it */
	uint32_t *below = calloc(t->s->m->n_paths, sizeof(*below)), p;
	size_t k;

	if (!below)
		return -1;
	for (k = t->shown; k < t->n; k++)
		below[t->keys[k].path] = 1;
	for (p = (uint32_t)t->s->m->n_paths; p-- > 1;) {
		const uint32_t caller = t->place_of[paths[p].parent];
		const struct sp_value *v = &t->s->values[p];
		struct place *at;

		if (!below[p] || t->place_of[p] != SP_NONE)
			continue;
		if (caller == SP_NONE) {
			below[paths[p].parent] += below[p];
			continue;
		}
		at = &t->places[caller];
		at->hidden += below[p];
		at->visits += (double)v->visits;
		at->resumed += (double)v->resumed;
		at->incl += v->incl;
		if (t->running)
			at->running += t->running[p];
		if (t->s->base) {
			at->base_visits += (double)t->s->base[p].visits;
			at->base_incl += t->s->base[p].incl;
		}
	}
	free(below);
	return 0;
}

/* Determines the paths with rows, and their rows. */
static int arrange(struct tree *t, size_t limit)
{
	const struct sp_path *paths = t->s->m->paths;
	struct place *at;
	size_t k;

	t->shown = t->n < limit ? t->n : limit;
	if (t->shown < t->n)
		select_first(t->keys, t->n, t->shown);
	qsort(t->keys, t->shown, sizeof(*t->keys), by_time);
	t->places = calloc(t->shown + 1, sizeof(*t->places));
	t->place_of = malloc(t->s->m->n_paths * sizeof(*t->place_of));
	if (!t->places || !t->place_of)
		return -1;
	for (k = 1; k < t->s->m->n_paths; k++)
		t->place_of[k] = SP_NONE;
	t->place_of[0] = 0;
	for (k = 0; k < t->shown; k++)
		t->place_of[t->keys[k].path] = (uint32_t)k + 1;
	if (t->shown < t->n && hide(t))
		return -1;
	for (k = t->shown; k > 0; k--) {
		at = &t->places[k];
		at->below += 1 + (at->hidden > 0);
		t->places[t->place_of[paths[t->keys[k - 1].path].parent]].below += at->below;
	}
	t->places[0].row = SP_NONE;
	t->places[0].below += t->places[0].hidden > 0;
	for (k = 1; k <= t->shown; k++) {
		struct place *caller = &t->places[t->place_of[paths[t->keys[k - 1].path].parent]];

		at = &t->places[k];
		at->row = caller->next;
		at->next = at->row + 1;
		caller->next += at->below;
	}
	return 0;
}

struct rows {
	uint32_t *parent, *region, *hidden, *path;
	double *visits, *incl, *excl, *resumed;      /* resumed: NULL if no call was resumed */
	double *running;                             /* NULL if it is not known */
	uint8_t *imported;                           /* NULL if nothing was imported */
	uint32_t *label;                             /* NULL if no call has a label */
	double *base_visits, *base_incl, *base_excl; /* NULL without a base */
};

static int make_rows(const struct tree *t, struct rows *r, struct sp_columns *out)
{
	const size_t n = t->places[0].below;

	r->parent = sp_columns_reserve(out, "parent", SP_COLUMN_U32, n);
	r->region = sp_columns_reserve(out, "region", SP_COLUMN_U32, n);
	r->visits = sp_columns_reserve(out, "visits", SP_COLUMN_F64, n);
	r->incl = sp_columns_reserve(out, "incl", SP_COLUMN_F64, n);
	r->excl = sp_columns_reserve(out, "excl", SP_COLUMN_F64, n);
	r->hidden = sp_columns_reserve(out, "hidden", SP_COLUMN_U32, n);
	r->path = sp_columns_reserve(out, "path", SP_COLUMN_U32, n);
	r->resumed = t->s->resumed ? sp_columns_reserve(out, "resumed", SP_COLUMN_F64, n) : NULL;
	r->running = t->running ? sp_columns_reserve(out, "running", SP_COLUMN_F64, n) : NULL;
	r->imported = t->imported ? sp_columns_reserve(out, "imported", SP_COLUMN_U8, n) : NULL;
	r->label = t->s->labels ? sp_columns_reserve(out, "label", SP_COLUMN_U32, n) : NULL;
	r->base_visits = t->s->base ? sp_columns_reserve(out, "base_visits", SP_COLUMN_F64, n) : NULL;
	r->base_incl = t->s->base ? sp_columns_reserve(out, "base_incl", SP_COLUMN_F64, n) : NULL;
	r->base_excl = t->s->base ? sp_columns_reserve(out, "base_excl", SP_COLUMN_F64, n) : NULL;
	return sp_columns_failed(out) ? -1 : 0;
}

static void put_path(const struct tree *t, const struct rows *r, uint32_t path, uint32_t at)
{
	const struct sp_value *v = &t->s->values[path];
	const struct sp_path *p = &t->s->m->paths[path];

	r->parent[at] = t->places[t->place_of[p->parent]].row;
	r->region[at] = p->region;
	r->visits[at] = (double)v->visits;
	r->incl[at] = v->incl * S;
	r->excl[at] = v->excl * S;
	r->hidden[at] = 0;
	r->path[at] = path;
	if (r->resumed)
		r->resumed[at] = (double)v->resumed;
	if (r->running)
		r->running[at] = t->running[path] * S;
	if (r->imported)
		r->imported[at] = t->imported[path];
	if (r->label)
		r->label[at] = p->parameter;
	if (t->s->base) {
		r->base_visits[at] = (double)t->s->base[path].visits;
		r->base_incl[at] = t->s->base[path].incl * S;
		r->base_excl[at] = t->s->base[path].excl * S;
	}
}

/* Writes the last row below a path, for the paths left out there. It counts as an import if the path does. */
static void put_rest(const struct tree *t, const struct rows *r, const struct place *own, uint32_t at)
{
	r->parent[at] = own->row;
	r->region[at] = r->path[at] = SP_NONE;
	r->visits[at] = own->visits;
	r->incl[at] = r->excl[at] = own->incl * S;
	r->hidden[at] = own->hidden;
	if (r->resumed)
		r->resumed[at] = own->resumed;
	if (r->running)
		r->running[at] = own->running * S;
	if (r->imported)
		r->imported[at] = own->row != SP_NONE && r->imported[own->row];
	if (r->label)
		r->label[at] = SP_NONE;
	if (t->s->base) {
		r->base_visits[at] = own->base_visits;
		r->base_incl[at] = r->base_excl[at] = own->base_incl * S;
	}
}

/* The row of what is left out below a path or the root. */
static uint32_t rest_row(const struct place *p)
{
	return (p->row == SP_NONE ? 0 : p->row) + p->below - 1;
}

static void put_rows(const struct tree *t, const struct rows *r)
{
	const struct place *root = &t->places[0], *own;
	size_t k;

	for (k = 1; k <= t->shown; k++) {
		own = &t->places[k];
		put_path(t, r, t->keys[k - 1].path, own->row);
		if (own->hidden)
			put_rest(t, r, own, rest_row(own));
	}
	if (root->hidden)
		put_rest(t, r, root, rest_row(root));
}

/* Writes the counts of a metric for paths and left-out paths. */
static int put_metric(const struct tree *t, struct sp_columns *out)
{
	const struct sp_model *m = t->s->own; /* metrics of the base are not shown */
	const size_t n = t->places[0].below;
	double *incl = sp_view_metric(out, &m->metrics[t->metric], "incl", n);
	double *excl = sp_view_metric(out, &m->metrics[t->metric], "excl", n);
	size_t k, i;

	if (!incl || !excl)
		return -1;
	for (i = 0; i < n; i++)
		incl[i] = excl[i] = 0;
	for (i = 1; i < m->n_paths; i++) {
		const struct sp_counted *x = &t->sums[i * m->n_metrics + t->metric];
		const uint32_t own = t->place_of[i], caller = t->place_of[m->paths[i].parent];

		if (own != SP_NONE) {
			incl[t->places[own].row] = x->incl;
			excl[t->places[own].row] = x->excl;
		} else if (caller != SP_NONE && t->places[caller].hidden) {
			k = rest_row(&t->places[caller]);
			incl[k] += x->incl;
			excl[k] += x->incl;
		}
	}
	return 0;
}

/* Reads the metric that determines the order instead of time. */
static int weigh(struct tree *t, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e)
{
	const struct sp_model *m = t->s->own;

	while (t->metric < m->n_metrics && strcmp(m->metrics[t->metric].name.p, q->metric) != 0)
		t->metric++;
	if (t->metric == m->n_metrics)
		return sp_fail(e, EINVAL, "no metric %.60s was counted", q->metric);
	if (!sp_selected_counts(t->s, &m->metrics[t->metric]))
		return sp_fail(e, EINVAL, "%.60s is not known within a range of time: its values are not in the trace",
		               q->metric);
	return sp_selected_metrics(t->s, v, q, &t->sums, e);
}

int sp_view_tree(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_selected s;
	struct tree t = {.s = &s};
	struct rows r;
	int rc = sp_select(&s, v, q, e);

	if (rc == 0 && q->metric)
		rc = weigh(&t, v, q, e);
	if (rc == 0 && (find(&t) || sum_running(&t) || find_imported(&t) ||
	                arrange(&t, q->limit ? q->limit : MAX_PATHS) || make_rows(&t, &r, out)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	if (rc == 0) {
		sp_selected_meta(&s, out);
		sp_meta_uint(out, "paths", t.n);
		sp_meta_uint(out, "shown", t.shown);
		put_rows(&t, &r);
		if (r.label)
			rc = sp_view_labels(&s, r.label, t.places[0].below, out, e);
	}
	if (rc == 0 && q->metric && put_metric(&t, out))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	free(t.running);
	free(t.imported);
	free(t.sums);
	free(t.keys);
	free(t.places);
	free(t.place_of);
	sp_selected_close(&s);
	return rc;
}
