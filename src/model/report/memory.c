/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: the sites of a location, and the heap of a process. */
#include "model/report/memory.h"
#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/memory.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/str.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const sp_site_kept_names[] = {"nothing", "cache", "growing"};
const char *const sp_site_kind_names[SP_RAW_HEAP_KINDS] = {"malloc", "mmap", "python raw", "python mem",
                                                           "python object"};

/* The columns that are derived from the sites, with the recorder's names for them. */
enum column { ALLOCATIONS, ALLOCATED, TEMPORARY, LEFT, LEFT_BYTES, PEAK_BYTES, COLUMNS };
static const char *const column_names[COLUMNS] = {"allocations", "allocated",  "temporary",
                                                  "left",        "left_bytes", "peak_bytes"};

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t value_of(const struct sp_site *s, enum column c)
{
	switch (c) {
	case ALLOCATIONS:
		return s->count;
	case ALLOCATED:
		return s->bytes;
	case TEMPORARY:
		return s->temporary;
	case LEFT:
		return s->left;
	case LEFT_BYTES:
		return s->left_bytes;
	default:
		return s->peak_bytes;
	}
}

/* Finds the positions of the columns in a row; SIZE_MAX: not defined. */
static void find_columns(const struct sp_builder *b, const struct sp_loading *l, size_t at[COLUMNS])
{
	const struct sp_ids *ids = &l->source->metrics;
	size_t i;
	int k;

	for (k = 0; k < COLUMNS; k++)
		at[k] = SIZE_MAX;
	for (i = 0; i < ids->n; i++) {
		const struct sp_metric *x = ids->to[i] ? &b->m->metrics[ids->to[i] - 1] : NULL;

		for (k = 0; x && x->kind == SP_METRIC_MEMORY && k < COLUMNS; k++)
			if (x->name.n == strlen(column_names[k]) && !memcmp(x->name.p, column_names[k], x->name.n))
				at[k] = ids->to[i] - 1;
	}
}

static struct sp_site *more_sites(struct sp_site_defs *d)
{
	const size_t capacity = d->capacity ? d->capacity * 2 : 256;
	struct sp_site *p;

	if (d->n == d->capacity) {
		p = realloc(d->p, capacity * sizeof(*p));
		if (!p)
			return NULL;
		d->p = p;
		d->capacity = capacity;
	}
	return &d->p[d->n++];
}

int sp_build_heap(struct sp_builder *b, struct sp_loading *l)
{
	const struct sp_raw_file *f = l->source->raw;
	struct sp_site_defs *d = &l->sites;
	/* files of older versions are shorter */
	const size_t least = sizeof(struct sp_raw_chunk) + offsetof(struct sp_raw_heap, cost);
	size_t there;

	d->passed_path = SP_NONE;
	if (!f->heap || f->heap->bytes < least)
		return 0;
	there = f->heap->bytes - sizeof(struct sp_raw_chunk);
	if (there > sizeof(*d->heap))
		there = sizeof(*d->heap);
	d->heap = sp_arena_zalloc(&b->priv->arena, 1, sizeof(*d->heap));
	if (d->heap)
		memcpy(d->heap, sp_raw_payload(f, f->heap), there);
	d->n_points = f->series ? f->series->used : 0;
	d->points = sp_arena_zalloc(&b->priv->arena, d->n_points + 1, sizeof(*d->points));
	if (!d->heap || !d->points)
		return -1;
	if (d->n_points)
		memcpy(d->points, sp_raw_payload(f, f->series), d->n_points * sizeof(*d->points));
	return 0;
}

static struct sp_site site_of(const struct sp_raw_site *r, const struct sp_raw_heap *h)
{
	const uint64_t live = minus(r->count, r->freed), live_bytes = minus(r->bytes, r->freed_bytes);
	const bool has_end = h && h->ended, kept = h && r->epoch == h->epoch;

