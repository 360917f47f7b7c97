/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the definitions of one process and unifies them with those of the other processes. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/definition.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

/* Ids with their indices in the model; converted to a table after all are known. */
struct pairs {
	struct pair {
		uint32_t id, to;
	} * p; /* owned */
	size_t n, capacity;
};

enum { MAX_COLUMNS = 255 /* maximum number of values in one event */ };

struct reading {
	struct sp_builder *b;
	struct sp_loading *l;
	struct pairs regions, counters, parameters, strings, metrics, threads;
	bool own[MAX_COLUMNS]; /* for each column: the metric is exclusive, and not in events */
	struct sp_meta *meta;  /* owned */
	size_t metas, meta_capacity;
	struct code {
		uint32_t region; /* the id of the region */
		struct sp_code is;
	} * codes; /* owned */
	size_t n_codes, code_capacity;
	struct sp_str *names; /* owned; names of the locations, by their index in the raw file */
};

static int add_pair(struct pairs *v, uint32_t id, uint32_t to)
{
	struct pair *p;

	if (to == SP_NONE)
		return -1;
	if (v->n == v->capacity) {
		v->capacity = v->capacity ? v->capacity * 2 : 64;
		p = realloc(v->p, v->capacity * sizeof(*p));
		if (!p)
			return -1;
		v->p = p;
	}
	v->p[v->n++] = (struct pair){id, to};
	return 0;
}

/* Makes the table and frees the pairs. The table is as long as the largest id; its unused pages are never touched and
 * take no memory. */
static int make_ids(struct sp_ids *ids, struct pairs *v)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (v->p[i].id >= ids->n)
			ids->n = (size_t)v->p[i].id + 1;
	ids->to = calloc(ids->n + 1, sizeof(*ids->to));
	/* stored plus 1, so that the zeros of calloc() mean "undefined" */
	for (i = 0; ids->to && i < v->n; i++)
		ids->to[v->p[i].id] = v->p[i].to + 1;
	free(v->p);
	return ids->to ? 0 : -1;
}

static int add_meta(struct reading *r, const struct sp_str part[2])
{
	struct sp_model *m = r->b->m;
	struct sp_meta *p;
	struct sp_str key, value;
	size_t i;

	key = sp_model_str(m, part[0].p, part[0].n);
	value = sp_model_str(m, part[1].p, part[1].n);
	if (!key.p || !value.p)
		return -1;
	if (strcmp(key.p, "command") == 0)
		r->l->process.command = value;
	if (strcmp(key.p, "parent") == 0)
		r->l->parent_name = value;
	for (i = 0; i < r->metas; i++)
		if (r->meta[i].key.n == key.n && memcmp(r->meta[i].key.p, key.p, key.n) == 0) {
			r->meta[i].value = value;
			return 0;
		}
	if (r->metas == r->meta_capacity) {
		r->meta_capacity = r->meta_capacity ? r->meta_capacity * 2 : 16;
		p = realloc(r->meta, r->meta_capacity * sizeof(*p));
		if (!p)
			return -1;
		r->meta = p;
	}
	r->meta[r->metas++] = (struct sp_meta){key, value};
	return 0;
}

static int name_location(struct reading *r, uint32_t id, uint32_t number, const struct sp_str *name)
{
	const struct sp_raw_file *f = r->l->source->raw;
	size_t low = 0, high = f->n_threads, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (f->threads[mid].state.id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == f->n_threads || f->threads[low].state.id != id)
		return 0;
	if (name->n)
		r->names[low] = *name;
	return number && number <= SP_RAW_ID_MAX ? add_pair(&r->threads, number, (uint32_t)low) : 0;
}

