/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, windows and groups of MPI, unified over all processes.
 *
 * A communicator is identified by its world and its id. Each process records its rank in it, and the process with rank
 * 0 records the members. An intercommunicator has two sides, each with a rank 0. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/comm.h"
#include "model/model.h"
#include "model/mpi/members.h"
#include "model/str.h"

struct side {
	struct sp_group g;
	bool there;    /* g is set */
	bool own;      /* recorded by one of its members; otherwise by the other side, or not at all */
	bool complete; /* all members are known; the list may be shared with other communicators */
};

struct building {
	struct sp_comm c;
	uint64_t parent;
	uint32_t first; /* index of the first process that recorded it */
	struct side side[2];
	bool swapped;
};

struct merging {
	struct sp_members members;
	struct sp_builder *b;
	struct sp_model *m;
	struct sp_intern keys;
	uint32_t *of; /* owned; table from keys to communicators + 1 */
	size_t of_capacity;
	struct building *comms; /* owned */
	size_t n_comms, comm_capacity;
};

/* The number of a key; SP_INTERN_FAILED: no memory. */
static uint32_t key_number(struct merging *x, const uint64_t key[3])
{
	uint32_t n = sp_intern(&x->keys, (const char *)key, 3 * sizeof(*key));
	uint32_t *larger;

	if (n == SP_INTERN_FAILED || n < x->of_capacity)
		return n;
	larger = realloc(x->of, (x->of_capacity * 2 + 64) * sizeof(*larger));
	if (!larger)
		return SP_INTERN_FAILED;
	memset(larger + x->of_capacity, 0, (x->of_capacity + 64) * sizeof(*larger));
	x->of = larger;
	x->of_capacity = x->of_capacity * 2 + 64;
	return n;
}

static uint32_t key_of(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	const uint64_t world = x->m->processes[process].world;

	/* without a world, communicators of two processes cannot be identified with each other */
	if (world == 0 || (d->flags & SP_RAW_COMM_SELF))
		return key_number(x, (uint64_t[3]){0, process, d->id});
	return key_number(x, (uint64_t[3]){1, world, d->c.id});
}

static struct building *comm_of(const struct merging *x, uint32_t process, uint32_t id)
{
	const struct sp_ids *ids = &x->b->loading[process].source->comms;

	return id < ids->n && ids->to[id] ? &x->comms[ids->to[id] - 1] : NULL;
}

static int new_comm(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	if (!sp_grow(&x->comms, x->n_comms, &x->comm_capacity, sizeof(*x->comms)))
		return -1;
	x->comms[x->n_comms++] = (struct building){.c = {.name = {"", 0},
	                                                 .parent = SP_NONE,
	                                                 .inter = d->flags & SP_RAW_COMM_INTER,
	                                                 .self = d->flags & SP_RAW_COMM_SELF,
	                                                 .world = d->flags & SP_RAW_COMM_WORLD,
	                                                 .cart_name = {"", 0}},
	                                           .parent = d->c.parent,
	                                           .first = process};
	return 0;
}

/* An intercommunicator may connect two worlds, and has the same key in both. */
static int join_worlds(struct merging *x, uint32_t process, const struct sp_comm_def *d, uint32_t key)
{
	const struct sp_str *recorded[] = {&d->members, &d->remote};
	struct sp_raw_ranks r;
	uint32_t other;
	size_t i, at;

	for (i = 0; i < 2; i++)
		for (at = 0; at < recorded[i]->n; at += sizeof(r)) {
			memcpy(&r, recorded[i]->p + at, sizeof(r));
			if (r.world == 0 || r.world == x->m->processes[process].world)
				continue;
			other = key_number(x, (uint64_t[3]){1, r.world, d->c.id});
			if (other == SP_INTERN_FAILED)
				return -1;
			if (!x->of[key])
				x->of[key] = x->of[other];
			if (!x->of[key] && new_comm(x, process, d))
				return -1;
			if (!x->of[key])
				x->of[key] = (uint32_t)x->n_comms;
			if (!x->of[other])
				x->of[other] = x->of[key];
		}
	return 0;
}

typedef int each_fn(struct merging *x, uint32_t process, const struct sp_comm_def *d);

static int for_each(struct merging *x, each_fn *f)
{
	const struct sp_mpi_defs *defs;
	uint32_t i;
	size_t k;

	for (i = 0; i < x->b->n_loading; i++)
		for (defs = &x->b->loading[i].mpi, k = 0; k < defs->n_comms; k++)
			if (f(x, i, &defs->comms[k]))
				return -1;
	return 0;
}

