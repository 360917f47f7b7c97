/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the events of a location once and makes its index at every level. */
#include "model/lod/make.h"
#include "model/builder/problem.h"
#include "model/event.h"
#include "model/events/events.h"
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"

#include <stdlib.h>
#include <string.h>

enum {
	REPORT_EVENTS = 1 << 20,
	NEAR = 24 /* at the begin of a bucket, depths within this distance of the current one get cells */
};

void *sp_lod_more(struct sp_lod_list *l, size_t n)
{
	size_t capacity = l->capacity + l->capacity / 2 + 64;
	void *larger;

	if (l->n + n > l->capacity) {
		if (capacity < l->n + n)
			capacity = l->n + n;
		larger = realloc(l->p, capacity * l->size);
		if (!larger)
			return NULL;
		l->p = larger;
		l->capacity = capacity;
	}
	l->n += n;
	return (char *)l->p + (l->n - n) * l->size;
}

void sp_lod_made_free(struct sp_lod_made *x)
{
	unsigned i;

	free(x->points.p);
	free(x->frames.p);
	free(x->markers.p);
	free(x->series.p);
	free(x->samples.p);
	free(x->groups.p);
	free(x->counts.p);
	free(x->steps.p);
	free(x->gaps.p);
	for (i = 0; i < SP_LOD_LEVELS; i++) {
		free(x->nodes[i].p);
		free(x->cells[i].p);
		free(x->strips[i].p);
		free(x->sums[i].p);
		free(x->sum_entries[i].p);
		free(x->grown[i].p);
	}
	memset(x, 0, sizeof(*x));
}

static void made_init(struct sp_lod_made *x)
{
	unsigned i;

	memset(x, 0, sizeof(*x));
	x->points.size = sizeof(struct sp_lod_point);
	x->frames.size = sizeof(struct sp_lod_frame);
	x->markers.size = sizeof(struct sp_lod_mark);
	x->series.size = sizeof(struct sp_lod_series);
	x->samples.size = sizeof(struct sp_lod_sample);
	x->groups.size = sizeof(struct sp_lod_group);
	x->counts.size = sizeof(uint64_t);
	x->steps.size = sizeof(struct sp_lod_step);
	x->gaps.size = sizeof(struct sp_lod_gap);
	for (i = 0; i < SP_LOD_LEVELS; i++) {
		x->nodes[i].size = sizeof(struct sp_lod_node);
		x->cells[i].size = sizeof(uint64_t);
		x->strips[i].size = sizeof(struct sp_lod_strip);
		x->sums[i].size = sizeof(struct sp_lod_sum);
		x->sum_entries[i].size = sizeof(struct sp_lod_entry);
		x->grown[i].size = sizeof(uint64_t);
	}
}

int sp_lod_maker_new(struct sp_lod_maker **out, const struct sp_model *m, const struct sp_path_index *index,
                     struct sp_err *e)
{
	struct sp_lod_maker *x = calloc(1, sizeof(*x));

	*out = x;
	if (!x)
		return sp_model_no_memory(e);
	x->m = m;
	x->index = index;
	x->known = calloc((size_t)1 << SP_LOD_KNOWN_BITS, sizeof(*x->known));
	x->stats = aligned_alloc(_Alignof(struct sp_lod_stat), m->n_paths * sizeof(*x->stats));
	x->touched = malloc((m->n_paths + 1) * sizeof(*x->touched));
	x->values = calloc(m->n_counters + 1, sizeof(*x->values));
	if (!x->known || !x->stats || !x->touched || !x->values || !sp_lod_metrics_init(x)) {
		sp_lod_maker_free(x);
		*out = NULL;
		return sp_model_no_memory(e);
	}
	memset(x->stats, 0, m->n_paths * sizeof(*x->stats));
	return 0;
}

void sp_lod_maker_free(struct sp_lod_maker *x)
{
	size_t i;

	if (!x)
		return;
	sp_events_close(x->reading);
	for (i = 0; x->values && i < x->m->n_counters; i++)
		free(x->values[i].p);
	free(x->values);
	for (i = 0; i < SP_LOD_LEVELS; i++) {
		free(x->times[i].ns);
		free(x->times[i].touched);
		free(x->cells[i].p);
	}
	free(x->known);
	free(x->stats);
	free(x->touched);
	free(x->stack);
	free(x->which);
	free(x->now);
	free(x->grown);
	free(x);
}

