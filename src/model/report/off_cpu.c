/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a path's time in which the thread was off the processor. */
#include <math.h>

#include "model/model.h"
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

double sp_numbers_running(const struct sp_numbers *n)
{
	return fmax(0, n->v.excl - n->off.waiting - n->off.preempted);
}