uint32_t sp_build_metric(struct sp_builder *b, const struct sp_metric *x)
{
	struct sp_model *m = b->m;
	struct sp_metric *larger;
	char key[512];
	int n = snprintf(key, sizeof(key), "%u %.*s", x->kind | (x->own ? (unsigned)SP_RAW_METRIC_EXCLUSIVE : 0),
	                 (int)(x->name.n < 400 ? x->name.n : 400), x->name.p);
	uint32_t id = sp_intern(&b->metrics, key, (size_t)n);

	if (id == SP_INTERN_FAILED || id < m->n_metrics)
		return id;
	larger = sp_arena_zalloc(&b->priv->arena, m->n_metrics + 1, sizeof(*larger));
	if (!larger)
		return SP_NONE;
	if (m->n_metrics)
		memcpy(larger, m->metrics, m->n_metrics * sizeof(*larger));
	larger[id] = *x;
	larger[id].name = sp_model_str(m, x->name.p, x->name.n);
	larger[id].unit = sp_model_str(m, x->unit.p, x->unit.n);
	larger[id].what = sp_model_str(m, x->what.p, x->what.n);
	m->metrics = larger;
	m->n_metrics++;
	return larger[id].name.p && larger[id].unit.p && larger[id].what.p ? id : SP_NONE;
}

static uint32_t metric(struct sp_builder *b, const struct sp_raw_def *d, const struct sp_str part[3])
{
	return sp_build_metric(b, &(struct sp_metric){.name = part[0],
	                                              .unit = part[1],
	                                              .what = part[2],
	                                              .exponent = (int32_t)d->b,
	                                              .kind = d->flags & SP_RAW_METRIC_KIND_MASK,
	                                              .own = d->flags & SP_RAW_METRIC_EXCLUSIVE,
	                                              .level = d->flags & SP_RAW_METRIC_LEVEL});
}

static int add_metric(struct reading *r, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[3])
{
	struct sp_raw_file *f = r->l->source->raw;

	if (d->a >= MAX_COLUMNS) {
		sp_raw_report(f, at, "column %" PRIu32 " of a metric is out of range", d->a);
		return 0;
	}
	if (!sp_metric_exponent((int32_t)d->b)) {
		sp_raw_report(f, at, "metric %" PRIu32 " counts in powers of ten that are out of range", d->a);
		return 0;
	}
	if ((d->flags & SP_RAW_METRIC_KIND_MASK) > SP_RAW_METRIC_MEMORY) {
		sp_raw_report(f, at, "metric %" PRIu32 " is of unknown kind %u", d->a,
		              d->flags & SP_RAW_METRIC_KIND_MASK);
		return 0;
	}
	r->own[d->a] = d->flags & SP_RAW_METRIC_EXCLUSIVE;
	r->l->source->has_io |= (d->flags & SP_RAW_METRIC_KIND_MASK) == SP_RAW_METRIC_BYTES && part[0].n > 3 &&
	                        memcmp(part[0].p, "io_", 3) == 0;
	return add_pair(&r->metrics, d->a, metric(r->b, d, part));
}

/* The build id of the object file of the regions that follow; empty: not recorded. */
static struct sp_str build_of(const struct reading *r, const struct sp_str *path)
{
	const size_t n = sizeof(SP_META_OBJECT) - 1;
	size_t i;

	for (i = 0; i < r->metas; i++)
		if (r->meta[i].key.n == n + path->n && memcmp(r->meta[i].key.p, SP_META_OBJECT, n) == 0 &&
		    memcmp(r->meta[i].key.p + n, path->p, path->n) == 0)
			return r->meta[i].value;
	return (struct sp_str){"", 0};
}

static int add_region(struct reading *r, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[3])
{
	const unsigned kind = d->flags & SP_RAW_REGION_KIND_MASK;

	if (kind > SP_RAW_REGION_MPI) {
		sp_raw_report(r->l->source->raw, at, "region %" PRIu32 " is of unknown kind %u", d->a, kind);
		return 0;
	}
	r->l->source->has_io |= kind == SP_RAW_REGION_IO || (kind == SP_RAW_REGION_MPI && d->b == SP_RAW_MPI_FILE_IO);
	r->l->source->has_mpi |= kind == SP_RAW_REGION_MPI;
	if (kind == SP_RAW_REGION_NATIVE) {
		const struct sp_str build = build_of(r, &part[2]);

		return add_pair(&r->regions, d->a, sp_build_native(r->b, part, d->b, &build));
	}
	return add_pair(&r->regions, d->a, sp_build_region(r->b, part, d->b, d->flags));
}

