/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI as in Score-P: a group of all ranks, groups and communicators of some of them, windows, topologies; and the
 * events that refer to them. Ranks that were not measured have entries, so that messages to them have an endpoint. */
#include <stdio.h>
#include <stdlib.h>

#include "model/comm.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/otf2/archive.h"

/* ---- events ---- */

/* The reference of a communicator. Readers expect numbers without gaps, so communicators are numbered in the order of
 * first use. */
static OTF2_CommRef comm(struct sp_otf2 *a, uint32_t index)
{
	uint32_t *ref = &a->comm_refs[index];
	const bool self = a->m->comms[index].self;

	if (*ref == SP_NONE && self && a->self != SP_NONE) {
		*ref = a->self;
	} else if (*ref == SP_NONE) {
		*ref = COMM_TEAMS + a->n_teams + a->n_comm_refs;
		a->comm_order[a->n_comm_refs++] = index;
		a->self = self ? *ref : a->self;
	}
	return *ref;
}

static OTF2_RmaWinRef window(struct sp_otf2 *a, uint32_t index)
{
	uint32_t *ref = &a->win_refs[index];

	if (*ref == SP_NONE) {
		comm(a, a->m->wins[index].comm);
		*ref = a->n_win_refs;
		a->win_order[a->n_win_refs++] = index;
	}
	return *ref;
}

static void see(struct sp_otf2 *a, const struct sp_group *g, uint32_t member)
{
	const struct sp_model *m = a->m;
	const struct sp_process *p;

	if (g->processes[member] != SP_NONE) {
		p = &m->processes[g->processes[member]];
		if (p->world_index != SP_NONE)
			a->rank_seen[a->world_first[p->world_index] + p->rank] = true;
	} else if (g->unmeasured && g->unmeasured[member] != UINT64_MAX) {
		a->rank_seen[a->world_first[g->unmeasured[member] >> 32] + (uint32_t)g->unmeasured[member]] = true;
	}
}

static int put_point_to_point(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;
	const uint32_t tag = (uint32_t)x->tag;

	switch (ev->kind) {
	case SP_EVENT_MPI_SEND:
		return OTF2_EvtWriter_MpiSend(w, NULL, ev->time, x->peer, comm(a, ev->id), tag, x->bytes);
	case SP_EVENT_MPI_RECV:
		return OTF2_EvtWriter_MpiRecv(w, NULL, ev->time, x->peer, comm(a, ev->id), tag, x->bytes);
	case SP_EVENT_MPI_ISEND:
		return OTF2_EvtWriter_MpiIsend(w, NULL, ev->time, x->peer, comm(a, ev->id), tag, x->bytes, x->request);
	case SP_EVENT_MPI_ISEND_COMPLETE:
		return OTF2_EvtWriter_MpiIsendComplete(w, NULL, ev->time, x->request);
	case SP_EVENT_MPI_IRECV_REQUEST:
		return OTF2_EvtWriter_MpiIrecvRequest(w, NULL, ev->time, x->request);
	case SP_EVENT_MPI_IRECV:
		return OTF2_EvtWriter_MpiIrecv(w, NULL, ev->time, x->peer, comm(a, ev->id), tag, x->bytes, x->request);
	case SP_EVENT_MPI_REQUEST_TEST:
		return OTF2_EvtWriter_MpiRequestTest(w, NULL, ev->time, x->request);
	default:
		return OTF2_EvtWriter_MpiRequestCancelled(w, NULL, ev->time, x->request);
	}
}

/* The numbers of operations, roots and levels of synchronisation are those of OTF2. */
static int put_collective(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;

	switch (ev->kind) {
	case SP_EVENT_COLLECTIVE_BEGIN:
		return OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, ev->time);
	case SP_EVENT_COLLECTIVE_END:
		return OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, ev->time, (OTF2_CollectiveOp)x->what, comm(a, ev->id),
		                                       (uint32_t)x->root, x->sent, x->received);
	case SP_EVENT_NBC_REQUEST:
		return OTF2_EvtWriter_NonBlockingCollectiveRequest(w, NULL, ev->time, x->request);
	case SP_EVENT_NBC_COMPLETE:
		return OTF2_EvtWriter_NonBlockingCollectiveComplete(w, NULL, ev->time, (OTF2_CollectiveOp)x->what,
		                                                    comm(a, ev->id), (uint32_t)x->root, x->sent,
		                                                    x->received, x->request);
	case SP_EVENT_COMM_CREATE:
		return OTF2_EvtWriter_CommCreate(w, NULL, ev->time, comm(a, ev->id));
	default:
		return OTF2_EvtWriter_CommDestroy(w, NULL, ev->time, comm(a, ev->id));
	}
}

