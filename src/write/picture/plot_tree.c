/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out the call tree for flame graph, icicle and sunburst, with a limited number of boxes. */
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"
#include "write/picture/plot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct child {
	double time;
	uint32_t path;
};

struct layout {
	struct sp_plot_tree *t;
	const struct sp_model *m;
	const struct sp_value *values;
	uint32_t limit; /* number of rows */
	const double *least;
	struct child *children; /* owned */
	size_t n, capacity;
};

static bool kept(const struct layout *l, uint32_t p)
{
	return l->values[p].incl > 0 || l->values[p].visits;
}

static int add_child(struct layout *l, uint32_t path)
{
	if (l->n == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 64;
		struct child *larger = realloc(l->children, capacity * sizeof(*larger));

		if (!larger)
			return -1;
		l->children = larger;
		l->capacity = capacity;
	}
	l->children[l->n++] = (struct child){l->values[path].incl, path};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct child *p = a, *q = b;

	if (p->time != q->time)
		return p->time > q->time ? -1 : 1;
	return p->path < q->path ? -1 : p->path > q->path;
}

static struct sp_plot_box *add_box(struct layout *l, struct sp_plot_box box)
{
	struct sp_plot_tree *t = l->t;

	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? 2 * t->capacity : 256;
		struct sp_plot_box *larger = realloc(t->boxes, capacity * sizeof(*larger));

		if (!larger)
			return NULL;
		t->boxes = larger;
		t->capacity = capacity;
	}
	t->boxes[t->n] = box;
	if (box.depth + 1 > t->depth)
		t->depth = box.depth + 1;
	return &t->boxes[t->n++];
}

/* Lays out the collected children from x on, the largest first; w: available width. owner: index of their caller's box,
 * or SIZE_MAX. */
static int place(struct layout *l, size_t owner, double x, double w, uint32_t depth)
{
	double sum = 0, scale, rest = 0;
	uint64_t hidden = 0;

	if (l->n)
		qsort(l->children, l->n, sizeof(*l->children), by_time);
	for (size_t i = 0; i < l->n; i++)
		sum += l->children[i].time;
	scale = 1 / l->t->total;
	if (sum * scale > w) /* calls that overlap in time: coroutines of one caller */
		scale = w / sum;
	for (size_t i = 0; i < l->n; i++) {
		const struct child *c = &l->children[i];
		double wide = c->time * scale;

		if (wide < l->least[depth]) {
			hidden++;
			rest += c->time;
			continue;
		}
		if (!add_box(l, (struct sp_plot_box){c->path, depth, x, wide, 0, c->time}))
			return -1;
		x += wide;
	}
	if (!hidden)
		return 0;
	if (rest * scale >= l->least[depth])
		return add_box(l, (struct sp_plot_box){SP_NONE, depth, x, rest * scale, hidden, rest}) ? 0 : -1;
	if (owner != SIZE_MAX)
		l->t->boxes[owner].hidden += hidden;
	return 0;
}

static int roots(struct layout *l)
{
	double sum = 0;

	for (uint32_t p = 1; p < l->m->n_paths; p++)
		if (kept(l, p) && (l->m->paths[p].parent == 0 || !kept(l, l->m->paths[p].parent))) {
			if (add_child(l, p))
				return -1;
			sum += l->values[p].incl;
		}
	l->t->total = sum > 0 ? sum : 1;
	return place(l, SIZE_MAX, 0, 1, 0);
}

static int lay_out(struct layout *l)
{
	if (roots(l))
		return -1;
	/* boxes are added during the loop: those of a row come after all of the previous row */
	for (size_t i = 0; i < l->t->n; i++) {
		const struct sp_plot_box b = l->t->boxes[i];

		l->n = 0;
		if (b.path == SP_NONE)
			continue;
		for (uint32_t c = l->m->paths[b.path].first_child; c != SP_NONE; c = l->m->paths[c].next_sibling)
			if (kept(l, c) && add_child(l, c))
				return -1;
		if (b.depth + 1 == l->limit)
			l->t->boxes[i].hidden += l->n;
		else if (place(l, i, b.x, b.w, b.depth + 1))
			return -1;
	}
	return 0;
}

