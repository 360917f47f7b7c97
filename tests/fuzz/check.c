/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "format/format.h"
#include "model/comm.h"
#include "model/event.h"
#include "model/memory.h"
#include "model/model.h"
#include "model/mpi/critical.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/memory.h"
#include "model/report/report.h"
#include "model/report/tasks.h"
#include "model/str.h"
#include "model/task.h"

static bool known_mpi(const struct sp_model *m, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;

	if (ev->kind >= SP_EVENT_WIN_CREATE && ev->kind != SP_EVENT_RMA_COLLECTIVE_BEGIN && ev->id >= m->n_wins)
		return false;
	if (ev->kind < SP_EVENT_WIN_CREATE && ev->id && ev->id >= m->n_comms)
		return false;
	if (ev->kind == SP_EVENT_RMA_GROUP_SYNC)
		return x->group < m->n_groups;
	if (x->peers && ((x->peer >= x->peers->n && x->peer && x->peer != SP_NONE) ||
	                 (x->root > 0 && (uint32_t)x->root >= x->peers->n)))
		return false;
	return true;
}

/* an index below n, or SP_NONE */
static bool is(uint32_t i, size_t n)
{
	return i < n || i == SP_NONE;
}

static bool known_task(const struct sp_model *m, const struct sp_event *ev)
{
	if (ev->kind <= SP_EVENT_THREAD_JOIN)
		return is(ev->id, m->n_locations);
	if (ev->kind == SP_EVENT_TASK_SWITCH)
		return is(ev->id, m->n_tasks);
	if (ev->kind == SP_EVENT_TASK_AWAITS &&
	    !(is(ev->u.pair.first, m->n_regions) && is(ev->u.pair.second, m->n_strings)))
		return false;
	return ev->id < m->n_tasks;
}

static bool known_wait(const struct sp_model *m, const struct sp_event *ev)
{
	if (ev->kind >= SP_EVENT_LOCK_ACQUIRE)
		return ev->id < m->n_locks;
	if (!is(ev->id, m->n_locks) || ev->u.pair.first >= SP_LOCK_KINDS)
		return false;
	return ev->kind == SP_EVENT_WAIT_BEGIN ? is(ev->u.pair.second, m->n_lock_waits)
	                                       : ev->u.pair.second <= SP_WAIT_NONE;
}

/* whether all objects that an event refers to are in the model */
static bool known(const struct sp_model *m, const struct sp_event *ev)
{
	if (ev->kind <= SP_EVENT_INHERIT)
		return ev->id < m->n_regions;
	if (ev->kind == SP_EVENT_METRIC)
		return ev->id < m->n_metrics;
	if (ev->kind < SP_EVENT_IO_CREATE)
		return true;
	if (ev->kind == SP_EVENT_IO_DELETE)
		return ev->id < m->n_strings;
	if (ev->kind <= SP_EVENT_IO_ISSUED)
		return ev->id < m->n_io_handles && ev->u.io->to < m->n_io_handles && ev->u.io->mode != UINT32_MAX - 7;
	if (ev->kind <= SP_EVENT_RMA_LOCK)
		return known_mpi(m, ev);
	if (ev->kind >= SP_EVENT_WAIT_BEGIN)
		return known_wait(m, ev);
	return ev->kind >= SP_EVENT_GIL_WAIT || known_task(m, ev);
}

static void check_tasks(const struct sp_model *m)
{
	struct sp_err e = {.code = 0};
	struct sp_tasks found;
	size_t i, k;

	for (i = 0; i < m->n_tasks; i++) {
		const struct sp_task *t = &m->tasks[i];

		if (t->process >= m->n_processes || !is(t->region, m->n_regions) || !is(t->location, m->n_locations) ||
		    !is(t->creator, m->n_tasks) || !is(t->by, m->n_locations) || t->state >= SP_TASK_STATES)
			abort();
		for (k = 0; k < t->n_waits; k++)
			if (!is(t->waits[k].region, m->n_regions) || !is(t->waits[k].kind, m->n_strings))
				abort();
	}
	for (i = 0; i < m->n_task_awaited; i++)
		if (!is(m->task_awaited[i].region, m->n_regions) || !is(m->task_awaited[i].wait.region, m->n_regions) ||
		    !is(m->task_awaited[i].wait.kind, m->n_strings))
			abort();
	if (sp_tasks_find(&found, m, &e) == 0)
		sp_tasks_free(&found);
}