	return (struct sp_site){.line = r->line,
	                        .kind = (uint8_t)r->kind,
	                        .grown = r->grown,
	                        .count = r->count,
	                        .bytes = r->bytes,
	                        .freed = r->freed,
	                        .freed_bytes = r->freed_bytes,
	                        .elsewhere = r->elsewhere,
	                        .temporary = r->temporary,
	                        .temporary_bytes = r->temporary_bytes,
	                        .peak = kept ? r->peak : live,
	                        .peak_bytes = kept ? r->peak_bytes : live_bytes,
	                        .high = r->high,
	                        .first = r->first,
	                        /* `last` has only the resolution of time slices */
	                        .last = r->last > r->first ? r->last : r->first,
	                        .left = has_end ? r->left : live,
	                        .left_bytes = has_end ? r->left_bytes : live_bytes};
}

static uint32_t region_of(const struct sp_loading *l, uint32_t id)
{
	const struct sp_ids *ids = &l->source->regions;

	return id && id < ids->n && ids->to[id] ? ids->to[id] - 1 : SP_NONE;
}

int sp_build_sites(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, sp_node_row_fn *row,
                   void *arg)
{
	struct sp_raw_file *f = l->source->raw;
	const size_t bytes = sp_raw_site_bytes(f->header.version);
	const struct sp_raw_part *p = f->parts + t->sites.first, *end = p + t->sites.count;
	uint64_t lost = 0, i;
	const struct sp_raw_heap *h = l->sites.heap;
	size_t at[COLUMNS];
	int k;

	find_columns(b, l, at);
	if (h && h->passed_location == t->state.id && h->passed_node) {
		uint64_t *unused;

		if (row(arg, sp_raw_node_index(f, t, h->passed_node), &l->sites.passed_path, &unused))
			return -1;
	}
	for (; p < end; p++)
		for (i = 0; i < p->used; i++) {
			struct sp_raw_site raw = {0};
			struct sp_site *s;
			uint64_t *values;
			uint32_t path, region;

			memcpy(&raw, (const char *)sp_raw_payload(f, p) + i * bytes, bytes);
			if (!raw.count)
				continue; /* not written completely yet */
			region = region_of(l, raw.region);
			if (raw.kind >= SP_RAW_HEAP_KINDS || (raw.region && region == SP_NONE)) {
				lost++;
				continue;
			}
			if (row(arg, sp_raw_node_index(f, t, raw.node), &path, &values))
				return -1;
			if (path == SP_NONE) {
				lost++;
				continue;
			}
			s = more_sites(&l->sites);
			if (!s)
				return -1;
			*s = site_of(&raw, h);
			s->path = path;
			s->region = region;
			s->own_region = region_of(l, raw.own_region);
			s->own_line = s->own_region == SP_NONE ? 0 : raw.own_line;
			s->location = (uint32_t)(t - f->threads);
			for (k = 0; k < COLUMNS; k++)
				if (at[k] != SIZE_MAX)
					values[at[k]] += value_of(s, (enum column)k);
		}
	if (lost)
		sp_raw_report(f, f->parts[t->sites.first].offset,
		              "%" PRIu64 " places of location %" PRIu32 " where memory was allocated are damaged", lost,
		              t->state.id);
	return 0;
}

/* ---- heaps, after the processes are sorted ---- */

static int add_points(struct sp_builder *b, const struct sp_loading *l, struct sp_heap *out)
{
	const struct sp_clock *c = &l->source->clock;
	uint64_t before = 0;
	size_t i;

	out->points = sp_arena_zalloc(&b->priv->arena, l->sites.n_points + 1, sizeof(*out->points));
	for (i = 0; out->points && i < l->sites.n_points; i++) {
		const struct sp_raw_point *p = &l->sites.points[i];

		if (p->ticks < before)
			continue; /* the process was thinning out its points */
		before = p->ticks;
		out->points[out->n_points++] =
		    (struct sp_heap_point){sp_clock_ns(c, p->ticks), p->bytes, p->blocks, p->resident};
	}
	return out->points ? 0 : -1;
}

static uint64_t time_or_none(const struct sp_clock *c, uint64_t ticks)
{
	return ticks ? sp_clock_ns(c, ticks) : UINT64_MAX;
}

