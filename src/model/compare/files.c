/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds files that have another name in the other experiment. Two files are the same if their last parts are equal
 * (another directory), or if at least half of the functions of the larger file are in both. Names such as __main__ do
 * not count, as any two scripts have them. */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "model/builder/problem.h"
#include "model/compare/private.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

struct pair {
	struct sp_compare_file f; /* the first field */
	uint32_t before, after;   /* indices of files */
	uint32_t alike;           /* number of f.regions with meaningful names */
};

struct work {
	struct sp_arena arena;
	struct sp_intern files;
	/* owned; for each file in the first and in the other experiment: number of functions with meaningful names */
	uint32_t *size[2];
	struct pair *pairs; /* owned */
	size_t n;
};

static bool tells(const struct sp_region *r)
{
	return r->qualname.n && r->qualname.p[0] != '<';
}

/* Counts the functions of each file. */
static int count_files(struct work *w, const struct sp_model *m, uint32_t *size)
{
	uint32_t i, file;

	for (i = 1; i < m->n_regions; i++) {
		const struct sp_region *r = &m->regions[i];

		if (!r->file.n)
			continue;
		file = sp_intern(&w->files, r->file.p, r->file.n);
		if (file == SP_INTERN_FAILED)
			return -1;
		size[file] += tells(r);
	}
	return 0;
}

static int by_files(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;

	if (p->before != q->before)
		return p->before < q->before ? -1 : 1;
	return p->after < q->after ? -1 : p->after > q->after;
}

static int by_count(const void *a, const void *b)
{
	const struct sp_compare_file *p = a, *q = b;
	int c;

	if (p->regions != q->regions)
		return p->regions > q->regions ? -1 : 1;
	c = sp_compare_text(p->before, q->before);
	return c ? c : sp_compare_text(p->after, q->after);
}

static struct sp_str last_part(struct sp_str file)
{
	const char *slash = memrchr(file.p, '/', file.n);

	return slash ? (struct sp_str){slash + 1, (size_t)(file.p + file.n - slash - 1)} : file;
}

static bool is_same(const struct work *w, const struct pair *p)
{
	uint32_t a = w->size[0][p->before], b = w->size[1][p->after];

	return sp_compare_text(last_part(p->f.before), last_part(p->f.after)) == 0 ||
	       (p->alike && 2 * (uint64_t)p->alike >= (a > b ? a : b));
}

/* Finds functions that are in both experiments, in files of different names. */
static void find_pairs(struct work *w, const struct sp_compare *c, size_t model)
{
	const struct sp_model *m = c->models[model];
	uint32_t i, r;

	for (i = 1; i < m->n_regions; i++) {
		const struct sp_region *after = &m->regions[i], *before;

		r = c->region_of[model][i];
		before = sp_compare_name(c, r);
		if (c->regions[r].model != 0 || !before->file.n || !after->file.n ||
		    sp_compare_text(before->file, after->file) == 0)
			continue;
		w->pairs[w->n++] = (struct pair){{before->file, after->file, 1},
		                                 sp_intern(&w->files, before->file.p, before->file.n),
		                                 sp_intern(&w->files, after->file.p, after->file.n),
		                                 tells(after)};
	}
	qsort(w->pairs, w->n, sizeof(*w->pairs), by_files);
}

static size_t join(struct work *w, struct sp_compare_file *files)
{
	size_t i, k, n = 0;

	for (i = 0; i < w->n; i = k) {
		struct pair p = w->pairs[i];

		for (k = i + 1; k < w->n && by_files(&p, &w->pairs[k]) == 0; k++) {
			p.f.regions++;
			p.alike += w->pairs[k].alike;
		}
		if (is_same(w, &p))
			files[n++] = p.f;
	}
	qsort(files, n, sizeof(*files), by_count);
	return n;
}

int sp_compare_files(const struct sp_compare *c, size_t model, struct sp_compare_file **files, size_t *n,
                     struct sp_err *e)
{
	const struct sp_model *m = c->models[model], *first = c->models[0];
	const size_t limit = first->n_regions + m->n_regions + 1;
	struct work w = {.n = 0};
	int rc = -1;

	w.files.arena = &w.arena;
	w.size[0] = calloc(limit, sizeof(**w.size));
	w.size[1] = calloc(limit, sizeof(**w.size));
	w.pairs = malloc((m->n_regions + 1) * sizeof(*w.pairs));
	*n = 0;
	*files = calloc(m->n_regions + 1, sizeof(**files));
	if (w.size[0] && w.size[1] && w.pairs && *files && count_files(&w, first, w.size[0]) == 0 &&
	    count_files(&w, m, w.size[1]) == 0) {
		find_pairs(&w, c, model);
		*n = join(&w, *files);
		rc = 0;
	}
	free(w.size[0]);
	free(w.size[1]);
	free(w.pairs);
	sp_intern_free(&w.files);
	sp_arena_free(&w.arena);
	if (rc == 0)
		return 0;
	free(*files);
	*files = NULL;
	return sp_model_no_memory(e);
}
