/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/fields.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/comm.h"
#include "model/file.h"
#include "model/line.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "model/tally.h"

#include <string.h>

/* Structs without padding that are written byte for byte. */
_Static_assert(sizeof(struct sp_lost) == 8 * 8, "losses");
_Static_assert(sizeof(struct sp_clock) == 3 * 8, "clock");

static void region(struct sp_pack *k, struct sp_region *r)
{
	sp_pack_str(k, &r->module);
	sp_pack_str(k, &r->qualname);
	sp_pack_str(k, &r->name);
	sp_pack_str(k, &r->file);
	sp_pack_number(k, r->line);
	sp_pack_number(k, r->address);
	sp_pack_byte(k, &r->kind, SP_REGION_KINDS);
	sp_pack_byte(k, &r->role, SP_MPI_ROLES);
	sp_pack_bool(k, &r->generator);
	sp_pack_bool(k, &r->code.recorded);
	if (!r->code.recorded)
		return;
	sp_pack_number(k, r->code.argcount);
	sp_pack_number(k, r->code.nlocals);
	sp_pack_number(k, r->code.stacksize);
	sp_pack_number(k, r->code.lasti);
}

static void metric(struct sp_pack *k, struct sp_metric *x)
{
	sp_pack_str(k, &x->name);
	sp_pack_str(k, &x->unit);
	sp_pack_str(k, &x->what);
	sp_pack_number(k, x->exponent);
	if (!sp_metric_exponent(x->exponent))
		sp_pack_fail(k);
	sp_pack_byte(k, &x->kind, SP_METRIC_KINDS);
	sp_pack_bool(k, &x->own);
	sp_pack_bool(k, &x->level);
}

/* Serializes a count; reading: allocates a new array of that length. */
#define LIST(k, array, n)                                                                                              \
	do {                                                                                                           \
		sp_pack_count(k, &(n));                                                                                \
		if ((k)->reading)                                                                                      \
			(array) = sp_pack_make(k, n, sizeof(*(array)));                                                \
	} while (0)

static void strings(struct sp_pack *k, struct sp_str **list, size_t *n)
{
	size_t i;

	LIST(k, *list, *n);
	for (i = 0; i < *n && !k->failed; i++)
		sp_pack_str(k, &(*list)[i]);
}

void sp_fields_definitions(struct sp_pack *k, struct sp_model *m)
{
	size_t i;

	LIST(k, m->regions, m->n_regions);
	for (i = 0; i < m->n_regions && !k->failed; i++)
		region(k, &m->regions[i]);
	LIST(k, m->metrics, m->n_metrics);
	for (i = 0; i < m->n_metrics && !k->failed; i++)
		metric(k, &m->metrics[i]);
	strings(k, &m->counters, &m->n_counters);
	strings(k, &m->parameters, &m->n_parameters);
	strings(k, &m->strings, &m->n_strings);
}

/* Serializes a text or NULL. */
static void sentence(struct sp_pack *k, const char **text)
{
	struct sp_str s = {*text ? *text : "", *text ? strlen(*text) : 0};

	sp_pack_str(k, &s);
	*text = s.n ? s.p : NULL;
}

void sp_fields_process(struct sp_pack *k, struct sp_process *p)
{
	size_t i;

	sp_pack_str(k, &p->file);
	sp_pack_str(k, &p->host);
	sp_pack_str(k, &p->command);
	sp_pack_str(k, &p->role);
	sp_pack_str(k, &p->name);
	sp_pack_number(k, p->pid);
	sp_pack_number(k, p->ppid);
	sp_pack_number(k, p->parent);
	sp_pack_number(k, p->rank);
	sp_pack_number(k, p->ranks);
	sp_pack_number(k, p->world);
	sp_pack_number(k, p->world_index);
	sp_pack_byte(k, &p->end, SP_ENDS);
	sp_pack_number(k, p->status);
	sp_pack_number(k, p->continues);
	sp_pack_number(k, p->ended_by);
	sp_pack_bool(k, &p->forked);
	sp_pack_bool(k, &p->helper);
	sp_pack_bool(k, &p->traced);
	sp_pack_bool(k, &p->sampled);
	sp_pack_bool(k, &p->counted);
	sp_pack_number(k, p->begin);
	sp_pack_number(k, p->stop);
	sp_pack_number(k, p->first_location);
	sp_pack_number(k, p->locations);
	sp_pack_number(k, p->cost_in);
	sp_pack_number(k, p->cost_out);
	sp_pack_number(k, p->lost);
	sentence(k, &p->lost_reason);
	sentence(k, &p->lost_children_reason);
	LIST(k, p->meta, p->metas);
	for (i = 0; i < p->metas && !k->failed; i++) {
		sp_pack_str(k, &p->meta[i].key);
		sp_pack_str(k, &p->meta[i].value);
	}
}

