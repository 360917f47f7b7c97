/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/ranged.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"

#include <math.h>
#include <stdlib.h>

int sp_ranged_init(struct sp_ranged *r, const struct sp_viewed *v, struct sp_lod *p, uint64_t begin, uint64_t end)
{
	const struct sp_model *m = v->m;

	*r = (struct sp_ranged){.v = v, .m = m, .p = p, .begin = begin, .end = end};
	r->columns = sp_off_cpu_columns(m);
	/* without a process that measured it, the columns are those of samples */
	if (sp_off_cpu_split(&r->columns) && (!r->columns.running || sp_off_cpu_in_trace(m))) {
		r->off = calloc(m->n_paths, sizeof(*r->off));
		if (!r->off)
			return -1;
	}
	if (!m->compensated)
		return 0;
	r->one = calloc(m->n_paths, sizeof(*r->one));
	r->each = calloc(m->n_paths, sizeof(*r->each));
	r->reduced = calloc(m->n_paths, sizeof(*r->reduced));
	return r->one && r->each && r->reduced ? 0 : -1;
}

void sp_ranged_free(struct sp_ranged *r)
{
	free(r->one);
	free(r->each);
	free(r->reduced);
	free(r->off);
}

static double calls(const struct sp_value *v)
{
	return (double)v->visits + (double)v->resumed;
}

/* Subtracts the overhead from exclusive times, and derives inclusive times with and without it. Rows are sorted,
 * callers first. */
static void reduce(struct sp_ranged *r, const struct sp_location *l)
{
	const struct sp_process *p = &r->m->processes[l->process];
	const struct sp_row *rows = r->m->values + l->first_value;
	uint32_t path, caller;
	size_t i;

	for (i = l->values; i-- > 0;) {
		path = rows[i].path;
		r->one[path].incl += r->one[path].excl;
		r->one[r->m->paths[path].parent].incl += path ? r->one[path].incl : 0;
	}
	for (i = 0; i < l->values; i++) {
		path = rows[i].path;
		r->one[path].excl -= calls(&r->one[path]) * p->cost_in;
		r->one[r->m->paths[path].parent].excl -= calls(&r->one[path]) * p->cost_out;
	}
	for (i = l->values; i-- > 0;) {
		path = rows[i].path;
		caller = r->m->paths[path].parent;
		r->one[path].excl = fmax(0, r->one[path].excl);
		r->reduced[path] += r->one[path].excl;
		r->reduced[caller] += r->reduced[path];
	}
}

/* The mean decreases in proportion to the inclusive time; the spread of the durations is kept. */
static void shorten(struct sp_value *v, double *each, double reduced, double cost_in)
{
	const double n = calls(v), old = n > 0 ? *each / n : 0, now = v->incl > 0 ? old * reduced / v->incl : old;

	if (n <= 0)
		return;
	*each = now * n;
	v->sumsq = fmax(0, v->sumsq - n * old * old + n * now * now);
	v->max = fmax(now, v->max - fmax(0, old - now));
	v->min = fmin(now, fmax(0, v->min - cost_in));
}

static void add(struct sp_value *to, const struct sp_value *v)
{
	if (calls(v) > 0) {
		to->min = calls(to) > 0 ? fmin(to->min, v->min) : v->min;
		to->max = fmax(to->max, v->max);
	}
	to->visits += v->visits;
	to->resumed += v->resumed;
	to->excl += v->excl;
	to->sumsq += v->sumsq;
}

static int add_off_cpu(struct sp_ranged *r, uint32_t location, struct sp_err *e)
{
	const struct sp_view_samples *samples;

	if (r->columns.running)
		return r->p && !sp_view_samples_only(r->m, location)
		           ? sp_lod_off_cpu(r->p, location, r->begin, r->end, r->off, e)
		           : 0;
	if (!r->m->processes[r->m->locations[location].process].sampled)
		return 0;
	if (sp_view_samples_of(r->v, location, &samples, e))
		return -1;
	for (int i = 0; i < SP_WAITING; i++)
		if (r->columns.waiting[i])
			sp_view_samples_grown(samples, r->begin, r->end,
			                      sp_view_samples_metric_of(&r->m->metrics[r->columns.waiting[i] - 1]),
			                      &r->off[0][SP_OFF_CPU_WAITING], SP_OFF_CPU_KINDS);
	return 0;
}

struct sp_off_cpu sp_ranged_off_cpu(const struct sp_ranged *r, uint32_t path, double excl)
{
	return sp_off_cpu_within(excl, r->off[path][SP_OFF_CPU_WAITING], r->off[path][SP_OFF_CPU_PREEMPTED]);
}

int sp_ranged_add(struct sp_ranged *r, uint32_t location, struct sp_value *values, double *each, struct sp_err *e)
{
	const struct sp_location *l = &r->m->locations[location];
	const double cost_in = r->m->processes[l->process].cost_in;
	const struct sp_view_samples *samples;
	size_t i;

	if (r->off && add_off_cpu(r, location, e))
		return -1;
	if (sp_view_samples_only(r->m, location)) {
		if (sp_view_samples_of(r->v, location, &samples, e))
			return -1;
		sp_view_samples_range(samples, r->begin, r->end, values);
		return 0;
	}
	if (!r->p)
		return 0;
	if (!r->one)
		return sp_lod_range(r->p, location, r->begin, r->end, values, each, e);
	if (sp_lod_range(r->p, location, r->begin, r->end, r->one, r->each, e))
		return -1;
	reduce(r, l);
	for (i = 0; i < l->values; i++) {
		const uint32_t path = r->m->values[l->first_value + i].path;

		shorten(&r->one[path], &r->each[path], r->reduced[path], cost_in);
		add(&values[path], &r->one[path]);
		each[path] += r->each[path];
		r->one[path] = (struct sp_value){0};
		r->each[path] = r->reduced[path] = 0;
	}
	r->one[0] = (struct sp_value){0};
	r->reduced[0] = 0;
	return 0;
}

void sp_ranged_rest(struct sp_ranged *r, struct sp_value *values, double *each)
{
	size_t i;

	for (i = 1; r->one && i < r->m->n_paths; i++) {
		r->one[i].excl = fmax(0, r->one[i].excl);
		add(&values[i], &r->one[i]);
		each[i] += r->each[i];
		r->one[i] = (struct sp_value){0};
		r->each[i] = r->reduced[i] = 0;
	}
}