static void fill_heap(const struct sp_loading *l, const struct sp_raw_heap *r, struct sp_heap *h)
{
	const struct sp_clock *c = &l->source->clock;
	uint64_t over = r->over;

	if (r->since && l->end > r->since)
		over += l->end - r->since;
	*h = (struct sp_heap){.there = true,
	                      .bytes = r->bytes,
	                      .blocks = r->blocks,
	                      .peak_bytes = r->peak_bytes,
	                      .peak_blocks = r->peak_blocks,
	                      .peak_time = time_or_none(c, r->peak_ticks),
	                      .count = r->count,
	                      .allocated = r->allocated,
	                      .freed = r->freed,
	                      .freed_bytes = r->freed_bytes,
	                      .unknown = r->unknown,
	                      .lost = r->lost,
	                      .lost_bytes = r->lost_bytes,
	                      .unnamed = r->unnamed,
	                      .sample = r->sample,
	                      .own = r->own,
	                      .cost = sp_clock_length(c, r->cost),
	                      .begin = sp_clock_ns(c, r->begin),
	                      .ended = time_or_none(c, r->ended),
	                      .resident = r->resident,
	                      .resident_peak = r->resident_peak,
	                      .resident_peak_time = time_or_none(c, r->resident_ticks),
	                      .limit = r->limit,
	                      .passes = r->passes,
	                      .passed = time_or_none(c, r->passed),
	                      .over = sp_clock_length(c, over),
	                      .passed_path = l->sites.passed_path,
	                      .passed_region = region_of(l, r->passed_region),
	                      .passed_line = r->passed_line};
}

static void place_sites(struct sp_builder *b, uint32_t process, struct sp_site *to)
{
	const struct sp_loading *l = &b->loading[process];
	const struct sp_clock *c = &l->source->clock;
	size_t k;

	for (k = 0; k < l->sites.n; k++) {
		to[k] = l->sites.p[k];
		to[k].location += b->m->processes[process].first_location;
		to[k].first = sp_clock_ns(c, to[k].first);
		to[k].last = sp_clock_ns(c, to[k].last);
		if (to[k].path < b->path_moved)
			to[k].path = b->path_moves[to[k].path];
	}
}

int sp_build_memory(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	size_t i, n = 0;

	for (i = 0; i < b->n_loading; i++)
		n += b->loading[i].sites.n;
	m->sites = sp_arena_zalloc(&b->priv->arena, n + 1, sizeof(*m->sites));
	m->heaps = sp_arena_zalloc(&b->priv->arena, m->n_processes + 1, sizeof(*m->heaps));
	if (!m->sites || !m->heaps)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++) {
		const struct sp_loading *l = &b->loading[i];

		place_sites(b, (uint32_t)i, m->sites + m->n_sites);
		m->n_sites += l->sites.n;
		if (!l->sites.heap)
			continue;
		fill_heap(l, l->sites.heap, &m->heaps[i]);
		if (m->heaps[i].passed_path < b->path_moved)
			m->heaps[i].passed_path = b->path_moves[m->heaps[i].passed_path];
		if (add_points(b, l, &m->heaps[i]))
			return sp_model_no_memory(e);
	}
	return 0;
}

/* ---- memory at the end ---- */

/* Memory that grows until the end: in several time slices, over a good part of the run, and not long before its end.
 * The time since the first increase counts, not that since the start: else what a program imports looks like a leak if
 * the imports take most of a short run. */
enum sp_site_kept sp_site_kept(const struct sp_model *m, const struct sp_site *s)
{
	const struct sp_heap *h = &m->heaps[m->locations[s->location].process];
	const uint64_t end = h->ended != UINT64_MAX ? h->ended : m->locations[s->location].end;
	const uint64_t begin = h->begin < end ? h->begin : end, span = end - begin;

	if (s->left_bytes == 0 || s->left_bytes < s->high / 20)
		return SP_KEPT_NOTHING;
	if (s->grown >= 4 && s->left_bytes >= s->high / 2 && s->last > s->first && s->last - s->first > span / 4 &&
	    s->last + (end - s->first) / 4 >= end)
		return SP_KEPT_GROWING;
	return SP_KEPT_CACHE;
}
