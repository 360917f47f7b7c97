/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges the call tree of one location into that of the model. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

struct adding {
	struct sp_builder *b;
	struct sp_loading *l;
	struct sp_raw_thread *t;
	uint32_t *path_of; /* owned; table from nodes to paths + 1; 0: not read */
	/* owned; table from nodes to parameter values + 1; NULL: no parameters. The path of such a node is that of the
	 * call before the value was set */
	uint32_t *value_of;
	size_t nodes;  /* capacity of path_of */
	uint64_t end;  /* ticks; time at which open frames are closed */
	uint32_t open; /* path of the innermost open frame */
	size_t first_row;
	size_t row; /* row of the previous node, which the next values belong to; SIZE_MAX: no row */
	uint64_t lost_parents, lost_regions, lost_metrics;
	bool columns;  /* adding samples to recorded calls: times are those of the calls */
	bool sampled;  /* adding samples */
	bool recorded; /* … of one of the program's user regions, whose times the process recorded exactly */
	/* several nodes may map to one path; otherwise paths that this location added are not searched again */
	bool repeating;
};

static size_t path_slot(const struct sp_builder *b, uint32_t parent, uint32_t region, uint32_t parameter)
{
	/* only the highest bits of the product depend on all bits of the key */
	uint64_t key = ((uint64_t)parent << 32 | region) ^ (uint64_t)(parameter + 1) << 20;
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> b->path_shift;
	const struct sp_path *p;

	for (; b->path_slots[i]; i = (i + 1) & b->path_mask) {
		p = &b->m->paths[b->path_slots[i]];
		if (p->parent == parent && p->region == region && p->parameter == parameter)
			break;
	}
	return i;
}

static int grow_paths(struct sp_builder *b)
{
	size_t capacity = b->priv->path_capacity ? b->priv->path_capacity * 2 : 1024;
	struct sp_path *paths;

	if (capacity >= SP_NONE)
		return -1;
	paths = realloc(b->m->paths, capacity * sizeof(*paths));
	if (!paths)
		return -1;
	b->m->paths = b->priv->paths = paths;
	b->priv->path_capacity = capacity;
	return 0;
}

/* Adds all paths to the hash table of path_slot(), with room for as many more. */
static int hash_paths(struct sp_builder *b)
{
	const struct sp_path *paths = b->m->paths;
	size_t capacity = b->path_mask + 1;
	uint32_t *slots;

	if (!b->path_slots || b->m->n_paths * 2 >= capacity) {
		for (capacity = 2048; capacity < b->m->n_paths * 4; capacity *= 2)
			;
		slots = calloc(capacity, sizeof(*slots));
		if (!slots)
			return -1;
		free(b->path_slots);
		b->path_slots = slots;
		b->path_mask = capacity - 1;
		b->path_shift = 64 - (unsigned)__builtin_ctzll(capacity);
		b->hashed = 1;
	}
	for (; b->hashed < b->m->n_paths; b->hashed++) {
		const struct sp_path *p = &paths[b->hashed];

		b->path_slots[path_slot(b, p->parent, p->region, p->parameter)] = (uint32_t)b->hashed;
	}
	return 0;
}

static int grow_row_of(struct sp_builder *b)
{
	size_t capacity = b->row_of_capacity ? b->row_of_capacity * 2 : 1024;
	uint32_t *row_of = realloc(b->row_of, capacity * sizeof(*row_of));

	if (!row_of)
		return -1;
	memset(row_of + b->row_of_capacity, 0, (capacity - b->row_of_capacity) * sizeof(*row_of));
	b->row_of = row_of;
	b->row_of_capacity = capacity;
	return 0;
}

/* Finds or adds a child path. SP_NONE: no memory. */
static uint32_t path_child(struct adding *a, uint32_t parent, uint32_t region, uint32_t parameter)
{
	struct sp_builder *b = a->b;
	struct sp_model *m = b->m;
	uint32_t known = 0;

	if (parent < b->hashed)
		known = b->path_slots[path_slot(b, parent, region, parameter)];
	if (known)
		return known;
	if ((m->n_paths >= b->priv->path_capacity && grow_paths(b)) || m->n_paths >= SP_NONE)
		return SP_NONE;
	m->paths[m->n_paths++] = (struct sp_path){parent, region, parameter, SP_NONE, SP_NONE};
	if (a->repeating && hash_paths(b))
		return SP_NONE;
	return (uint32_t)m->n_paths - 1;
}

