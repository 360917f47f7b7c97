/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of timemory's tables: call paths of the separate threads or processes, combined if their labels are
 * equal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/comm.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/bare.h"
#include "write/common/scorep.h"
#include "write/timemory/timemory.h"

void sp_tm_options_init(struct sp_tm_options *o)
{
	*o = (struct sp_tm_options){
	    .process = SP_NONE, .max_depth = SP_NONE, .max_width = 120, .precision = 6, .unit = sp_tm_unit_find("sec")};
}

/* ---- labels ---- */

uint32_t sp_tm_label(struct sp_tm *t, uint32_t region)
{
	const struct sp_region *r = &t->m->regions[region];
	const struct sp_str whole = r->qualname.n ? r->qualname : r->name;
	const struct sp_str s = t->o->qualified ? whole : sp_bare_name(&t->arena, r);

	return sp_intern(&t->labels, s.p, s.n);
}

/* ---- rows ---- */

uint32_t sp_tm_add(struct sp_tm *t, uint32_t parent, uint32_t label)
{
	if (t->n_rows == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 1024;
		struct sp_tm_row *more = capacity < SP_NONE ? realloc(t->rows, capacity * sizeof *more) : NULL;
		if (!more)
			return SP_NONE;
		t->rows = more;
		t->capacity = capacity;
	}
	const uint32_t r = (uint32_t)t->n_rows++;
	struct sp_tm_row *row = &t->rows[r];
	*row = (struct sp_tm_row){label, SP_NONE, parent, SP_NONE, SP_NONE, SP_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	if (parent == SP_NONE)
		return r;
	struct sp_tm_row *p = &t->rows[parent];
	row->depth = p->depth + 1; /* SP_NONE + 1 is 0 */
	row->hash = t->labels.entries[label].hash;
	row->rolling = row->hash + p->rolling;
	if (p->first == SP_NONE)
		p->first = r;
	else
		t->rows[p->last].next = r;
	p->last = r;
	return r;
}

uint32_t sp_tm_next(const struct sp_tm *t, uint32_t row)
{
	if (t->rows[row].first != SP_NONE)
		return t->rows[row].first;
	while (t->rows[row].next == SP_NONE) {
		row = t->rows[row].parent;
		if (row == SP_NONE || t->rows[row].parent == SP_NONE)
			return SP_NONE;
	}
	return t->rows[row].next;
}

enum { HIDDEN = SP_NONE - 1 };

/* The state of adding a location: the row of each path, and rows by parent and label. */
struct adding {
	struct sp_tm *t;
	uint32_t *numbers;       /* owned; of processes, as shown */
	uint32_t *labels;        /* owned; for each region: label + 1 */
	uint32_t *row_of, *seen; /* owned; for each path; seen: location + 1 for which row_of is valid */
	uint32_t *chain;         /* owned; n_paths elements */
	uint64_t *samples;       /* owned; for each path: number of samples, including callees */
	uint32_t *slots;         /* owned; hash table: row + 1 */
	size_t mask, used;
};

static size_t slot_of(const struct adding *a, uint32_t parent, uint32_t label)
{
	size_t i = (((uint64_t)parent << 32 | label) * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & a->mask;

	for (; a->slots[i]; i = (i + 1) & a->mask) {
		const struct sp_tm_row *r = &a->t->rows[a->slots[i] - 1];
		if (r->parent == parent && r->label == label)
			break;
	}
	return i;
}

static int grow_slots(struct adding *a)
{
	const size_t size = a->mask ? (a->mask + 1) * 2 : 4096;
	uint32_t *old = a->slots;
	const size_t n = a->mask ? a->mask + 1 : 0;

	a->slots = calloc(size, sizeof *a->slots);
	if (!a->slots) {
		a->slots = old;
		return -1;
	}
	a->mask = size - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i])
			a->slots[slot_of(a, a->t->rows[old[i] - 1].parent, a->t->rows[old[i] - 1].label)] = old[i];
	free(old);
	return 0;
}

/* Finds or adds the row of this label below parent; SP_NONE: no memory. */
static uint32_t child(struct adding *a, uint32_t parent, uint32_t label)
{
	if (a->used * 2 >= a->mask && grow_slots(a))
		return SP_NONE;
	const size_t i = slot_of(a, parent, label);
	if (a->slots[i])
		return a->slots[i] - 1;
	const uint32_t r = sp_tm_add(a->t, parent, label);
	if (r != SP_NONE) {
		a->slots[i] = r + 1;
		a->used++;
	}
	return r;
}

