/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/report.h"

#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/script.h"
#include "model/builder/problem.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/report/walk.h"
#include "model/str.h"

static double calls(const struct sp_value *v)
{
	return (double)v->visits + (double)v->resumed;
}

static bool empty(const struct sp_value *v)
{
	return v->visits + v->resumed == 0 && v->incl <= 0;
}

/* For each path whether it is shown: it has calls or time, or allocated memory; if nothing has time, it or its callees
 * counted anything. To be freed with free(). */
static bool *find_told(const struct sp_view *v)
{
	const struct sp_model *m = v->m;
	const bool timed = v->values[0].incl > 0;
	const size_t metrics = m->n_metrics;
	bool *reported = calloc(m->n_paths, sizeof(*reported));
	size_t i, k;

	for (i = m->n_paths; reported && i-- > 1;) { /* a caller has a smaller index than its callees */
		for (k = 0; k < metrics && !reported[i]; k++)
			reported[i] = (!timed || m->metrics[k].kind == SP_METRIC_MEMORY) && v->metrics[i * metrics + k];
		reported[m->paths[i].parent] |= reported[i];
	}
	for (i = 1; reported && i < m->n_paths; i++)
		reported[i] |= !empty(&v->values[i]);
	return reported;
}

double sp_numbers_mean(const struct sp_numbers *n)
{
	return calls(&n->v) > 0 ? n->each / calls(&n->v) : 0;
}

double sp_numbers_std(const struct sp_numbers *n)
{
	const double mean = sp_numbers_mean(n), square = mean * mean;
	const double variance = calls(&n->v) > 1 ? n->v.sumsq / calls(&n->v) - square : 0;

	/* a smaller difference of the two is rounding */
	return variance > 8 * DBL_EPSILON * square ? sqrt(variance) : 0;
}

void sp_numbers_add(struct sp_numbers *to, const struct sp_value *v, double each)
{
	if (calls(v) > 0) {
		to->v.min = calls(&to->v) > 0 ? fmin(to->v.min, v->min) : v->min;
		to->v.max = fmax(to->v.max, v->max);
	}
	to->v.visits += v->visits;
	to->v.resumed += v->resumed;
	to->v.excl += v->excl;
	to->v.sumsq += v->sumsq;
	to->each += each;
}

static void add_location(const struct sp_view *v, const struct sp_location *l)
{
	const struct sp_model *m = v->m;
	struct sp_numbers n;
	size_t i, k;

	for (i = l->first_value; i < l->first_value + l->values; i++) {
		struct sp_value *to = &v->owned[m->values[i].path];
		double *each = &v->owned_each[m->values[i].path];

		n = (struct sp_numbers){.v = *to, .each = *each};
		sp_numbers_add(&n, &m->values[i].v, sp_value_each(&m->values[i].v));
		n.v.incl += m->values[i].v.incl;
		*to = n.v;
		*each = n.each;
		if (m->paths[m->values[i].path].parent == 0)
			v->owned[0].incl += m->values[i].v.incl;
		for (k = 0; k < m->n_metrics; k++)
			v->owned_metrics[m->values[i].path * m->n_metrics + k] += m->row_metrics[i * m->n_metrics + k];
	}
	sp_model_rows_done(m, l);
}

int sp_view_open_some(struct sp_view *v, const struct sp_model *m, const bool *chosen, struct sp_err *e)
{
	*v = (struct sp_view){.m = m, .values = m->totals, .each = m->each, .metrics = m->total_metrics};
	v->off = sp_off_cpu_columns(m);
	if (!chosen)
		return 0;
	if (sp_model_rows(m, e))
		return -1;
	v->values = v->owned = calloc(m->n_paths, sizeof(*v->owned));
	v->metrics = v->owned_metrics = calloc(m->n_paths * m->n_metrics + 1, sizeof(*v->owned_metrics));
	v->each = v->owned_each = calloc(m->n_paths, sizeof(*v->owned_each));
	if (!v->owned || !v->owned_metrics || !v->owned_each)
		return sp_model_no_memory(e);
	for (size_t i = 0; i < m->n_locations; i++)
		if (chosen[i])
			add_location(v, &m->locations[i]);
	return 0;
}

