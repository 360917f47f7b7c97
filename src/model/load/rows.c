/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of all locations with the values of their metrics: growing and sorting. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/model.h"
#include "model/path.h"

/* The array grows in small steps: with one large process it is most of the memory in use. */
int sp_rows_reserve(struct sp_builder *b, size_t n)
{
	size_t need = b->m->n_values + n, capacity = b->priv->row_capacity + b->priv->row_capacity / 4;
	struct sp_row *rows;
	uint64_t *metrics;

	if (need <= b->priv->row_capacity)
		return 0;
	if (capacity < need)
		capacity = need;
	rows = realloc(b->priv->rows, capacity * sizeof(*rows));
	if (!rows)
		return -1;
	b->priv->rows = b->m->values = rows;
	if (b->m->n_metrics) {
		metrics = realloc(b->priv->row_metrics, capacity * b->m->n_metrics * sizeof(*metrics));
		if (!metrics)
			return -1;
		b->priv->row_metrics = b->m->row_metrics = metrics;
	}
	b->priv->row_capacity = capacity;
	return 0;
}

int sp_rows_widen(struct sp_builder *b, size_t old)
{
	const size_t now = b->m->n_metrics, capacity = b->priv->row_capacity;
	uint64_t *m;
	size_t i;

	if (now == old || capacity == 0)
		return 0;
	m = realloc(b->priv->row_metrics, capacity * now * sizeof(*m));
	if (!m)
		return -1;
	b->priv->row_metrics = b->m->row_metrics = m;
	for (i = b->m->n_values; i-- > 0;) {
		memmove(m + i * now, m + i * old, old * sizeof(*m));
		memset(m + i * now + old, 0, (now - old) * sizeof(*m));
	}
	return 0;
}

struct order {
	uint32_t path, row;
};

static int compare(const void *a, const void *b)
{
	const struct order *p = a, *q = b;

	if (p->path != q->path)
		return p->path < q->path ? -1 : 1;
	return p->row < q->row ? -1 : p->row > q->row;
}

/* Moves row order[i].row to row i. */
static void permute(struct sp_row *rows, uint64_t *metrics, size_t width, struct order *order, size_t n,
                    uint64_t *saved)
{
	size_t i, at, from;
	struct sp_row row;

	for (i = 0; i < n; i++) {
		if (order[i].row == i)
			continue;
		row = rows[i];
		if (width)
			memcpy(saved, metrics + i * width, width * sizeof(*saved));
		for (at = i; (from = order[at].row) != i; at = from) {
			rows[at] = rows[from];
			if (width)
				memcpy(metrics + at * width, metrics + from * width, width * sizeof(*saved));
			order[at].row = (uint32_t)at;
		}
		rows[at] = row;
		if (width)
			memcpy(metrics + at * width, saved, width * sizeof(*saved));
		order[at].row = (uint32_t)at;
	}
}

static int sort(struct sp_row *rows, uint64_t *metrics, size_t width, size_t n)
{
	struct order *order = malloc(n * sizeof(*order));
	uint64_t *saved = malloc((width + 1) * sizeof(*saved));
	size_t i;
	int rc = order && saved && n < UINT32_MAX ? 0 : -1;

	for (i = 0; rc == 0 && i < n; i++)
		order[i] = (struct order){rows[i].path, (uint32_t)i};
	if (rc == 0) {
		qsort(order, n, sizeof(*order), compare);
		permute(rows, metrics, width, order, n, saved);
	}
	free(order);
	free(saved);
	return rc;
}

static void add(struct sp_value *to, const struct sp_value *v)
{
	if (v->visits + v->resumed) {
		to->min = to->visits + to->resumed ? fmin(to->min, v->min) : v->min;
		to->max = fmax(to->max, v->max);
	}
	to->visits += v->visits;
	to->resumed += v->resumed;
	to->incl += v->incl;
	to->sumsq += v->sumsq;
}

int sp_rows_order(struct sp_builder *b, size_t first, size_t *n)
{
	const size_t width = b->m->n_metrics;
	struct sp_row *rows;
	uint64_t *metrics;
	size_t i, k, to = 0;

	if (*n < 2)
		return 0;
	rows = b->priv->rows + first;
	metrics = width ? b->priv->row_metrics + first * width : NULL;
	for (i = 1; i < *n && rows[i - 1].path < rows[i].path; i++)
		;
	if (i >= *n)
		return 0;
	for (; i < *n && rows[i - 1].path <= rows[i].path; i++)
		;
	if (i < *n && sort(rows, metrics, width, *n))
		return -1;
	for (i = 1; i < *n; i++) {
		if (rows[i].path == rows[to].path) {
			add(&rows[to].v, &rows[i].v);
			for (k = 0; k < width; k++)
				metrics[to * width + k] += metrics[i * width + k];
			continue;
		}
		rows[++to] = rows[i];
		if (width)
			memmove(metrics + to * width, metrics + i * width, width * sizeof(*metrics));
	}
	*n = to + 1;
	return 0;
}
