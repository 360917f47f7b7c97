/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions: reads those of one process, and collects those of all processes. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/samples.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/line.h"
#include "model/model.h"

static int by_place(const void *a, const void *b)
{
	const struct sp_line *p = a, *q = b;

	if (p->location != q->location)
		return p->location < q->location ? -1 : 1;
	if (p->region != q->region)
		return p->region < q->region ? -1 : 1;
	return p->line < q->line ? -1 : p->line > q->line;
}

/* Sorts lines and adds equal ones together; returns the new number. */
static size_t join(struct sp_line *v, size_t n)
{
	size_t i, k = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_place);
	for (i = 0; i < n; i++)
		if (k && by_place(&v[k - 1], &v[i]) == 0) {
			v[k - 1].hits += v[i].hits;
			v[k - 1].own += v[i].own;
			v[k - 1].callees += v[i].callees;
		} else {
			v[k++] = v[i];
		}
	return k;
}

/* Copies the lines of a thread from its chunks. */
static size_t read_lines(struct sp_loading *l, const struct sp_raw_thread *t, uint32_t location, struct sp_line *out)
{
	const struct sp_raw_file *f = l->source->raw;
	const struct sp_raw_part *p = f->parts + t->lines.first, *end = p + t->lines.count;
	struct sp_raw_line raw;
	size_t n = 0, i;

	for (; p < end; p++)
		for (i = 0; i < p->used; i++) {
			memcpy(&raw, (const struct sp_raw_line *)sp_raw_payload(f, p) + i, sizeof(raw));
			out[n++] = (struct sp_line){location, raw.region, raw.line, raw.hits, raw.own, raw.callees};
		}
	return n;
}

/* Adds the time of frames that are still open, from the innermost call outwards. */
static int close_frames(struct sp_loading *l, const struct sp_raw_thread *t, uint64_t at, struct sp_line *lines)
{
	struct sp_raw_line_frame *frames;
	size_t i, n, line;
	const struct sp_raw_line_frame *open = sp_raw_line_frames(l->source->raw, t, &n);

	if (n < 2)
		return 0;
	frames = malloc(n * sizeof(*frames));
	if (!frames)
		return -1;
	memcpy(frames, open, n * sizeof(*frames));
	for (i = n; i-- > 1;) {
		const struct sp_raw_line_frame *f = &frames[i];
		uint64_t time = at - f->since;

		if (f->since == 0 || f->since > at)
			continue;
		if (f->below && f->below < i && f->begin <= at)
			frames[f->below].inner += at - f->begin;
		line = sp_raw_line_index(l->source->raw, t, f->line);
		if (line == SIZE_MAX && f->line)
			sp_raw_report(l->source->raw, t->line_stack->offset, "open line %zu is damaged", i);
		if (line == SIZE_MAX)
			continue;
		if (f->calls)
			lines[line].callees += time > f->inner ? time - f->inner : 0;
		else
			lines[line].own += time;
	}
	free(frames);
	return 0;
}

/* Keeps the lines that ran, and converts their regions to the model's. */
static size_t known(struct sp_loading *l, struct sp_line *v, size_t n)
{
	const struct sp_ids *ids = &l->source->regions;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		const uint32_t id = v[i].region;

		/* region 0: time before the first line of a function */
		if (id == 0 || (!v[i].hits && !v[i].own && !v[i].callees))
			continue;
		if (id >= ids->n || !ids->to[id]) {
			sp_raw_report(l->source->raw, l->source->raw->size,
			              "line %" PRIu32 " is of region %" PRIu32 ", which is not defined", v[i].line, id);
			continue;
		}
		v[k] = v[i];
		v[k++].region = ids->to[id] - 1;
	}
	return k;
}

static size_t count_lines(const struct sp_raw_file *f)
{
	size_t i, k, n = 0;

	for (i = 0; i < f->n_threads; i++)
		for (k = 0; k < f->threads[i].lines.count; k++)
			n += f->parts[f->threads[i].lines.first + k].used;
	return n;
}

/* Reads the lines of samples, in ticks of the process's own clock. Lines that the process recorded itself are more
 * exact and have precedence. */
static size_t sampled_lines(struct sp_loading *l, uint32_t location, struct sp_line *out)
{
	const struct sp_raw_thread *t = sp_samples_thread(l, location);
	const double ticks = l->samples ? l->samples->source->clock.ns / l->source->clock.ns : 0;
	size_t i, n;

	if (!t)
		return 0;
	n = known(l->samples, out, read_lines(l->samples, t, location, out));
	for (i = 0; i < n; i++) {
		out[i].own = (uint64_t)((double)out[i].own * ticks);
		out[i].callees = (uint64_t)((double)out[i].callees * ticks);
	}
	return n;
}

int sp_build_line_process(struct sp_builder *b, struct sp_loading *l)
{
	const struct sp_raw_file *f = l->source->raw;
	const struct sp_loading *s = l->samples;
	struct sp_line *all;
	size_t i, n, had, all_n = 0;

	n = count_lines(f) + (s ? count_lines(s->source->raw) : 0);
	if (n == 0)
		return 0;
	all = malloc(n * sizeof(*all));
	for (i = 0; all && i < f->n_threads; i++) {
		had = read_lines(l, &f->threads[i], (uint32_t)i, all + all_n);
		if (close_frames(l, &f->threads[i], l->places[i].end, all + all_n)) {
			free(all);
			return -1;
		}
		all_n += known(l, all + all_n, had);
	}
	for (i = 0; all && i < l->process.locations && (!s || !count_lines(f)); i++)
		all_n += sampled_lines(l, (uint32_t)i, all + all_n);
	if (!all)
		return -1;
	/* most lines of a source file never run: keep only those that did */
	l->lines.n = join(all, all_n);
	l->lines.p = sp_arena_zalloc(&b->priv->arena, l->lines.n, sizeof(*all));
	if (l->lines.p && l->lines.n)
		memcpy(l->lines.p, all, l->lines.n * sizeof(*all));
	free(all);
	return l->lines.p ? 0 : -1;
}

int sp_build_lines(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	size_t n = 0, i, k;

	for (i = 0; i < b->n_loading; i++)
		n += b->loading[i].lines.n;
	m->lines = sp_arena_zalloc(&b->priv->arena, n, sizeof(*m->lines));
	if (!m->lines)
		return sp_model_no_memory(e);
	n = 0;
	for (i = 0; i < b->n_loading; i++) {
		const struct sp_loading *l = &b->loading[i];
		const struct sp_clock *c = &l->source->clock;

		for (k = 0; k < l->lines.n; k++) {
			struct sp_line *v = &m->lines[n++];

			*v = l->lines.p[k];
			v->location += m->processes[i].first_location;
			v->own = sp_clock_length(c, v->own);
			v->callees = sp_clock_length(c, v->callees);
		}
	}
	m->n_lines = join(m->lines, n);
	return 0;
}
