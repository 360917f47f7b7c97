/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree in the order in which it is drawn. No stack and no list of children: sorted by inclusive time all paths
 * come after their callers, so that one pass back sums up how many rows stand below each and one pass forth gives each
 * its place. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "view/select.h"

static const double S = 1e-9;
#define MOST_PATHS 200000

/* What becomes of a path. */
struct place {
	uint32_t row;    /* of it; SP_NONE: left out */
	uint32_t next;   /* the row of its next callee */
	uint32_t below;  /* rows, its own among them */
	uint32_t hidden; /* paths left out below it; of one left out: it, too */
	/* of those left out that it calls itself */
	double visits, resumed, incl;
	double base_visits, base_incl;
};

struct key {
	double incl;
	uint32_t path;
};

struct tree {
	const struct sp_selected *s;
	struct place *places; /* owned; for each path; the root has no row, but all below it */
	struct key *order;    /* owned; all paths that ran but the root */
	size_t n;
	size_t shown; /* how many of these have a row */
};

static int by_time(const void *a, const void *b)
{
	const struct key *p = a, *q = b;

	if (p->incl != q->incl)
		return p->incl > q->incl ? -1 : 1;
	return p->path < q->path ? -1 : p->path > q->path;
}

static double time_of(const struct tree *t, uint32_t path)
{
	const double incl = t->s->values[path].incl;

	return t->s->base ? fmax(incl, t->s->base[path].incl) : incl;
}

/* The paths by inclusive time, callers before their callees: times from which the cost of measuring was taken may be
 * smaller than those of a callee. */
static int sort(struct tree *t)
{
	const struct sp_model *m = t->s->m;
	double *incl = malloc(m->n_paths * sizeof(*incl));
	bool *ran = calloc(m->n_paths, sizeof(*ran));
	uint32_t i;

	t->order = malloc(m->n_paths * sizeof(*t->order));
	t->places = calloc(m->n_paths, sizeof(*t->places));
	if (incl && ran && t->order && t->places) {
		for (i = (uint32_t)m->n_paths; i-- > 1;)
			if (ran[i] || sp_selected_has(t->s, i))
				ran[i] = ran[m->paths[i].parent] = true;
		incl[0] = HUGE_VAL;
		for (i = 1; i < m->n_paths; i++) {
			incl[i] = fmin(time_of(t, i), incl[m->paths[i].parent]);
			if (ran[i])
				t->order[t->n++] = (struct key){incl[i], i};
		}
		qsort(t->order, t->n, sizeof(*t->order), by_time);
	} else {
		free(t->places);
		t->places = NULL;
	}
	free(incl);
	free(ran);
	return t->places ? 0 : -1;
}

/* Which paths have rows, and how many there are below each. */
static void count(struct tree *t, size_t limit)
{
	const struct sp_path *paths = t->s->m->paths;
	size_t k;

	for (k = 0; k < t->n; k++) {
		const uint32_t p = t->order[k].path;

		t->places[p].below = t->shown < limit && (paths[p].parent == 0 || t->places[paths[p].parent].below);
		t->shown += t->places[p].below;
	}
	for (k = t->n; k-- > 0;) {
		const uint32_t p = t->order[k].path, q = paths[p].parent;
		const struct sp_value *v = &t->s->values[p];
		struct place *own = &t->places[p], *caller = &t->places[q];

		if (own->below) {
			own->below += own->hidden > 0;
			caller->below += own->below;
			continue;
		}
		caller->hidden += ++own->hidden;
		caller->visits += (double)v->visits;
		caller->resumed += (double)v->resumed;
		caller->incl += v->incl;
		if (t->s->base) {
			caller->base_visits += (double)t->s->base[p].visits;
			caller->base_incl += t->s->base[p].incl;
		}
	}
	t->places[0].below += t->places[0].hidden > 0;
}

struct rows {
	uint32_t *parent, *region, *hidden, *path;
	double *visits, *incl, *excl, *resumed;      /* resumed: NULL where nothing was */
	uint32_t *label;                             /* the same where no call has a label */
	double *base_visits, *base_incl, *base_excl; /* the same without a base */
};