static inline struct sp_lod_stat *touch(struct sp_lod_maker *x, uint32_t path)
{
	struct sp_lod_stat *s = &x->stats[path];

	/* without a branch, which would be mispredicted often */
	x->touched[x->n_touched] = path;
	x->n_touched += !s->touched;
	s->touched = true;
	return s;
}

static bool grow_stack(struct sp_lod_maker *x)
{
	const uint32_t capacity = x->stack_capacity * 2 + 64;
	struct sp_lod_open *larger = realloc(x->stack, (capacity + (size_t)1) * sizeof(*larger));

	if (!larger)
		return false;
	x->stack = larger;
	x->stack_capacity = capacity;
	return true;
}

/* A call began or ended at this depth in the bucket. */
static inline void reached(struct sp_lod_maker *x, uint32_t depth)
{
	x->shallow = depth < x->shallow ? depth : x->shallow;
	x->deep = depth >= x->deep ? depth + 1 : x->deep;
}

static inline void enter(struct sp_lod_maker *x, const struct sp_event *ev)
{
	const uint32_t parent = x->depth ? x->stack[x->depth - 1].path : 0;

	if ((x->depth == x->stack_capacity && !grow_stack(x)) ||
	    (x->depth >= x->cells[0].high && !sp_lod_cells_reach(&x->cells[0], x->depth))) {
		x->failed = true;
		return;
	}
	reached(x, x->depth);
	x->stack[x->depth++] = (struct sp_lod_open){.begin = ev->time,
	                                            .path = sp_lod_path_below(x, parent, ev->id),
	                                            .region = ev->id,
	                                            .parameter = SP_NONE,
	                                            .kind = ev->kind};
}

static void count(struct sp_lod_stat *s, uint32_t kind, uint64_t length)
{
	if (kind == SP_EVENT_INHERIT)
		return;
	s->calls[kind == SP_EVENT_RESUME]++;
	s->each += length;
	s->sumsq += (double)length * (double)length;
	if (~length > s->not_min)
		s->not_min = ~length;
	if (length > s->max)
		s->max = length;
}

/* Leaves the innermost call; s: its numbers. */
static inline void leave(struct sp_lod_maker *x, uint64_t time, struct sp_lod_stat *s)
{
	const struct sp_lod_open *o = &x->stack[x->depth - 1];
	const uint64_t length = time - o->begin;
	struct sp_lod_cell *c;

	count(s, o->kind, length);
	x->depth--;
	if (x->depth < x->cells[0].low && !sp_lod_cells_reach(&x->cells[0], x->depth)) {
		x->failed = true;
		return;
	}
	reached(x, x->depth);
	c = &x->cells[0].p[x->depth];
	if (o->frame == 0) {
		sp_lod_cell_add(c, o->begin, time, 1, length, o->region, length);
		return;
	}
	c->head = time;
	sp_lod_end_frames(x, o->frame, time);
}

static bool new_frame(struct sp_lod_maker *x, uint32_t depth, uint32_t same)
{
	struct sp_lod_frame *f = sp_lod_more(&x->out->frames, 1);
	struct sp_lod_open *o = &x->stack[depth];

	if (!f || x->out->frames.n >= UINT32_MAX)
		return false;
	*f = (struct sp_lod_frame){.begin = o->begin,
	                           .path = o->path,
	                           .region = o->region,
	                           .caller = depth ? x->stack[depth - 1].frame : 0,
	                           .same = same,
	                           .kind = o->kind,
	                           .parameter = o->parameter};
	o->frame = (uint32_t)x->out->frames.n;
	return true;
}

/* The innermost call continues in another path. */
static void set_parameter(struct sp_lod_maker *x, const struct sp_event *ev)
{
	struct sp_lod_open *o = &x->stack[x->depth - 1];

	o->path = sp_path_with(x->index, o->path, &o->parameter, ev);
	if (o->frame && !new_frame(x, x->depth - 1, o->frame))
		x->failed = true;
}