int sp_view_open(struct sp_view *v, const struct sp_model *m, uint32_t process, uint32_t location, struct sp_err *e)
{
	bool *chosen = NULL;

	if (process != SP_NONE || location != SP_NONE) {
		if (!(chosen = calloc(m->n_locations + 1, sizeof *chosen))) {
			*v = (struct sp_view){.m = m};
			return sp_model_no_memory(e);
		}
		for (size_t i = 0; i < m->n_locations; i++)
			chosen[i] = (process == SP_NONE || m->locations[i].process == process) &&
			            (location == SP_NONE || location == i);
	}
	const int rc = sp_view_open_some(v, m, chosen, e);

	free(chosen);
	return rc;
}

int sp_view_own_values(struct sp_view *v)
{
	const size_t n = v->m->n_paths;

	if (v->owned)
		return 0;
	v->owned = malloc(n * sizeof *v->owned);
	v->owned_each = malloc(n * sizeof *v->owned_each);
	if (!v->owned || !v->owned_each)
		return -1;
	memcpy(v->owned, v->values, n * sizeof *v->owned);
	memcpy(v->owned_each, v->each, n * sizeof *v->owned_each);
	v->values = v->owned;
	v->each = v->owned_each;
	return 0;
}

void sp_view_close(struct sp_view *v)
{
	free(v->owned);
	free(v->owned_metrics);
	free(v->owned_each);
}

enum sp_sort sp_sort_find(const char *name)
{
	static const char *const names[SP_SORTS] = {"incl", "excl", "visits",  "mean",
	                                            "max",  "name", "running", "waiting"};
	int i;

	for (i = 0; i < SP_SORTS && strcmp(names[i], name) != 0; i++)
		;
	return (enum sp_sort)i;
}

static double sort_key(const struct sp_numbers *n, enum sp_sort sort)
{
	switch (sort) {
	case SP_SORT_INCL:
		return n->v.incl;
	case SP_SORT_EXCL:
		return n->v.excl;
	case SP_SORT_VISITS:
		return calls(&n->v);
	case SP_SORT_MEAN:
		return sp_numbers_mean(n);
	case SP_SORT_MAX:
		return n->v.max;
	case SP_SORT_RUNNING:
		return sp_numbers_running(n);
	case SP_SORT_WAITING:
		return n->off.waiting;
	default:
		return 0;
	}
}

struct sorted {
	double key;
	const char *name; /* NULL unless sorted by name */
	uint32_t id;
};

static int compare_sorted(const void *a, const void *b)
{
	const struct sorted *p = a, *q = b;
	int c;

	if (p->name) {
		c = strcmp(p->name, q->name);
		if (c)
			return c;
	} else if (p->key != q->key) {
		return p->key > q->key ? -1 : 1;
	}
	return p->id < q->id ? -1 : p->id > q->id;
}

static bool is_pattern(const char *match)
{
	return strpbrk(match, "*?[");
}

static bool text_matches(const char *text, const char *match)
{
	/* a name may contain the characters of patterns: the node id test_a.py::test_b[1] */
	return strstr(text, match) != NULL || (is_pattern(match) && fnmatch(match, text, 0) == 0);
}

struct named {
	const char *match, *name; /* name: the part after the module */
};

static bool is_named(void *arg, const char *module)
{
	const struct named *n = arg;
	const size_t capacity = strlen(module) + strlen(n->name) + 1;
	char *full = malloc(capacity);
	bool yes = false;

	if (full) {
		snprintf(full, capacity, "%s%s", module, n->name);
		yes = text_matches(full, n->match);
	}
	free(full);
	return yes;
}

