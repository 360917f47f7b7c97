/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of tasks: the times at which a location ran each task. */
#include <stdlib.h>

#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/make.h"
#include "model/lod/opened.h"
#include "model/lod/read.h"
#include "model/model.h"
#include "model/str.h"

/* ---- making ---- */

bool sp_lod_step(struct sp_lod_maker *x, uint64_t time, uint32_t task)
{
	struct sp_lod_step *s;

	if (x->task != SP_NONE) {
		s = sp_lod_more(&x->out->steps, 1);
		if (!s)
			return false;
		*s = (struct sp_lod_step){.begin = x->task_begin, .end = time, .task = x->task};
	}
	x->task = task;
	x->task_begin = time;
	return true;
}

static int by_task(const void *a, const void *b)
{
	const struct sp_lod_step *s = a, *t = b;

	if (s->task != t->task)
		return s->task < t->task ? -1 : 1;
	if (s->begin != t->begin)
		return s->begin < t->begin ? -1 : 1;
	return s->end < t->end ? -1 : s->end > t->end;
}

bool sp_lod_steps_finish(struct sp_lod_maker *x, uint64_t end)
{
	struct sp_lod_step *s;
	size_t i;

	if (!sp_lod_step(x, end, SP_NONE))
		return false;
	s = x->out->steps.p;
	if (x->out->steps.n)
		qsort(s, x->out->steps.n, sizeof(*s), by_task);
	for (i = 1; i < x->out->steps.n; i++)
		if (s[i].task == s[i - 1].task)
			s[i].ran = s[i - 1].ran + (s[i - 1].end - s[i - 1].begin);
	return true;
}

bool sp_lod_steps_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	size_t i;

	for (i = 0; i < l->place->steps.n; i++) {
		const struct sp_lod_step *s = &l->steps[i], *before = s - 1;

		if (s->task >= m->n_tasks || s->end < s->begin || s->end > l->place->end)
			return false;
		if (i && before->task == s->task
		        ? before->end > s->begin || s->ran != before->ran + (before->end - before->begin)
		        : (i && before->task > s->task) || s->ran)
			return false;
	}
	return true;
}

/* ---- queries ---- */

/* The first step in [i, n) of this task or a later one; steps of this task that end (begins: that begin) before `time`
 * are skipped. */
static size_t step_at(const struct sp_lod_step *s, size_t i, size_t n, uint32_t task, uint64_t time, bool begins)
{
	size_t mid;

	while (i < n) {
		mid = i + (n - i) / 2;
		if (s[mid].task < task || (s[mid].task == task && (begins ? s[mid].begin : s[mid].end) < time))
			i = mid + 1;
		else
			n = mid;
	}
	return i;
}

static uint64_t ran(const struct sp_lod_step *first, const struct sp_lod_step *last)
{
	return last->ran + (last->end - last->begin) - first->ran;
}

int sp_lod_steps(struct sp_lod *p, uint32_t location, uint32_t task, const struct sp_lod_asked *q,
                 sp_lod_step_fn *report, void *arg, struct sp_err *e)
{
	const uint64_t pixel = (q->end - q->begin) / q->pixels + 1;
	const struct sp_lod_step *s;
	struct sp_lod_location l;
	size_t i, next, n;

	if (!sp_lod_of(p, location, &l))
		return sp_lod_damaged(e);
	s = l.steps;
	n = l.place->steps.n;
	for (i = step_at(s, 0, n, task, q->begin, false); i < n && s[i].task == task && s[i].begin <= q->end;
	     i = next) {
		/* steps that begin within a pixel, except for a last one that is wider */
		next = s[i].end - s[i].begin >= pixel ? i + 1 : step_at(s, i + 1, n, task, s[i].begin + pixel, true);
		next -= next > i + 1 && s[next - 1].end - s[next - 1].begin >= pixel;
		report(arg, task, s[i].begin, s[next - 1].end, next - i, ran(&s[i], &s[next - 1]));
	}
	return 0;
}