uint32_t sp_build_path(struct sp_builder *b, uint32_t parent, uint32_t region, uint32_t parameter)
{
	struct adding a = {.b = b, .repeating = true};

	return hash_paths(b) ? SP_NONE : path_child(&a, parent, region, parameter);
}

/* From now on several nodes of this location may map to one path. */
static int repeats(struct adding *a)
{
	if (a->repeating)
		return 0;
	a->repeating = true;
	return hash_paths(a->b);
}

/* The location's row of a path. Several nodes may share it: regions that the process defined twice are one region. */
static struct sp_row *row_for(struct adding *a, uint32_t path)
{
	struct sp_builder *b = a->b;
	struct sp_row *r;

	while (path >= b->row_of_capacity)
		if (grow_row_of(b))
			return NULL;
	if (b->row_of[path])
		return &b->priv->rows[a->first_row + b->row_of[path] - 1];
	if (sp_rows_reserve(b, 1))
		return NULL;
	if (b->m->n_metrics)
		memset(b->priv->row_metrics + b->m->n_values * b->m->n_metrics, 0,
		       b->m->n_metrics * sizeof(*b->priv->row_metrics));
	r = &b->priv->rows[b->m->n_values++];
	*r = (struct sp_row){.path = path};
	r->v.min = -1; /* negative until a duration is known */
	b->row_of[path] = (uint32_t)(b->m->n_values - a->first_row);
	return r;
}

static uint32_t region_of(struct adding *a, uint32_t id)
{
	const struct sp_ids *ids = &a->l->source->regions;

	if (id < ids->n && ids->to[id])
		return ids->to[id] - 1;
	a->lost_regions++;
	return sp_build_unknown_region(a->b);
}

static void add_value(struct adding *a, struct sp_value *v, const struct sp_raw_node *n)
{
	const double ns = a->l->source->clock.ns;
	double min = (double)n->min * ns, max = (double)n->max * ns;

	v->visits += n->visits;
	v->resumed += n->resumed;
	if (!a->columns && !a->recorded)
		v->incl += (double)n->incl * ns;
	if (n->sumsq > 0 && n->sumsq < 1e300)
		v->sumsq += n->sumsq * ns * ns;
	if (n->min > n->max || n->visits + n->resumed == 0)
		return; /* no call has ended yet */
	if (v->min < 0 || min < v->min)
		v->min = min;
	if (max > v->max)
		v->max = max;
}

/* Adds the values of the metrics to the row of the previous node. */
static void add_metrics(struct adding *a, const struct sp_raw_values *v)
{
	const struct sp_ids *ids = &a->l->source->metrics;
	const size_t width = a->b->m->n_metrics;
	uint64_t column;
	unsigned i;

	for (i = 0; i < SP_RAW_VALUES && a->row != SIZE_MAX; i++) {
		column = (uint64_t)v->first + i;
		if (column < ids->n && ids->to[column])
			a->b->priv->row_metrics[a->row * width + ids->to[column] - 1] += v->value[i];
		else if (v->value[i])
			a->lost_metrics++;
	}
}

/* Adds a node of a parameter value: nodes below it belong to the call's path with that value. */
static int add_parameter(struct adding *a, uint64_t index, uint32_t caller, uint32_t region)
{
	uint32_t value = sp_build_parameter(a->b, region, a->b->m->paths[caller].parameter);

	if (value == SP_NONE)
		return -1;
	if (!a->value_of)
		a->value_of = calloc(a->nodes + 1, sizeof(*a->value_of));
	if (!a->value_of)
		return -1;
	a->path_of[index] = caller + 1;
	a->value_of[index] = value + 1;
	return 0;
}

