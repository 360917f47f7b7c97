/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes plain enters and leaves, the most frequent events, one strip at a time. These loops take most of the time.
 * Each does one thing, so that its variables stay in registers. */
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/make.h"
#include "model/str.h"

void sp_lod_know(struct sp_lod_maker *x, struct sp_lod_known *k, uint64_t key)
{
	*k = (struct sp_lod_known){key, sp_path_below(x->index, (uint32_t)(key >> 32), (uint32_t)key)};
}

void sp_lod_end_frames(struct sp_lod_maker *x, uint32_t frame, uint64_t time)
{
	struct sp_lod_frame *frames = x->out->frames.p;
	uint32_t f;

	for (f = frame; f; f = frames[f - 1].same)
		frames[f - 1].end = time;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The result of follow(): for each event the call that is open before it; for each event that ends a call, the begin
 * and kind of the call, and the index of its cell. */
struct followed {
	uint32_t path[SP_LOD_STRIP], region[SP_LOD_STRIP];
	uint64_t begin[SP_LOD_STRIP + 1];
	uint32_t kind[SP_LOD_STRIP + 1], cell[SP_LOD_STRIP + 1];
	uint32_t leave[SP_LOD_STRIP + 1]; /* index of the event */
	uint32_t n, n_leaves;
};

/* Follows events as long as they are calls at depths with cells, which nearly all are. It has no branch that depends on
 * enter or leave: the processor could not predict it. */
static void follow(struct sp_lod_maker *x, const struct sp_event *events, uint32_t n, struct followed *f)
{
	struct sp_lod_open *const stack = x->stack;
	struct sp_lod_known *const known = x->known;
	const uint32_t low = x->cells[0].low, within = x->cells[0].high - low;
	uint32_t depth = x->depth, shallow = x->shallow, deep = x->deep, leaves = 0, i;

	for (i = 0; i < n && depth; i++) {
		const uint32_t kind = events[i].kind, region = events[i].id, is_leave = kind & 1, at = depth - is_leave;
		const struct sp_lod_open *o = &stack[depth - 1];
		const uint64_t key = sp_lod_key(o->path, region), now = events[i].time;
		const uint32_t frame = o->frame, how = o->kind;
		struct sp_lod_known *k = &known[sp_lod_known_at(key) & ((size_t)is_leave - 1)];

		if ((kind >= SP_EVENT_INHERIT) | (at - low >= within) | (how == SP_EVENT_INHERIT))
			break;
		if ((k->key ^ key) & ((uint64_t)is_leave - 1))
			sp_lod_know(x, k, key);
		f->path[i] = o->path;
		f->region[i] = o->region;
		f->begin[leaves] = o->begin;
		f->kind[leaves] = how;
		f->cell[leaves] = at;
		f->leave[leaves] = i;
		if (is_leave & (frame != 0)) {
			sp_lod_end_frames(x, frame, now);
			x->cells[0].p[at].head = now;
			f->cell[leaves] = x->cells[0].capacity; /* the unused cell at the end */
		}
		leaves += is_leave;
		/* a leave writes above the open calls, where it has no effect */
		stack[depth].begin = now;
		stack[depth].kind = kind;
		stack[depth].region = region;
		stack[depth].path = k->path;
		stack[depth].frame = 0;
		stack[depth].parameter = SP_NONE;
		shallow = at < shallow ? at : shallow;
		deep = at >= deep ? at + 1 : deep;
		depth += 1 - 2 * is_leave;
	}
	x->shallow = shallow;
	x->deep = deep;
	x->depth = depth;
	f->n = i;
	f->n_leaves = leaves;
}

/* Adds the time before each event to the call that is open before it. */
static void add_times(struct sp_lod_maker *x, const struct sp_event *events, const struct followed *f)
{
	struct sp_lod_times *t = &x->times[0];
	struct sp_lod_stat *const stats = x->stats;
	uint32_t *const touched = x->touched, *const regions = t->touched;
	uint64_t *const ns = t->ns;
	uint32_t n_regions = t->n, i;
	uint64_t last = x->last;
	size_t n_touched = x->n_touched;

	for (i = 0; i < f->n; i++) {
		const uint32_t path = f->path[i], region = f->region[i];
		const uint64_t now = events[i].time, length = now - last, before = ns[region];
		struct sp_lod_stat *s = &stats[path];

		touched[n_touched] = path;
		n_touched += !s->touched;
		s->touched = true;
		s->excl += length;
		regions[n_regions] = region;
		n_regions += (before == 0) & (length != 0);
		ns[region] = before + length;
		last = now;
	}
	x->n_touched = n_touched;
	t->n = n_regions;
	x->last = last;
}

/* Does count() and sp_lod_cell_add() for the calls that ended, also without a branch. */
static void add_calls(struct sp_lod_maker *x, const struct sp_event *events, const struct followed *f)
{
	struct sp_lod_cell *const cells = x->cells[0].p;
	struct sp_lod_stat *const stats = x->stats;
	uint32_t i;

	for (i = 0; i < f->n_leaves; i++) {
		const uint32_t event = f->leave[i], region = f->region[event];
		const uint64_t begin = f->begin[i], end = events[event].time, length = end - begin;
		struct sp_lod_stat *s = &stats[f->path[event]];
		struct sp_lod_cell *c = &cells[f->cell[i]];
		const uint64_t none = c->calls == 0, same = c->region == region;
		const uint64_t other = -(((length > c->longest) | none) & ~same);

		s->calls[f->kind[i] == SP_EVENT_RESUME]++;
		s->each += length;
		s->sumsq += (double)(int64_t)length * (double)(int64_t)length;
		s->not_min = larger(s->not_min, ~length);
		s->max = larger(s->max, length);
		c->first ^= (c->first ^ begin) & -none;
		c->last = end;
		c->calls++;
		c->busy += length;
		c->longest = (c->longest & ~other) + (length & (other | -same));
		c->region ^= (c->region ^ region) & (uint32_t)other;
	}
}

uint32_t sp_lod_plain(struct sp_lod_maker *x, const struct sp_event *events, uint32_t n)
{
	struct followed f;

	follow(x, events, n, &f);
	add_times(x, events, &f);
	add_calls(x, events, &f);
	return f.n;
}
