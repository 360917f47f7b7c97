/* SPDX-License-Identifier: BSD-3-Clause */
/* Tallies: reads those of one thread, and collects those of all processes. */
#include "model/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/process.h"

_Static_assert(SP_TALLY_KINDS == (int)SP_RAW_TALLY_KINDS, "kinds");

const char *const sp_tally_kind_names[SP_TALLY_KINDS] = {"collection", "exception"};

static size_t count_rows(const struct sp_raw_file *f)
{
	size_t i, k, n = 0;

	for (i = 0; i < f->n_threads; i++)
		for (k = 0; k < f->threads[i].tallies.count; k++)
			n += f->parts[f->threads[i].tallies.first + k].used;
	return n;
}

/* Reads a row into *out; *known: it is not damaged. longest: ticks. Returns 0, or -1: no memory. */
static int read_row(const struct sp_loading *l, const struct sp_raw_thread *t, const struct sp_raw_tally *r,
                    uint64_t longest, sp_node_row_fn *row, void *arg, struct sp_tally *out, bool *known)
{
	const uint32_t node = sp_raw_node_index(l->source->raw, t, r->node);
	uint32_t path = SP_NONE;
	uint64_t *values;

	if (row(arg, node, &path, &values))
		return -1;
	*out = (struct sp_tally){.location = (uint32_t)(t - l->source->raw->threads),
	                         .path = path == SP_NONE ? 0 : path,
	                         .generation = r->generation,
	                         .kind = (uint8_t)r->kind,
	                         .count = r->count,
	                         .ns = r->ticks,
	                         .objects = r->objects};
	/* node 0 is the root, which has no row; no thread collects for longer than it was recorded */
	*known = (path != SP_NONE || node == 0) && r->kind < SP_TALLY_KINDS && r->generation <= SP_TALLY_OLDEST &&
	         r->ticks <= longest;
	return 0;
}

int sp_build_tally_rows(const struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, uint64_t end,
                        sp_node_row_fn *row, void *arg)
{
	struct sp_raw_file *f = l->source->raw;
	const struct sp_raw_part *p = f->parts + t->tallies.first, *last = p + t->tallies.count;
	const uint64_t longest = end > t->state.begin ? end - t->state.begin : 0;
	struct sp_tally_defs *d = &l->tallies;
	struct sp_raw_tally r;
	uint64_t lost = 0;
	bool known;
	size_t i;

	if (t->tallies.count == 0)
		return 0;
	if (!d->p)
		d->p = sp_arena_zalloc(&b->priv->arena, count_rows(f), sizeof(*d->p));
	if (!d->p)
		return -1;
	for (; p < last; p++)
		for (i = 0; i < p->used; i++) {
			memcpy(&r, (const struct sp_raw_tally *)sp_raw_payload(f, p) + i, sizeof(r));
			if (!r.count)
				continue;
			if (read_row(l, t, &r, longest, row, arg, &d->p[d->n], &known))
				return -1;
			d->n += known;
			lost += !known;
		}
	if (lost)
		sp_raw_report(f, f->parts[t->tallies.first].offset,
		              "%" PRIu64 " tallies of location %" PRIu32 " are damaged", lost, t->state.id);
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct sp_tally *p = a, *q = b;

	if (p->location != q->location)
		return p->location < q->location ? -1 : 1;
	if (p->path != q->path)
		return p->path < q->path ? -1 : 1;
	if (p->kind != q->kind)
		return p->kind < q->kind ? -1 : 1;
	return p->generation < q->generation ? -1 : p->generation > q->generation;
}

/* Sorts tallies and adds equal ones together, as different nodes may become one path; returns the new number. */
static size_t join(struct sp_tally *v, size_t n)
{
	size_t i, k = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_place);
	for (i = 0; i < n; i++)
		if (k && by_place(&v[k - 1], &v[i]) == 0) {
			v[k - 1].count += v[i].count;
			v[k - 1].ns += v[i].ns;
			v[k - 1].objects += v[i].objects;
		} else {
			v[k++] = v[i];
		}
	return k;
}

int sp_build_tallies(struct sp_builder *b, struct sp_err *e)
{
	const uint32_t *moved = b->merging ? b->folded : b->path_moves;
	struct sp_model *m = b->m;
	size_t n = 0, i, k;

	for (i = 0; i < b->n_loading; i++)
		n += b->loading[i].tallies.n;
	m->tallies = sp_arena_zalloc(&b->priv->arena, n, sizeof(*m->tallies));
	if (!m->tallies)
		return sp_model_no_memory(e);
	n = 0;
	for (i = 0; i < b->n_loading; i++) {
		const struct sp_loading *l = &b->loading[i];

		for (k = 0; k < l->tallies.n; k++) {
			struct sp_tally *v = &m->tallies[n++];

			*v = l->tallies.p[k];
			v->location += m->processes[i].first_location;
			v->path = moved ? moved[v->path] : v->path;
			v->ns = sp_clock_length(&l->source->clock, v->ns);
		}
	}
	m->n_tallies = join(m->tallies, n);
	return 0;
}