/* The path of a node, below the path of its parent. */
static uint32_t path_of_node(struct adding *a, const struct sp_raw_node *n, uint32_t parent, uint32_t region)
{
	const struct sp_path *caller = &a->b->m->paths[parent];

	if (!a->value_of || n->parent >= a->nodes || !a->value_of[n->parent])
		return path_child(a, parent, region, SP_NONE);
	if (caller->region == region && parent)
		return path_child(a, caller->parent, region, a->value_of[n->parent] - 1);
	a->lost_parents++; /* a parameter value was the caller of another function */
	return repeats(a) ? SP_NONE : path_child(a, parent, region, SP_NONE);
}

/* Subtracts time from MPI and file I/O calls that were recorded without functions: such calls are directly below the
 * program's user regions, but samples have found part of their time below the calling functions. */
static void take_off(struct adding *a, uint32_t path, uint64_t ticks)
{
	const struct sp_model *m = a->b->m;
	const uint32_t region = m->paths[path].region;
	uint32_t at = path, top = path, plain;
	struct sp_value *v;

	if (m->regions[region].kind != SP_REGION_MPI && m->regions[region].kind != SP_REGION_IO)
		return;
	for (; at; at = m->paths[at].parent)
		if (m->regions[m->paths[at].region].kind != SP_REGION_USER)
			top = at;
	plain = path_child(a, m->paths[top].parent, region, SP_NONE);
	if (plain == path || plain >= a->b->row_of_capacity || !a->b->row_of[plain])
		return;
	v = &a->b->priv->rows[a->first_row + a->b->row_of[plain] - 1].v;
	v->incl -= fmin(v->incl, (double)ticks * a->l->source->clock.ns);
}

static int add_node(struct adding *a, uint64_t index, const struct sp_raw_node *n)
{
	uint32_t parent = 0, region, path;
	struct sp_row *row;

	a->row = SIZE_MAX;
	if (index == 0) {
		a->path_of[0] = 1;
		return 0;
	}
	if (n->parent < index && a->path_of[n->parent] && a->path_of[n->parent] != SP_NONE)
		parent = a->path_of[n->parent] - 1;
	else
		a->lost_parents++;
	region = region_of(a, n->region);
	if (region == SP_NONE || ((a->lost_parents || a->lost_regions) && repeats(a)))
		return -1;
	if (a->b->m->regions[region].kind == SP_REGION_PARAMETER)
		return add_parameter(a, index, parent, region);
	/* every location has a collapsed node, which is usually unused */
	if (a->b->m->regions[region].kind == SP_REGION_COLLAPSED && n->visits + n->resumed + n->incl == 0 && !parent) {
		a->path_of[index] = SP_NONE;
		return 0;
	}
	path = path_of_node(a, n, parent, region);
	row = path == SP_NONE ? NULL : row_for(a, path);
	if (!row)
		return -1;
	a->path_of[index] = path + 1;
	a->row = (size_t)(row - a->b->priv->rows);
	a->recorded = a->sampled && a->b->m->regions[region].kind == SP_REGION_USER;
	add_value(a, &row->v, n);
	if (a->sampled && !a->columns)
		take_off(a, path, n->incl);
	return 0;
}

/* Whether the number of nodes fits into the file's size. */
static bool possible(const struct sp_raw_file *f, const struct sp_raw_part *p)
{
	uint64_t limit = f->size / sizeof(struct sp_raw_node);

	return p->base <= limit && p->used <= limit - p->base;
}

