/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a path's time in which the thread was off the processor. */
#include <math.h>
#include <stdlib.h>

#include "model/builder/problem.h"
#include "model/model.h"
#include "model/path.h"
#include "model/report/report.h"
#include "model/report/walk.h"

struct sp_off_cpu sp_view_off_cpu(const struct sp_view *v, uint32_t path)
{
	return sp_off_cpu_of(&v->off, sp_metrics_at(v->metrics, path, v->m->n_metrics), v->values[path].excl);
}

void sp_off_cpu_add(struct sp_off_cpu *to, struct sp_off_cpu more)
{
	to->waiting += more.waiting;
	to->preempted += more.preempted;
}

void sp_split_add(struct sp_split *to, struct sp_split more)
{
	to->running += more.running;
	to->waiting += more.waiting;
}

int sp_view_split(const struct sp_view *v, struct sp_path_split **splits, struct sp_err *e)
{
	const size_t n = v->m->n_paths;

	*splits = NULL;
	if (!sp_off_cpu_split(&v->off))
		return 0;
	if (!(*splits = calloc(n + 1, sizeof(**splits))))
		return sp_model_no_memory(e);
	for (size_t i = n; i-- > 0;) { /* a caller has a smaller index than its callees */
		struct sp_path_split *to = &(*splits)[i];
		const struct sp_off_cpu off = sp_view_off_cpu(v, (uint32_t)i);

		to->excl = (struct sp_split){sp_off_cpu_rest(v->values[i].excl, off), off.waiting};
		sp_split_add(&to->incl, to->excl);
		if (i)
			sp_split_add(&(*splits)[v->m->paths[i].parent].incl, to->incl);
	}
	return 0;
}

double sp_numbers_running(const struct sp_numbers *n)
{
	return sp_off_cpu_rest(n->v.excl, n->off);
}

int sp_view_leave_out_preempted(struct sp_view *v, double *preempted, struct sp_err *e)
{
	const size_t n = v->m->n_paths;

	*preempted = 0;
	if (!v->off.preempted)
		return 0;
	double *below = calloc(n + 1, sizeof(*below));
	if (!below || sp_view_own_values(v)) {
		free(below);
		return sp_model_no_memory(e);
	}
	for (size_t i = n; i-- > 0;) { /* a caller has a smaller index than its callees */
		struct sp_value *to = &v->owned[i];
		const double own = sp_view_off_cpu(v, (uint32_t)i).preempted;

		below[i] += own;
		*preempted += own;
		to->excl -= own;
		to->incl = fmax(0, to->incl - below[i]);
		if (i)
			below[v->m->paths[i].parent] += below[i];
	}
	free(below);
	v->off.preempted = 0;
	return 0;
}