void sp_fields_children(struct sp_pack *k, struct sp_model *m)
{
	size_t i;

	LIST(k, m->children, m->n_children);
	for (i = 0; i < m->n_children && !k->failed; i++) {
		struct sp_child *c = &m->children[i];

		sp_pack_index(k, &c->parent, m->n_processes);
		sp_pack_index_or_none(k, &c->process, m->n_processes);
		sp_pack_number(k, c->pid);
		sp_pack_str(k, &c->command);
		sp_pack_number(k, c->begin);
		sp_pack_number(k, c->end);
		sp_pack_number(k, c->status);
		sp_pack_bool(k, &c->forked);
		sp_pack_bool(k, &c->exec);
	}
}

void sp_fields_location(struct sp_pack *k, struct sp_location *l)
{
	sp_pack_number(k, l->process);
	sp_pack_number(k, l->creator);
	sp_pack_str(k, &l->name);
	sp_pack_str(k, &l->role);
	sp_pack_str(k, &l->runs);
	sp_pack_bool(k, &l->helper);
	sp_pack_number(k, l->tid);
	sp_pack_number(k, l->begin);
	sp_pack_number(k, l->end);
	sp_pack_number(k, l->id);
	sp_pack_number(k, l->lost);
	sp_pack_number(k, l->first_value);
	sp_pack_number(k, l->values);
	sp_pack_number(k, l->visits);
	sp_pack_number(k, l->resumed);
	sp_pack_number(k, l->busy);
	sp_pack_number(k, l->mpi);
	sp_pack_number(k, l->off_cpu);
	sp_pack_number(k, l->cpu);
	sp_pack_str(k, &l->open);
}

void sp_fields_event_range(struct sp_pack *k, struct sp_event_range *p)
{
	sp_pack_number(k, p->source);
	sp_pack_number(k, p->thread);
	sp_pack_number(k, p->end);
	sp_pack_number(k, p->words);
	sp_pack_number(k, p->waiting);
	sp_pack_bool(k, &p->reported);
}

void sp_fields_source(struct sp_pack *k, const struct sp_model *m, struct sp_source *s)
{
	struct sp_ids sync = {s->sync, s->n_sync};

	sp_pack_number(k, s->clock);
	if (k->reading && !(s->clock.ns > 0 && s->clock.ns < 0x1p32))
		sp_pack_fail(k);
	sp_pack_ids(k, &s->regions, m->n_regions);
	sp_pack_ids(k, &s->counters, m->n_counters);
	sp_pack_ids(k, &s->parameters, m->n_parameters);
	sp_pack_ids(k, &s->strings, m->n_strings);
	sp_pack_ids(k, &s->metrics, m->n_metrics);
	/* these are indices, not ids plus 1 */
	sp_pack_ids(k, &sync, m->n_metrics ? m->n_metrics - 1 : 0);
	if (k->reading && sync.n > (m->n_metrics ? 255 : 0))
		sp_pack_fail(k);
	s->sync = sync.to;
	s->n_sync = sync.n;
	sp_pack_number(k, s->sampled_clock);
	if (k->reading && !(s->sampled_clock.ns > 0 && s->sampled_clock.ns < 0x1p32))
		sp_pack_fail(k);
	sp_pack_ids(k, &s->sampled_regions, m->n_regions);
	sp_pack_ids(k, &s->sampled_metrics, m->n_metrics);
	sp_pack_bool(k, &s->regions_repeat);
	sp_pack_bool(k, &s->has_io);
	sp_pack_bool(k, &s->has_mpi);
	sp_pack_bool(k, &s->damaged);
	sp_pack_bool(k, &s->closed);
	if (k->reading)
		s->borrowed = true;
}

void sp_fields_handles(struct sp_pack *k, struct sp_io_handle **handles, size_t *n)
{
	size_t i;

	LIST(k, *handles, *n);
	for (i = 0; i < *n && !k->failed; i++) {
		struct sp_io_handle *h = &(*handles)[i];

		sp_pack_number(k, h->process);
		sp_pack_str(k, &h->path);
		sp_pack_number(k, h->flags);
		sp_pack_bool(k, &h->mpi);
		sp_pack_number(k, h->comm);
	}
}

/* Serializes the members of a group, and the identities of unmeasured ones. */
static void group(struct sp_pack *k, const struct sp_model *m, struct sp_group *g)
{
	bool recorded = g->unmeasured;
	uint32_t i;

	sp_pack_group(k, g, m->n_processes);
	sp_pack_bool(k, &recorded);
	if (!recorded)
		return;
	sp_pack_array(k, &g->unmeasured, g->n, sizeof(*g->unmeasured));
	for (i = 0; k->reading && !k->failed && i < g->n; i++) {
		const uint64_t u = g->unmeasured[i];

		if (u != UINT64_MAX && (u >> 32 >= m->n_worlds || (uint32_t)u >= m->worlds[u >> 32].ranks.n))
			sp_pack_fail(k);
	}
}

