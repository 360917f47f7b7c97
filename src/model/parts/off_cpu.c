/* SPDX-License-Identifier: BSD-3-Clause */
/* Off-CPU time of the threads: record/off_cpu.h says how it is measured. */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/parts/wait_names.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"

static uint32_t metric(struct sp_builder *b, const char *name, const char *what)
{
	return sp_build_metric(b, &(struct sp_metric){.name = {name, strlen(name)},
	                                              .unit = {"s", 1},
	                                              .what = {what, strlen(what)},
	                                              .exponent = -9,
	                                              .kind = SP_METRIC_OFF_CPU,
	                                              .own = true});
}

/* The value of a META record of the process; NULL: no such record. */
static const char *meta_of(const struct sp_process *p, const char *key)
{
	size_t i;

	for (i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, key) == 0)
			return p->meta[i].value.p;
	return NULL;
}

bool sp_off_cpu_in_trace(const struct sp_model *m)
{
	size_t i;

	for (i = 0; i < m->n_processes; i++) {
		const struct sp_process *p = &m->processes[i];

		if (p->traced && meta_of(p, SP_META_OFF_CPU) && !meta_of(p, SP_META_OFF_CPU_TRACE))
			return false;
	}
	return true;
}

int sp_build_off_cpu_metrics(struct sp_builder *b, struct sp_loading *l)
{
	const struct sp_process *p = &l->process;
	struct sp_off_cpu_metrics *o = &l->off_cpu;
	const char *gap = meta_of(p, SP_META_OFF_CPU);

	if (gap)
		o->gap = strtoull(gap, NULL, 10);
	if (!o->gap)
		return 0;
	if (metric(b, "running", "time in which the thread ran") >= b->m->n_metrics)
		return -1;
	o->waiting = metric(b, "waiting", "time in which the thread waited");
	o->preempted = metric(b, "preempted", "time in which the thread could run, but others had the processor");
	return o->waiting < b->m->n_metrics && o->preempted < b->m->n_metrics ? 0 : -1;
}

/* Returns the index + 1 of a metric; 0: the model does not have it. */
static size_t find(const struct sp_model *m, enum sp_metric_kind kind, const char *name)
{
	size_t i;

	for (i = 0; i < m->n_metrics; i++)
		if (m->metrics[i].kind == kind && strcmp(m->metrics[i].name.p, name) == 0)
			return i + 1;
	return 0;
}

struct sp_off_cpu_columns sp_off_cpu_columns(const struct sp_model *m)
{
	static const char *const sampled[SP_WAITING] = {"sampled_idle", "sampled_gil", "sampled_object_lock",
	                                                "sampled_stopped"};
	struct sp_off_cpu_columns found = {.waiting = {find(m, SP_METRIC_OFF_CPU, "waiting")},
	                                   .preempted = find(m, SP_METRIC_OFF_CPU, "preempted"),
	                                   .running = find(m, SP_METRIC_OFF_CPU, "running")};

	if (found.waiting[0])
		return found;
	for (int i = 0; i < SP_WAITING; i++)
		found.waiting[i] = find(m, SP_METRIC_SAMPLE, sampled[i]);
	return found;
}

bool sp_off_cpu_split(const struct sp_off_cpu_columns *c)
{
	for (int i = 0; i < SP_WAITING; i++)
		if (c->waiting[i])
			return true;
	return false;
}

bool sp_off_cpu_columns_fit(const struct sp_off_cpu_columns *c, size_t n)
{
	for (int i = 0; i < SP_WAITING; i++)
		if (c->waiting[i] > n)
			return false;
	return c->preempted <= n && c->running <= n;
}

static double value_of(const uint64_t *metrics, size_t column)
{
	return column ? (double)metrics[column - 1] : 0;
}

struct sp_off_cpu sp_off_cpu_within(double excl, double waiting, double preempted)
{
	const double all = fmax(0, excl);

	waiting = fmin(all, waiting);
	return (struct sp_off_cpu){waiting, fmin(all - waiting, preempted)};
}

struct sp_off_cpu sp_off_cpu_of(const struct sp_off_cpu_columns *c, const uint64_t *metrics, double excl)
{
	double waiting = 0;

	for (int i = 0; i < SP_WAITING; i++)
		waiting += value_of(metrics, c->waiting[i]);
	return sp_off_cpu_within(excl, waiting, value_of(metrics, c->preempted));
}

double sp_off_cpu_rest(double excl, struct sp_off_cpu off)
{
	return fmax(0, excl - off.waiting - off.preempted);
}

double sp_running_of(const struct sp_off_cpu_columns *c, const uint64_t *metrics, double excl)
{
	return sp_off_cpu_rest(excl, sp_off_cpu_of(c, metrics, excl));
}

struct adding {
	const struct sp_builder *b;
	const struct sp_loading *l;
	struct sp_raw_thread *t;
	sp_node_row_fn *row;
	void *arg;
	uint64_t lost;
};

