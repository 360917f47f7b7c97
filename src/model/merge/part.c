/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/part.h"

#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/stack_reader.h"
#include "model/builder/steps.h"
#include "model/file.h"
#include "model/merge/fields.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "model/task.h"

/* A part that was read and is not added to the builder yet. */
struct part {
	struct sp_model m; /* has only the definitions */
	struct sp_model_private priv;
	struct {
		uint32_t region, before;
	} * values; /* of parameters */
	size_t n_values;
	uint64_t *visits;                                                       /* for each path */
	uint32_t *regions, *counters, *parameters, *strings, *parameter_values; /* tables to the builder's indices */
};

/* Serializes a count. Reading: allocates a table of that length, to be freed with free(). Returns the count. */
static size_t pack_table(struct sp_pack *k, void *table, size_t *n, size_t *capacity, size_t size)
{
	void **to = table;

	sp_pack_count(k, n);
	if (k->reading) {
		*to = k->failed ? NULL : calloc(*n + 1, size);
		if (!*to && !k->failed)
			sp_pack_no_memory(k);
		*n = *capacity = *to ? *n : 0;
	}
	return *n;
}

static void pack_comms(struct sp_pack *k, struct sp_mpi_defs *d)
{
	size_t n = pack_table(k, &d->comms, &d->n_comms, &d->comm_capacity, sizeof(*d->comms)), i;

	for (i = 0; i < n; i++) {
		struct sp_comm_def *c = &d->comms[i];

		sp_pack_number(k, c->id);
		sp_pack_number(k, c->order);
		sp_pack_number(k, c->flags);
		sp_pack_number(k, c->c);
		sp_pack_bool(k, &c->recorded);
		sp_pack_str(k, &c->name);
		sp_pack_str(k, &c->members);
		sp_pack_str(k, &c->remote);
		sp_pack_str(k, &c->cart_name);
		sp_pack_str(k, &c->cart);
		sp_pack_str(k, &c->coordinates);
	}
}

static void pack_wins(struct sp_pack *k, struct sp_mpi_defs *d)
{
	size_t n = pack_table(k, &d->wins, &d->n_wins, &d->win_capacity, sizeof(*d->wins)), i;

	for (i = 0; i < n; i++) {
		sp_pack_number(k, d->wins[i].id);
		sp_pack_number(k, d->wins[i].order);
		sp_pack_number(k, d->wins[i].comm);
		sp_pack_str(k, &d->wins[i].name);
	}
}

static void pack_mpi(struct sp_pack *k, struct sp_mpi_defs *d)
{
	uint32_t self = d->self ? (uint32_t)(d->self - d->comms) : SP_NONE;
	size_t n, i;

	pack_comms(k, d);
	pack_wins(k, d);
	n = pack_table(k, &d->groups, &d->n_groups, &d->group_capacity, sizeof(*d->groups));
	for (i = 0; i < n; i++) {
		sp_pack_number(k, d->groups[i].id);
		sp_pack_number(k, d->groups[i].order);
		sp_pack_str(k, &d->groups[i].members);
	}
	sp_pack_index_or_none(k, &self, d->n_comms);
	d->self = self != SP_NONE && self < d->n_comms ? &d->comms[self] : NULL;
}

static void pack_children(struct sp_pack *k, struct sp_children_defs *v)
{
	size_t n = pack_table(k, &v->p, &v->n, &v->capacity, sizeof(*v->p)), i;

	for (i = 0; i < n; i++) {
		sp_pack_number(k, v->p[i].pid);
		sp_pack_number(k, v->p[i].flags);
		sp_pack_number(k, v->p[i].record);
		sp_pack_str(k, &v->p[i].command);
	}
}