static inline void one(struct sp_lod_maker *x, const struct sp_event *ev)
{
	const uint64_t length = ev->time - x->last;
	struct sp_lod_times *t = &x->times[0];
	struct sp_lod_stat *s = NULL;

	x->last = ev->time;
	if (x->depth) {
		const struct sp_lod_open *o = &x->stack[x->depth - 1];

		s = touch(x, o->path);
		s->excl += length;
		t->touched[t->n] = o->region;
		t->n += (t->ns[o->region] == 0) & (length != 0);
		t->ns[o->region] += length;
	}
	switch (ev->kind) {
	case SP_EVENT_ENTER:
	case SP_EVENT_RESUME:
	case SP_EVENT_INHERIT:
		enter(x, ev);
		break;
	case SP_EVENT_LEAVE:
	case SP_EVENT_SUSPEND:
		if (s)
			leave(x, ev->time, s);
		break;
	case SP_EVENT_PARAMETER_INT:
	case SP_EVENT_PARAMETER_UINT:
	case SP_EVENT_PARAMETER_STRING:
		if (x->depth)
			set_parameter(x, ev);
		break;
	case SP_EVENT_MARKER:
	case SP_EVENT_COUNTER:
		x->failed |= !sp_lod_note(x, ev);
		break;
	case SP_EVENT_TASK_SWITCH:
		x->failed |= !sp_lod_step(x, ev->time, ev->id);
		break;
	case SP_EVENT_METRIC:
		sp_lod_metrics_read(x, ev);
		break;
	case SP_EVENT_OFF:
	case SP_EVENT_ON:
		sp_lod_metrics_off(x);
		break;
	case SP_EVENT_OFF_CPU:
		if (x->depth)
			x->failed |= !sp_lod_gap(x, ev, length);
	}
}

static void begin_bucket(struct sp_lod_maker *x, const struct sp_events_position *place)
{
	struct sp_lod_point *p = sp_lod_more(&x->out->points, 1);

	if (!p || place->at > UINT32_MAX) {
		x->failed = true;
		return;
	}
	*p = (struct sp_lod_point){.time = x->last,
	                           .ticks = place->ticks,
	                           .part = place->part,
	                           .at = (uint32_t)place->at,
	                           .frame = x->depth ? x->stack[x->depth - 1].frame : 0,
	                           .event = x->events,
	                           .depth = x->depth};
	x->bucket_event = x->events;
	x->cells[0].low = x->cells[0].high = 0;
	x->cells[0].begin = x->last;
	x->shallow = UINT32_MAX;
	x->deep = 0;
	/* the stack must have room for all depths with cells */
	if ((x->depth + NEAR > x->stack_capacity && !grow_stack(x)) ||
	    !sp_lod_cells_reach(&x->cells[0], x->depth > NEAR ? x->depth - NEAR : 0) ||
	    !sp_lod_cells_reach(&x->cells[0], x->depth + NEAR - 1))
		x->failed = true;
	x->failed |= !sp_lod_counts_put(x);
	x->in_bucket = true;
}

/* Completes the cells of the bucket. */
static void end_bucket(struct sp_lod_maker *x)
{
	struct sp_lod_cell *cells = x->cells[0].p;
	uint32_t d = x->depth;

	x->cells[0].low = x->shallow < x->deep ? x->shallow : 0;
	x->cells[0].high = x->deep;
	while (d > 0 && x->stack[d - 1].frame == 0)
		d--;
	for (; d < x->depth; d++) {
		if (!new_frame(x, d, 0)) {
			x->failed = true;
			return;
		}
		cells[d].tail = x->stack[d].begin;
		cells[d].tail_region = x->stack[d].region;
	}
	x->in_bucket = false;
}

/* Begins the next bucket, and the next sum if the current one is full. A sum of many paths is longer, in proportion to
 * its number of entries. */
static void next_bucket(struct sp_lod_maker *x)
{
	const uint64_t n = x->events - x->sum_event;

	end_bucket(x);
	sp_lod_node_done(x, x->last, false);
	if (n >= SP_LOD_SUMS && n >= 32 * x->n_touched)
		sp_lod_sum_done(x, x->last, x->out->points.n);
}

/* Whether the bucket is full. A bucket of deep recursion is longer, in proportion to its number of depths. */
static bool is_full(const struct sp_lod_maker *x)
{
	const uint64_t n = x->events - x->bucket_event;

	return n >= SP_LOD_BUCKET && n >= 8 * ((uint64_t)x->deep - (x->shallow < x->deep ? x->shallow : 0));
}