static int join(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	uint32_t key;

	if (!d->recorded || !(d->flags & SP_RAW_COMM_INTER) || x->m->processes[process].world == 0)
		return 0;
	key = key_of(x, process, d);
	return key == SP_INTERN_FAILED ? -1 : join_worlds(x, process, d, key);
}

static int make_table(struct sp_ids *ids, uint32_t largest)
{
	ids->n = (size_t)largest + 1;
	ids->to = calloc(ids->n, sizeof(*ids->to));
	return ids->to ? 0 : -1;
}

static int identify(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	struct sp_source *s = x->b->loading[process].source;
	const struct sp_mpi_defs *defs = &x->b->loading[process].mpi;
	struct building *c;
	uint32_t key;

	if (!s->comms.to) {
		s->sides = calloc((size_t)defs->comms[defs->n_comms - 1].id + 1, 1);
		if (!s->sides || make_table(&s->comms, defs->comms[defs->n_comms - 1].id))
			return -1;
	}
	if (!d->recorded) {
		sp_model_problem(x->m, "raw/%s: communicator %" PRIu32 " has a name or a topology, but no ranks",
		                 x->m->processes[process].file.p, d->id);
		return 0;
	}
	key = key_of(x, process, d);
	if (key == SP_INTERN_FAILED || (!x->of[key] && new_comm(x, process, d)))
		return -1;
	if (!x->of[key])
		x->of[key] = (uint32_t)x->n_comms;
	s->comms.to[d->id] = x->of[key];
	c = &x->comms[x->of[key] - 1];
	if (c->c.name.n == 0 && d->name.n)
		c->c.name = sp_model_str(x->m, d->name.p, d->name.n);
	return c->c.name.p ? 0 : -1;
}

/* ---- members ---- */

static bool same(const struct side *a, const struct sp_group *g)
{
	return a->there && a->g.n == g->n && memcmp(a->g.processes, g->processes, g->n * sizeof(*g->processes)) == 0;
}

/* Decodes the recorded members of a side with `size` members; out->there is false if they are invalid. Returns 0, or
 * -1: no memory. */
static int recorded_side(struct merging *x, uint32_t process, const struct sp_comm_def *d, const struct sp_str *runs,
                         uint32_t size, struct side *out)
{
	struct sp_member_list list;
	int rc;

	*out = (struct side){.there = false};
	if (runs->n == 0)
		return 0;
	rc = sp_members_recorded(&x->members, runs, &list);
	if (rc < 0)
		return -1;
	*out = (struct side){list.g, rc == 0 && list.g.n == size, false, list.complete};
	if (!out->there)
		sp_model_problem(x->m, "raw/%s: the members of communicator %" PRIu32 " are damaged",
		                 x->m->processes[process].file.p, d->id);
	return 0;
}

static int take_members(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	struct building *c = comm_of(x, process, d->id);
	struct side mine, other;
	int at;

	if (!c || (d->members.n == 0 && d->remote.n == 0))
		return 0;
	if (recorded_side(x, process, d, &d->members, d->c.size, &mine))
		return -1;
	if (mine.there && !c->c.inter && !c->side[0].there)
		c->side[0] = mine;
	if (!c->c.inter)
		return 0;
	if (recorded_side(x, process, d, &d->remote, d->c.remote_size, &other))
		return -1;
	mine.own = true;
	at = mine.there && !same(&c->side[0], &mine.g) && (same(&c->side[1], &mine.g) || c->side[0].own);
	if (mine.there)
		c->side[at] = mine;
	if (mine.there && other.there && !c->side[!at].own)
		c->side[!at] = other;
	return 0;
}

/* The side of an intercommunicator in which a process with this rank is; -1: none of them. */
static int find_side(const struct building *c, uint32_t process, const struct sp_comm_def *d)
{
	const struct side *s = c->side;
	int i;

	for (i = 0; i < 2; i++)
		if (s[i].there && s[i].g.n == d->c.size && s[i].g.processes[d->c.rank] == process)
			return i;
	for (i = 0; i < 2; i++)
		if (s[i].there && s[i].g.n == d->c.size && s[i].g.processes[d->c.rank] == SP_NONE)
			return i;
	return !s[0].there ? 0 : !s[1].there ? 1 : -1;
}

static int make_side(struct merging *x, struct side *s, uint32_t n)
{
	if (s->there || n == 0)
		return 0;
	*s = (struct side){.there = true};
	return sp_members_alloc(&x->members, &s->g, n);
}

/* An MPI_COMM_WORLD is known even if its rank 0 was not measured. */
static int name_world(struct merging *x, struct side *s, uint32_t process)
{
	const uint32_t world = x->m->processes[process].world_index;
	uint32_t i;

	if (world == SP_NONE || s->g.unmeasured || s->g.n != x->m->processes[process].ranks)
		return 0;
	s->g.unmeasured = sp_arena_alloc(&x->b->priv->arena, s->g.n * sizeof(*s->g.unmeasured));
	for (i = 0; i < s->g.n && s->g.unmeasured; i++)
		s->g.unmeasured[i] = sp_unmeasured(world, i);
	return s->g.unmeasured ? 0 : -1;
}