static void pack_loading(struct sp_pack *k, struct sp_loading *l)
{
	size_t n = l->process.locations, i;

	if (k->reading)
		l->parent_name = (struct sp_str){NULL, 0};
	sp_fields_process(k, &l->process);
	sp_pack_str(k, &l->parent_name);
	sp_pack_count(k, &n);
	if (k->reading) {
		l->process.locations = (uint32_t)n;
		l->locations = sp_pack_make(k, n, sizeof(*l->locations));
		l->places = sp_pack_make(k, n, sizeof(*l->places));
	}
	for (i = 0; i < n && !k->failed; i++) {
		sp_fields_location(k, &l->locations[i]);
		sp_fields_event_range(k, &l->places[i]);
	}
	sp_pack_array(k, &l->begins, n, sizeof(*l->begins));
	sp_pack_number(k, l->mono);
	sp_pack_number(k, l->real);
	sp_pack_number(k, l->end);
	sp_pack_number(k, l->sync);
	sp_pack_number(k, l->syncs);
	sp_pack_number(k, l->order);
	sp_pack_bool(k, &l->final);
	pack_mpi(k, &l->mpi);
	pack_children(k, &l->children);
}

/* Reading: `m` has the definitions of the part. */
static void pack_source(struct sp_pack *k, const struct sp_model *m, const struct sp_loading *l, struct sp_source *s)
{
	sp_fields_source(k, m, s);
	sp_fields_source_tasks(k, s, l->tasks.count[0], l->process.locations);
	sp_fields_handles(k, &s->io_handles, &s->n_io_handles);
	sp_pack_ids(k, &s->handles, s->n_io_handles);
}

static void pack_values(struct sp_pack *k, struct sp_builder *b, struct part *p)
{
	size_t n = k->reading ? 0 : b->parameter_values.n, i;

	sp_pack_count(k, &n);
	if (k->reading) {
		p->values = sp_pack_make(k, n, sizeof(*p->values));
		p->n_values = n;
	}
	for (i = 0; i < n && !k->failed; i++) {
		uint32_t key[2] = {0, 0};

		if (!k->reading)
			memcpy(key, b->parameter_values.entries[i].p, sizeof(key));
		sp_pack_index(k, &key[0], k->reading ? p->m.n_regions : SP_NONE);
		sp_pack_index_or_none(k, &key[1], i);
		if (k->reading) {
			p->values[i].region = key[0];
			p->values[i].before = key[1];
		}
	}
}

void sp_part_write(struct sp_pack *k, struct sp_builder *b, uint32_t locations)
{
	struct sp_str first = {b->first.text, strlen(b->first.text)};
	struct sp_model *m = b->m;
	size_t n = b->n_loading, i;
	struct sp_err e;

	if (sp_builder_strings(b, &e) || sp_builder_visits(b)) {
		sp_pack_no_memory(k);
		return;
	}
	sp_pack_str(k, &first);
	sp_pack_number(k, locations);
	sp_fields_definitions(k, m);
	pack_values(k, b, NULL);
	sp_pack_count(k, &m->n_paths);
	sp_pack_array(k, &m->paths, m->n_paths, sizeof(*m->paths));
	sp_pack_array(k, &b->visits, m->n_paths, sizeof(*b->visits));
	sp_pack_count(k, &n);
	for (i = 0; i < n; i++) {
		pack_loading(k, &b->loading[i]);
		sp_fields_process_tasks(k, m, &b->loading[i].tasks);
		sp_fields_process_lines(k, m, &b->loading[i].lines, b->loading[i].process.locations);
		sp_fields_process_tallies(k, m, &b->loading[i].tallies, b->loading[i].process.locations);
		sp_fields_process_locks(k, m, &b->loading[i].locks, b->loading[i].process.locations);
		pack_source(k, m, &b->loading[i], b->loading[i].source);
	}
	sp_fields_problems(k, m);
}