static uint32_t label_of(struct adding *a, uint32_t region)
{
	if (!a->labels[region])
		a->labels[region] = sp_tm_label(a->t, region) + 1;
	return a->labels[region] - 1;
}

/* Finds or adds the row of a path, after those of its callers; HIDDEN: too deep. */
static uint32_t row_of(struct adding *a, uint32_t path, uint32_t location, uint32_t root)
{
	struct sp_tm *t = a->t;
	size_t n = 0;
	uint32_t row = root;

	for (; path != 0; path = t->m->paths[path].parent) {
		if (a->seen[path] == location + 1) {
			row = a->row_of[path];
			break;
		}
		a->chain[n++] = path;
	}
	while (n > 0) {
		path = a->chain[--n];
		const uint32_t label = label_of(a, t->m->paths[path].region);
		if (label == SP_NONE)
			return SP_NONE;
		if (row != HIDDEN && !t->o->flat && t->rows[row].depth + 1 > t->o->max_depth)
			row = HIDDEN;
		if (row != HIDDEN)
			row = child(a, t->o->flat ? root : row, label);
		if (row == SP_NONE)
			return SP_NONE;
		a->row_of[path] = row;
		a->seen[path] = location + 1;
	}
	return row;
}

/* Adds a value to a row; samples: used as the number of calls if these were not counted. */
static void add_value(struct sp_tm_row *to, const struct sp_value *v, uint64_t samples)
{
	const uint64_t laps = v->visits + v->resumed;

	if (laps && (!to->laps || v->min < to->min))
		to->min = v->min;
	if (laps && v->max > to->max)
		to->max = v->max;
	to->laps += laps ? laps : samples;
	to->sum += v->incl;
	to->each += sp_value_each(v);
	to->sqr += v->sumsq;
}

/* Fills a->samples with the samples of a location. Returns false if its calls were counted. */
static bool sum_samples(struct adding *a, const struct sp_location *l)
{
	const struct sp_model *m = a->t->m;
	const struct sp_process *p = &m->processes[l->process];
	const uint32_t metric = sp_scorep_metric(m, "samples");

	if (p->counted || !p->sampled || metric == SP_NONE)
		return false;
	memset(a->samples, 0, m->n_paths * sizeof *a->samples);
	for (size_t i = l->first_value; i < l->first_value + l->values; i++)
		a->samples[m->values[i].path] = m->row_metrics[i * m->n_metrics + metric];
	for (size_t path = m->n_paths; path-- > 1;)
		a->samples[m->paths[path].parent] += a->samples[path];
	return true;
}

static int add_location(struct adding *a, uint32_t location, uint32_t root, struct sp_err *e)
{
	struct sp_tm *t = a->t;
	const struct sp_location *l = &t->m->locations[location];

	if (t->o->timeline)
		return sp_tm_add_events(t, location, root, e);
	const bool sampled = sum_samples(a, l);
	t->sampled |= sampled;
	for (size_t i = 0; i < l->values; i++) {
		const struct sp_row *from = &t->m->values[l->first_value + i];
		if (!from->path || (!from->v.visits && !from->v.resumed && from->v.incl <= 0))
			continue;
		const uint32_t row = row_of(a, from->path, location, root);
		if (row == SP_NONE)
			return sp_fail(e, ENOMEM, "out of memory");
		if (row != HIDDEN)
			add_value(&t->rows[row], &from->v, sampled ? a->samples[from->path] : 0);
	}
	return 0;
}

/* ---- groups ---- */

/* Numbers the processes as --rank does: ranks of MPI keep their numbers; those of a second world and processes without
 * a rank follow. The caller owns the array; NULL: no memory. */
static uint32_t *number_processes(const struct sp_model *m)
{
	uint32_t *numbers = calloc(m->n_processes + 1, sizeof *numbers), next = 0;

	for (size_t p = 0; numbers && p < m->n_processes; p++)
		numbers[p] = SP_NONE;
	for (size_t w = 0; numbers && w < m->n_worlds; w++) {
		const struct sp_group *g = &m->worlds[w].ranks;
		for (uint32_t rank = 0; rank < g->n; rank++)
			if (g->processes[rank] != SP_NONE)
				numbers[g->processes[rank]] = next + rank;
		next += g->n;
	}
	for (size_t p = 0; numbers && p < m->n_processes; p++)
		if (numbers[p] == SP_NONE)
			numbers[p] = next++;
	return numbers;
}