static void check_stack(const struct sp_model *m, const struct sp_stack *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (s->regions[i] >= m->n_regions)
			abort();
}

static void check_locks(const struct sp_model *m)
{
	struct sp_arena arena = {.blocks = NULL};
	struct sp_str *names;
	size_t i, k;

	for (i = 0; i < m->n_locks; i++) {
		const struct sp_lock *o = &m->locks[i];

		if (o->process >= m->n_processes || o->kind >= SP_LOCK_KINDS || !is(o->type, m->n_strings) ||
		    !is(o->user, m->n_locks) || !is(o->made_file, m->n_strings) || !is(o->made_by, m->n_locations) ||
		    !is(o->holder, m->n_locations))
			abort();
		check_stack(m, &o->holder_stack);
	}
	for (i = 0; i < m->n_lock_waits; i++) {
		const struct sp_lock_wait *w = &m->lock_waits[i];

		if (w->location >= m->n_locations || w->kind >= SP_LOCK_KINDS || !is(w->lock, m->n_locks) ||
		    !is(w->file, m->n_strings) || !is(w->holder, m->n_locations))
			abort();
		check_stack(m, &w->stack);
		check_stack(m, &w->holder_stack);
	}
	for (i = 0; i < m->n_lock_cycles; i++)
		for (k = 0; k < m->lock_cycles[i].n; k++)
			if (m->lock_cycles[i].links[k].location >= m->n_locations ||
			    m->lock_cycles[i].links[k].lock >= m->n_locks)
				abort();
	for (i = 0; i < m->n_task_awaited; i++)
		check_stack(m, &m->task_awaited[i].stack);
	if (sp_lock_names(&names, m, &arena) == 0)
		for (i = 0; i < m->n_locks; i++)
			if (strlen(names[i].p) != names[i].n)
				abort();
	sp_arena_free(&arena);
}

static void check_memory(const struct sp_model *m)
{
	size_t i;

	for (i = 0; m->sites && i < m->n_sites; i++) {
		const struct sp_site *s = &m->sites[i];

		if (s->location >= m->n_locations || s->path >= m->n_paths || !is(s->region, m->n_regions) ||
		    s->kind >= SP_RAW_HEAP_KINDS || sp_site_kept(m, s) > SP_KEPT_GROWING)
			abort();
	}
	for (i = 0; m->heaps && i < m->n_processes; i++)
		if (!is(m->heaps[i].passed_path, m->n_paths) || !is(m->heaps[i].passed_region, m->n_regions))
			abort();
}

static void check_group(const struct sp_model *m, const struct sp_group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->processes[i] != SP_NONE && g->processes[i] >= m->n_processes)
			abort();
}

static void check_mpi(const struct sp_model *m)
{
	size_t i;

	for (i = 0; i < m->n_comms; i++) {
		const struct sp_comm *c = &m->comms[i];

		check_group(m, &c->group);
		check_group(m, &c->remote);
		if ((c->parent != SP_NONE && c->parent >= m->n_comms) ||
		    (c->cart_dims && (!c->cart || !c->coordinates)))
			abort();
	}
	for (i = 0; i < m->n_wins; i++)
		if (m->wins[i].comm >= m->n_comms)
			abort();
	for (i = 0; i < m->n_groups; i++)
		check_group(m, &m->groups[i]);
	for (i = 0; i < m->n_processes; i++)
		if (m->processes[i].rank != SP_NONE && m->processes[i].world_index >= m->n_worlds)
			abort();
}

static void check_paths(const struct sp_model *m)
{
	size_t i, k;

	for (i = 1; i < m->n_paths; i++) {
		const struct sp_path *p = &m->paths[i];

		if (p->parent >= i || p->region >= m->n_regions || m->regions[p->region].kind == SP_REGION_PARAMETER ||
		    (p->parameter != SP_NONE && p->parameter >= m->n_parameter_values))
			abort();
	}
	for (i = 0; i < m->n_parameter_values; i++)
		if (m->parameter_values[i].parameter >= m->n_parameters ||
		    (m->parameter_values[i].before != SP_NONE && m->parameter_values[i].before >= i))
			abort();
	for (i = 0; i < m->n_locations; i++)
		for (k = 1; k < m->locations[i].values; k++)
			if (m->values[m->locations[i].first_value + k - 1].path >=
			    m->values[m->locations[i].first_value + k].path)
				abort();
}

