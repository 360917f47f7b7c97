/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"

static bool reserve(struct sp_view_samples *l, size_t *have)
{
	const size_t more = *have ? *have * 2 : 1024;
	void *time = realloc(l->time, more * sizeof(*l->time)), *until, *path, *cpu, *state;

	l->time = time ? time : l->time;
	until = time ? realloc(l->until, more * sizeof(*l->until)) : NULL;
	l->until = until ? until : l->until;
	path = until ? realloc(l->path, more * sizeof(*l->path)) : NULL;
	l->path = path ? path : l->path;
	cpu = path ? realloc(l->cpu, more * sizeof(*l->cpu)) : NULL;
	l->cpu = cpu ? cpu : l->cpu;
	state = cpu ? realloc(l->state, more * sizeof(*l->state)) : NULL;
	l->state = state ? state : l->state;
	*have = state ? more : *have;
	return state;
}

static int read_all(struct sp_view_samples *l, struct sp_sampled_events *s, uint64_t period, struct sp_err *e)
{
	struct sp_sample x[256];
	size_t have = 0;
	uint64_t again = 0;
	long n, i;

	while ((n = sp_sampled_read(s, x, sizeof(x) / sizeof(*x), e)) > 0)
		for (i = 0; i < n; i++) {
			if (x[i].end) {
				l->end = x[i].time;
				again = x[i].again;
				continue;
			}
			if (l->n == have && !reserve(l, &have))
				return sp_fail(e, ENOMEM, "not enough memory");
			if (l->n)
				l->until[l->n - 1] = sp_sampled_until(l->time[l->n - 1], x[i].time, x[i].again, period);
			l->time[l->n] = x[i].time;
			l->path[l->n] = x[i].path;
			l->cpu[l->n] = x[i].cpu < UINT32_MAX ? (uint32_t)x[i].cpu : UINT32_MAX;
			l->state[l->n++] = x[i].state;
		}
	if (l->n && l->end < l->time[l->n - 1])
		l->end = l->time[l->n - 1];
	if (l->n)
		l->until[l->n - 1] = sp_sampled_until(l->time[l->n - 1], l->end, again, period);
	return (int)n;
}

/* Finds the path with the most time in the samples [first, first + SP_VIEW_SAMPLES_BLOCK). */
static void longest(const struct sp_view_samples *l, size_t first, struct sp_view_samples_block *b)
{
	uint64_t ns[SP_VIEW_SAMPLES_BLOCK];
	uint32_t paths[SP_VIEW_SAMPLES_BLOCK];
	size_t i, k, n = 0;

	for (i = first; i < first + SP_VIEW_SAMPLES_BLOCK; i++) {
		const uint64_t lasted = sp_view_samples_until(l, i) - l->time[i];

		b->state[l->state[i]] += lasted;
		for (k = 0; k < n && paths[k] != l->path[i]; k++)
			;
		if (k == n) {
			paths[n] = l->path[i];
			ns[n++] = 0;
		}
		ns[k] += lasted;
	}
	b->path = paths[0];
	b->ns = ns[0];
	for (k = 1; k < n; k++)
		if (ns[k] > b->ns) {
			b->path = paths[k];
			b->ns = ns[k];
		}
}

int sp_view_samples_sum_up(struct sp_view_samples *l)
{
	const size_t n = l->n / SP_VIEW_SAMPLES_BLOCK;
	size_t i;

	l->blocks = calloc(n + 1, sizeof(*l->blocks));
	for (i = 0; i < n && l->blocks; i++)
		longest(l, i * SP_VIEW_SAMPLES_BLOCK, &l->blocks[i]);
	return l->blocks ? 0 : -1;
}

int sp_view_samples_read(struct sp_view_samples *l, const struct sp_model *m, uint32_t location, struct sp_err *e)
{
	struct sp_sampled_events *s;
	int rc;

	*l = (struct sp_view_samples){.end = m->locations[location].end};
	if (sp_sampled_open(&s, m, location, e))
		return -1;
	rc = s ? read_all(l, s, sp_sampled_period(&m->processes[m->locations[location].process]), e) : 0;
	sp_sampled_events_close(s);
	if (rc == 0 && sp_view_samples_sum_up(l))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	return rc;
}

void sp_view_samples_free(struct sp_view_samples *l)
{
	free(l->time);
	free(l->until);
	free(l->path);
	free(l->cpu);
	free(l->state);
	free(l->blocks);
	*l = (struct sp_view_samples){.n = 0};
}