bool sp_name_matches(const char *name, const char *module, const char *file, const char *match)
{
	const size_t n = strlen(module);

	if (!match || !*match || text_matches(name, match))
		return true;
	/* only a pattern that includes the module can match the other names of a script's module (such as __main__) */
	if (strncmp(name, module, n) != 0 || name[n] != ':' || !(is_pattern(match) || strchr(match, ':')))
		return false;
	return sp_script_any(module, file, is_named, &(struct named){match, name + n});
}

bool sp_region_matches(const struct sp_region *r, const char *match)
{
	return sp_name_matches(r->name.p, r->module.p, r->file.p, match);
}

void sp_paths_walk(const struct sp_model *m, sp_visit_fn *enter, sp_visit_fn *leave, void *arg)
{
	uint32_t p = m->paths[0].first_child;

	while (p != SP_NONE && p != 0) {
		enter(arg, p);
		if (m->paths[p].first_child != SP_NONE) {
			p = m->paths[p].first_child;
			continue;
		}
		for (; p != 0; p = m->paths[p].parent) {
			leave(arg, p);
			if (m->paths[p].next_sibling != SP_NONE)
				break;
		}
		p = p ? m->paths[p].next_sibling : 0;
	}
}

struct outermost {
	const struct sp_model *m;
	uint32_t *open; /* owned; number of times each region is on the current path */
	bool *is;       /* for each path */
};

static void enter(void *arg, uint32_t path)
{
	struct outermost *o = arg;

	o->is[path] = o->open[o->m->paths[path].region]++ == 0;
}

static void leave(void *arg, uint32_t path)
{
	struct outermost *o = arg;

	o->open[o->m->paths[path].region]--;
}

bool *sp_paths_outermost(const struct sp_model *m)
{
	struct outermost o = {m, calloc(m->n_regions + 1, sizeof(*o.open)), calloc(m->n_paths + 1, sizeof(*o.is))};

	if (o.open && o.is) {
		sp_paths_walk(m, enter, leave, &o);
	} else {
		free(o.is);
		o.is = NULL;
	}
	free(o.open);
	return o.is;
}

int sp_numbers_regions(const struct sp_model *m, const struct sp_value *values, const double *each,
                       struct sp_numbers *regions)
{
	bool *outermost = sp_paths_outermost(m);
	uint32_t i;

	for (i = 1; outermost && i < m->n_paths; i++) {
		struct sp_numbers *to = &regions[m->paths[i].region];

		if (outermost[i])
			to->v.incl += values[i].incl;
		sp_numbers_add(to, &values[i], each ? each[i] : 0);
	}
	free(outermost);
	return outermost ? 0 : -1;
}

struct flat {
	const struct sp_view *v;
	struct sp_numbers *regions; /* owned */
	bool *reported;             /* owned; for each path */
	bool *shown;                /* owned; for each region */
};

static int flat_rows(struct flat *f, enum sp_sort sort, size_t limit, const char *match, struct sp_flat_row **rows,
                     size_t *n)
{
	const struct sp_model *m = f->v->m;
	struct sorted *order = calloc(m->n_regions, sizeof(*order));
	uint32_t i;

	*n = 0;
	*rows = NULL;
	if (!order)
		return -1;
	for (i = 1; i < m->n_regions; i++)
		if (f->shown[i] && sp_region_matches(&m->regions[i], match))
			order[(*n)++] = (struct sorted){sort_key(&f->regions[i], sort),
			                                sort == SP_SORT_NAME ? m->regions[i].name.p : NULL, i};
	qsort(order, *n, sizeof(*order), compare_sorted);
	if (limit && limit < *n)
		*n = limit;
	*rows = calloc(*n + 1, sizeof(**rows));
	for (i = 0; *rows && i < *n; i++)
		(*rows)[i] = (struct sp_flat_row){order[i].id, f->regions[order[i].id]};
	free(order);
	return *rows ? 0 : -1;
}