static int put_lock(OTF2_EvtWriter *w, OTF2_RmaWinRef win, uint64_t time, const struct sp_mpi *x)
{
	const OTF2_LockType type = (OTF2_LockType)x->type;

	switch (x->what) {
	case SP_LOCK_REQUEST:
		return OTF2_EvtWriter_RmaRequestLock(w, NULL, time, win, x->peer, x->matching, type);
	case SP_LOCK_ACQUIRE:
		return OTF2_EvtWriter_RmaAcquireLock(w, NULL, time, win, x->peer, x->matching, type);
	case SP_LOCK_TRY:
		return OTF2_EvtWriter_RmaTryLock(w, NULL, time, win, x->peer, x->matching, type);
	default:
		return OTF2_EvtWriter_RmaReleaseLock(w, NULL, time, win, x->peer, x->matching);
	}
}

static int put_complete(OTF2_EvtWriter *w, OTF2_RmaWinRef win, uint64_t time, const struct sp_mpi *x)
{
	switch (x->what) {
	case SP_RMA_BLOCKING:
		return OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, time, win, x->matching);
	case SP_RMA_NON_BLOCKING:
		return OTF2_EvtWriter_RmaOpCompleteNonBlocking(w, NULL, time, win, x->matching);
	case SP_RMA_TEST:
		return OTF2_EvtWriter_RmaOpTest(w, NULL, time, win, x->matching);
	default:
		return OTF2_EvtWriter_RmaOpCompleteRemote(w, NULL, time, win, x->matching);
	}
}

static int put_one_sided(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;

	if (ev->kind == SP_EVENT_RMA_COLLECTIVE_BEGIN)
		return OTF2_EvtWriter_RmaCollectiveBegin(w, NULL, ev->time);

	const OTF2_RmaWinRef win = window(a, ev->id);
	switch (ev->kind) {
	case SP_EVENT_WIN_CREATE:
		return OTF2_EvtWriter_RmaWinCreate(w, NULL, ev->time, win);
	case SP_EVENT_WIN_DESTROY:
		return OTF2_EvtWriter_RmaWinDestroy(w, NULL, ev->time, win);
	case SP_EVENT_RMA_PUT:
		return OTF2_EvtWriter_RmaPut(w, NULL, ev->time, win, x->peer, x->bytes, x->matching);
	case SP_EVENT_RMA_GET:
		return OTF2_EvtWriter_RmaGet(w, NULL, ev->time, win, x->peer, x->bytes, x->matching);
	case SP_EVENT_RMA_ATOMIC:
		return OTF2_EvtWriter_RmaAtomic(w, NULL, ev->time, win, x->peer, (OTF2_RmaAtomicType)x->what, x->sent,
		                                x->received, x->matching);
	case SP_EVENT_RMA_COMPLETE:
		return put_complete(w, win, ev->time, x);
	case SP_EVENT_RMA_GROUP_SYNC:
		return OTF2_EvtWriter_RmaGroupSync(w, NULL, ev->time, x->level, win, 1 + x->group);
	case SP_EVENT_RMA_COLLECTIVE_END:
		return OTF2_EvtWriter_RmaCollectiveEnd(w, NULL, ev->time, (OTF2_CollectiveOp)x->what, x->level, win,
		                                       (uint32_t)x->root, x->sent, x->received);
	default:
		return put_lock(w, win, ev->time, x);
	}
}

int sp_otf2_mpi(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;

	if (x->peers) {
		if (x->peer < x->peers->n)
			see(a, x->peers, x->peer);
		if (x->root >= 0)
			see(a, x->peers, (uint32_t)x->root);
	}
	if (ev->kind < SP_EVENT_COLLECTIVE_BEGIN)
		return put_point_to_point(a, w, ev);
	return ev->kind < SP_EVENT_WIN_CREATE ? put_collective(a, w, ev) : put_one_sided(a, w, ev);
}

/* ---- definitions ---- */

