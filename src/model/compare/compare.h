/* SPDX-License-Identifier: BSD-3-Clause */
/* Several experiments put side by side: which functions and call paths of theirs are the same.
 *
 * A function is the same if its name "module:qualified name" is. Of several with one name in an experiment, those that
 * agree in file and line go together, then those that agree in the file's last part and line, and what is left in the
 * order of files and lines. A module that has no counterpart goes together with one that has none either if most of its
 * functions do (renamed.c). A call path is the same if its function, its caller's path, and the values of
 * parameters are.
 *
 * The union begins with the first experiment: region i below models[0]->n_regions is region i there, path i below
 * models[0]->n_paths is path i there; what only later ones have follows, a parent before its children. Path and region
 * 0 are the root of all.
 *
 * How to use it, with the numbers of any sp_view of each model:
 *
 *	const struct sp_model *both[2] = {a, b};
 *	struct sp_compare c;
 *	if (sp_compare_open(&c, both, 2, &e) == 0) {
 *		struct sp_value *base = calloc(c.n_paths, sizeof(*base));   // of b, 0 where it has not been
 *		sp_compare_paths(&c, 1, view_of_b.values, base);
 *		for (p = 1; p < c.n_paths; p++)                             // c.paths[p].parent, c.paths[p].region
 *			name = sp_compare_name(&c, c.paths[p].region);
 *	}
 *	sp_compare_close(&c);
 *
 * It only reads the models, whose rows need not be there, and nothing changes afterwards: several threads may use one.
 */
#ifndef SP_MODEL_COMPARE_COMPARE_H
#define SP_MODEL_COMPARE_COMPARE_H

#include "base/arena.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/report.h"
#include "model/str.h"

struct sp_compare_region {
	uint32_t model, region; /* the first that has it, and as what */
};

struct sp_compare_path {
	uint32_t parent;      /* the root's is SP_NONE */
	uint32_t region;      /* of sp_compare.regions */
	uint32_t model, path; /* the first that has it, and as what: for the values of its parameters */
};

/* Functions that two experiments have in files of different names. */
struct sp_compare_file {
	struct sp_str before, after;
	uint32_t regions; /* how many */
};

/* Functions that two experiments have in modules of different names. */
struct sp_compare_module {
	struct sp_str before, after;
	uint32_t model;   /* whose `after` it is; `before` is of models[0] */
	uint32_t regions; /* how many have a counterpart */
};

struct sp_compare {
	struct sp_arena arena;
	const struct sp_model **models; /* borrowed */
	size_t n_models;
	struct sp_compare_region *regions; /* owned */
	size_t n_regions;
	struct sp_compare_path *paths; /* owned */
	size_t n_paths;
	/* In the arena: for each model, from its regions and paths to those above. Two paths of a model are one only
	 * where its file is damaged. */
	uint32_t **region_of, **path_of;
	struct sp_compare_module *renamed; /* in the arena */
	size_t n_renamed;
};

/* 0, or -1 with e set; sp_compare_close() either way. n is at least 1. */
int sp_compare_open(struct sp_compare *c, const struct sp_model *const *models, size_t n, struct sp_err *e);
void sp_compare_close(struct sp_compare *c);

/* The name, file and so on that the first experiment gives it which has it. */
const struct sp_region *sp_compare_name(const struct sp_compare *c, uint32_t region);

/* values: of each path of models[model]. out: c->n_paths, which are added to. */
void sp_compare_paths(const struct sp_compare *c, size_t model, const struct sp_value *values, struct sp_value *out);
/* rows: of sp_report_flat(). out: c->n_regions, which are added to. */
void sp_compare_flat(const struct sp_compare *c, size_t model, const struct sp_flat_row *rows, size_t n,
                     struct sp_numbers *out);

/* The files that have another name in models[model] than in models[0] (files.c), those of most functions first.
 * For free(). */
int sp_compare_files(const struct sp_compare *c, size_t model, struct sp_compare_file **files, size_t *n,
                     struct sp_err *e);

#endif