/* Makes tables for everything that the part defines. */
static int make_tables(struct part *p, struct sp_part_ids *ids)
{
	p->regions = calloc(p->m.n_regions + 1, sizeof(*p->regions));
	p->counters = calloc(p->m.n_counters + 1, sizeof(*p->counters));
	p->parameters = calloc(p->m.n_parameters + 1, sizeof(*p->parameters));
	p->strings = calloc(p->m.n_strings + 1, sizeof(*p->strings));
	p->parameter_values = calloc(p->n_values + 1, sizeof(*p->parameter_values));
	ids->metrics = calloc(p->m.n_metrics + 1, sizeof(*ids->metrics));
	ids->paths = calloc(p->m.n_paths + 1, sizeof(*ids->paths));
	ids->n_metrics = p->m.n_metrics;
	ids->n_paths = p->m.n_paths;
	return p->regions && p->counters && p->parameters && p->strings && p->parameter_values && ids->metrics &&
	               ids->paths
	           ? 0
	           : -1;
}

static int intern_all(struct sp_intern *t, const struct sp_str *from, size_t n, uint32_t *to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		to[i] = sp_intern(t, from[i].p, from[i].n);
		if (to[i] == SP_INTERN_FAILED)
			return -1;
	}
	return 0;
}

static int add_definitions(struct sp_builder *b, struct part *p, struct sp_part_ids *ids)
{
	size_t i;

	for (i = 0; i < p->m.n_regions; i++) {
		p->regions[i] = sp_build_known_region(b, &p->m.regions[i]);
		if (p->regions[i] == SP_NONE)
			return -1;
	}
	for (i = 0; i < p->m.n_metrics; i++) {
		ids->metrics[i] = sp_build_metric(b, &p->m.metrics[i]);
		if (ids->metrics[i] == SP_NONE)
			return -1;
	}
	/* names of parameters before the values, which would add them in a different order */
	if (intern_all(&b->counters, p->m.counters, p->m.n_counters, p->counters) ||
	    intern_all(&b->parameters, p->m.parameters, p->m.n_parameters, p->parameters) ||
	    intern_all(&b->strings, p->m.strings, p->m.n_strings, p->strings))
		return -1;
	for (i = 0; i < p->n_values; i++) {
		uint32_t before = p->values[i].before;

		before = before == SP_NONE ? SP_NONE : p->parameter_values[before];
		p->parameter_values[i] = sp_build_parameter(b, p->regions[p->values[i].region], before);
		if (p->parameter_values[i] == SP_NONE)
			return -1;
	}
	return 0;
}

static int add_paths(struct sp_builder *b, struct part *p, struct sp_part_ids *ids)
{
	const struct sp_path *path;
	size_t i;

	for (i = 1; i < p->m.n_paths; i++) {
		path = &p->m.paths[i];
		ids->paths[i] =
		    sp_build_path(b, ids->paths[path->parent], p->regions[path->region],
		                  path->parameter == SP_NONE ? SP_NONE : p->parameter_values[path->parameter]);
		if (ids->paths[i] == SP_NONE)
			return -1;
	}
	if (sp_builder_visits(b))
		return -1;
	for (i = 0; i < p->m.n_paths; i++)
		b->visits[ids->paths[i]] += p->visits[i];
	return 0;
}

static int check_paths(const struct part *p)
{
	size_t i;

	for (i = 0; i < p->m.n_paths; i++) {
		const struct sp_path *path = &p->m.paths[i];

		if ((i && path->parent >= i) || path->region >= p->m.n_regions ||
		    (path->parameter != SP_NONE && path->parameter >= p->n_values))
			return -1;
	}
	return p->m.n_paths ? 0 : -1;
}

/* Makes a separate table of ids, with the indices of the builder. */
static int move_ids(struct sp_ids *ids, const uint32_t *to)
{
	uint32_t *own = calloc(ids->n + 1, sizeof(*own));
	size_t i;

	for (i = 0; own && i < ids->n; i++)
		own[i] = ids->to[i] && to ? to[ids->to[i] - 1] + 1 : ids->to[i];
	ids->to = own;
	return own ? 0 : -1;
}

