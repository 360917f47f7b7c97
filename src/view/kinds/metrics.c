/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics other than time: of a selection, and as curves over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/select.h"
#include "view/span.h"

static const double S = 1e-9;

static int no_memory(struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "not enough memory");
}

/* ---- of paths ---- */

static int in_range(const struct sp_viewed *v, const struct sp_view_query *q, double *grown, struct sp_err *e)
{
	struct sp_lod *p;
	struct sp_span span;
	uint32_t i;
	int rc = sp_span_of(&span, v->m, q, e) || sp_view_lod_if_any(v, &p, e) ? -1 : 0;

	for (i = 0; i < v->m->n_locations && rc == 0 && p; i++)
		if (sp_span_asks(v->m, q, i))
			rc = sp_lod_grown(p, i, span.begin, span.end, grown, e);
	return rc;
}

/* Adds a metric of the samples to sums[path * width]. */
static int sampled_in_range(const struct sp_viewed *v, const struct sp_view_query *q, enum sp_view_samples_metric which,
                            struct sp_counted *sums, struct sp_err *e)
{
	const struct sp_model *m = v->m;
	double *grown = calloc(m->n_paths, sizeof(*grown));
	const struct sp_view_samples *samples;
	struct sp_span span;
	size_t k;
	uint32_t i;
	int rc = grown ? sp_span_of(&span, m, q, e) : no_memory(e);

	for (i = 0; i < m->n_locations && rc == 0; i++) {
		if (!sp_span_asks(m, q, i) || !m->processes[m->locations[i].process].sampled)
			continue;
		rc = sp_view_samples_of(v, i, &samples, e);
		if (rc == 0)
			sp_view_samples_grown(samples, span.begin, span.end, which, grown, 1);
	}
	for (k = m->n_paths; k-- > 1 && rc == 0;) {
		struct sp_counted *x = &sums[k * m->n_metrics];

		x->excl = grown[k];
		x->incl += x->excl;
		sums[m->paths[k].parent * m->n_metrics].incl += x->incl;
	}
	free(grown);
	return rc;
}

/* Adds the off-CPU time of the range, and the rest of the exclusive times as running. */
static void off_cpu_in_range(const struct sp_selected *s, struct sp_counted *sums)
{
	const struct sp_model *m = s->own;
	const struct sp_off_cpu_columns c = sp_off_cpu_columns(m);
	size_t k, path;

	for (path = m->n_paths; path-- > 1;) {
		const struct sp_off_cpu off = s->off[path];
		const double running = sp_off_cpu_rest(s->values[path].excl, off);
		const struct {
			size_t column;
			double value;
		} parts[] = {{c.waiting[0], off.waiting}, {c.preempted, off.preempted}, {c.running, running}};

		for (k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
			struct sp_counted *x = &sums[path * m->n_metrics + parts[k].column - 1];

			if (!parts[k].column)
				continue;
			x->excl = parts[k].value;
			x->incl += x->excl;
			sums[m->paths[path].parent * m->n_metrics + parts[k].column - 1].incl += x->incl;
		}
	}
}

/* Adds the counts of callees to their callers. */
static int ranged(const struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                  struct sp_counted *sums, struct sp_err *e)
{
	const struct sp_model *m = v->m;
	const size_t width = m->n_metrics, n = sp_lod_metrics(m);
	double *grown = calloc(m->n_paths * n + 1, sizeof(*grown));
	size_t i, k;
	int rc = grown ? in_range(v, q, grown, e) : no_memory(e);

	for (k = 0; k < width && rc == 0; k++) {
		const enum sp_view_samples_metric by_samples = sp_view_samples_metric_of(&m->metrics[k]);
		const uint32_t which = by_samples == SP_VIEW_SAMPLES_NONE ? sp_lod_metric(m, (uint32_t)k) : SP_NONE;

		if (by_samples != SP_VIEW_SAMPLES_NONE)
			rc = sampled_in_range(v, q, by_samples, sums + k, e);
		for (i = m->n_paths; i-- > 1 && which != SP_NONE;) {
			struct sp_counted *x = &sums[i * width + k];

			x->excl = grown[i * n + which];
			x->incl += x->excl;
			sums[m->paths[i].parent * width + k].incl += x->incl;
		}
	}
	free(grown);
	/* without a process that measured it, the columns are those of samples */
	if (rc == 0 && s->off && sp_off_cpu_columns(m).running)
		off_cpu_in_range(s, sums);
	return rc;
}