int sp_otf2_prepare_mpi(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;

	a->comm_refs = sp_arena_alloc(&a->arena, m->n_comms * sizeof *a->comm_refs);
	a->comm_order = sp_arena_alloc(&a->arena, m->n_comms * sizeof *a->comm_order);
	a->win_refs = sp_arena_alloc(&a->arena, m->n_wins * sizeof *a->win_refs);
	a->win_order = sp_arena_alloc(&a->arena, m->n_wins * sizeof *a->win_order);
	a->world_first = sp_arena_alloc(&a->arena, (m->n_worlds + 1) * sizeof *a->world_first);
	if (!a->comm_refs || !a->comm_order || !a->win_refs || !a->win_order || !a->world_first)
		return sp_otf2_fail_memory(a);
	memset(a->comm_refs, 0xff, m->n_comms * sizeof *a->comm_refs);
	memset(a->win_refs, 0xff, m->n_wins * sizeof *a->win_refs);
	a->self = SP_NONE;
	for (uint32_t i = 0; i < m->n_comms && a->o->process == SP_NONE; i++)
		comm(a, i); /* if all processes are written, the archive has all communicators */
	a->world_first[0] = 0;
	for (size_t i = 0; i < m->n_worlds; i++)
		a->world_first[i + 1] = a->world_first[i] + m->worlds[i].ranks.n;
	a->rank_seen = sp_arena_zalloc(&a->arena, a->world_first[m->n_worlds], sizeof *a->rank_seen);
	if (!a->rank_seen)
		return sp_otf2_fail_memory(a);
	/* events refer to groups by index; the group of all ranks comes before them */
	a->n_groups = sp_otf2_has_mpi(m) ? 1 + (uint32_t)m->n_groups : 0;
	return 0;
}

/* The member's number in the group of all ranks; unknown members share the last number. */
static uint32_t rank_of(const struct sp_otf2 *a, const struct sp_group *g, uint32_t member)
{
	const struct sp_process *p;
	uint32_t place = SP_NONE;

	if (g->processes[member] != SP_NONE) {
		p = &a->m->processes[g->processes[member]];
		if (p->world_index != SP_NONE)
			place = a->rank_places[a->world_first[p->world_index] + p->rank];
	} else if (g->unmeasured && g->unmeasured[member] != UINT64_MAX) {
		place = a->rank_places[a->world_first[g->unmeasured[member] >> 32] + (uint32_t)g->unmeasured[member]];
	}
	return place == SP_NONE ? a->n_rank_places : place;
}

static bool has_unknown(const struct sp_otf2 *a, const struct sp_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (rank_of(a, g, i) == a->n_rank_places)
			return true;
	return false;
}

static void add_stranger(struct sp_otf2 *a, uint32_t rank, uint32_t process, OTF2_LocationRef ref,
                         OTF2_LocationGroupRef group)
{
	a->strangers[a->n_strangers++] = (struct sp_otf2_stranger){rank, process, ref, group};
}

int sp_otf2_find_ranks(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	/* new locations are numbered after all processes, new groups after those in the archive */
	uint32_t at = 0, next = (uint32_t)m->n_processes, group = sp_otf2_processes(a);
	bool unknown = false;

	if (!sp_otf2_has_mpi(m))
		return 0;
	a->rank_places = sp_arena_alloc(&a->arena, (a->world_first[m->n_worlds] + 1) * sizeof *a->rank_places);
	a->strangers = sp_arena_alloc(&a->arena, (a->world_first[m->n_worlds] + 1) * sizeof *a->strangers);
	if (!a->rank_places || !a->strangers)
		return sp_otf2_fail_memory(a);
	for (uint32_t w = 0; w < m->n_worlds; w++)
		for (uint32_t r = 0; r < m->worlds[w].ranks.n; r++, at++) {
			const uint32_t p = m->worlds[w].ranks.processes[r];
			const bool there = p != SP_NONE && sp_otf2_picked(a, p) && m->processes[p].locations;
			a->rank_places[at] = there || a->rank_seen[at] ? a->n_rank_places++ : SP_NONE;
			if (there || !a->rank_seen[at])
				continue;
			const OTF2_LocationRef place = p == SP_NONE ? next++
			                               : m->processes[p].locations
			                                   ? sp_otf2_location(m, m->processes[p].first_location)
			                                   : p;
			const bool defined = p != SP_NONE && sp_otf2_picked(a, p);
			add_stranger(a, at, p, place, defined ? sp_otf2_process(a, p) : group++);
		}
	for (uint32_t i = 0; i < m->n_comms && !unknown; i++)
		unknown = a->comm_refs[i] != SP_NONE &&
		          (has_unknown(a, &m->comms[i].group) || has_unknown(a, &m->comms[i].remote));
	for (uint32_t i = 0; i < m->n_groups && !unknown; i++)
		unknown = has_unknown(a, &m->groups[i]);
	if (unknown)
		add_stranger(a, SP_NONE, SP_NONE, next, group);
	return 0;
}