static void misfit(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	sp_model_problem(x->m, "raw/%s: its rank in communicator %" PRIu32 " does not fit the other processes'",
	                 x->m->processes[process].file.p, d->id);
}

static int take_topology(struct merging *x, struct building *c, const struct sp_comm_def *d)
{
	const size_t dimensions = d->cart.n / 8, n = c->side[0].g.n;

	if (dimensions == 0 || c->c.inter)
		return 0;
	if (!c->c.cart) {
		c->c.cart_name = sp_model_str(x->m, d->cart_name.p, d->cart_name.n);
		c->c.cart = sp_arena_zalloc(&x->b->priv->arena, dimensions, 8);
		c->c.coordinates = sp_arena_zalloc(&x->b->priv->arena, n * dimensions, 4);
		if (!c->c.cart_name.p || !c->c.cart || !c->c.coordinates)
			return -1;
		memcpy(c->c.cart, d->cart.p, d->cart.n);
		memset(c->c.coordinates, 0xff, n * dimensions * 4);
		c->c.cart_dims = (uint32_t)dimensions;
	}
	if (c->c.cart_dims == dimensions)
		memcpy(c->c.coordinates + d->c.rank * dimensions, d->coordinates.p, dimensions * 4);
	return 0;
}

/* Each process enters itself as a member. */
static int claim(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	struct sp_source *source = x->b->loading[process].source;
	struct building *c = comm_of(x, process, d->id);
	uint32_t *place;
	int at = 0;
	bool made;

	if (!c)
		return 0;
	if (d->c.rank < d->c.size && c->c.inter)
		at = find_side(c, process, d);
	if (at < 0 || d->c.rank >= d->c.size || d->c.size > x->members.limit || d->c.remote_size > x->members.limit ||
	    (c->side[at].there && c->side[at].g.n != d->c.size)) {
		misfit(x, process, d);
		source->comms.to[d->id] = 0;
		return 0;
	}
	made = !c->side[at].there;
	if (make_side(x, &c->side[at], d->c.size) || (made && c->c.world && name_world(x, &c->side[at], process)) ||
	    (c->c.inter && make_side(x, &c->side[!at], d->c.remote_size)))
		return -1;
	source->sides[d->id] = (uint8_t)at;
	place = &c->side[at].g.processes[d->c.rank];
	if (*place == SP_NONE)
		*place = process;
	else if (*place != process)
		misfit(x, process, d);
	return take_topology(x, c, d);
}

static uint32_t smallest(const struct side *s)
{
	uint32_t i, least = SP_NONE;

	for (i = 0; i < s->g.n; i++)
		if (s->g.processes[i] < least)
			least = s->g.processes[i];
	return least;
}

static bool is_complete(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->g.n && !s->complete; i++)
		if (s->g.processes[i] == SP_NONE)
			return false;
	return s->there;
}

/* Finds the parent. COMM_SELF has the same id in all processes. */
static int find_parent(struct merging *x, struct building *c)
{
	const struct sp_comm_def *self = x->b->loading[c->first].mpi.self;
	const uint64_t world = x->m->processes[c->first].world;
	uint32_t key;

	if (c->parent == 0)
		return 0;
	if (self && self->c.id == c->parent)
		key = key_of(x, c->first, self);
	else
		key = key_number(x, (uint64_t[3]){1, world, c->parent});
	if (key == SP_INTERN_FAILED)
		return -1;
	if (x->of[key] && &x->comms[x->of[key] - 1] != c)
		c->c.parent = x->of[key] - 1;
	return 0;
}

static int finish(struct merging *x)
{
	struct sp_model *m = x->m;
	struct building *c;

	m->comms = sp_arena_zalloc(&x->b->priv->arena, x->n_comms, sizeof(*m->comms));
	if (!m->comms)
		return -1;
	for (c = x->comms; m->n_comms < x->n_comms; c++) {
		if (find_parent(x, c))
			return -1;
		c->swapped = c->c.inter && smallest(&c->side[1]) < smallest(&c->side[0]);
		c->c.group = c->side[c->swapped].g;
		c->c.remote = c->side[!c->swapped].g;
		c->c.incomplete = !is_complete(&c->side[0]) || (c->c.inter && !is_complete(&c->side[1]));
		m->comms[m->n_comms++] = c->c;
	}
	return 0;
}