int sp_selected_metrics(const struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                        struct sp_counted **sums, struct sp_err *e)
{
	const size_t n = s->own->n_paths * s->own->n_metrics;
	struct sp_sum *whole;
	size_t i;

	*sums = calloc(n + 1, sizeof(**sums));
	if (!*sums)
		return no_memory(e);
	if (s->clipped)
		return ranged(s, v, q, *sums, e);
	if (sp_metric_paths(&s->view, &whole, e))
		return -1;
	for (i = 0; i < n; i++)
		(*sums)[i] = (struct sp_counted){(double)whole[i].incl, (double)whole[i].excl};
	free(whole);
	return 0;
}

void sp_selected_unranged(const struct sp_selected *s, struct sp_columns *out)
{
	size_t i;

	if (!s->clipped)
		return;
	sp_meta_open(out, "unranged", '[');
	for (i = 0; i < s->own->n_metrics; i++)
		if (!sp_selected_counts(s, &s->own->metrics[i]))
			sp_meta_text(out, NULL, s->own->metrics[i].name);
	sp_meta_close(out, ']');
}

/* ---- over time ---- */

enum { LOCATION, METRIC, AT, VALUE, LOW, HIGH, MEAN, NUMBERS };

struct curves {
	const struct sp_model *m;
	struct sp_span span;
	double (*p)[NUMBERS]; /* owned */
	size_t n, capacity;
	uint32_t location;
	bool failed;
	/* sum of all locations: for each edge between pixels, of each metric; NULL: locations are separate */
	double *edges;        /* owned */
	bool *counted;        /* owned; for each metric: some location has it */
	uint32_t metric;      /* the metric that is read in this location; SP_NONE: none */
	double before, value; /* the last reading: its time (ns) and value */
	uint32_t edge;        /* the first edge after it */
};

static void put_row(struct curves *k, const double row[NUMBERS])
{
	if (!sp_grow(&k->p, k->n, &k->capacity, sizeof(*k->p))) {
		k->failed = true;
		return;
	}
	memcpy(k->p[k->n++], row, sizeof(*k->p));
}

/* The growth per second since the previous row. */
static double mean_of(const struct curves *k, double at, double value)
{
	return (value - k->p[k->n - 1][VALUE]) / (at - k->p[k->n - 1][AT]);
}

static void add_row(void *arg, uint32_t metric, uint64_t time, double value, double low, double high)
{
	struct curves *k = arg;
	const double at = (double)time * S;

	put_row(k, (double[NUMBERS]){k->location, metric, at, value, low, high,
	                             isnan(low) || k->failed ? NAN : mean_of(k, at, value)});
}

static double edge_at(const struct curves *k, uint32_t edge)
{
	return (double)k->span.begin + (double)(k->span.end - k->span.begin) / k->span.pixels * edge;
}

static void to_edge(struct curves *k, double value)
{
	double *to = &k->edges[(size_t)k->metric * (k->span.pixels + 1) + k->edge++];

	*to = k->m->metrics[k->metric].level ? fmax(*to, value) : *to + value;
}

/* After its last reading a metric does not grow any more. */
static void end_sum(struct curves *k)
{
	while (k->metric != SP_NONE && k->edge <= k->span.pixels)
		to_edge(k, k->value);
	k->metric = SP_NONE;
}

static void add_sum(void *arg, uint32_t metric, uint64_t time, double value, double low, double high)
{
	struct curves *k = arg;
	const double at = (double)time;
	double edge;

	(void)high;
	if (isnan(low)) {
		end_sum(k);
		k->metric = metric;
		k->counted[metric] = true;
		k->edge = 0;
		while (k->edge <= k->span.pixels && edge_at(k, k->edge) < at)
			k->edge++;
		k->before = at;
		k->value = value;
		return;
	}
	for (; k->edge <= k->span.pixels && (edge = edge_at(k, k->edge)) <= at;)
		to_edge(k, k->value + (value - k->value) * fmax(edge - k->before, 0) / (at - k->before));
	k->before = at;
	k->value = value;
}