/* Adds a row. No thread is off the processor for longer than it was recorded: more is damage. */
static int add(struct adding *a, const struct sp_raw_off_cpu *r, uint64_t longest)
{
	uint64_t *values;
	uint32_t path;

	if (!r->count)
		return 0; /* not written completely yet */
	if (a->row(a->arg, sp_raw_node_index(a->l->source->raw, a->t, r->node), &path, &values))
		return -1;
	if (path == SP_NONE && longest == UINT64_MAX)
		return 0; /* the root */
	if (path == SP_NONE || r->waiting > longest || r->preempted > longest) {
		a->lost++;
		return 0;
	}
	const struct sp_model *m = a->b->m;
	const bool yields = path < m->n_paths && sp_region_yields(&m->regions[m->paths[path].region]);
	values[a->l->off_cpu.waiting] += r->waiting + (yields ? r->preempted : 0);
	values[a->l->off_cpu.preempted] += yields ? 0 : r->preempted;
	return 0;
}

/* Whether a node's function is one that waits. Returns -1 if there is no memory. */
static int waits(struct adding *a, uint64_t node)
{
	const struct sp_model *m = a->b->m;
	const struct sp_region *r;
	const char *const *name = sp_wait_names;
	uint64_t *values;
	uint32_t path;

	if (a->row(a->arg, sp_raw_node_index(a->l->source->raw, a->t, node), &path, &values))
		return -1;
	if (path == SP_NONE)
		return 0;
	r = &m->regions[m->paths[path].region];
	while (*name && fnmatch(*name, r->name.p, 0) != 0 &&
	       (r->kind != SP_REGION_C || fnmatch(*name, r->qualname.p, 0) != 0))
		name++;
	return *name != NULL;
}

/* Adds the time off the processor since the thread's last event: for the innermost open call. Its processor clock was
 * read when recording ended. A process that was killed, or still runs, did not read it: then the whole time counts as
 * waiting in functions that are known to wait, and as running in others. */
static int add_last(struct adding *a, const struct sp_raw_thread_cpu *c, uint64_t end)
{
	const struct sp_clock *clock = &a->l->source->clock;
	const uint64_t since = a->t->state.last > c->ticks ? a->t->state.last : c->ticks;
	const uint64_t gap = end > since ? end - since : 0, wall = end > c->ticks ? end - c->ticks : 0;
	const struct sp_raw_frame *frames;
	double off = (double)gap * clock->ns;
	size_t n;
	int rc;

	if (gap <= a->l->off_cpu.gap || (c->end && c->end < c->cpu))
		return 0;
	frames = sp_raw_open_frames(a->l->source->raw, a->t, &n);
	if (n == 0)
		return 0;
	if (c->end) {
		off = fmin(off, (double)wall * clock->ns - (double)(c->end - c->cpu));
	} else {
		rc = waits(a, frames[n - 1].node);
		if (rc <= 0)
			return rc;
	}
	off = fmin(off, 0x1p62); /* a damaged clock */
	if (off < 1)
		return 0;
	if (!a->t->state.lost_events) /* otherwise it was after a later event than the last one in the trace */
		a->l->places[a->t - a->l->source->raw->threads].waiting = (uint64_t)off;
	return add(a, &(struct sp_raw_off_cpu){.node = frames[n - 1].node, .waiting = (uint64_t)off, .count = 1},
	           UINT64_MAX);
}

int sp_build_off_cpu(const struct sp_builder *b, const struct sp_loading *l, struct sp_raw_thread *t, uint64_t end,
                     sp_node_row_fn *row, void *arg, double *cpu)
{
	struct sp_raw_file *f = l->source->raw;
	const struct sp_raw_part *p = f->parts + t->off_cpu.first, *last = p + t->off_cpu.count;
	const uint64_t ticks = end > t->state.begin ? end - t->state.begin : 0;
	const uint64_t longest = (uint64_t)fmin((double)ticks * l->source->clock.ns * 1.01 + 1e6, 0x1p62);
	struct adding a = {b, l, t, row, arg, 0};
	struct sp_raw_thread_cpu c;
	struct sp_raw_off_cpu r;
	size_t i;
	int rc = 0;

	if (!l->off_cpu.gap || t->off_cpu.count == 0)
		return 0;
	for (; p < last && rc == 0; p++)
		for (i = p->seq == 0; i < p->used && rc == 0; i++) {
			memcpy(&r, (const struct sp_raw_off_cpu *)sp_raw_payload(f, p) + i, sizeof(r));
			rc = add(&a, &r, longest);
		}
	p = f->parts + t->off_cpu.first;
	if (rc == 0 && p->seq == 0 && p->used > 0) {
		memcpy(&c, sp_raw_payload(f, p), sizeof(c));
		if ((c.end ? c.end : c.cpu) >= c.begin)
			*cpu = (double)((c.end ? c.end : c.cpu) - c.begin);
		rc = add_last(&a, &c, end);
	}
	if (a.lost)
		sp_raw_report(f, f->parts[t->off_cpu.first].offset,
		              "%" PRIu64 " call paths of location %" PRIu32 " where it did not run are damaged", a.lost,
		              t->state.id);
	return rc;
}
