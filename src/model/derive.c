/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from the merged rows: exclusive times, times without the cost of measuring, totals. */
#include "model/private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double calls(const struct sp_value *v)
{
	return (double)v->visits + (double)v->resumed;
}

/* The rows of one location, sorted by path: a child comes after its parent. */
struct tree {
	const struct sp_model *m;
	struct sp_row *rows;
	size_t n;
	uint32_t *at;     /* path to row + 1 */
	double *children; /* inclusive time of each row's children, compensated */
};

static struct sp_value *parent_of(struct tree *t, size_t row)
{
	uint32_t at = t->at[t->m->paths[t->rows[row].path].parent];

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

/* The mean falls to that of the new inclusive time; the spread of the single durations is kept. */
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
	memset(t->children, 0, t->n * sizeof(*t->children));
	for (i = t->n; i-- > 0;) {
		v = &t->rows[i].v;
		v->excl = fmax(0, v->excl);
		set_inclusive(v, v->excl + t->children[i], in);
		parent = parent_of(t, i);
		if (parent)
			t->children[t->at[t->m->paths[t->rows[i].path].parent] - 1] += v->incl;
	}
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

static void add_totals(const struct tree *t)
{
	const size_t width = t->m->n_metrics, first = (size_t)(t->rows - t->m->values);
	const uint64_t *from = width ? t->m->row_metrics + first * width : NULL;
	uint64_t *to;
	size_t i, k;

	for (i = 0; i < t->n; i++) {
		add_total(&t->m->totals[t->rows[i].path], &t->rows[i].v);
		to = width ? t->m->total_metrics + t->rows[i].path * width : NULL;
		for (k = 0; k < width; k++)
			to[k] += *from++;
	}
}

static void derive_location(struct sp_builder *b, struct tree *t, const struct sp_location *l)
{
	const struct sp_process *p = &b->m->processes[l->process];
	size_t i;

	if (l->values == 0)
		return;
	t->rows = b->priv->rows + l->first_value;
	t->n = l->values;
	for (i = 0; i < t->n; i++)
		t->at[t->rows[i].path] = (uint32_t)i + 1;
	exclusive(t);
	if (b->flags & SP_MODEL_COMPENSATE)
		compensate(t, p->cost_in, p->cost_out);
	/* rounding, and damaged files: a child may have more than its caller */
	for (i = 0; i < t->n; i++)
		t->rows[i].v.excl = fmax(0, t->rows[i].v.excl);
	add_totals(t);
	for (i = 0; i < t->n; i++)
		t->at[t->rows[i].path] = 0;
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

int sp_build_values(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	struct tree t = {.m = m};
	size_t i, most = 0;
	int rc = -1;

	for (i = 0; i < m->n_locations; i++)
		if (m->locations[i].values > most)
			most = m->locations[i].values;
	m->totals = sp_arena_zalloc(&b->priv->arena, m->n_paths, sizeof(*m->totals));
	m->total_metrics =
	    m->n_metrics ? sp_arena_zalloc(&b->priv->arena, m->n_paths * m->n_metrics, sizeof(uint64_t)) : NULL;
	t.at = calloc(m->n_paths, sizeof(*t.at));
	t.children = b->flags & SP_MODEL_COMPENSATE ? calloc(most + 1, sizeof(*t.children)) : NULL;
	if (!m->totals || (m->n_metrics && !m->total_metrics) || !t.at ||
	    ((b->flags & SP_MODEL_COMPENSATE) && !t.children)) {
		sp_model_no_memory(e);
		goto out;
	}
	for (i = 0; i < m->n_locations; i++)
		derive_location(b, &t, &m->locations[i]);
	link_children(m);
	rc = 0;
out:
	free(t.at);
	free(t.children);
	return rc;
}