static int add_nodes(struct adding *a)
{
	struct sp_raw_file *f = a->l->source->raw;
	const struct sp_raw_part *p = f->parts + a->t->nodes.first, *end = p + a->t->nodes.count;
	uint64_t next = 0, i, n;
	struct sp_raw_node node;

	for (; p < end; p++) {
		const struct sp_raw_node *nodes = sp_raw_payload(f, p);

		if (p->base != next)
			sp_raw_report(f, p->offset, "call paths %" PRIu64 " to %" PRIu64 " of location %" PRIu32 " %s",
			              next, p->base, a->t->state.id, p->base > next ? "are lost" : "come twice");
		if (p->base < next || !possible(f, p))
			continue;
		n = p->used;
		a->row = SIZE_MAX;
		for (i = 0; i < n; i++) {
			memcpy(&node, &nodes[i], sizeof(node)); /* the node may be changing while it is read */
			if (node.parent == SP_RAW_NONE && p->base + i > 0 && f->header.version > 1)
				add_metrics(a, (const struct sp_raw_values *)&node);
			else if (add_node(a, p->base + i, &node))
				return -1;
		}
		next = p->base + n;
		sp_raw_forget(f, p);
	}
	if (next < a->t->state.nodes && a->t->state.nodes != UINT64_MAX)
		sp_raw_report(f, f->size, "the last %" PRIu64 " call paths of location %" PRIu32 " are lost",
		              a->t->state.nodes - next, a->t->state.id);
	return 0;
}

/* Closes a call that was never left: it lasts until the end of its thread. */
static int close_frame(struct adding *a, const struct sp_raw_frame *frame)
{
	struct sp_raw_file *f = a->l->source->raw;
	uint32_t index = sp_raw_node_index(f, a->t, frame->node), path;
	double d = a->end > frame->enter ? (double)(a->end - frame->enter) * a->l->source->clock.ns : 0;
	struct sp_row *row;

	if (index == SP_RAW_NONE || index >= a->nodes || !a->path_of[index]) {
		/* a running process may have made the call path since its call paths were listed */
		if (!f->bytes.running)
			sp_raw_report(f, a->t->stack->offset, "an open call of location %" PRIu32 " has no call path",
			              a->t->state.id);
		return 0;
	}
	path = a->path_of[index] - 1;
	if (path == 0 || a->path_of[index] == SP_NONE)
		return 0;
	row = row_for(a, path);
	if (!row)
		return -1;
	a->open = path;
	row->v.incl += d;
	if (frame->flags & (SP_RAW_FRAME_INHERITED | SP_RAW_FRAME_FORKED))
		return 0;
	row->v.sumsq += d * d;
	if (row->v.min < 0 || d < row->v.min)
		row->v.min = d;
	if (d > row->v.max)
		row->v.max = d;
	return 0;
}

static int close_frames(struct adding *a)
{
	size_t n, i;
	const struct sp_raw_frame *frames = sp_raw_open_frames(a->l->source->raw, a->t, &n);
	bool collapsed = false;
	struct sp_raw_frame f;

	for (i = 0; i < n; i++) {
		memcpy(&f, &frames[i], sizeof(f));
		if (f.flags & SP_RAW_FRAME_SKIPPED)
			continue;
		if (f.flags & SP_RAW_FRAME_COLLAPSED) {
			if (collapsed)
				continue;
			collapsed = true;
		}
		if (close_frame(a, &f))
			return -1;
	}
	return 0;
}

static int reserve_nodes(struct adding *a)
{
	const struct sp_raw_file *f = a->l->source->raw;
	const struct sp_raw_part *p = f->parts + a->t->nodes.first, *end = p + a->t->nodes.count;
	const size_t values = (a->l->source->metrics.n + SP_RAW_VALUES - 1) / SP_RAW_VALUES;

	for (; p < end; p++)
		if (possible(f, p) && p->base + p->used > a->nodes)
			a->nodes = p->base + p->used;
	a->path_of = calloc(a->nodes + 1, sizeof(*a->path_of));
	if (!a->path_of || sp_rows_reserve(a->b, a->nodes / (1 + values)))
		return -1;
	return 0;
}

static void report_losses(struct adding *a)
{
	struct sp_raw_file *f = a->l->source->raw;
	uint64_t at = a->t->nodes.count ? f->parts[a->t->nodes.first].offset : f->size;

	if (a->lost_parents)
		sp_raw_report(f, at,
		              "%" PRIu64 " call paths of location %" PRIu32
		              " have lost their caller and are shown at the top",
		              a->lost_parents, a->t->state.id);
	if (a->lost_regions)
		sp_raw_report(f, at, "the functions of %" PRIu64 " call paths of location %" PRIu32 " are not defined",
		              a->lost_regions, a->t->state.id);
	if (a->lost_metrics)
		sp_raw_report(f, at, "the metrics of %" PRIu64 " values of location %" PRIu32 " are not defined",
		              a->lost_metrics, a->t->state.id);
}