/* Stores the code of a region until the ids are known. */
static int add_code(struct reading *r, uint32_t region, uint64_t at, const struct sp_str *data)
{
	struct sp_raw_code c;
	struct code *p;

	if (data->n != sizeof(c)) {
		sp_raw_report(r->l->source->raw, at, "what is said of the code of region %" PRIu32 " has %zu bytes",
		              region, data->n);
		return 0;
	}
	memcpy(&c, data->p, sizeof(c));
	if (r->n_codes == r->code_capacity) {
		r->code_capacity = r->code_capacity ? r->code_capacity * 2 : 64;
		p = realloc(r->codes, r->code_capacity * sizeof(*p));
		if (!p)
			return -1;
		r->codes = p;
	}
	r->codes[r->n_codes++] = (struct code){region, {c.argcount, c.nlocals, c.stacksize, c.lasti, true}};
	return 0;
}

static int add_definition(void *arg, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[4])
{
	struct reading *r = arg;
	struct sp_builder *b = r->b;
	struct sp_raw_file *f = r->l->source->raw;

	if (d->kind == SP_RAW_DEF_META)
		return add_meta(r, part);
	if (d->kind == SP_RAW_DEF_LOCATION_NAME)
		return name_location(r, d->a, d->b, &part[0]);
	if (d->kind == SP_RAW_DEF_CHILD)
		return sp_build_child_record(b, r->l, d, at, part);
	if (d->a > SP_RAW_ID_MAX || (d->kind == SP_RAW_DEF_REGION && d->a == 0)) {
		sp_raw_report(f, at, "id %" PRIu32 " of a definition is out of range", d->a);
		return 0;
	}
	switch (d->kind) {
	case SP_RAW_DEF_REGION:
		return add_region(r, d, at, part);
	case SP_RAW_DEF_CODE:
		return add_code(r, d->a, at, &part[0]);
	case SP_RAW_DEF_METRIC:
		return add_metric(r, d, at, part);
	case SP_RAW_DEF_COUNTER:
		return add_pair(&r->counters, d->a, sp_intern(&b->counters, part[0].p, part[0].n));
	case SP_RAW_DEF_PARAMETER:
		return add_pair(&r->parameters, d->a, sp_intern(&b->parameters, part[0].p, part[0].n));
	case SP_RAW_DEF_STRING:
		return add_pair(&r->strings, d->a, sp_intern(&b->strings, part[0].p, part[0].n));
	case SP_RAW_DEF_COMM:
	case SP_RAW_DEF_WIN:
	case SP_RAW_DEF_GROUP:
	case SP_RAW_DEF_CART:
		return sp_build_mpi_record(b, r->l, d, at, part);
	case SP_RAW_DEF_DEADLOCK:
		return sp_build_lock_record(r->l, &part[0]);
	case SP_RAW_DEF_TASK:
		return sp_build_task_record(r->l, d, at, part);
	case SP_RAW_DEF_CLOCK:
		sp_build_clock_record(r->l, at, &part[0]);
		return 0;
	default:
		sp_raw_report(f, at, "definition of unknown kind %u", d->kind);
		return 0;
	}
}

/* An invalid record ends the chunk, because the begin of the next record is unknown. */
int sp_walk_definitions(struct sp_raw_file *f, const struct sp_raw_part *p, sp_definition_fn *each, void *arg)
{
	const char *bytes = sp_raw_payload(f, p);
	struct sp_raw_def d;
	struct sp_str part[4];
	uint64_t at, used, here;
	int i;

	for (at = 0; at + sizeof(d) <= p->used; at += d.bytes) {
		memcpy(&d, bytes + at, sizeof(d));
		here = p->offset + sizeof(struct sp_raw_chunk) + at;
		used = sizeof(d);
		for (i = 0; i < 4; i++) {
			part[i] = (struct sp_str){bytes + at + (used <= d.bytes ? used : 0), d.len[i]};
			used += d.len[i];
		}
		if (d.bytes % 8 || d.bytes < used || d.bytes > p->used - at) {
			sp_raw_report(f, here, "definition of %" PRIu32 " bytes; the rest of its chunk is skipped",
			              d.bytes);
			return 0;
		}
		if (each(arg, &d, here, part))
			return -1;
	}
	if (at != p->used)
		sp_raw_report(f, p->offset + sizeof(struct sp_raw_chunk) + at, "definitions end within a record");
	return 0;
}

