/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;
enum { MAX_TASKS = 1000 }; /* maximum number of tasks without the parameter rows */

struct step {
	uint64_t begin, end, n, ran;
	uint32_t task;
};

struct steps {
	struct step *p; /* owned */
	size_t n, capacity;
	bool failed;
};

static void add(void *arg, uint32_t task, uint64_t begin, uint64_t end, uint64_t n, uint64_t ran)
{
	struct steps *k = arg;

	if (!sp_grow(&k->p, k->n, &k->capacity, sizeof(*k->p))) {
		k->failed = true;
		return;
	}
	k->p[k->n++] = (struct step){begin, end, n, ran, task};
}

static int put_rows(const struct steps *k, struct sp_columns *out)
{
	uint32_t *task = sp_columns_reserve(out, "task", SP_COLUMN_U32, k->n);
	double *begin = sp_columns_reserve(out, "begin", SP_COLUMN_F64, k->n);
	double *end = sp_columns_reserve(out, "end", SP_COLUMN_F64, k->n);
	uint32_t *steps = sp_columns_reserve(out, "steps", SP_COLUMN_U32, k->n);
	float *busy = sp_columns_reserve(out, "busy", SP_COLUMN_F32, k->n);
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < k->n; i++) {
		const struct step *s = &k->p[i];

		task[i] = s->task;
		begin[i] = (double)s->begin * S;
		end[i] = (double)s->end * S;
		steps[i] = s->n < UINT32_MAX ? (uint32_t)s->n : UINT32_MAX;
		busy[i] = s->end > s->begin ? (float)((double)s->ran / (double)(s->end - s->begin)) : 1;
	}
	return 0;
}

/* Several threads of a process may run a task. */
static int one(struct sp_lod *p, const struct sp_model *m, const struct sp_view_query *q, uint32_t task,
               const struct sp_lod_asked *asked, struct steps *k, struct sp_err *e)
{
	const struct sp_process *of = &m->processes[m->tasks[task].process];
	uint32_t l;

	for (l = of->first_location; l < of->first_location + of->locations; l++)
		if (sp_span_asks(m, q, l) && sp_lod_steps(p, l, task, asked, add, k, e))
			return -1;
	return 0;
}

int sp_view_steps(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_lod_asked asked = {.counter = SP_NONE};
	uint32_t first, end, task, row = 0;
	struct steps k = {.n = 0};
	struct sp_lod *p;
	struct sp_span span;
	int rc = 0;

	if (sp_span_of(&span, v->m, q, e) || sp_span_rows(q, &first, &end, e) || sp_view_lod(v, &p, e))
		return -1;
	asked.begin = span.begin;
	asked.end = span.end;
	asked.pixels = span.pixels;
	if (!q->rows)
		end = MAX_TASKS;
	for (task = 0; task < v->m->n_tasks && rc == 0 && !k.failed; task++) {
		if (q->process != SP_NONE && v->m->tasks[task].process != q->process)
			continue;
		if (row >= first && row < end)
			rc = one(p, v->m, q, task, &asked, &k, e);
		row++;
	}
	if (rc == 0 && (k.failed || put_rows(&k, out)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "tasks", row);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	free(k.p);
	return rc;
}