/* Sums the splits of inclusive times by region; recursion counts once. Returns 0, or -1: no memory. */
static int split_regions(const struct sp_view *v, const struct sp_path_split *splits, struct sp_numbers *regions)
{
	bool *outermost = splits ? sp_paths_outermost(v->m) : NULL;
	uint32_t i;

	for (i = 1; !splits && i < v->m->n_regions; i++)
		regions[i].below.running = regions[i].v.incl;
	for (i = 1; outermost && i < v->m->n_paths; i++)
		if (outermost[i])
			sp_split_add(&regions[v->m->paths[i].region].below, splits[i].incl);
	free(outermost);
	return !splits || outermost ? 0 : -1;
}

int sp_report_flat(const struct sp_view *v, enum sp_sort sort, size_t limit, const char *match,
                   struct sp_flat_row **rows, size_t *n, struct sp_err *e)
{
	struct flat f = {.v = v};
	struct sp_path_split *splits;
	uint32_t i;
	int rc = -1;

	*rows = NULL;
	if (sp_view_split(v, &splits, e))
		return -1;
	f.regions = calloc(v->m->n_regions, sizeof(*f.regions));
	f.reported = find_told(v);
	f.shown = calloc(v->m->n_regions, sizeof(*f.shown));
	if (f.regions && f.reported && f.shown && sp_numbers_regions(v->m, v->values, v->each, f.regions) == 0) {
		for (i = 1; i < v->m->n_paths; i++) {
			f.shown[v->m->paths[i].region] |= f.reported[i];
			sp_off_cpu_add(&f.regions[v->m->paths[i].region].off, sp_view_off_cpu(v, i));
		}
		rc = split_regions(v, splits, f.regions) || flat_rows(&f, sort, limit, match, rows, n) ? -1 : 0;
	}
	free(splits);
	free(f.regions);
	free(f.reported);
	free(f.shown);
	return rc ? sp_model_no_memory(e) : 0;
}

struct growing {
	struct sp_tree_row *rows; /* owned */
	size_t n, capacity;
	struct sorted *children; /* owned; of the path being expanded */
	size_t child_capacity;
	bool *reported;               /* owned; for each path */
	struct sp_path_split *splits; /* owned; NULL: times are not split */
	double least;                 /* smallest inclusive time that is shown */
	uint32_t last_equal;          /* among paths with exactly that time, the last one that is shown */
};

/* A path to be expanded. They are kept in an explicit stack, so that a deep tree needs no deep recursion. */
struct pending {
	uint32_t path, depth;
};

static struct sp_split split_of(const struct sp_view *v, const struct growing *g, uint32_t path)
{
	return g->splits ? g->splits[path].incl : (struct sp_split){.running = v->values[path].incl};
}

static double child_key(const struct sp_view *v, const struct growing *g, uint32_t path, enum sp_sort sort)
{
	const struct sp_numbers numbers = {.v = v->values[path], .each = v->each[path]};

	if (sort == SP_SORT_RUNNING)
		return split_of(v, g, path).running;
	if (sort == SP_SORT_WAITING)
		return split_of(v, g, path).waiting;
	return sort_key(&numbers, sort);
}

static int row_add(const struct sp_view *v, struct growing *g, uint32_t path, uint32_t depth)
{
	struct sp_tree_row *rows;

	if (g->n == g->capacity) {
		g->capacity = g->capacity ? g->capacity * 2 : 256;
		rows = realloc(g->rows, g->capacity * sizeof(*rows));
		if (!rows)
			return -1;
		g->rows = rows;
	}
	g->rows[g->n++] = (struct sp_tree_row){.path = path, .depth = depth, .split = split_of(v, g, path)};
	return 0;
}

