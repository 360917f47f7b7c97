/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI definitions of one process: its rank, communicators, windows and groups. mpi.c unifies them over all
 * processes. */
#include "base/grow.h"
#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/process.h"
#include "model/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of an MPI_COMM_WORLD; more is damage. */
enum { MAX_RANKS = 1 << 22 };

void sp_mpi_defs_free(struct sp_mpi_defs *d)
{
	free(d->comms);
	free(d->wins);
	free(d->groups);
	memset(d, 0, sizeof(*d));
}

static bool copy(struct sp_builder *b, struct sp_str *to, const struct sp_str *from)
{
	*to = (struct sp_str){sp_arena_copy(&b->scratch, from->p, from->n), from->n};
	return to->p;
}

static int add_comm(struct sp_builder *b, struct sp_loading *l, const struct sp_comm_def *def)
{
	struct sp_mpi_defs *m = &l->mpi;
	struct sp_comm_def *p;

	if (!sp_grow(&m->comms, m->n_comms, &m->comm_capacity, sizeof(*p)))
		return -1;
	p = &m->comms[m->n_comms];
	*p = *def;
	p->order = (uint32_t)m->n_comms++;
	return copy(b, &p->name, &def->name) && copy(b, &p->members, &def->members) &&
	               copy(b, &p->remote, &def->remote) && copy(b, &p->cart_name, &def->cart_name) &&
	               copy(b, &p->cart, &def->cart) && copy(b, &p->coordinates, &def->coordinates)
	           ? 0
	           : -1;
}

static int comm(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                const struct sp_str part[4])
{
	struct sp_comm_def def = {
	    .id = d->a, .flags = d->flags, .name = part[0], .members = part[2], .remote = part[3]};

	if (part[1].n == sizeof(def.c)) {
		memcpy(&def.c, part[1].p, sizeof(def.c));
		def.recorded = true;
	} else if (part[1].n) {
		sp_raw_report(l->source->raw, at, "communicator %" PRIu32 " is damaged", d->a);
	}
	if (part[2].n % sizeof(struct sp_raw_ranks) || part[3].n % sizeof(struct sp_raw_ranks)) {
		sp_raw_report(l->source->raw, at, "the members of communicator %" PRIu32 " are damaged", d->a);
		def.members.n = def.remote.n = 0;
	}
	return add_comm(b, l, &def);
}

static int cart(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                const struct sp_str part[4])
{
	const size_t dimensions = part[1].n / 8;

	if (part[1].n != dimensions * 8 || part[2].n != dimensions * 4 || dimensions > SP_MAX_DIMENSIONS) {
		sp_raw_report(l->source->raw, at, "the topology of communicator %" PRIu32 " is damaged", d->a);
		return 0;
	}
	return add_comm(
	    b, l, &(struct sp_comm_def){.id = d->a, .cart_name = part[0], .cart = part[1], .coordinates = part[2]});
}

static int win(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, const struct sp_str part[4])
{
	struct sp_mpi_defs *m = &l->mpi;
	struct sp_win_def *p;

	if (!sp_grow(&m->wins, m->n_wins, &m->win_capacity, sizeof(*p)))
		return -1;
	p = &m->wins[m->n_wins];
	*p = (struct sp_win_def){.id = d->a, .order = (uint32_t)m->n_wins++, .comm = d->b};
	return copy(b, &p->name, &part[0]) ? 0 : -1;
}

static int group(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                 const struct sp_str part[4])
{
	struct sp_mpi_defs *m = &l->mpi;
	struct sp_group_def *p;

	if (part[0].n % sizeof(struct sp_raw_ranks)) {
		sp_raw_report(l->source->raw, at, "the members of group %" PRIu32 " are damaged", d->a);
		return 0;
	}
	if (!sp_grow(&m->groups, m->n_groups, &m->group_capacity, sizeof(*p)))
		return -1;
	p = &m->groups[m->n_groups];
	*p = (struct sp_group_def){.id = d->a, .order = (uint32_t)m->n_groups++};
	return copy(b, &p->members, &part[0]) ? 0 : -1;
}

