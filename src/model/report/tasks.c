/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/tasks.h"
#include "model/model.h"
#include "model/str.h"
#include "model/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct sp_model *m, uint32_t region)
{
	return region == SP_NONE ? m->n_regions : region;
}

static int by_waits(const void *a, const void *b, void *arg)
{
	const struct sp_model *m = arg;
	const struct sp_task *p = &m->tasks[*(const uint32_t *)a], *q = &m->tasks[*(const uint32_t *)b];

	if (p->waiting != q->waiting)
		return p->waiting > q->waiting ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int by_time(const void *a, const void *b)
{
	const struct sp_task_group *p = a, *q = b;

	if (p->running + p->waiting != q->running + q->waiting)
		return p->running + p->waiting > q->running + q->waiting ? -1 : 1;
	return p->region < q->region ? -1 : p->region > q->region;
}

/* Sorts equal places next to each other. */
static int by_place(const void *a, const void *b)
{
	const struct sp_task_awaited *p = a, *q = b;

	if (p->region != q->region)
		return p->region < q->region ? -1 : 1;
	if (p->wait.region != q->wait.region)
		return p->wait.region < q->wait.region ? -1 : 1;
	return p->wait.kind < q->wait.kind ? -1 : p->wait.kind > q->wait.kind;
}

static int by_sum(const void *a, const void *b)
{
	const struct sp_task_awaited *p = a, *q = b;

	if (p->region != q->region)
		return p->region < q->region ? -1 : 1;
	if (p->wait.ns != q->wait.ns)
		return p->wait.ns > q->wait.ns ? -1 : 1;
	return by_place(a, b);
}

/* Adds equal waits of all processes together. Returns the new number. */
static size_t join_waits(struct sp_task_awaited *w, size_t n)
{
	size_t i, k = 0;

	qsort(w, n, sizeof(*w), by_place);
	for (i = 0; i < n; i++)
		if (k && by_place(&w[k - 1], &w[i]) == 0) {
			w[k - 1].wait.count += w[i].wait.count;
			w[k - 1].wait.ns += w[i].wait.ns;
			if (w[i].longest > w[k - 1].longest)
				w[k - 1].longest = w[i].longest;
		} else {
			w[k++] = w[i];
		}
	qsort(w, k, sizeof(*w), by_sum);
	return k;
}

static void add_tasks(struct sp_tasks *out, struct sp_task_group *of, const struct sp_model *m)
{
	size_t i, k;

	for (i = 0; i < m->n_tasks; i++) {
		const struct sp_task *t = &m->tasks[i];
		struct sp_task_group *g = &of[slot_of(m, t->region)];

		g->tasks++;
		g->states[t->state]++;
		g->steps += t->steps;
		g->running += t->running;
		g->waiting += t->waiting;
		if (t->waiting > g->longest)
			g->longest = t->waiting;
	}
	out->tasks = m->n_tasks;
	for (i = 0; i < m->n_task_rests; i++) {
		const struct sp_task_rest *r = &m->task_rests[i];
		struct sp_task_group *g = &of[slot_of(m, r->region)];
		uint64_t left = r->tasks;

		if (r->region == SP_NONE) {
			out->never += r->tasks;
			continue;
		}
		for (k = 0; k < 4; k++) {
			uint64_t n = r->ended[k] < left ? r->ended[k] : left;

			g->states[SP_TASK_RETURNED + k] += n;
			left -= n;
		}
		g->states[SP_TASK_WAITING] += left;
		g->tasks += r->tasks;
		g->unlisted += r->tasks;
		g->steps += r->steps;
		g->running += r->running;
		g->waiting += r->waiting;
		out->tasks += r->tasks;
		out->unlisted += r->tasks;
	}
}

int sp_tasks_find(struct sp_tasks *out, const struct sp_model *m, struct sp_err *e)
{
	struct sp_task_group *of = calloc(m->n_regions + 1, sizeof(*of));
	size_t n_waits = m->n_task_awaited, i;

	*out = (struct sp_tasks){.groups = of,
	                         .order = calloc(m->n_tasks + 1, sizeof(*out->order)),
	                         .waits = calloc(n_waits + 1, sizeof(*out->waits))};
	if (!of || !out->order || !out->waits) {
		sp_tasks_free(out);
		return sp_fail(e, ENOMEM, "not enough memory");
	}
	for (i = 0; i <= m->n_regions; i++)
		of[i].region = i < m->n_regions ? (uint32_t)i : SP_NONE;
	add_tasks(out, of, m);
	if (n_waits)
		memcpy(out->waits, m->task_awaited, n_waits * sizeof(*out->waits));
	n_waits = join_waits(out->waits, n_waits);
	for (i = 0; i < n_waits; i++) {
		struct sp_task_group *g = &of[slot_of(m, out->waits[i].region)];

		if (!g->n_waits++)
			g->waits = &out->waits[i];
	}
	for (i = 0; i <= m->n_regions; i++)
		if (of[i].tasks)
			of[out->n_groups++] = of[i];
	qsort(of, out->n_groups, sizeof(*of), by_time);
	for (i = 0; i < m->n_tasks; i++)
		out->order[i] = (uint32_t)i;
	qsort_r(out->order, m->n_tasks, sizeof(*out->order), by_waits, (void *)m);
	return 0;
}

void sp_tasks_free(struct sp_tasks *t)
{
	free(t->groups);
	free(t->order);
	free(t->waits);
	memset(t, 0, sizeof(*t));
}
