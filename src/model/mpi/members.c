/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/mpi/members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "format/format.h"
#include "model/builder/builder.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/comm.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"

static int compare_worlds(const void *a, const void *b)
{
	const struct sp_member_world *p = a, *q = b;

	return p->id < q->id ? -1 : p->id > q->id;
}

static struct sp_member_world *find_world(const struct sp_members *x, uint64_t id)
{
	size_t low = 0, high = x->n_worlds, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->worlds[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < x->n_worlds && x->worlds[low].id == id ? &x->worlds[low] : NULL;
}

int sp_members_alloc(const struct sp_members *x, struct sp_group *g, uint32_t n)
{
	g->n = n;
	g->unmeasured = NULL;
	g->processes = sp_arena_alloc(&x->b->priv->arena, (size_t)n * sizeof(*g->processes));
	if (g->processes)
		memset(g->processes, 0xff, (size_t)n * sizeof(*g->processes));
	return g->processes ? 0 : -1;
}

/* Finds the worlds. Worlds with the same id are one; its size is the largest that a process recorded. */
static int collect_worlds(struct sp_members *x)
{
	const struct sp_model *m = x->b->m;
	size_t i, n = 0;

	x->worlds = calloc(m->n_processes + 1, sizeof(*x->worlds));
	if (!x->worlds)
		return -1;
	for (i = 0; i < m->n_processes; i++)
		if (m->processes[i].rank != SP_NONE)
			x->worlds[n++] = (struct sp_member_world){
			    m->processes[i].world, SP_NONE, {NULL, m->processes[i].ranks, NULL}};
	qsort(x->worlds, n, sizeof(*x->worlds), compare_worlds);
	for (i = 0; i < n; i++) {
		struct sp_member_world *last = x->worlds + x->n_worlds - 1, *w = &x->worlds[i];

		if (x->n_worlds == 0 || last->id != w->id)
			x->worlds[x->n_worlds++] = *w;
		else if (last->ranks.n < w->ranks.n)
			last->ranks.n = w->ranks.n;
	}
	x->limit = m->n_processes;
	for (i = 0; i < x->n_worlds; i++) {
		x->limit += x->worlds[i].ranks.n;
		if (sp_members_alloc(x, &x->worlds[i].ranks, x->worlds[i].ranks.n))
			return -1;
	}
	return 0;
}

static void enter_world(struct sp_members *x, uint32_t process)
{
	struct sp_model *m = x->b->m;
	struct sp_process *p = &m->processes[process];
	struct sp_member_world *w = find_world(x, p->world);
	uint32_t *place = &w->ranks.processes[p->rank];

	if (w->index == SP_NONE) {
		w->index = (uint32_t)m->n_worlds;
		m->worlds[m->n_worlds++] = (struct sp_world){w->id, w->ranks};
	}
	p->world_index = w->index;
	p->ranks = w->ranks.n;
	if (*place == SP_NONE)
		*place = process;
	else
		sp_model_problem(m, "raw/%s: it is rank %" PRIu32 " of its MPI_COMM_WORLD, as raw/%s is", p->file.p,
		                 p->rank, m->processes[*place].file.p);
}

int sp_members_begin(struct sp_members *x, struct sp_builder *b)
{
	struct sp_model *m = b->m;
	size_t i;

	*x = (struct sp_members){.b = b, .lists = {.arena = &b->scratch}};
	if (collect_worlds(x))
		return -1;
	m->worlds = sp_arena_zalloc(&b->priv->arena, x->n_worlds, sizeof(*m->worlds));
	if (!m->worlds)
		return -1;
	for (i = 0; i < m->n_processes; i++)
		if (m->processes[i].rank != SP_NONE)
			enter_world(x, (uint32_t)i);
	return 0;
}

void sp_members_end(struct sp_members *x)
{
	sp_intern_free(&x->lists);
	free(x->worlds);
	free(x->list);
}

static struct sp_raw_ranks run_at(const struct sp_str *runs, size_t i)
{
	struct sp_raw_ranks r;

	memcpy(&r, runs->p + i * sizeof(r), sizeof(r));
	return r;
}

/* Sets the identities of unmeasured members in an incomplete list. */
static int name_unmeasured(struct sp_members *x, const struct sp_str *runs, struct sp_group *g)
{
	const size_t n = runs->n / sizeof(struct sp_raw_ranks);
	const struct sp_member_world *w;
	struct sp_raw_ranks r;
	uint32_t k, at = 0;
	size_t i;

	g->unmeasured = sp_arena_alloc(&x->b->priv->arena, g->n * sizeof(*g->unmeasured));
	if (!g->unmeasured)
		return -1;
	for (i = 0; i < n; i++, at += r.count) {
		r = run_at(runs, i);
		w = find_world(x, r.world);
		for (k = 0; k < r.count; k++)
			g->unmeasured[at + k] =
			    w && (uint64_t)r.first + k < w->ranks.n ? sp_unmeasured(w->index, r.first + k) : UINT64_MAX;
	}
	return 0;
}

/* Returns 0, 1 if there are too many members, or -1: no memory. */
static int read_runs(struct sp_members *x, const struct sp_str *runs, struct sp_member_list *out)
{
	const size_t n = runs->n / sizeof(struct sp_raw_ranks);
	const struct sp_member_world *w;
	struct sp_raw_ranks r;
	uint64_t all = 0;
	uint32_t *to, k;
	size_t i;

	for (i = 0; i < n; i++)
		all += run_at(runs, i).count;
	if (all > x->limit)
		return 1;
	if (sp_members_alloc(x, &out->g, (uint32_t)all))
		return -1;
	out->complete = true;
	for (i = 0, to = out->g.processes; i < n; i++, to += r.count) {
		r = run_at(runs, i);
		w = find_world(x, r.world);
		for (k = 0; w && k < r.count && (uint64_t)r.first + k < w->ranks.n; k++)
			to[k] = w->ranks.processes[r.first + k];
		for (k = 0; k < r.count; k++)
			out->complete &= to[k] != SP_NONE;
	}
	return out->complete ? 0 : name_unmeasured(x, runs, &out->g);
}

int sp_members_recorded(struct sp_members *x, const struct sp_str *runs, struct sp_member_list *out)
{
	const size_t known = x->lists.n;
	const uint32_t id = sp_intern(&x->lists, runs->p, runs->n);
	int rc;

	if (id == SP_INTERN_FAILED)
		return -1;
	if (id < known && x->list[id].complete) {
		*out = x->list[id];
		return 0;
	}
	rc = read_runs(x, runs, out);
	if (rc < 0)
		return -1;
	if (rc)
		*out = (struct sp_member_list){.complete = false};
	if (id < known)
		return rc; /* each process gets a separate list, to which it adds what it knows */
	if (!sp_grow(&x->list, id, &x->list_capacity, sizeof(*x->list)))
		return -1;
	x->list[id] = *out;
	return rc;
}
