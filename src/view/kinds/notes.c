/* SPDX-License-Identifier: BSD-3-Clause */
/* Markers, and values of counters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;
enum { MAX_MARKERS = 10000, MANY = 8 };

static int no_memory(struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "not enough memory");
}

/* ---- markers ---- */

struct marker {
	uint64_t time;
	uint32_t location, string;
};

struct markers {
	struct marker *p; /* owned */
	size_t n, capacity, all;
	uint32_t location;
	bool failed;
};

static void add_marker(void *arg, uint64_t time, uint32_t string)
{
	struct markers *k = arg;

	if (!sp_grow(&k->p, k->n, &k->capacity, sizeof(*k->p))) {
		k->failed = true;
		return;
	}
	k->p[k->n++] = (struct marker){time, k->location, string};
}

static int by_time(const void *a, const void *b)
{
	const struct marker *p = a, *q = b;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	return p->location < q->location ? -1 : p->location > q->location;
}

static int put_markers(const struct sp_model *m, const struct markers *k, size_t shown, struct sp_columns *out)
{
	uint32_t *location = sp_columns_reserve(out, "location", SP_COLUMN_U32, shown);
	double *time = sp_columns_reserve(out, "time", SP_COLUMN_F64, shown);
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	sp_meta_open(out, "texts", '[');
	for (i = 0; i < shown; i++) {
		location[i] = k->p[i].location;
		time[i] = (double)k->p[i].time * S;
		sp_meta_text(out, NULL, m->strings[k->p[i].string]);
	}
	sp_meta_close(out, ']');
	sp_meta_uint(out, "hidden", k->all - shown);
	return 0;
}

/* Keeps the first `limit` of the markers. */
static void keep_first(struct markers *k, size_t limit)
{
	if (k->n)
		qsort(k->p, k->n, sizeof(*k->p), by_time);
	k->n = k->n < limit ? k->n : limit;
}

int sp_view_markers(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	const size_t limit = q->limit ? q->limit : MAX_MARKERS;
	struct markers k = {.n = 0};
	struct sp_lod *p;
	struct sp_span span;
	size_t all;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_view_lod(v, &p, e))
		return -1;
	for (rc = 0; k.location < v->m->n_locations && rc == 0; k.location++) {
		if (!sp_span_asks(v->m, q, k.location))
			continue;
		rc = sp_lod_markers(p, k.location, span.begin, span.end, limit, add_marker, &k, &all, e);
		k.all += all;
		if (k.n / MANY >= limit)
			keep_first(&k, limit);
	}
	keep_first(&k, limit);
	if (rc == 0 && (k.failed || put_markers(v->m, &k, k.n, out)))
		rc = no_memory(e);
	free(k.p);
	return rc;
}

/* ---- counters ---- */

enum { LOCATION, COUNTER, AT, MIN, MAX, MEAN, N, NUMBERS };

struct values {
	double (*p)[NUMBERS]; /* owned */
	size_t n, capacity;
	uint32_t location;
	bool failed;
};

static void add_values(void *arg, uint32_t counter, uint64_t time, uint64_t n, double min, double max, double mean)
{
	struct values *k = arg;

	if (!sp_grow(&k->p, k->n, &k->capacity, sizeof(*k->p))) {
		k->failed = true;
		return;
	}
	memcpy(k->p[k->n++], (double[NUMBERS]){k->location, counter, (double)time * S, min, max, mean, (double)n},
	       sizeof(*k->p));
}

static int put_values(const struct values *k, struct sp_columns *out)
{
	static const struct {
		const char *name;
		enum sp_column_type type;
	} columns[NUMBERS] = {
	    [LOCATION] = {"location", SP_COLUMN_U32},
	    [COUNTER] = {"counter", SP_COLUMN_U32},
	    [AT] = {"at", SP_COLUMN_F64},
	    [MIN] = {"min", SP_COLUMN_F64},
	    [MAX] = {"max", SP_COLUMN_F64},
	    [MEAN] = {"mean", SP_COLUMN_F64},
	    [N] = {"values", SP_COLUMN_U32},
	};
	void *to;
	size_t i;
	int c;

	for (c = 0; c < NUMBERS; c++) {
		to = sp_columns_reserve(out, columns[c].name, columns[c].type, k->n);
		for (i = 0; to && i < k->n; i++) {
			if (columns[c].type == SP_COLUMN_F64)
				((double *)to)[i] = k->p[i][c];
			else
				((uint32_t *)to)[i] = (uint32_t)fmin(k->p[i][c], UINT32_MAX);
		}
	}
	return sp_columns_failed(out) ? -1 : 0;
}

/* Finds a counter by name; name NULL: SP_NONE. Returns 0, or -1 with e set. */
static int find_counter(const struct sp_model *m, const char *name, uint32_t *counter, struct sp_err *e)
{
	uint32_t i;

	*counter = SP_NONE;
	for (i = 0; name && i < m->n_counters; i++)
		if (m->counters[i].n == strlen(name) && memcmp(m->counters[i].p, name, m->counters[i].n) == 0)
			*counter = i;
	if (name && *counter == SP_NONE)
		return sp_fail(e, EINVAL, "there is no counter %.60s", name);
	return 0;
}

int sp_view_counters(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_lod_asked asked;
	struct values k = {.n = 0};
	struct sp_lod *p;
	struct sp_span span;
	size_t i;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || find_counter(v->m, q->name, &asked.counter, e) || sp_view_lod(v, &p, e))
		return -1;
	asked.begin = span.begin;
	asked.end = span.end;
	asked.pixels = span.pixels;
	for (rc = 0; k.location < v->m->n_locations && rc == 0; k.location++)
		if (sp_span_asks(v->m, q, k.location))
			rc = sp_lod_counters(p, k.location, &asked, add_values, &k, e);
	if (rc == 0 && (k.failed || put_values(&k, out)))
		rc = no_memory(e);
	sp_meta_open(out, "names", '[');
	for (i = 0; i < v->m->n_counters; i++)
		sp_meta_text(out, NULL, v->m->counters[i]);
	sp_meta_close(out, ']');
	free(k.p);
	return rc;
}
