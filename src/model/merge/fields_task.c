/* SPDX-License-Identifier: BSD-3-Clause */
/* Serializes tasks: those of the model, and those of one process during a merge. */
#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/merge/fields.h"
#include "model/model.h"
#include "model/str.h"
#include "model/task.h"

/* Upper limits of the indices (exclusive). */
struct limits {
	size_t regions, strings, processes, locations, tasks;
};

static void wait(struct sp_pack *k, const struct limits *l, struct sp_task_wait *w)
{
	sp_pack_index_or_none(k, &w->region, l->regions);
	sp_pack_index_or_none(k, &w->kind, l->strings);
	sp_pack_number(k, w->count);
	sp_pack_number(k, w->ns);
}

static void task(struct sp_pack *k, const struct limits *l, struct sp_task *t)
{
	size_t n = t->n_waits, i;

	sp_pack_index(k, &t->process, l->processes);
	sp_pack_number(k, t->number);
	sp_pack_str(k, &t->name);
	sp_pack_index_or_none(k, &t->region, l->regions);
	sp_pack_index_or_none(k, &t->location, l->locations);
	sp_pack_index_or_none(k, &t->creator, l->tasks);
	sp_pack_index_or_none(k, &t->by, l->locations);
	sp_pack_byte(k, &t->state, SP_TASK_STATES);
	sp_pack_bool(k, &t->seen_created);
	sp_pack_number(k, t->created);
	sp_pack_number(k, t->begin);
	sp_pack_number(k, t->end);
	sp_pack_number(k, t->running);
	sp_pack_number(k, t->waiting);
	sp_pack_number(k, t->steps);
	t->waits = sp_pack_list(k, t->waits, &n, sizeof(*t->waits));
	t->n_waits = (uint32_t)n;
	if (n > SP_RAW_TASK_WAITS)
		sp_pack_fail(k);
	for (i = 0; i < n && !k->failed; i++)
		wait(k, l, &t->waits[i]);
}

static void rest(struct sp_pack *k, const struct limits *l, struct sp_task_rest *r)
{
	sp_pack_index(k, &r->process, l->processes);
	sp_pack_index_or_none(k, &r->region, l->regions);
	sp_pack_number(k, r->tasks);
	sp_pack_number(k, r->steps);
	sp_pack_number(k, r->running);
	sp_pack_number(k, r->waiting);
	sp_pack_number(k, r->ended);
}

static void awaited(struct sp_pack *k, const struct limits *l, struct sp_task_awaited *a)
{
	sp_pack_index(k, &a->process, l->processes);
	sp_pack_index_or_none(k, &a->region, l->regions);
	wait(k, l, &a->wait);
	sp_pack_number(k, a->longest);
	sp_fields_stack(k, &a->stack, l->regions);
}

/* The lists and their lengths. */
struct lists {
	struct sp_task **tasks;
	struct sp_task_rest **rests;
	struct sp_task_awaited **awaited;
	size_t *n[3];
};

static void all(struct sp_pack *k, const struct limits *limits, const struct lists *of)
{
	struct limits l = *limits;
	size_t i;

	*of->tasks = sp_pack_list(k, *of->tasks, of->n[0], sizeof(**of->tasks));
	*of->rests = sp_pack_list(k, *of->rests, of->n[1], sizeof(**of->rests));
	*of->awaited = sp_pack_list(k, *of->awaited, of->n[2], sizeof(**of->awaited));
	if (l.tasks != SP_NONE)
		l.tasks = *of->n[0];
	for (i = 0; i < *of->n[0] && !k->failed; i++)
		task(k, &l, &(*of->tasks)[i]);
	for (i = 0; i < *of->n[1] && !k->failed; i++)
		rest(k, &l, &(*of->rests)[i]);
	for (i = 0; i < *of->n[2] && !k->failed; i++)
		awaited(k, &l, &(*of->awaited)[i]);
}

void sp_fields_tasks(struct sp_pack *k, struct sp_model *m)
{
	const struct limits l = {m->n_regions, m->n_strings, m->n_processes, m->n_locations, 0};
	const struct lists of = {
	    &m->tasks, &m->task_rests, &m->task_awaited, {&m->n_tasks, &m->n_task_rests, &m->n_task_awaited}};

	all(k, &l, &of);
	sp_pack_number(k, m->handed);
}

void sp_fields_process_tasks(struct sp_pack *k, const struct sp_model *m, struct sp_task_defs *d)
{
	/* locations and creators still have the numbers of the file, and all tasks belong to one process */
	const struct limits l = {m->n_regions, m->n_strings, 1, SP_NONE, SP_NONE};
	const struct lists of = {&d->tasks, &d->rests, &d->awaited, {&d->count[0], &d->count[1], &d->count[2]}};

	all(k, &l, &of);
	sp_pack_number(k, d->handed);
}

void sp_fields_source_tasks(struct sp_pack *k, struct sp_source *s, size_t tasks, size_t locations)
{
	sp_pack_ids(k, &s->tasks, tasks);
	sp_pack_ids(k, &s->threads, locations);
}