static void put_sums(struct curves *k)
{
	const uint32_t n = k->span.pixels + 1;
	uint32_t metric, i;

	for (metric = 0; metric < k->m->n_metrics; metric++)
		for (i = 0; i < n && k->counted[metric] && !k->failed; i++) {
			const double at = edge_at(k, i) * S, value = k->edges[(size_t)metric * n + i];
			const double mean = i ? mean_of(k, at, value) : NAN;

			put_row(k, (double[NUMBERS]){SP_NONE, metric, at, value, mean, mean, mean});
		}
}

static int put_curves(const struct curves *k, struct sp_columns *out)
{
	static const char *const names[NUMBERS] = {"location", "metric", "at", "value", "low", "high", "mean"};
	void *to;
	size_t i;
	int c;

	for (c = 0; c < NUMBERS; c++) {
		to = sp_columns_reserve(out, names[c], c < AT ? SP_COLUMN_U32 : SP_COLUMN_F64, k->n);
		for (i = 0; to && i < k->n; i++) {
			if (c < AT)
				((uint32_t *)to)[i] = (uint32_t)k->p[i][c];
			else
				((double *)to)[i] = k->p[i][c];
		}
	}
	return sp_columns_failed(out) ? -1 : 0;
}

/* Converts the query to a question to the index. */
static int ask(struct curves *k, struct sp_lod_asked *asked, const struct sp_view_query *q, struct sp_err *e)
{
	const struct sp_model *m = k->m;

	*asked = (struct sp_lod_asked){SP_NONE, k->span.begin, k->span.end, k->span.pixels};
	if (q->name) {
		for (asked->counter = 0; asked->counter < m->n_metrics; asked->counter++)
			if (strcmp(m->metrics[asked->counter].name.p, q->name) == 0)
				break;
		if (asked->counter == m->n_metrics)
			return sp_fail(e, EINVAL, "no metric %.60s was counted", q->name);
		if (m->metrics[asked->counter].own)
			return sp_fail(e, EINVAL, "%.60s is not known over time: its values are not in the trace",
			               q->name);
	}
	if (!q->over)
		return 0;
	if (strcmp(q->over, "sum") != 0)
		return sp_fail(e, EINVAL, "over cannot be %.40s: sum, or nothing", q->over);
	k->edges = calloc(m->n_metrics * (k->span.pixels + (size_t)1) + 1, sizeof(*k->edges));
	k->counted = calloc(m->n_metrics + 1, sizeof(*k->counted));
	return k->edges && k->counted ? 0 : no_memory(e);
}

static int draw(struct curves *k, struct sp_lod *p, const struct sp_lod_asked *asked, const struct sp_view_query *q,
                uint32_t *rows, struct sp_err *e)
{
	uint32_t first, end;
	int rc = sp_span_rows(q, &first, &end, e);

	for (k->location = 0; k->location < k->m->n_locations && rc == 0; k->location++) {
		if (!sp_span_asks(k->m, q, k->location))
			continue;
		if (*rows >= first && *rows < end) {
			k->metric = SP_NONE;
			rc = sp_lod_metric_curve(p, k->location, asked, k->edges ? add_sum : add_row, k, e);
			end_sum(k);
		}
		++*rows;
	}
	return rc;
}

int sp_view_metrics(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct curves k = {.m = v->m, .metric = SP_NONE};
	struct sp_lod_asked asked;
	struct sp_lod *p;
	uint32_t rows = 0;
	int rc = sp_span_of(&k.span, v->m, q, e) || ask(&k, &asked, q, e) || sp_view_lod(v, &p, e) ? -1 : 0;

	if (rc == 0)
		rc = draw(&k, p, &asked, q, &rows, e);
	if (rc == 0 && k.edges)
		put_sums(&k);
	if (rc == 0 && (k.failed || put_curves(&k, out)))
		rc = no_memory(e);
	sp_meta_uint(out, "rows", rows);
	sp_meta_uint(out, "pixels", k.span.pixels);
	sp_meta_real(out, "begin", (double)k.span.begin * S);
	sp_meta_real(out, "end", (double)k.span.end * S);
	free(k.p);
	free(k.edges);
	free(k.counted);
	return rc;
}