static int digits(uint32_t n)
{
	int d = 1;

	while (n /= 10)
		d++;
	return d;
}

static int group_of(struct sp_tm *t, uint32_t process, uint32_t thread, uint32_t *root)
{
	const bool may_be_known = t->o->collapse_threads || t->o->collapse_processes;
	for (size_t i = 0; may_be_known && i < t->n_groups; i++)
		if (t->groups[i].process == process && t->groups[i].thread == thread) {
			*root = t->groups[i].root;
			return 0;
		}
	*root = sp_tm_add(t, SP_NONE, 0);
	if (*root == SP_NONE)
		return -1;
	t->groups[t->n_groups++] = (struct sp_tm_group){process, thread, *root};
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct sp_tm_group *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool is_wanted(const struct sp_tm *t, uint32_t process)
{
	return t->o->process == SP_NONE || t->o->process == process;
}

static int add_process(struct adding *a, uint32_t process, struct sp_err *e)
{
	struct sp_tm *t = a->t;
	const struct sp_process *p = &t->m->processes[process];
	const uint32_t number = t->o->collapse_processes ? 0 : a->numbers[process];
	uint32_t root;

	for (uint32_t l = p->first_location; l < p->first_location + p->locations; l++) {
		if (group_of(t, number, t->o->collapse_threads ? 0 : l - p->first_location, &root))
			return sp_fail(e, ENOMEM, "out of memory");
		if (add_location(a, l, root, e))
			return -1;
	}
	return 0;
}

static void finish(struct sp_tm *t)
{
	uint32_t process = 0, thread = 0;

	for (size_t r = 0; r < t->n_rows; r++)
		if (t->rows[r].parent != SP_NONE)
			t->rows[t->rows[r].parent].below += t->rows[r].sum;
	qsort(t->groups, t->n_groups, sizeof *t->groups, by_number);
	for (size_t i = 0; i < t->n_groups; i++) {
		if (t->rows[t->groups[i].root].first == SP_NONE)
			continue;
		process = t->groups[i].process > process ? t->groups[i].process : process;
		thread = t->groups[i].thread > thread ? t->groups[i].thread : thread;
	}
	t->process_digits = digits(process);
	t->thread_digits = digits(thread);
}

int sp_tm_open(struct sp_tm *t, const struct sp_model *m, const struct sp_tm_options *o, struct sp_err *e)
{
	uint32_t processes = 0;
	bool ranks = false;
	int rc = 0;

	*t = (struct sp_tm){.m = m, .o = o};
	t->labels.arena = &t->arena;
	struct adding a = {.t = t,
	                   .numbers = number_processes(m),
	                   .labels = calloc(m->n_regions + 1, sizeof *a.labels),
	                   .row_of = calloc(m->n_paths + 1, sizeof *a.row_of),
	                   .seen = calloc(m->n_paths + 1, sizeof *a.seen),
	                   .samples = calloc(m->n_paths + 1, sizeof *a.samples),
	                   .chain = calloc(m->n_paths + 1, sizeof *a.chain)};
	t->groups = calloc(m->n_locations + 1, sizeof *t->groups);
	if (!a.numbers || !a.labels || !a.row_of || !a.seen || !a.chain || !a.samples || !t->groups)
		rc = sp_fail(e, ENOMEM, "out of memory");
	for (uint32_t p = 0; rc == 0 && p < m->n_processes; p++)
		if (is_wanted(t, p)) {
			processes++;
			ranks |= m->processes[p].rank != SP_NONE;
			rc = add_process(&a, p, e);
		}
	t->show_process = !o->collapse_processes && (processes > 1 || ranks);
	t->show_thread = !o->collapse_threads;
	free(a.numbers);
	free(a.labels);
	free(a.row_of);
	free(a.seen);
	free(a.chain);
	free(a.samples);
	free(a.slots);
	if (rc)
		sp_tm_close(t);
	else
		finish(t);
	return rc;
}

void sp_tm_close(struct sp_tm *t)
{
	sp_intern_free(&t->labels);
	sp_arena_free(&t->arena);
	free(t->rows);
	free(t->groups);
}
