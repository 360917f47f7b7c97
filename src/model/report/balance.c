/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/problem.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/report/report.h"
#include "model/report/walk.h"
#include "model/str.h"

void sp_spread_add(struct sp_spread *s, uint32_t unit, double x)
{
	double before = x - s->mean;

	if (s->n == 0 || x < s->min) {
		s->min = x;
		s->min_unit = unit;
	}
	if (s->n == 0 || x > s->max) {
		s->max = x;
		s->max_unit = unit;
	}
	s->n++;
	s->mean += before / s->n;
	s->m2 += before * (x - s->mean);
}

void sp_spread_merge(struct sp_spread *s, const struct sp_spread *with)
{
	double n = (double)s->n + with->n, difference = with->mean - s->mean;

	if (with->n == 0)
		return;
	if (s->n == 0 || with->min < s->min) {
		s->min = with->min;
		s->min_unit = with->min_unit;
	}
	if (s->n == 0 || with->max > s->max) {
		s->max = with->max;
		s->max_unit = with->max_unit;
	}
	s->m2 += with->m2 + difference * difference * s->n * with->n / n;
	s->mean += difference * with->n / n;
	s->n += with->n;
}

double sp_spread_std(const struct sp_spread *s)
{
	return s->n && s->m2 > 0 ? sqrt(s->m2 / s->n) : 0;
}

double sp_spread_imbalance(const struct sp_spread *s)
{
	return s->max > s->mean ? s->max - s->mean : 0;
}

double sp_spread_imbalance_percent(const struct sp_spread *s)
{
	return s->mean > 0 ? sp_spread_imbalance(s) / s->mean * 100 : 0;
}

int sp_balance_init(struct sp_balance *b, size_t n, uint32_t first)
{
	size_t i;

	*b = (struct sp_balance){.n = n, .first = first, .end = first};
	b->entries = calloc(n + 1, sizeof(*b->entries));
	for (i = 0; b->entries && i < n; i++) {
		struct sp_balance_entry *x = &b->entries[i];

		x->absent = x->unit = SP_NONE;
		x->incl.min_unit = x->incl.max_unit = x->excl.min_unit = x->excl.max_unit = SP_NONE;
	}
	return b->entries ? 0 : -1;
}

void sp_balance_free(struct sp_balance *b)
{
	free(b->entries);
	b->entries = NULL;
}

uint32_t sp_balance_unit(struct sp_balance *b)
{
	return b->end++;
}

static void flush(const struct sp_balance *b, struct sp_balance_entry *x)
{
	if (x->unit == SP_NONE)
		return;
	if (x->absent == SP_NONE && x->unit != b->first + x->incl.n)
		x->absent = b->first + x->incl.n;
	sp_spread_add(&x->incl, x->unit, x->now_incl);
	sp_spread_add(&x->excl, x->unit, x->now_excl);
	x->unit = SP_NONE;
	x->now_incl = x->now_excl = 0;
}

void sp_balance_add(struct sp_balance *b, size_t entry, double incl, double excl)
{
	struct sp_balance_entry *x = &b->entries[entry];

	if (x->unit != b->end - 1) {
		flush(b, x);
		x->unit = b->end - 1;
	}
	x->now_incl += incl;
	x->now_excl += excl;
}

void sp_balance_merge(struct sp_balance *b, struct sp_balance *with)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		struct sp_balance_entry *x = &b->entries[i], *y = &with->entries[i];

		flush(b, x);
		flush(with, y);
		if (x->absent == SP_NONE)
			x->absent = x->incl.n < b->end - b->first ? b->first + x->incl.n : y->absent;
		sp_spread_merge(&x->incl, &y->incl);
		sp_spread_merge(&x->excl, &y->excl);
	}
	b->end = with->end;
}

static void take_in(struct sp_spread *s, uint32_t absent, uint32_t n)
{
	const struct sp_spread zeros = {.min_unit = absent, .max_unit = absent, .n = n};

	sp_spread_merge(s, &zeros);
	/* the first of equal units, also among those that did not reach the entry */
	if (s->min <= 0 && absent < s->min_unit)
		s->min_unit = absent;
	if (s->max <= 0 && absent < s->max_unit)
		s->max_unit = absent;
}

void sp_balance_finish(struct sp_balance *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		struct sp_balance_entry *x = &b->entries[i];

		flush(b, x);
		x->came = x->incl.n;
		if (x->came == b->end - b->first)
			continue;
		if (x->absent == SP_NONE)
			x->absent = b->first + x->came;
		take_in(&x->incl, x->absent, b->end - b->first - x->came);
		take_in(&x->excl, x->absent, b->end - b->first - x->came);
	}
}

/* ---- of a model ---- */

enum sp_balance_over sp_balance_over_of(const struct sp_model *m, enum sp_balance_over over)
{
	size_t i, ranks = 0;

	if (over != SP_OVER_AUTO)
		return over;
	for (i = 0; i < m->n_processes; i++)
		ranks += m->processes[i].world != 0;
	if (ranks > 1)
		return SP_OVER_RANKS;
	return m->n_processes > 1 ? SP_OVER_PROCESSES : SP_OVER_THREADS;
}

static int by_rank(const void *a, const void *b, void *processes)
{
	const struct sp_process *p = processes, *q = p + *(const uint32_t *)b;

	p += *(const uint32_t *)a;
	if (p->world != q->world)
		return p->world < q->world ? -1 : 1;
	return p->rank < q->rank ? -1 : p->rank > q->rank;
}