static void move_wait(struct sp_task_wait *w, const struct part *p)
{
	w->region = w->region == SP_NONE ? SP_NONE : p->regions[w->region];
	w->kind = w->kind == SP_NONE ? SP_NONE : p->strings[w->kind];
}

static void move_region(void *arg, uint32_t *region)
{
	if (*region != SP_NONE)
		*region = ((const struct part *)arg)->regions[*region];
}

static void move_tasks(struct sp_task_defs *d, struct part *p)
{
	size_t i, n;

	for (i = 0; i < d->count[0]; i++) {
		struct sp_task *t = &d->tasks[i];

		t->region = t->region == SP_NONE ? SP_NONE : p->regions[t->region];
		for (n = 0; n < t->n_waits; n++)
			move_wait(&t->waits[n], p);
	}
	for (i = 0; i < d->count[1]; i++)
		if (d->rests[i].region != SP_NONE)
			d->rests[i].region = p->regions[d->rests[i].region];
	for (i = 0; i < d->count[2]; i++) {
		struct sp_task_awaited *a = &d->awaited[i];

		a->region = a->region == SP_NONE ? SP_NONE : p->regions[a->region];
		move_wait(&a->wait, p);
		sp_stack_regions(&a->stack, move_region, p);
	}
}

static int move_source(struct sp_builder *b, struct sp_source *s, const struct part *p, const struct sp_part_ids *ids)
{
	struct sp_io_handle *handles = calloc(s->n_io_handles + 1, sizeof(*handles));
	uint32_t *sync = calloc(s->n_sync + 1, sizeof(*sync));
	size_t i;
	int rc;

	s->borrowed = false;
	rc = move_ids(&s->regions, p->regions) | move_ids(&s->sampled_regions, p->regions) |
	     move_ids(&s->sampled_metrics, ids->metrics) | move_ids(&s->counters, p->counters) |
	     move_ids(&s->parameters, p->parameters) | move_ids(&s->strings, p->strings) |
	     move_ids(&s->metrics, ids->metrics) | move_ids(&s->handles, NULL) | move_ids(&s->tasks, NULL) |
	     move_ids(&s->threads, NULL);
	for (i = 0; sync && i < s->n_sync; i++)
		sync[i] = ids->metrics[s->sync[i]];
	for (i = 0; handles && i < s->n_io_handles; i++) {
		handles[i] = s->io_handles[i];
		handles[i].path = sp_model_str(b->m, handles[i].path.p, handles[i].path.n);
		rc |= handles[i].path.p ? 0 : -1;
	}
	s->sync = sync;
	s->io_handles = handles;
	return rc || !sync || !handles ? -1 : 0;
}

static void move_string(uint32_t *string, const struct part *p)
{
	if (*string != SP_NONE)
		*string = p->strings[*string];
}

static void move_lock_strings(struct sp_lock_defs *d, const struct part *p)
{
	size_t i;

	for (i = 0; i < d->n_locks; i++) {
		move_string(&d->locks[i].type, p);
		move_string(&d->locks[i].made_file, p);
	}
	for (i = 0; i < d->n_waits; i++)
		move_string(&d->waits[i].file, p);
}

/* The model owns strings and arrays of a process; the tables of its source are copied. */
static int add_process(struct sp_pack *k, struct sp_builder *b, struct part *p, const struct sp_part_ids *ids,
                       uint32_t locations)
{
	struct sp_source *s = &b->priv->sources[b->priv->n_sources], read = {.raw = NULL};
	struct sp_loading *l = &b->loading[b->n_loading];
	struct sp_arena *arena = k->arena;
	uint32_t i;

	memset(l, 0, sizeof(*l));
	k->arena = &b->priv->arena;
	k->copy = true;
	pack_loading(k, l);
	sp_fields_process_tasks(k, &p->m, &l->tasks);
	sp_fields_process_lines(k, &p->m, &l->lines, l->process.locations);
	sp_fields_process_tallies(k, &p->m, &l->tallies, l->process.locations);
	sp_fields_process_locks(k, &p->m, &l->locks, l->process.locations);
	k->arena = arena;
	k->copy = false;
	pack_source(k, &p->m, l, &read);
	if (k->failed) {
		sp_loading_free(l);
		return 0;
	}
	l->source = s;
	l->order += locations;
	for (i = 0; i < l->process.locations; i++)
		l->places[i].source = (uint32_t)b->priv->n_sources;
	*s = read;
	b->priv->n_sources++;
	b->n_loading++;
	move_tasks(&l->tasks, p);
	for (i = 0; i < l->lines.n; i++)
		l->lines.p[i].region = p->regions[l->lines.p[i].region];
	for (i = 0; i < l->tallies.n; i++)
		l->tallies.p[i].path = ids->paths[l->tallies.p[i].path];
	sp_lock_def_regions(&l->locks, move_region, p);
	move_lock_strings(&l->locks, p);
	return move_source(b, s, p, ids);
}

