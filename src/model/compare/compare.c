/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/compare/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "model/builder/problem.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/walk.h"
#include "model/str.h"

int sp_compare_text(struct sp_str a, struct sp_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int by_place(const void *a, const void *b)
{
	const struct sp_candidate *p = a, *q = b;
	int c = sp_compare_text(p->r->file, q->r->file);

	if (c)
		return c;
	if (p->r->line != q->r->line)
		return p->r->line < q->r->line ? -1 : 1;
	return p->id < q->id ? -1 : p->id > q->id;
}

/* ---- regions ---- */

enum level { SAME_FILE, SAME_LAST_PART, SAME_NAME, LEVELS };

/* Builds the key of a region at a level in *b, a buffer of *capacity bytes that grows. Returns the key's length; 0: no
 * memory. */
static size_t make_key(char **b, size_t *capacity, const struct sp_region *r, enum level level)
{
	struct sp_str file = r->file;
	const char *slash = level == SAME_LAST_PART && file.n ? memrchr(file.p, '/', file.n) : NULL;
	size_t need, n = 0;
	char *larger;

	if (level == SAME_NAME)
		file.n = 0;
	if (slash)
		file = (struct sp_str){slash + 1, (size_t)(file.p + file.n - slash - 1)};
	need = r->name.n + 1 + file.n + sizeof(r->line);
	if (need > *capacity) {
		larger = realloc(*b, need * 2);
		if (!larger)
			return 0;
		*b = larger;
		*capacity = need * 2;
	}
	if (r->name.n)
		memcpy(*b, r->name.p, r->name.n);
	n = r->name.n;
	(*b)[n++] = 0;
	if (level == SAME_NAME)
		return n;
	if (file.n)
		memcpy(*b + n, file.p, file.n);
	n += file.n;
	memcpy(*b + n, &r->line, sizeof(r->line));
	return n + sizeof(r->line);
}

void sp_compare_pair(struct sp_joining *j, uint32_t there, uint32_t here)
{
	j->c->region_of[j->model][here] = there;
}

/* Removes the regions that have a counterpart from both lists. */
static int settle(struct sp_joining *j)
{
	const uint32_t *of = j->c->region_of[j->model];
	bool *taken = calloc(j->c->n_regions + 1, sizeof(*taken));
	size_t i, n = 0;

	if (!taken)
		return -1;
	for (i = 0; i < j->n_here; i++) {
		if (of[j->here[i].id] == SP_NONE)
			j->here[n++] = j->here[i];
		else
			taken[of[j->here[i].id]] = true;
	}
	j->n_here = n;
	for (i = n = 0; i < j->n_there; i++)
		if (!taken[j->there[i].id])
			j->there[n++] = j->there[i];
	j->n_there = n;
	free(taken);
	return 0;
}

/* Pairs regions with the same key, in the order of both lists. */
static int join_level(struct sp_joining *j, enum level level)
{
	struct sp_arena arena = {.blocks = NULL};
	struct sp_intern keys = {.arena = &arena};
	uint32_t *first = calloc(j->n_there + 1, sizeof(*first)), *next = calloc(j->n_there + 1, sizeof(*next)), k;
	char *b = NULL;
	size_t capacity = 0, n, i;
	int rc = first && next ? 0 : -1;

	/* backwards, so that the first one with a key is found first; 0: no more */
	for (i = j->n_there; rc == 0 && i > 0; i--) {
		n = make_key(&b, &capacity, j->there[i - 1].r, level);
		k = n ? sp_intern(&keys, b, n) : SP_INTERN_FAILED;
		if (k == SP_INTERN_FAILED) {
			rc = -1;
			break;
		}
		next[i] = first[k];
		first[k] = (uint32_t)i;
	}
	n = keys.n;
	for (i = 0; rc == 0 && i < j->n_here; i++) {
		size_t length = make_key(&b, &capacity, j->here[i].r, level);

		k = length ? sp_intern(&keys, b, length) : SP_INTERN_FAILED;
		if (k == SP_INTERN_FAILED)
			rc = -1;
		else if (k < n && first[k]) {
			sp_compare_pair(j, j->there[first[k] - 1].id, j->here[i].id);
			first[k] = next[first[k]];
		}
	}
	free(first);
	free(next);
	free(b);
	sp_intern_free(&keys);
	sp_arena_free(&arena);
	return rc ? rc : settle(j);
}

/* Whether this is the region of a measured notebook cell. The recorder names it like its file: In[7]. */
static bool is_cell(const struct sp_region *r)
{
	return r->file.n > 4 && memcmp(r->file.p, "In[", 3) == 0 && r->file.p[r->file.n - 1] == ']' &&
	       sp_compare_text(r->name, r->file) == 0;
}

/* The only cell in the list; NULL: no cell, or several. */
static const struct sp_candidate *only_cell(const struct sp_candidate *c, size_t n)
{
	const struct sp_candidate *found = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (is_cell(c[i].r)) {
			if (found)
				return NULL;
			found = &c[i];
		}
	return found;
}

/* The statements of a cell that are outside functions. */
static const struct sp_candidate *statements(const struct sp_candidate *c, size_t n, struct sp_str file)
{
	static const struct sp_str module = {"<module>", sizeof("<module>") - 1};
	size_t i;

	for (i = 0; i < n; i++)
		if (sp_compare_text(c[i].r->file, file) == 0 && sp_compare_text(c[i].r->qualname, module) == 0)
			return &c[i];
	return NULL;
}

/* A cell that is run again has another number. If both experiments have one cell, these are the same cell. */
static int join_cells(struct sp_joining *j)
{
	const struct sp_candidate *there = only_cell(j->there, j->n_there), *here = only_cell(j->here, j->n_here), *a,
	                          *b;

	if (!there || !here)
		return 0;
	sp_compare_pair(j, there->id, here->id);
	a = statements(j->there, j->n_there, there->r->file);
	b = statements(j->here, j->n_here, here->r->file);
	if (a && b)
		sp_compare_pair(j, a->id, b->id);
	return settle(j);
}

static int add_regions(struct sp_joining *j)
{
	struct sp_compare *c = j->c;
	const struct sp_model *m = c->models[j->model];
	struct sp_compare_region *larger = realloc(c->regions, (c->n_regions + m->n_regions) * sizeof(*larger));
	uint32_t i;

	if (!larger)
		return -1;
	c->regions = larger;
	for (i = 0; i < m->n_regions; i++)
		if (c->region_of[j->model][i] == SP_NONE) {
			c->region_of[j->model][i] = (uint32_t)c->n_regions;
			c->regions[c->n_regions++] = (struct sp_compare_region){j->model, i};
		}
	return 0;
}

static int join_regions(struct sp_compare *c, uint32_t model)
{
	const struct sp_model *m = c->models[model];
	struct sp_joining j = {.c = c, .model = model};
	uint32_t i;
	int rc, level;

	for (i = 0; i < m->n_regions; i++)
		c->region_of[model][i] = SP_NONE;
	if (model == 0)
		return add_regions(&j);
	c->region_of[model][0] = 0;
	j.there = calloc(c->n_regions + 1, sizeof(*j.there));
	j.here = calloc(m->n_regions + 1, sizeof(*j.here));
	rc = j.there && j.here ? 0 : -1;
	for (i = 1; rc == 0 && i < c->n_regions; i++)
		j.there[j.n_there++] = (struct sp_candidate){sp_compare_name(c, i), i};
	for (i = 1; rc == 0 && i < m->n_regions; i++)
		j.here[j.n_here++] = (struct sp_candidate){&m->regions[i], i};
	if (rc == 0) {
		qsort(j.there, j.n_there, sizeof(*j.there), by_place);
		qsort(j.here, j.n_here, sizeof(*j.here), by_place);
	}
	for (level = SAME_FILE; rc == 0 && level < LEVELS; level++)
		rc = join_level(&j, (enum level)level);
	if (rc == 0)
		rc = join_cells(&j);
	if (rc == 0)
		rc = sp_compare_renamed(&j);
	if (rc == 0)
		rc = add_regions(&j);
	free(j.there);
	free(j.here);
	return rc;
}

/* ---- paths ---- */

struct path_keys {
	struct sp_arena arena;
	struct sp_intern paths, values;
	uint32_t *path; /* owned; for each key of `paths` */
	size_t capacity;
	uint32_t
	    /* owned; number of each parameter value of the current model; equal values have the same number in all
	     * models */
	    *value_of;
};

/* The number of a value together with the values set before it in the same call. */
static uint32_t value_key(struct path_keys *k, const struct sp_model *m, uint32_t value)
{
	const struct sp_parameter_value *v = &m->parameter_values[value];
	struct sp_str name = m->parameters[v->parameter];
	const uint64_t head[3] = {v->before < value ? k->value_of[v->before] : SP_NONE, v->kind, name.n};
	const size_t n = sizeof(head) + name.n + v->text.n;
	char *key = malloc(n);
	uint32_t id;

	if (!key)
		return SP_INTERN_FAILED;
	memcpy(key, head, sizeof(head));
	if (name.n)
		memcpy(key + sizeof(head), name.p, name.n);
	if (v->text.n) /* the text may contain NUL */
		memcpy(key + sizeof(head) + name.n, v->text.p, v->text.n);
	id = sp_intern(&k->values, key, n);
	free(key);
	return id;
}

static int key_values(struct path_keys *k, const struct sp_model *m)
{
	uint32_t i;

	free(k->value_of);
	k->value_of = calloc(m->n_parameter_values + 1, sizeof(*k->value_of));
	if (!k->value_of)
		return -1;
	for (i = 0; i < m->n_parameter_values; i++) {
		k->value_of[i] = value_key(k, m, i);
		if (k->value_of[i] == SP_INTERN_FAILED)
			return -1;
	}
	return 0;
}

/* Finds the path of the union with this key, or adds it; fresh: always adds it. SP_NONE: no memory. */
static uint32_t path_for(struct sp_compare *c, struct path_keys *k, const uint32_t key[3], bool fresh, uint32_t model,
                         uint32_t path)
{
	size_t before = k->paths.n, capacity;
	uint32_t id = sp_intern(&k->paths, (const char *)key, 3 * sizeof(*key)), *larger;

	if (id == SP_INTERN_FAILED)
		return SP_NONE;
	if (id < before && !fresh)
		return k->path[id];
	if (id >= k->capacity) {
		capacity = k->capacity ? k->capacity * 2 : 1024;
		larger = realloc(k->path, capacity * sizeof(*larger));
		if (!larger)
			return SP_NONE;
		k->path = larger;
		k->capacity = capacity;
	}
	if (id >= before)
		k->path[id] = (uint32_t)c->n_paths;
	c->paths[c->n_paths] = (struct sp_compare_path){key[0], key[1], model, path};
	return (uint32_t)c->n_paths++;
}

static int join_paths(struct sp_compare *c, struct path_keys *k, uint32_t model)
{
	const struct sp_model *m = c->models[model];
	struct sp_compare_path *larger = realloc(c->paths, (c->n_paths + m->n_paths + 1) * sizeof(*larger));
	uint32_t *of = c->path_of[model], p;

	if (!larger)
		return -1;
	c->paths = larger;
	if (key_values(k, m))
		return -1;
	if (model == 0)
		c->paths[c->n_paths++] = (struct sp_compare_path){SP_NONE, 0, 0, 0};
	of[0] = 0;
	for (p = 1; p < m->n_paths; p++) {
		const uint32_t key[3] = {of[m->paths[p].parent], c->region_of[model][m->paths[p].region],
		                         m->paths[p].parameter == SP_NONE ? SP_NONE
		                                                          : k->value_of[m->paths[p].parameter]};

		of[p] = path_for(c, k, key, model == 0, model, p);
		if (of[p] == SP_NONE)
			return -1;
	}
	return 0;
}

/* ---- all ---- */

static int allocate(struct sp_compare *c, const struct sp_model *const *models, size_t n)
{
	size_t k;

	c->models = sp_arena_zalloc(&c->arena, n, sizeof(*c->models));
	c->region_of = sp_arena_zalloc(&c->arena, n, sizeof(*c->region_of));
	c->path_of = sp_arena_zalloc(&c->arena, n, sizeof(*c->path_of));
	if (!c->models || !c->region_of || !c->path_of)
		return -1;
	for (k = 0; k < n; k++) {
		c->models[k] = models[k];
		c->region_of[k] = sp_arena_zalloc(&c->arena, models[k]->n_regions + 1, sizeof(uint32_t));
		c->path_of[k] = sp_arena_zalloc(&c->arena, models[k]->n_paths + 1, sizeof(uint32_t));
		if (!c->region_of[k] || !c->path_of[k])
			return -1;
	}
	c->n_models = n;
	return 0;
}

int sp_compare_open(struct sp_compare *c, const struct sp_model *const *models, size_t n, struct sp_err *e)
{
	struct path_keys k = {.capacity = 0};
	uint32_t i;
	int rc;

	*c = (struct sp_compare){.n_models = 0};
	k.paths.arena = k.values.arena = &k.arena;
	rc = allocate(c, models, n);
	for (i = 0; rc == 0 && i < n; i++)
		rc = join_regions(c, i) || join_paths(c, &k, i);
	sp_intern_free(&k.paths);
	sp_intern_free(&k.values);
	sp_arena_free(&k.arena);
	free(k.path);
	free(k.value_of);
	return rc ? sp_model_no_memory(e) : 0;
}

void sp_compare_close(struct sp_compare *c)
{
	free(c->regions);
	free(c->paths);
	sp_arena_free(&c->arena);
	*c = (struct sp_compare){.n_models = 0};
}

const struct sp_region *sp_compare_name(const struct sp_compare *c, uint32_t region)
{
	return &c->models[c->regions[region].model]->regions[c->regions[region].region];
}

void sp_compare_paths(const struct sp_compare *c, size_t model, const struct sp_value *values, struct sp_value *out)
{
	size_t p;

	for (p = 0; p < c->models[model]->n_paths; p++) {
		struct sp_numbers n = {.v = out[c->path_of[model][p]]};

		sp_numbers_add(&n, &values[p], 0);
		n.v.incl += values[p].incl;
		out[c->path_of[model][p]] = n.v;
	}
}

void sp_compare_flat(const struct sp_compare *c, size_t model, const struct sp_flat_row *rows, size_t n,
                     struct sp_numbers *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct sp_numbers *to = &out[c->region_of[model][rows[i].region]];

		sp_numbers_add(to, &rows[i].n.v, rows[i].n.each);
		to->v.incl += rows[i].n.v.incl;
	}
}