/* Collects the children of a path that are shown, in order; counts the others in its row. */
static long visible(const struct sp_view *v, const struct sp_tree_options *o, struct growing *g, uint32_t path,
                    uint32_t depth)
{
	const struct sp_model *m = v->m;
	struct sp_tree_row *row = &g->rows[g->n - 1];
	struct sorted *larger;
	size_t n = 0;
	uint32_t c;

	for (c = m->paths[path].first_child; c != SP_NONE; c = m->paths[c].next_sibling) {
		const struct sp_value *value = &v->values[c];

		if (!g->reported[c])
			continue;
		if (value->incl < g->least || (value->incl == g->least && c > g->last_equal) ||
		    (o->depth && depth >= o->depth)) {
			row->hidden++;
			row->hidden_time += value->incl;
			sp_split_add(&row->hidden_split, split_of(v, g, c));
			continue;
		}
		if (n == g->child_capacity) {
			g->child_capacity = g->child_capacity ? g->child_capacity * 2 : 64;
			larger = realloc(g->children, g->child_capacity * sizeof(*larger));
			if (!larger)
				return -1;
			g->children = larger;
		}
		g->children[n++] =
		    (struct sorted){child_key(v, g, c, o->sort),
		                    o->sort == SP_SORT_NAME ? m->regions[m->paths[c].region].name.p : NULL, c};
	}
	if (n)
		qsort(g->children, n, sizeof(*g->children), compare_sorted);
	return (long)n;
}

static int expand(const struct sp_view *v, const struct sp_tree_options *o, struct growing *g)
{
	struct pending *stack = calloc(64, sizeof(*stack)), *larger, now;
	size_t n = 1, capacity = 64;
	long k = 0;

	if (!stack)
		return -1;
	while (n > 0 && k >= 0) {
		now = stack[--n];
		k = row_add(v, g, now.path, now.path ? now.depth - 1 : 0) ? -1 : visible(v, o, g, now.path, now.depth);
		if (k > 0 && n + (size_t)k > capacity) {
			capacity = (n + (size_t)k) * 2;
			larger = realloc(stack, capacity * sizeof(*stack));
			if (!larger) {
				k = -1;
				break;
			}
			stack = larger;
		}
		while (k > 0)
			stack[n++] = (struct pending){g->children[--k].id, now.depth + 1};
	}
	free(stack);
	return k < 0 ? -1 : 0;
}

/* Finds the inclusive time that only `limit` paths reach. A child has at most the time of its caller and a larger
 * index, so these paths form a tree. */
static int find_least(const struct sp_view *v, const struct sp_tree_options *o, struct growing *g)
{
	struct sorted *order;
	uint32_t i;
	size_t n = 0;

	g->least = o->threshold * v->values[0].incl;
	g->last_equal = SP_NONE;
	if (o->limit == 0 || o->limit >= v->m->n_paths)
		return 0;
	order = malloc(v->m->n_paths * sizeof(*order));
	if (!order)
		return -1;
	for (i = 1; i < v->m->n_paths; i++)
		if (v->values[i].incl >= g->least && g->reported[i])
			order[n++] = (struct sorted){v->values[i].incl, NULL, i};
	qsort(order, n, sizeof(*order), compare_sorted);
	if (n > o->limit) {
		g->least = order[o->limit - 1].key;
		g->last_equal = order[o->limit - 1].id;
	}
	free(order);
	return 0;
}

int sp_report_tree(const struct sp_view *v, const struct sp_tree_options *o, struct sp_tree_row **rows, size_t *n,
                   struct sp_err *e)
{
	struct growing g = {.reported = find_told(v)};

	*rows = NULL;
	if (sp_view_split(v, &g.splits, e) || !g.reported || find_least(v, o, &g) || expand(v, o, &g)) {
		free(g.splits);
		free(g.rows);
		free(g.children);
		free(g.reported);
		return sp_model_no_memory(e);
	}
	free(g.splits);
	free(g.children);
	free(g.reported);
	if (g.rows[0].hidden == 0)
		memmove(g.rows, g.rows + 1, --g.n * sizeof(*g.rows));
	*rows = g.rows;
	*n = g.n;
	return 0;
}