static int make_rows(const struct tree *t, struct rows *r, struct sp_columns *out)
{
	const size_t n = t->places[0].below;

	r->parent = sp_columns_room(out, "parent", SP_COLUMN_U32, n);
	r->region = sp_columns_room(out, "region", SP_COLUMN_U32, n);
	r->visits = sp_columns_room(out, "visits", SP_COLUMN_F64, n);
	r->incl = sp_columns_room(out, "incl", SP_COLUMN_F64, n);
	r->excl = sp_columns_room(out, "excl", SP_COLUMN_F64, n);
	r->hidden = sp_columns_room(out, "hidden", SP_COLUMN_U32, n);
	r->path = sp_columns_room(out, "path", SP_COLUMN_U32, n);
	r->resumed = t->s->resumed ? sp_columns_room(out, "resumed", SP_COLUMN_F64, n) : NULL;
	r->label = t->s->labels ? sp_columns_room(out, "label", SP_COLUMN_U32, n) : NULL;
	r->base_visits = t->s->base ? sp_columns_room(out, "base_visits", SP_COLUMN_F64, n) : NULL;
	r->base_incl = t->s->base ? sp_columns_room(out, "base_incl", SP_COLUMN_F64, n) : NULL;
	r->base_excl = t->s->base ? sp_columns_room(out, "base_excl", SP_COLUMN_F64, n) : NULL;
	return sp_columns_failed(out) ? -1 : 0;
}

static void put_path(const struct tree *t, const struct rows *r, uint32_t path, uint32_t parent)
{
	const struct place *own = &t->places[path];
	const struct sp_value *v = &t->s->values[path];
	const uint32_t at = own->row;

	r->parent[at] = parent;
	r->region[at] = t->s->m->paths[path].region;
	r->visits[at] = (double)v->visits;
	r->incl[at] = v->incl * S;
	r->excl[at] = v->excl * S;
	r->hidden[at] = 0;
	r->path[at] = path;
	if (r->resumed)
		r->resumed[at] = (double)v->resumed;
	if (r->label)
		r->label[at] = t->s->m->paths[path].parameter;
	if (t->s->base) {
		r->base_visits[at] = (double)t->s->base[path].visits;
		r->base_incl[at] = t->s->base[path].incl * S;
		r->base_excl[at] = t->s->base[path].excl * S;
	}
}

/* The last row below a path, for what is left out there. */
static void put_rest(const struct tree *t, const struct rows *r, uint32_t path, uint32_t at)
{
	const struct place *own = &t->places[path];

	r->parent[at] = own->row;
	r->region[at] = r->path[at] = SP_NONE;
	r->visits[at] = own->visits;
	r->incl[at] = r->excl[at] = own->incl * S;
	r->hidden[at] = own->hidden;
	if (r->resumed)
		r->resumed[at] = own->resumed;
	if (r->label)
		r->label[at] = SP_NONE;
	if (t->s->base) {
		r->base_visits[at] = own->base_visits;
		r->base_incl[at] = r->base_excl[at] = own->base_incl * S;
	}
}

static void put_rows(struct tree *t, const struct rows *r)
{
	const struct sp_path *paths = t->s->m->paths;
	struct place *root = &t->places[0];
	size_t k;

	root->row = SP_NONE;
	for (k = 0; k < t->n; k++) {
		const uint32_t p = t->order[k].path;
		struct place *own = &t->places[p], *caller = &t->places[paths[p].parent];

		if (!own->below) {
			own->row = SP_NONE;
			continue;
		}
		own->row = caller->next;
		caller->next += own->below;
		own->next = own->row + 1;
		put_path(t, r, p, caller->row);
		if (own->hidden)
			put_rest(t, r, p, own->row + own->below - 1);
	}
	if (root->hidden)
		put_rest(t, r, 0, root->below - 1);
}

int sp_view_tree(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_selected s;
	struct tree t = {.s = &s};
	struct rows r;
	int rc = sp_select(&s, v, q, e);

	if (rc == 0 && sort(&t)) {
		rc = sp_fail(e, ENOMEM, "not enough memory");
	} else if (rc == 0) {
		count(&t, q->limit ? q->limit : MOST_PATHS);
		sp_selected_meta(&s, out);
		sp_meta_uint(out, "paths", t.n);
		sp_meta_uint(out, "shown", t.shown);
		rc = make_rows(&t, &r, out) ? sp_fail(e, ENOMEM, "not enough memory") : 0;
	}
	if (rc == 0) {
		put_rows(&t, &r);
		if (r.label)
			rc = sp_view_labels(&s, r.label, t.places[0].below, out, e);
	}
	free(t.places);
	free(t.order);
	sp_selected_close(&s);
	return rc;
}
