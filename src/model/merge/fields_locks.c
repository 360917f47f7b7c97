/* SPDX-License-Identifier: BSD-3-Clause */
/* Serializes locks and waits: those of the model, and those of one process during a merge. */
#include "model/builder/loading.h"
#include "model/merge/fields.h"
#include "model/model.h"

/* Upper limits of the indices (exclusive). */
struct limits {
	size_t regions, strings, processes, locations, locks;
};

void sp_fields_stack(struct sp_pack *k, struct sp_stack *s, size_t regions)
{
	size_t n = s->n, i;

	s->regions = sp_pack_list(k, s->regions, &n, sizeof(*s->regions));
	s->n = (uint32_t)n;
	for (i = 0; i < n && !k->failed; i++)
		sp_pack_index(k, &s->regions[i], regions);
}

static void lock(struct sp_pack *k, const struct limits *l, struct sp_lock *o)
{
	sp_pack_index(k, &o->process, l->processes);
	sp_pack_number(k, o->number);
	sp_pack_byte(k, &o->kind, SP_LOCK_KINDS);
	sp_pack_bool(k, &o->freed);
	sp_pack_bool(k, &o->gone);
	sp_pack_number(k, o->address);
	sp_pack_index_or_none(k, &o->type, l->strings);
	sp_pack_index_or_none(k, &o->user, l->locks);
	sp_pack_index_or_none(k, &o->made_file, l->strings);
	sp_pack_number(k, o->made_line);
	sp_pack_index_or_none(k, &o->made_by, l->locations);
	sp_pack_index_or_none(k, &o->holder, l->locations);
	sp_fields_stack(k, &o->holder_stack, l->regions);
	sp_pack_number(k, o->since);
	sp_pack_number(k, o->count);
	sp_pack_number(k, o->contended);
	sp_pack_number(k, o->waited);
	sp_pack_number(k, o->held);
}

static void wait(struct sp_pack *k, const struct limits *l, struct sp_lock_wait *w)
{
	sp_pack_index(k, &w->location, l->locations);
	sp_pack_number(k, w->number);
	sp_fields_stack(k, &w->stack, l->regions);
	sp_pack_byte(k, &w->kind, SP_LOCK_KINDS);
	sp_pack_index_or_none(k, &w->lock, l->locks);
	sp_pack_index_or_none(k, &w->file, l->strings);
	sp_pack_number(k, w->line);
	sp_pack_index_or_none(k, &w->holder, l->locations);
	sp_fields_stack(k, &w->holder_stack, l->regions);
	sp_pack_number(k, w->count);
	sp_pack_number(k, w->ns);
	sp_pack_number(k, w->longest);
	sp_pack_bool(k, &w->open);
	sp_pack_bool(k, &w->timed);
	sp_pack_bool(k, &w->news);
	sp_pack_number(k, w->since);
}

static void cycle(struct sp_pack *k, const struct limits *l, struct sp_lock_cycle *c)
{
	size_t n = c->n, i;

	sp_pack_index(k, &c->process, l->processes);
	sp_pack_bool(k, &c->interrupted);
	c->links = sp_pack_list(k, c->links, &n, sizeof(*c->links));
	c->n = (uint32_t)n;
	for (i = 0; i < n && !k->failed; i++) {
		sp_pack_index(k, &c->links[i].location, l->locations);
		sp_pack_index(k, &c->links[i].lock, l->locks);
		sp_pack_number(k, c->links[i].since);
	}
}

/* The lists and their lengths. */
struct lists {
	struct sp_lock **locks;
	struct sp_lock_wait **waits;
	struct sp_lock_cycle **cycles;
	size_t *n[3];
};

static void all(struct sp_pack *k, const struct limits *limits, const struct lists *of)
{
	struct limits l = *limits;
	size_t i;

	*of->locks = sp_pack_list(k, *of->locks, of->n[0], sizeof(**of->locks));
	*of->waits = sp_pack_list(k, *of->waits, of->n[1], sizeof(**of->waits));
	*of->cycles = sp_pack_list(k, *of->cycles, of->n[2], sizeof(**of->cycles));
	l.locks = *of->n[0];
	for (i = 0; i < *of->n[0] && !k->failed; i++)
		lock(k, &l, &(*of->locks)[i]);
	for (i = 0; i < *of->n[1] && !k->failed; i++)
		wait(k, &l, &(*of->waits)[i]);
	for (i = 0; i < *of->n[2] && !k->failed; i++)
		cycle(k, &l, &(*of->cycles)[i]);
}

void sp_fields_locks(struct sp_pack *k, struct sp_model *m)
{
	const struct limits l = {m->n_regions, m->n_strings, m->n_processes, m->n_locations, 0};
	const struct lists of = {
	    &m->locks, &m->lock_waits, &m->lock_cycles, {&m->n_locks, &m->n_lock_waits, &m->n_lock_cycles}};

	all(k, &l, &of);
}

void sp_fields_process_locks(struct sp_pack *k, const struct sp_model *m, struct sp_lock_defs *d, size_t locations)
{
	/* all of them belong to one process */
	const struct limits l = {m->n_regions, m->n_strings, 1, locations, 0};
	const struct lists of = {&d->locks, &d->waits, &d->cycles, {&d->n_locks, &d->n_waits, &d->n_cycles}};

	all(k, &l, &of);
}