static int node_row(void *arg, uint32_t node, uint32_t *path, uint64_t **values)
{
	struct adding *a = arg;
	struct sp_row *row;

	*path = SP_NONE;
	/* the root is no call path and has no row */
	if (node == SP_RAW_NONE || node >= a->nodes || a->path_of[node] <= 1 || a->path_of[node] == SP_NONE)
		return 0;
	row = row_for(a, a->path_of[node] - 1);
	if (!row)
		return -1;
	*path = a->path_of[node] - 1;
	*values = a->b->priv->row_metrics; /* NULL: no metrics */
	if (*values)
		*values += (size_t)(row - a->b->priv->rows) * a->b->m->n_metrics;
	return 0;
}

/* Names the open call of a killed thread. */
static int name_open(const struct adding *a, struct sp_str *out)
{
	static const char between[] = ", called by ";
	const struct sp_model *m = a->b->m;
	const uint32_t caller = a->open ? m->paths[a->open].parent : 0;
	struct sp_str name = m->regions[m->paths[a->open].region].name, more;
	char *text;

	*out = (struct sp_str){"", 0};
	if (!a->open)
		return 0;
	*out = name;
	if (!caller)
		return 0;
	more = m->regions[m->paths[caller].region].name;
	text = sp_arena_zalloc(&a->b->priv->arena, name.n + more.n + sizeof(between), 1);
	if (!text)
		return -1;
	memcpy(text, name.p, name.n);
	memcpy(text + name.n, between, sizeof(between) - 1);
	memcpy(text + name.n + sizeof(between) - 1, more.p, more.n);
	*out = (struct sp_str){text, name.n + more.n + sizeof(between) - 1};
	return 0;
}

/* Adds the nodes that the process itself recorded for the thread. */
static int add_calls(struct adding *a, struct sp_location *out)
{
	if (reserve_nodes(a) || hash_paths(a->b) || (a->l->source->regions_repeat && repeats(a)) || add_nodes(a) ||
	    close_frames(a) || sp_build_sites(a->b, a->l, a->t, node_row, a) ||
	    sp_build_open_waits(a->b, a->l, a->t, a->end, node_row, a) ||
	    sp_build_off_cpu(a->b, a->l, a->t, a->end, node_row, a, &out->cpu) ||
	    sp_build_tally_rows(a->b, a->l, a->t, a->end, node_row, a) || name_open(a, &out->open))
		return -1;
	report_losses(a);
	return 0;
}

/* Adds the nodes of the samples of the thread. */
static int add_samples(struct adding *a)
{
	if (reserve_nodes(a) || repeats(a) || add_nodes(a))
		return -1;
	report_losses(a);
	return 0;
}

int sp_build_thread(struct sp_builder *b, struct sp_loading *l, struct sp_raw_thread *t, struct sp_raw_thread *samples,
                    struct sp_location *out, uint64_t end, struct sp_err *e)
{
	struct adding a = {.b = b, .l = l, .t = t, .end = end, .first_row = b->m->n_values};
	struct adding s = {.b = b,
	                   .l = l->samples,
	                   .t = samples,
	                   .first_row = b->m->n_values,
	                   .sampled = true,
	                   .columns = t && l->process.counted};
	int rc = -1;
	size_t i;

	out->open = (struct sp_str){"", 0};
	out->cpu = -1;
	if ((t && add_calls(&a, out)) || (samples && add_samples(&s)))
		goto out;
	out->first_value = a.first_row;
	out->values = b->m->n_values - a.first_row;
	for (i = a.first_row; i < b->m->n_values; i++) {
		struct sp_row *r = &b->priv->rows[i];

		if (r->v.min < 0)
			r->v.min = 0;
		b->row_of[r->path] = 0;
	}
	rc = sp_rows_order(b, a.first_row, &out->values);
out:
	free(a.path_of);
	free(a.value_of);
	free(s.path_of);
	free(s.value_of);
	return rc ? sp_model_no_memory(e) : 0;
}