/* The name of a rank, by its number among the ranks of all worlds. */
static void name_rank(const struct sp_otf2 *a, uint32_t rank, char name[SP_SCOREP_NAME])
{
	uint32_t world = 0;

	while (rank >= a->world_first[world + 1])
		world++;
	sp_scorep_rank(world, rank - a->world_first[world], name);
}

void sp_otf2_define_strangers(struct sp_otf2 *a, const uint32_t *host)
{
	char name[SP_SCOREP_NAME];

	for (const struct sp_otf2_stranger *s = a->strangers; s < a->strangers + a->n_strangers; s++) {
		if (s->rank == SP_NONE)
			snprintf(name, sizeof name, "MPI ranks not recorded");
		else
			name_rank(a, s->rank, name);
		if (s->group >= sp_otf2_processes(a))
			OTF2_GlobalDefWriter_WriteLocationGroup(
			    a->defs, s->group, sp_otf2_literal(a, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
			    s->process != SP_NONE ? host[s->process] : 0, OTF2_UNDEFINED_LOCATION_GROUP);
		OTF2_GlobalDefWriter_WriteLocation(a->defs, s->location, sp_otf2_literal(a, "not recorded"),
		                                   OTF2_LOCATION_TYPE_CPU_THREAD, 0, s->group);
	}
}

/* Defines the group of all ranks, one world after the other. */
static void define_ranks(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	uint64_t *members = sp_arena_alloc(&a->arena, (a->n_rank_places + 1) * sizeof *members);
	uint32_t rank = 0, n = 0;
	const struct sp_otf2_stranger *s = a->strangers;

	if (!members) {
		sp_otf2_fail_memory(a);
		return;
	}
	for (uint32_t w = 0; w < m->n_worlds; w++)
		for (uint32_t r = 0; r < m->worlds[w].ranks.n; r++, rank++) {
			if (a->rank_places[rank] == SP_NONE)
				continue;
			if (s < a->strangers + a->n_strangers && s->rank == rank)
				members[n++] = (s++)->location;
			else
				members[n++] =
				    sp_otf2_location(m, m->processes[m->worlds[w].ranks.processes[r]].first_location);
		}
	if (s < a->strangers + a->n_strangers)
		members[n++] = s->location;
	OTF2_GlobalDefWriter_WriteGroup(a->defs, 0, sp_otf2_literal(a, "MPI"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
	                                OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n, members);
}

static void define_group(struct sp_otf2 *a, OTF2_GroupRef ref, const struct sp_group *g)
{
	uint64_t *members = malloc((g->n + 1) * sizeof *members);

	if (!members) {
		sp_otf2_fail_memory(a);
		return;
	}
	for (uint32_t i = 0; i < g->n; i++)
		members[i] = rank_of(a, g, i);
	OTF2_GlobalDefWriter_WriteGroup(a->defs, ref, sp_otf2_literal(a, ""), OTF2_GROUP_TYPE_COMM_GROUP,
	                                OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, g->n, members);
	free(members);
}

/* The group of these members. Groups with the same stored members and unmeasured ones are one group; in most programs
 * the communicators with one group are adjacent. */
static OTF2_GroupRef group_of(struct sp_otf2 *a, struct sp_intern *known, const struct sp_group *g, OTF2_GroupRef first)
{
	const void *const key[] = {g->processes, g->unmeasured};
	const size_t had = known->n;
	const uint32_t id = sp_intern(known, (const char *)key, sizeof key);

	if (id == SP_INTERN_FAILED)
		sp_otf2_fail_memory(a);
	else if (id == had)
		define_group(a, first + id, g);
	return first + id;
}

static void define_topology(struct sp_otf2 *a, uint32_t index)
{
	const struct sp_comm *c = &a->m->comms[index];
	OTF2_CartDimensionRef dimensions[UINT8_MAX];
	char name[32];

	for (uint32_t d = 0; d < c->cart_dims; d++) {
		snprintf(name, sizeof name, "dimension %u", d);
		dimensions[d] = a->n_dimensions++;
		OTF2_GlobalDefWriter_WriteCartDimension(
		    a->defs, dimensions[d], sp_otf2_literal(a, name), c->cart[2 * d],
		    c->cart[2 * d + 1] ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE);
	}
	struct sp_str shown = c->cart_name.n ? c->cart_name : c->name.n ? c->name : sp_text("Cartesian topology");
	OTF2_GlobalDefWriter_WriteCartTopology(a->defs, ++a->n_topologies, sp_otf2_string(a, shown),
	                                       a->comm_refs[index], (uint8_t)c->cart_dims, dimensions);
	for (uint32_t i = 0; i < c->group.n; i++)
		if (c->coordinates[(size_t)i * c->cart_dims] != SP_NONE)
			OTF2_GlobalDefWriter_WriteCartCoordinate(a->defs, a->n_topologies, i, (uint8_t)c->cart_dims,
			                                         c->coordinates + (size_t)i * c->cart_dims);
}

static void define_comms(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	struct sp_intern known = {.arena = &a->arena};
	const OTF2_GroupRef self = a->n_groups++, first = a->n_groups;

	OTF2_GlobalDefWriter_WriteGroup(a->defs, self, sp_otf2_literal(a, ""), OTF2_GROUP_TYPE_COMM_SELF,
	                                OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 0, NULL);
	/* a parent may come after its child if another process was the first to record it */
	for (uint32_t n = 0; n < a->n_comm_refs && !a->failed; n++) {
		const uint32_t i = a->comm_order[n];
		const struct sp_comm *c = &m->comms[i];
		const bool has_parent = c->parent != SP_NONE && a->comm_refs[c->parent] != SP_NONE;
		const OTF2_CommRef parent = has_parent ? a->comm_refs[c->parent] : OTF2_UNDEFINED_COMM;
		OTF2_StringRef name = sp_otf2_string(a, c->name);
		if (c->inter) {
			OTF2_GroupRef one = group_of(a, &known, &c->group, first);
			OTF2_GroupRef other = group_of(a, &known, &c->remote, first);
			OTF2_GlobalDefWriter_WriteInterComm(a->defs, a->comm_refs[i], name, one, other, parent,
			                                    OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS);
			continue;
		}
		OTF2_GlobalDefWriter_WriteComm(a->defs, a->comm_refs[i], name,
		                               c->self || c->group.n == 1 ? self
		                                                          : group_of(a, &known, &c->group, first),
		                               parent, OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS);
		if (c->cart_dims)
			define_topology(a, i);
	}
	a->n_groups = first + (uint32_t)known.n;
	sp_intern_free(&known);
}

static void define_paradigm(struct sp_otf2 *a)
{
	OTF2_AttributeValue value;

	OTF2_GlobalDefWriter_WriteParadigm(a->defs, OTF2_PARADIGM_MPI, sp_otf2_literal(a, "MPI"),
	                                   OTF2_PARADIGM_CLASS_PROCESS);
	value.stringRef = sp_otf2_literal(a, "MPI Communicator ${id}");
	OTF2_GlobalDefWriter_WriteParadigmProperty(a->defs, OTF2_PARADIGM_MPI,
	                                           OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE, OTF2_TYPE_STRING, value);
	value.stringRef = sp_otf2_literal(a, "MPI Window ${id}");
	OTF2_GlobalDefWriter_WriteParadigmProperty(
	    a->defs, OTF2_PARADIGM_MPI, OTF2_PARADIGM_PROPERTY_RMA_WIN_NAME_TEMPLATE, OTF2_TYPE_STRING, value);
}

void sp_otf2_define_ranks(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;

	if (!sp_otf2_has_mpi(m))
		return;
	define_paradigm(a);
	define_ranks(a);
	for (uint32_t i = 0; i < m->n_groups && !a->failed; i++)
		define_group(a, 1 + i, &m->groups[i]);
}

void sp_otf2_define_comms(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;

	if (!sp_otf2_has_mpi(m))
		return;
	define_comms(a);
	for (uint32_t n = 0; n < a->n_win_refs; n++) {
		const struct sp_win *win = &m->wins[a->win_order[n]];
		OTF2_GlobalDefWriter_WriteRmaWin(a->defs, n, sp_otf2_string(a, win->name), a->comm_refs[win->comm],
		                                 OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
	}
}