size_t sp_view_samples_find(const struct sp_view_samples *l, uint64_t at)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (sp_view_samples_until(l, mid) > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* ---- drawing ---- */

void sp_view_samples_walk(const struct sp_view_samples *l, uint64_t begin, uint64_t end, uint32_t pixels,
                          sp_view_samples_fn *report, void *arg)
{
	const double pixel = (double)(end - begin) / pixels;
	size_t k = sp_view_samples_find(l, begin);

	while (k < l->n && l->time[k] < end) {
		const size_t last = k + SP_VIEW_SAMPLES_BLOCK - 1;
		const uint64_t from = l->time[k] > begin ? l->time[k] : begin;
		uint64_t to, state[SP_SAMPLE_STATES] = {0};

		if (k % SP_VIEW_SAMPLES_BLOCK == 0 && last < l->n && l->time[k] >= begin &&
		    sp_view_samples_until(l, last) <= end) {
			const struct sp_view_samples_block *b = &l->blocks[k / SP_VIEW_SAMPLES_BLOCK];

			to = sp_view_samples_until(l, last);
			if ((uint32_t)((double)(from - begin) / pixel) == (uint32_t)((double)(to - begin) / pixel)) {
				report(arg, from, to, b->path, b->ns, b->state, SP_VIEW_SAMPLES_BLOCK);
				k += SP_VIEW_SAMPLES_BLOCK;
				continue;
			}
		}
		to = sp_view_samples_until(l, k) < end ? sp_view_samples_until(l, k) : end;
		if (to > from) {
			state[l->state[k]] = to - from;
			report(arg, from, to, l->path[k], to - from, state, 1);
		}
		k++;
	}
}

struct sharing {
	uint64_t begin;
	double pixel; /* ns */
	uint32_t pixels;
	float (*share)[SP_SAMPLE_STATES];
};

/* Combined samples are within one pixel; a single sample may span several. */
static void add_shares(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                       uint64_t samples)
{
	const struct sharing *s = arg;
	const double from = (double)(begin - s->begin) / s->pixel, to = (double)(end - s->begin) / s->pixel;
	uint32_t at = (uint32_t)from;
	int i;

	(void)path;
	(void)ns;
	for (at = at < s->pixels ? at : s->pixels - 1; at < s->pixels && (at < to || samples > 1); at++) {
		const double part = fmin(at + 1, to) - fmax(at, from);

		for (i = 0; i < SP_SAMPLE_STATES; i++)
			if (state[i])
				s->share[at][i] += (float)(samples > 1 ? (double)state[i] / s->pixel : fmax(part, 0));
		if (samples > 1)
			break;
	}
}

void sp_view_samples_shares(const struct sp_view_samples *l, uint64_t begin, uint64_t end, uint32_t pixels,
                            float (*share)[SP_SAMPLE_STATES])
{
	struct sharing s = {begin, (double)(end - begin) / pixels, pixels, share};
	uint32_t at;
	int i;

	memset(share, 0, pixels * sizeof(*share));
	sp_view_samples_walk(l, begin, end, pixels, add_shares, &s);
	for (at = 0; at < pixels; at++)
		for (i = 0; i < SP_SAMPLE_STATES; i++)
			share[at][i] = fminf(share[at][i], 1); /* sums are rounded */
}

bool sp_view_samples_only(const struct sp_model *m, uint32_t location)
{
	const struct sp_process *p = &m->processes[m->locations[location].process];

	return p->sampled && !p->traced;
}

/* ---- sums ---- */

void sp_view_samples_range(const struct sp_view_samples *l, uint64_t begin, uint64_t end, struct sp_value *values)
{
	size_t k;

	for (k = sp_view_samples_find(l, begin); k < l->n && l->time[k] < end; k++) {
		const uint64_t from = l->time[k] > begin ? l->time[k] : begin;
		const uint64_t to = sp_view_samples_until(l, k) < end ? sp_view_samples_until(l, k) : end;

		if (l->path[k] && to > from)
			values[l->path[k]].excl += (double)(to - from);
	}
}

enum sp_view_samples_metric sp_view_samples_metric_of(const struct sp_metric *x)
{
	static const char *const names[SP_VIEW_SAMPLES_NONE] = {
	    "sampled_running",     "sampled_gil",     "sampled_syscall", "sampled_idle",
	    "sampled_object_lock", "sampled_stopped", "sampled_cpu",
	};
	int i = 0;

	if (x->kind != SP_METRIC_SAMPLE)
		return SP_VIEW_SAMPLES_NONE;
	while (i < SP_VIEW_SAMPLES_NONE && strcmp(x->name.p, names[i]) != 0)
		i++;
	return (enum sp_view_samples_metric)i;
}

void sp_view_samples_grown(const struct sp_view_samples *l, uint64_t begin, uint64_t end,
                           enum sp_view_samples_metric which, double *grown, size_t width)
{
	size_t k;

	for (k = sp_view_samples_find(l, begin); k < l->n && l->time[k] < end; k++) {
		const uint64_t from = l->time[k] > begin ? l->time[k] : begin;
		const uint64_t to = sp_view_samples_until(l, k) < end ? sp_view_samples_until(l, k) : end;

		if (which == SP_VIEW_SAMPLES_CPU)
			grown[l->path[k] * width] += l->time[k] > begin ? l->cpu[k] : 0;
		else if (l->state[k] == which && to > from)
			grown[l->path[k] * width] += (double)(to - from);
	}
}