static int find_units(struct sp_balance_report *r, const struct sp_model *m, const bool *chosen)
{
	size_t n = r->over == SP_OVER_THREADS ? m->n_locations : m->n_processes;
	uint32_t i;

	r->units = malloc((n + 1) * sizeof(*r->units));
	if (!r->units)
		return -1;
	for (i = 0; i < n; i++)
		if ((!chosen || chosen[i]) && (r->over != SP_OVER_RANKS || m->processes[i].world != 0))
			r->units[r->n_units++] = i;
	if (r->over == SP_OVER_RANKS && r->n_units)
		qsort_r(r->units, r->n_units, sizeof(*r->units), by_rank, m->processes);
	return 0;
}

double sp_balance_running(const struct sp_model *m, uint32_t path, double excl, struct sp_off_cpu off)
{
	if (m->regions[m->paths[path].region].kind == SP_REGION_MPI)
		return excl;
	return sp_off_cpu_rest(excl, off);
}

double sp_balance_running_in(const struct sp_model *m, const struct sp_off_cpu_columns *columns, size_t row)
{
	const struct sp_row *r = &m->values[row];
	const uint64_t *metrics = sp_metrics_at(m->row_metrics, row, m->n_metrics);

	return sp_balance_running(m, r->path, r->v.excl, sp_off_cpu_of(columns, metrics, r->v.excl));
}

static void add_location(struct sp_balance_report *r, const struct sp_model *m, uint32_t location,
                         const bool *outermost)
{
	const struct sp_location *l = &m->locations[location];
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(m);
	size_t i;

	for (i = l->first_value; i < l->first_value + l->values; i++) {
		const struct sp_row *row = &m->values[i];
		const double time = r->running ? sp_balance_running_in(m, &columns, i) : row->v.excl;

		if (!row->path || !(row->v.visits || row->v.resumed || row->v.incl > 0))
			continue;
		sp_balance_add(&r->paths, row->path, row->v.incl, time);
		sp_balance_add(&r->regions, m->paths[row->path].region, outermost[row->path] ? row->v.incl : 0, time);
	}
	sp_model_rows_done(m, l);
}

int sp_balance_units(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over, struct sp_err *e)
{
	*r = (struct sp_balance_report){.over = sp_balance_over_of(m, over)};
	return find_units(r, m, NULL) ? sp_model_no_memory(e) : 0;
}

int sp_balance_report(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over, bool running,
                      const bool *chosen, struct sp_err *e)
{
	bool *outermost;
	uint32_t u, l;

	*r = (struct sp_balance_report){.over = sp_balance_over_of(m, over), .running = running};
	if (find_units(r, m, chosen))
		return sp_model_no_memory(e);
	if (sp_model_rows(m, e))
		return -1;
	outermost = sp_paths_outermost(m);
	if (!outermost || sp_balance_init(&r->paths, m->n_paths, 0) || sp_balance_init(&r->regions, m->n_regions, 0)) {
		free(outermost);
		return sp_model_no_memory(e);
	}
	for (u = 0; u < r->n_units; u++) {
		sp_balance_unit(&r->paths);
		sp_balance_unit(&r->regions);
		if (r->over == SP_OVER_THREADS) {
			add_location(r, m, r->units[u], outermost);
			continue;
		}
		const struct sp_process *p = &m->processes[r->units[u]];
		for (l = p->first_location; l < p->first_location + p->locations; l++)
			add_location(r, m, l, outermost);
	}
	sp_balance_finish(&r->paths);
	sp_balance_finish(&r->regions);
	free(outermost);
	return 0;
}

void sp_balance_report_free(struct sp_balance_report *r)
{
	free(r->units);
	sp_balance_free(&r->paths);
	sp_balance_free(&r->regions);
}

static bool came(const struct sp_model *m, uint32_t location, uint32_t path)
{
	const struct sp_row *row = m->values + m->locations[location].first_value;
	size_t begin = 0, n = m->locations[location].values, end = n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (row[middle].path < path)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < n && row[begin].path == path &&
	       (row[begin].v.visits || row[begin].v.resumed || row[begin].v.incl > 0);
}

/* Clears idle[k * n_units] for each path k that the location reached. */
static void mark_came(const struct sp_balance_report *r, const struct sp_model *m, uint32_t location,
                      const uint32_t *paths, size_t n, bool *idle)
{
	size_t k;

	for (k = 0; k < n; k++)
		if (came(m, location, paths[k]))
			idle[k * r->n_units] = false;
	sp_model_rows_done(m, &m->locations[location]);
}

bool *sp_balance_report_idle(const struct sp_balance_report *r, const struct sp_model *m, const uint32_t *paths,
                             size_t n)
{
	bool *idle = malloc(n * r->n_units + 1);
	uint32_t u, l;

	if (!idle)
		return NULL;
	memset(idle, true, n * r->n_units);
	for (u = 0; n && u < r->n_units; u++) {
		if (r->over == SP_OVER_THREADS) {
			mark_came(r, m, r->units[u], paths, n, idle + u);
			continue;
		}
		const struct sp_process *p = &m->processes[r->units[u]];
		for (l = p->first_location; l < p->first_location + p->locations; l++)
			mark_came(r, m, l, paths, n, idle + u);
	}
	return idle;
}