static int orient(struct merging *x, uint32_t process, const struct sp_comm_def *d)
{
	const struct building *c = comm_of(x, process, d->id);

	if (c && c->swapped)
		x->b->loading[process].source->sides[d->id] ^= 1;
	return 0;
}

/* ---- windows and groups ---- */

/* The n-th window that the processes of a communicator create together is one window in all of them. */
static int add_windows(struct merging *x, uint32_t process, uint32_t *made)
{
	struct sp_model *m = x->m;
	struct sp_source *s = x->b->loading[process].source;
	const struct sp_mpi_defs *defs = &x->b->loading[process].mpi;
	const struct sp_win_def *d, *end = defs->n_wins ? defs->wins + defs->n_wins : NULL;
	uint32_t comm, key;

	if (defs->n_wins && make_table(&s->wins, end[-1].id))
		return -1;
	for (d = defs->wins; d < end; d++) {
		comm = d->comm < s->comms.n ? s->comms.to[d->comm] : 0;
		if (comm == 0) {
			sp_model_problem(m, "raw/%s: window %" PRIu32 " has no communicator",
			                 m->processes[process].file.p, d->id);
			continue;
		}
		key = key_number(x, (uint64_t[3]){2, comm, made[comm - 1]++});
		if (key == SP_INTERN_FAILED)
			return -1;
		if (!x->of[key]) {
			m->wins[m->n_wins++] = (struct sp_win){{"", 0}, comm - 1};
			x->of[key] = (uint32_t)m->n_wins;
		}
		s->wins.to[d->id] = x->of[key];
		if (d->name.n && m->wins[x->of[key] - 1].name.n == 0)
			m->wins[x->of[key] - 1].name = sp_model_str(m, d->name.p, d->name.n);
		if (!m->wins[x->of[key] - 1].name.p)
			return -1;
	}
	for (d = defs->wins; d < end; d++)
		if (d->comm < s->comms.n && s->comms.to[d->comm])
			made[s->comms.to[d->comm] - 1] = 0;
	return 0;
}

static int add_groups(struct merging *x, uint32_t process, struct sp_intern *known)
{
	struct sp_model *m = x->m;
	struct sp_source *s = x->b->loading[process].source;
	const struct sp_mpi_defs *defs = &x->b->loading[process].mpi;
	const struct sp_group_def *d, *end = defs->n_groups ? defs->groups + defs->n_groups : NULL;
	struct sp_member_list list;
	uint32_t id;
	int rc;

	if (defs->n_groups && make_table(&s->groups, end[-1].id))
		return -1;
	for (d = defs->groups; d < end; d++) {
		id = sp_intern(known, d->members.p, d->members.n);
		if (id == SP_INTERN_FAILED)
			return -1;
		if (id == m->n_groups) {
			rc = sp_members_recorded(&x->members, &d->members, &list);
			if (rc < 0)
				return -1;
			if (rc)
				sp_model_problem(m, "raw/%s: the members of group %" PRIu32 " are damaged",
				                 m->processes[process].file.p, d->id);
			m->groups[m->n_groups++] = list.g;
		}
		s->groups.to[d->id] = id + 1;
	}
	return 0;
}

static int windows_and_groups(struct merging *x)
{
	struct sp_builder *b = x->b;
	struct sp_intern known = {.arena = &b->scratch};
	uint32_t *made = calloc(x->n_comms + 1, sizeof(*made)), i;
	size_t wins = 0, groups = 0;
	int rc = made ? 0 : -1;

	for (i = 0; i < b->n_loading; i++) {
		wins += b->loading[i].mpi.n_wins;
		groups += b->loading[i].mpi.n_groups;
	}
	x->m->wins = sp_arena_zalloc(&b->priv->arena, wins, sizeof(*x->m->wins));
	x->m->groups = sp_arena_zalloc(&b->priv->arena, groups, sizeof(*x->m->groups));
	if (!x->m->wins || !x->m->groups)
		rc = -1;
	for (i = 0; i < b->n_loading && rc == 0; i++)
		rc = add_windows(x, i, made) || add_groups(x, i, &known) ? -1 : 0;
	sp_intern_free(&known);
	free(made);
	return rc;
}

int sp_build_mpi(struct sp_builder *b, struct sp_err *e)
{
	struct merging x = {.b = b, .m = b->m, .keys = {.arena = &b->scratch}};
	int rc;

	rc = sp_members_begin(&x.members, b) || for_each(&x, join) || for_each(&x, identify) ||
	     for_each(&x, take_members) || for_each(&x, claim) || finish(&x) || for_each(&x, orient) ||
	     windows_and_groups(&x);
	sp_members_end(&x.members);
	sp_intern_free(&x.keys);
	free(x.of);
	free(x.comms);
	return rc ? sp_model_no_memory(e) : 0;
}