/* Whether several ids map to one region: a function may be compiled twice. */
static int find_repeated(const struct sp_model *m, struct sp_source *s)
{
	bool *seen = calloc(m->n_regions, sizeof(*seen));
	size_t i;

	for (i = 0; seen && i < s->regions.n; i++) {
		if (!s->regions.to[i])
			continue;
		s->regions_repeat |= seen[s->regions.to[i] - 1];
		seen[s->regions.to[i] - 1] = true;
	}
	free(seen);
	return seen ? 0 : -1;
}

/* Finds the metrics that a METRICS event has values of, in the order of their columns. */
static int find_sync(struct reading *r)
{
	struct sp_source *s = r->l->source;
	size_t i;

	s->sync = calloc(s->metrics.n + 1, sizeof(*s->sync));
	for (i = 0; s->sync && i < s->metrics.n; i++)
		if (s->metrics.to[i] && !r->own[i])
			s->sync[s->n_sync++] = s->metrics.to[i] - 1;
	return s->sync ? 0 : -1;
}

static int finish(struct reading *r)
{
	struct sp_loading *l = r->l;
	struct sp_model *m = r->b->m;
	struct sp_source *s = l->source;
	char unnamed[32];
	size_t i;

	if (make_ids(&s->regions, &r->regions) | make_ids(&s->counters, &r->counters) |
	    make_ids(&s->parameters, &r->parameters) | make_ids(&s->strings, &r->strings) |
	    make_ids(&s->metrics, &r->metrics) | make_ids(&s->threads, &r->threads))
		return -1;
	for (i = 0; i < r->n_codes; i++)
		if (r->codes[i].region < s->regions.n && s->regions.to[r->codes[i].region])
			sp_build_code(r->b, s->regions.to[r->codes[i].region] - 1, &r->codes[i].is);
	if (find_sync(r))
		return -1;
	/* id 0: the process had no room for another definition */
	if (l->process.lost.regions) {
		s->regions.to[0] = sp_build_unknown_region(r->b) + 1;
		s->regions.n += s->regions.n == 0;
	}
	if (find_repeated(m, s))
		return -1;
	l->process.meta = sp_arena_zalloc(&r->b->priv->arena, r->metas, sizeof(*r->meta));
	if (!l->process.meta)
		return -1;
	l->process.metas = r->metas;
	if (r->metas)
		memcpy(l->process.meta, r->meta, r->metas * sizeof(*r->meta));
	sp_build_mpi_process(l);
	if (sp_build_task_process(r->b, l))
		return -1;
	for (i = 0; i < s->raw->n_threads; i++) {
		snprintf(unnamed, sizeof(unnamed), "thread %" PRIu64, s->raw->threads[i].state.tid);
		l->locations[i].name = r->names[i].n ? sp_model_str(m, r->names[i].p, r->names[i].n)
		                                     : sp_model_str(m, unnamed, strlen(unnamed));
		if (!l->locations[i].name.p)
			return -1;
	}
	return 0;
}

int sp_build_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e)
{
	struct sp_raw_file *f = l->source->raw;
	const size_t metrics = b->m->n_metrics;
	struct reading r = {.b = b, .l = l};
	size_t i;
	int rc;

	r.names = calloc(f->n_threads + 1, sizeof(*r.names));
	rc = r.names ? 0 : -1;
	for (i = 0; i < f->defs.count && rc == 0; i++)
		rc = sp_walk_definitions(f, &f->parts[f->defs.first + i], add_definition, &r);
	if (rc == 0) {
		/* in this order: the off-CPU metrics depend on the META records */
		rc = finish(&r) || sp_build_off_cpu_metrics(b, l) || sp_rows_widen(b, metrics) ? -1 : 0;
	} else {
		free(r.regions.p);
		free(r.counters.p);
		free(r.parameters.p);
		free(r.strings.p);
		free(r.metrics.p);
		free(r.threads.p);
	}
	free(r.codes);
	free(r.meta);
	free(r.names);
	return rc ? sp_model_no_memory(e) : 0;
}