/* Whether a problem is already reported: several ranks may report the same object file. Problems of raw files are
 * always different. */
static bool record(const struct sp_model *m, size_t before, const char *text)
{
	size_t i;

	if (strncmp(text, "raw/", 4) == 0)
		return false;
	for (i = 0; i < before; i++)
		if (strcmp(m->problems[i].text.p, text) == 0)
			return true;
	return false;
}

static void add_problems(struct sp_pack *k, struct sp_model *m)
{
	const size_t before = m->n_problems;
	struct sp_str text;
	size_t n = 0, i;

	sp_pack_count(k, &n);
	for (i = 0; i < n && !k->failed; i++) {
		sp_pack_str(k, &text);
		if (!k->failed && !record(m, before, text.p))
			sp_model_add_problem(m, text.p);
	}
}

static int add(struct sp_pack *k, struct sp_builder *b, struct part *p, uint32_t *locations, struct sp_part_ids *ids)
{
	uint32_t more = 0;
	struct sp_str first;
	size_t n = 0, i;

	sp_pack_str(k, &first);
	if (!b->first.text[0])
		sp_fail(&b->first, 0, "%s", first.p);
	sp_pack_number(k, more);
	sp_fields_definitions(k, &p->m);
	pack_values(k, b, p);
	sp_pack_count(k, &p->m.n_paths);
	sp_pack_array(k, &p->m.paths, p->m.n_paths, sizeof(*p->m.paths));
	sp_pack_array(k, &p->visits, p->m.n_paths, sizeof(*p->visits));
	if (!k->failed && check_paths(p))
		sp_pack_fail(k);
	if (k->failed)
		return 0;
	if (make_tables(p, ids) || add_definitions(b, p, ids) || add_paths(b, p, ids))
		return -1;
	sp_pack_count(k, &n);
	if (n > b->files - b->n_loading)
		sp_pack_fail(k);
	for (i = 0; i < n && !k->failed; i++)
		if (add_process(k, b, p, ids, *locations))
			return -1;
	add_problems(k, b->m);
	*locations += more;
	return 0;
}

int sp_part_add(struct sp_builder *b, const void *bytes, size_t n, uint32_t *locations, struct sp_part_ids *ids,
                struct sp_err *e)
{
	struct sp_arena arena = {0};
	struct part p = {.values = NULL};
	struct sp_pack k;
	int rc;

	*ids = (struct sp_part_ids){.paths = NULL};
	p.m.priv = &p.priv;
	sp_pack_read(&k, &arena, bytes, n);
	rc = add(&k, b, &p, locations, ids) ? sp_model_no_memory(e) : sp_pack_end(&k, e);
	sp_pack_free(&k);
	sp_arena_free(&arena);
	free(p.regions);
	free(p.counters);
	free(p.parameters);
	free(p.strings);
	free(p.parameter_values);
	return rc;
}

void sp_part_ids_free(struct sp_part_ids *ids)
{
	free(ids->paths);
	free(ids->metrics);
	*ids = (struct sp_part_ids){.paths = NULL};
}