static int read_events(struct sp_lod_maker *x, struct sp_events *s, int (*report)(void *arg, uint64_t events),
                       void *arg, struct sp_err *e)
{
	struct sp_event batch[SP_LOD_STRIP];
	struct sp_events_position place;
	uint64_t reported_at = 0;
	long n, i;

	if (!sp_events_position(s, &place))
		return sp_fail(e, 0, "the trace begins within an event");
	while ((n = sp_events_read(s, batch, SP_LOD_STRIP, e)) > 0 && !x->failed) {
		if (!x->in_bucket)
			begin_bucket(x, &place);
		for (i = sp_lod_plain(x, batch, (uint32_t)n); i < n && !x->failed;
		     i += sp_lod_plain(x, batch + i, (uint32_t)(n - i)))
			one(x, &batch[i++]);
		x->events += (uint64_t)n;
		sp_lod_strip_done(x, x->last, false);
		if (is_full(x) && sp_events_position(s, &place) && !x->failed)
			next_bucket(x);
		if (report && x->events - reported_at >= REPORT_EVENTS) {
			if (report(arg, x->events - reported_at))
				return -1;
			reported_at = x->events;
		}
	}
	if (n < 0)
		return -1;
	return report && report(arg, x->events - reported_at) ? -1 : 0;
}

static int begin_location(struct sp_lod_maker *x, uint32_t location)
{
	const uint64_t begin = x->m->locations[location].begin;
	unsigned i;

	x->depth = 0;
	x->last = x->sum_begin = begin;
	x->events = x->bucket_event = x->sum_event = x->sum_bucket = 0;
	x->in_bucket = x->failed = false;
	x->task = SP_NONE;
	sp_lod_metrics_begin(x, location);
	for (i = 0; i < SP_LOD_LEVELS; i++) {
		x->cells[i].low = x->cells[i].high = 0;
		x->cells[i].nodes = x->times[i].strips = 0;
	}
	x->times[0].begin = begin;
	if (!x->times[0].ns) {
		x->times[0].ns = calloc(x->m->n_regions, sizeof(*x->times[0].ns));
		x->times[0].touched = malloc((x->m->n_regions + 1) * sizeof(*x->times[0].touched));
	}
	return x->times[0].ns && x->times[0].touched ? 0 : -1;
}

/* Clears what a failed location has left in the sums. */
static void clean(struct sp_lod_maker *x)
{
	size_t i;

	while (x->n_touched) {
		const uint32_t path = x->touched[--x->n_touched];

		x->stats[path] = (struct sp_lod_stat){.excl = 0};
		memset(x->grown + path * x->n_metrics, 0, x->n_metrics * sizeof(*x->grown));
	}
	for (i = 0; i < x->m->n_counters; i++)
		x->values[i].n = 0;
	for (i = 0; i < SP_LOD_LEVELS; i++)
		while (x->times[i].n)
			x->times[i].ns[x->times[i].touched[--x->times[i].n]] = 0;
}

int sp_lod_make(struct sp_lod_maker *x, uint32_t location, struct sp_raw_file *raw,
                int (*report)(void *arg, uint64_t events), void *arg, struct sp_lod_made *out, struct sp_err *e)
{
	const struct sp_location *l = &x->m->locations[location];
	int rc = -1;

	made_init(out);
	x->out = out;
	if (begin_location(x, location))
		sp_model_no_memory(e);
	else if (sp_events_open_quiet(&x->reading, x->m, location, raw, e) == 0)
		rc = read_events(x, x->reading, report, arg, e);
	sp_events_close(x->reading);
	x->reading = NULL;
	if (rc == 0) {
		const uint64_t end = l->end > x->last ? l->end : x->last;

		if (x->in_bucket && !x->failed)
			end_bucket(x);
		sp_lod_strip_done(x, end, true);
		sp_lod_node_done(x, end, true);
		sp_lod_sums_finish(x, end);
		x->failed |= !sp_lod_series_finish(x) || !sp_lod_steps_finish(x, end) ||
		             (out->points.n && !sp_lod_counts_put(x));
		out->place.events = x->events;
		out->place.begin = l->begin;
		out->place.end = end;
		if (x->failed)
			rc = sp_model_no_memory(e);
	}
	clean(x);
	return rc;
}