static void read_events(const struct sp_model *m)
{
	static struct sp_event ev[256];
	struct sp_events *s;
	struct sp_err e = {.code = 0};
	uint64_t last;
	long n, i, depth, waits;
	uint32_t l;

	for (l = 0; l < m->n_locations; l++) {
		if (sp_events_open(&s, m, l, &e))
			continue;
		for (depth = waits = 0, last = 0; (n = sp_events_read(s, ev, 256, &e)) > 0;)
			for (i = 0; i < n; i++) {
				depth += ev[i].kind == SP_EVENT_ENTER || ev[i].kind == SP_EVENT_RESUME ||
				         ev[i].kind == SP_EVENT_INHERIT;
				depth -= ev[i].kind == SP_EVENT_LEAVE || ev[i].kind == SP_EVENT_SUSPEND;
				waits += ev[i].kind == SP_EVENT_WAIT_BEGIN;
				waits -= ev[i].kind == SP_EVENT_WAIT_END;
				if (depth < 0 || waits < 0 || ev[i].time < last || !known(m, &ev[i]))
					abort();
				last = ev[i].time;
			}
		if (n == 0 && (depth != 0 || waits != 0))
			abort();
		sp_events_close(s);
	}
}

static void report(const struct sp_model *m, uint32_t location)
{
	struct sp_tree_options o = {.sort = SP_SORT_MEAN, .limit = 10};
	struct sp_flat_row *flat = NULL;
	struct sp_tree_row *tree = NULL;
	struct sp_edge *edges = NULL;
	struct sp_io_file *files = NULL;
	struct sp_sum *sums = NULL;
	struct sp_err e = {.code = 0};
	struct sp_view v;
	size_t n;

	if (sp_view_open(&v, m, SP_NONE, location, &e))
		return;
	sp_report_flat(&v, SP_SORT_EXCL, 0, "*", &flat, &n, &e);
	sp_report_tree(&v, &o, &tree, &n, &e);
	sp_report_edges(&v, "a", &edges, &n, &e);
	sp_metric_regions(&v, &sums, &e);
	sp_report_io(m, &files, &n, &e);
	free(flat);
	free(tree);
	free(edges);
	free(sums);
	free(files);
	sp_view_close(&v);
}

/* Pieces of the critical path are contiguous, and no wait is longer than the run. */
static void analyse(const struct sp_model *m)
{
	struct sp_messages x = {.m = NULL};
	struct sp_waits w = {.rows = NULL};
	struct sp_critical c = {.pieces = NULL};
	struct sp_message_row *rows = NULL;
	struct sp_err e = {.code = 0};
	size_t n, i;

	if (sp_messages_read(&x, m, &e) == 0 && sp_waits_find(&w, &x, &e) == 0 &&
	    sp_critical_find(&c, &x, &w, 0.1, &e) == 0) {
		sp_messages_rows(&x, SP_BY_PAIR | SP_BY_COMM | SP_BY_PATH, &rows, &n, &e);
		free(rows);
		for (i = 0; i < w.n_rows; i++)
			if (w.rows[i].path >= m->n_paths || w.rows[i].location >= m->n_locations ||
			    (w.rows[i].on != SP_NONE && w.rows[i].on >= m->n_locations) || !(w.rows[i].time > 0))
				abort();
		for (i = 1; i < c.n_pieces; i++)
			if (c.pieces[i].from != c.pieces[i - 1].to)
				abort();
	}
	sp_critical_free(&c);
	sp_waits_free(&w);
	sp_messages_free(&x);
}

void check_model(const struct sp_model *m)
{
	struct sp_err e = {.code = 0};

	if (sp_model_rows(m, &e))
		return;
	check_paths(m);
	check_mpi(m);
	check_tasks(m);
	check_locks(m);
	check_memory(m);
	read_events(m);
	report(m, SP_NONE);
	if (m->n_locations)
		report(m, 0);
	analyse(m);
	check_view(m);
}