static void communicator(struct sp_pack *k, struct sp_model *m, struct sp_comm *c)
{
	size_t dims = c->cart ? c->cart_dims : 0;

	sp_pack_str(k, &c->name);
	sp_pack_index_or_none(k, &c->parent, m->n_comms);
	group(k, m, &c->group);
	group(k, m, &c->remote);
	sp_pack_bool(k, &c->inter);
	sp_pack_bool(k, &c->self);
	sp_pack_bool(k, &c->world);
	sp_pack_bool(k, &c->incomplete);
	sp_pack_count(k, &dims);
	if (k->reading && dims > SP_MAX_DIMENSIONS) {
		sp_pack_fail(k);
		dims = 0;
	}
	c->cart_dims = (uint32_t)dims;
	if (k->reading)
		c->cart_name = (struct sp_str){"", 0};
	if (dims == 0)
		return;
	sp_pack_str(k, &c->cart_name);
	sp_pack_array(k, &c->cart, dims, 2 * sizeof(*c->cart));
	sp_pack_array(k, &c->coordinates, dims * c->group.n, sizeof(*c->coordinates));
}

void sp_fields_communicators(struct sp_pack *k, struct sp_model *m)
{
	uint64_t ranks = m->n_processes;
	size_t i;

	LIST(k, m->worlds, m->n_worlds);
	for (i = 0; i < m->n_worlds && !k->failed; i++) {
		sp_pack_number(k, m->worlds[i].id);
		sp_pack_group(k, &m->worlds[i].ranks, m->n_processes);
		ranks += m->worlds[i].ranks.n;
	}
	/* members are indexed with 32 bits; the file's size does not limit their number, because equal lists are stored
	 * once */
	if (ranks >= SP_NONE)
		sp_pack_fail(k);
	LIST(k, m->comms, m->n_comms);
	for (i = 0; i < m->n_comms && !k->failed; i++)
		communicator(k, m, &m->comms[i]);
	LIST(k, m->wins, m->n_wins);
	for (i = 0; i < m->n_wins && !k->failed; i++) {
		sp_pack_str(k, &m->wins[i].name);
		sp_pack_index(k, &m->wins[i].comm, m->n_comms);
	}
	LIST(k, m->groups, m->n_groups);
	for (i = 0; i < m->n_groups && !k->failed; i++)
		group(k, m, &m->groups[i]);
}

void sp_fields_source_mpi(struct sp_pack *k, const struct sp_model *m, struct sp_source *s)
{
	size_t n = s->sides ? s->comms.n : 0;

	sp_pack_ids(k, &s->comms, m->n_comms);
	sp_pack_ids(k, &s->wins, m->n_wins);
	sp_pack_ids(k, &s->groups, m->n_groups);
	sp_pack_count(k, &n);
	sp_pack_array(k, &s->sides, n, 1);
	if (k->reading && n != s->comms.n)
		sp_pack_fail(k);
}

static void lines(struct sp_pack *k, struct sp_line **p, size_t *n, size_t regions, size_t locations)
{
	size_t i;

	LIST(k, *p, *n);
	for (i = 0; i < *n && !k->failed; i++) {
		struct sp_line *v = &(*p)[i];

		sp_pack_index(k, &v->location, locations);
		sp_pack_index(k, &v->region, regions);
		sp_pack_number(k, v->line);
		sp_pack_number(k, v->hits);
		sp_pack_number(k, v->own);
		sp_pack_number(k, v->callees);
	}
}

void sp_fields_lines(struct sp_pack *k, struct sp_model *m)
{
	lines(k, &m->lines, &m->n_lines, m->n_regions, m->n_locations);
}

void sp_fields_process_lines(struct sp_pack *k, const struct sp_model *m, struct sp_line_defs *d, size_t locations)
{
	lines(k, &d->p, &d->n, m->n_regions, locations);
}

static void tallies(struct sp_pack *k, struct sp_tally **p, size_t *n, size_t paths, size_t locations)
{
	size_t i;

	LIST(k, *p, *n);
	for (i = 0; i < *n && !k->failed; i++) {
		struct sp_tally *v = &(*p)[i];

		sp_pack_index(k, &v->location, locations);
		sp_pack_index(k, &v->path, paths);
		sp_pack_index(k, &v->generation, SP_TALLY_OLDEST + 1);
		sp_pack_byte(k, &v->kind, SP_TALLY_KINDS);
		sp_pack_number(k, v->count);
		sp_pack_number(k, v->ns);
		sp_pack_number(k, v->objects);
	}
}

void sp_fields_tallies(struct sp_pack *k, struct sp_model *m)
{
	tallies(k, &m->tallies, &m->n_tallies, m->n_paths, m->n_locations);
}

void sp_fields_process_tallies(struct sp_pack *k, const struct sp_model *m, struct sp_tally_defs *d, size_t locations)
{
	tallies(k, &d->p, &d->n, m->n_paths, locations);
}

void sp_fields_problems(struct sp_pack *k, struct sp_model *m)
{
	struct sp_str text;
	size_t n = m->n_problems, i;

	sp_pack_count(k, &n);
	for (i = 0; i < n && !k->failed; i++) {
		text = k->reading ? (struct sp_str){"", 0} : m->problems[i].text;
		sp_pack_str(k, &text);
		if (k->reading && !k->failed)
			sp_model_add_problem(m, text.p);
	}
}