int sp_build_mpi_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                        const struct sp_str part[4])
{
	if (d->a == 0) {
		sp_raw_report(l->source->raw, at, "id 0 of a definition is out of range");
		return 0;
	}
	l->source->has_mpi = true;
	switch (d->kind) {
	case SP_RAW_DEF_COMM:
		return comm(b, l, d, at, part);
	case SP_RAW_DEF_CART:
		return cart(b, l, d, at, part);
	case SP_RAW_DEF_WIN:
		return win(b, l, d, part);
	default:
		return group(b, l, d, at, part);
	}
}

/* For sorting: all three structs begin with their id and their order. */
static int compare_ids(const void *a, const void *b)
{
	const uint32_t *p = a, *q = b;

	if (p[0] != q[0])
		return p[0] < q[0] ? -1 : 1;
	return p[1] < q[1] ? -1 : p[1] > q[1];
}

static void replace(struct sp_str *old, const struct sp_str *by)
{
	if (by->n)
		*old = *by;
}

static void merge_comm(struct sp_comm_def *to, const struct sp_comm_def *d)
{
	to->flags |= d->flags;
	if (d->recorded)
		to->c = d->c;
	to->recorded |= d->recorded;
	replace(&to->name, &d->name);
	replace(&to->members, &d->members);
	replace(&to->remote, &d->remote);
	replace(&to->cart_name, &d->cart_name);
	replace(&to->cart, &d->cart);
	replace(&to->coordinates, &d->coordinates);
}

static void each_once(struct sp_mpi_defs *m)
{
	size_t i, n;

	if (m->n_comms)
		qsort(m->comms, m->n_comms, sizeof(*m->comms), compare_ids);
	for (i = n = 0; i < m->n_comms; i++)
		if (n && m->comms[n - 1].id == m->comms[i].id)
			merge_comm(&m->comms[n - 1], &m->comms[i]);
		else
			m->comms[n++] = m->comms[i];
	m->n_comms = n;
	for (i = 0; i < n && !m->self; i++)
		if (m->comms[i].recorded && (m->comms[i].flags & SP_RAW_COMM_SELF))
			m->self = &m->comms[i];
	if (m->n_wins)
		qsort(m->wins, m->n_wins, sizeof(*m->wins), compare_ids);
	for (i = n = 0; i < m->n_wins; i++)
		if (n && m->wins[n - 1].id == m->wins[i].id)
			replace(&m->wins[n - 1].name, &m->wins[i].name);
		else
			m->wins[n++] = m->wins[i];
	m->n_wins = n;
	if (m->n_groups)
		qsort(m->groups, m->n_groups, sizeof(*m->groups), compare_ids);
	for (i = n = 0; i < m->n_groups; i++)
		if (n == 0 || m->groups[n - 1].id != m->groups[i].id)
			m->groups[n++] = m->groups[i];
	m->n_groups = n;
}

/* Parses a META value that is only a number; false: not recorded, or damaged. */
static bool meta_number(const struct sp_process *p, const char *key, int base, uint64_t *out)
{
	char *end;
	size_t i;

	for (i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, key) == 0) {
			*out = strtoull(p->meta[i].value.p, &end, base);
			return *p->meta[i].value.p && *end == 0;
		}
	return false;
}

void sp_build_mpi_process(struct sp_loading *l)
{
	struct sp_process *p = &l->process;
	uint64_t world = 0, rank = 0, size = 0;
	bool some, all;

	each_once(&l->mpi);
	p->rank = p->world_index = SP_NONE;
	some = meta_number(p, "mpi_world", 16, &world);
	all = meta_number(p, "mpi_rank", 10, &rank) & meta_number(p, "mpi_size", 10, &size) & some;
	if (all && world && size <= MAX_RANKS && rank < size) {
		p->world = world;
		p->rank = (uint32_t)rank;
		p->ranks = (uint32_t)size;
	} else if (some) {
		sp_raw_report(l->source->raw, 0, "its rank in MPI_COMM_WORLD is not known");
	}
}