int sp_plot_tree_open(struct sp_plot_tree *t, struct sp_plot *p, uint32_t depth, const double *least)
{
	struct layout l = {.t = t, .m = p->m, .limit = depth, .least = least};
	uint64_t all = 0;
	int rc;

	*t = (struct sp_plot_tree){.n = 0};
	if (sp_shown_open(&t->shown, p->m, &p->o->of, p->e))
		return -1;
	l.values = t->shown.values;
	rc = lay_out(&l) ? sp_fail(p->e, ENOMEM, "out of memory") : 0;
	free(l.children);
	if (rc)
		return -1;
	for (uint32_t i = 1; i < p->m->n_paths; i++)
		all += kept(&l, i);
	for (size_t i = 0; i < t->n; i++)
		p->done->drawn += t->boxes[i].path != SP_NONE;
	p->done->hidden = all - p->done->drawn;
	return 0;
}

void sp_plot_tree_close(struct sp_plot_tree *t)
{
	sp_shown_close(&t->shown);
	free(t->boxes);
}

/* "f [n=3]": the name with the parameter that was set last. */
static struct sp_str named(char *text, size_t capacity, const struct sp_model *m, uint32_t path, struct sp_str name)
{
	uint32_t value = m->paths[path].parameter;

	if (value == SP_NONE)
		return name;
	const struct sp_parameter_value *v = &m->parameter_values[value];
	struct sp_str what = m->parameters[v->parameter];
	int n = snprintf(text, capacity, "%.*s [%.*s=%.*s]", (int)name.n, name.p, (int)what.n, what.p, (int)v->text.n,
	                 v->text.p);

	return n > 0 && (size_t)n < capacity ? (struct sp_str){text, (size_t)n} : name;
}

struct sp_str sp_plot_label(char text[SP_SVG_TEXT], const struct sp_model *m, const struct sp_plot_box *b)
{
	if (b->path == SP_NONE) {
		snprintf(text, SP_SVG_TEXT, "%" PRIu64 " smaller", b->hidden);
		return sp_text(text);
	}
	const struct sp_region *r = &m->regions[m->paths[b->path].region];

	return named(text, SP_SVG_TEXT, m, b->path, r->qualname.n ? r->qualname : r->name);
}

void sp_plot_tip(char tip[SP_PLOT_TIP], const struct sp_plot_tree *t, const struct sp_model *m,
                 const struct sp_plot_box *b)
{
	char time[SP_TIME_TEXT], own[SP_TIME_TEXT], text[SP_SVG_TEXT], name[4 * 400 + 4];
	double share = 100 * b->time / t->shown.total;
	int n;

	sp_shown_text(&t->shown, time, b->time);
	if (b->path == SP_NONE) {
		snprintf(tip, SP_PLOT_TIP,
		         "%" PRIu64 " calls that are too small to be drawn by themselves: %s (%.2f %%)", b->hidden,
		         time, share);
		return;
	}
	const struct sp_value *v = &t->shown.values[b->path];

	sp_shorten(name, named(text, sizeof text, m, b->path, m->regions[m->paths[b->path].region].name), 400);
	sp_shown_text(&t->shown, own, v->excl);
	n = snprintf(tip, SP_PLOT_TIP, "%s\ntotal %s (%.2f %%), self %s, %" PRIu64 " %s%s", name, time, share, own,
	             v->visits, t->shown.bytes ? "block" : "call", v->visits == 1 ? "" : "s");
	if (b->hidden && n > 0 && n < SP_PLOT_TIP)
		snprintf(tip + n, SP_PLOT_TIP - (size_t)n, "\n%" PRIu64 " of its callees %s not drawn", b->hidden,
		         b->hidden == 1 ? "is" : "are");
}

struct sp_colour sp_plot_colour(const struct sp_model *m, const struct sp_plot_box *b, enum sp_picture_theme t)
{
	if (b->path == SP_NONE) /* muted, as in viewer/src/draw/colour.ts */
		return t == SP_THEME_DARK ? (struct sp_colour){46, 48, 53} : (struct sp_colour){232, 234, 237};
	return sp_module_colour(sp_module_of(&m->regions[m->paths[b->path].region]), t);
}

int sp_plot_legend(struct sp_legend *l, const struct sp_plot_tree *t, const struct sp_model *m)
{
	l->bytes = t->shown.bytes;
	/* paths that are not shown have no time here */
	for (size_t i = 0; i < m->n_paths; i++)
		if (t->shown.values[i].excl > 0 &&
		    sp_legend_add(l, sp_module_of(&m->regions[m->paths[i].region]), t->shown.values[i].excl))
			return -1;
	return 0;
}
