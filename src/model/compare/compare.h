/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares several experiments: finds which of their functions and call paths are the same.
 *
 * Functions are the same if their names "module:qualified name" are equal. If an experiment has several functions of
 * one name, those with equal file and line are paired first, then those with equal last part of the file and equal
 * line, then the rest in the order of files and lines. A module without a counterpart is paired with another one
 * without a counterpart if most of its functions match (renamed.c). Call paths are the same if their functions, their
 * callers' paths, and their values of parameters are.
 *
 * The union begins with the first experiment: region i below models[0]->n_regions is region i there, path i below
 * models[0]->n_paths is path i there. What only later experiments have follows, a parent before its children. Path and
 * region 0 are the root of all.
 *
 * Example, with the numbers of any sp_view of each model:
 *
 * 	const struct sp_model *both[2] = {a, b};
 * 	struct sp_compare c;
 * 	if (sp_compare_open(&c, both, 2, &e) == 0) {
 * 		struct sp_value *base = calloc(c.n_paths, sizeof(*base));   // of b; 0 for paths that b does not have
 * 		sp_compare_paths(&c, 1, view_of_b.values, base);
 * 		for (p = 1; p < c.n_paths; p++)                             // c.paths[p].parent, c.paths[p].region
 * 			name = sp_compare_name(&c, c.paths[p].region);
 * 	}
 * 	sp_compare_close(&c);
 *
 * A comparison only reads the models and does not need their rows. It does not change after it is opened, so several
 * threads may use it.
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
	uint32_t model, region; /* the first model that has it, and its index there */
};

struct sp_compare_path {
	uint32_t parent;      /* SP_NONE for the root */
	uint32_t region;      /* index in sp_compare.regions */
	uint32_t model, path; /* the first model that has it, and its index there: for the values of its parameters */
};

/* A pair of files with different names that contain the same functions. */
struct sp_compare_file {
	struct sp_str before, after;
	uint32_t regions; /* number of these functions */
};

/* A pair of modules with different names that contain the same functions. */
struct sp_compare_module {
	struct sp_str before, after;
	uint32_t model;   /* the model of `after`; `before` is of models[0] */
	uint32_t regions; /* number of functions with a counterpart */
};

struct sp_compare {
	struct sp_arena arena;
	const struct sp_model **models; /* borrowed */
	size_t n_models;
	struct sp_compare_region *regions; /* owned */
	size_t n_regions;
	struct sp_compare_path *paths; /* owned */
	size_t n_paths;
	/* In the arena: for each model, tables from its regions and paths to those above. Two paths of a model map to
	 * the same path only if its file is damaged. */
	uint32_t **region_of, **path_of;
	struct sp_compare_module *renamed;
	size_t n_renamed;
};

/* Compares n models (n >= 1). Returns 0, or -1 with e set; call sp_compare_close() in both cases. */
int sp_compare_open(struct sp_compare *c, const struct sp_model *const *models, size_t n, struct sp_err *e);
void sp_compare_close(struct sp_compare *c);

/* The region as the first experiment that has it describes it: name, file and so on. */
const struct sp_region *sp_compare_name(const struct sp_compare *c, uint32_t region);

/* Adds the values of all paths of models[model] to out, which has c->n_paths elements. */
void sp_compare_paths(const struct sp_compare *c, size_t model, const struct sp_value *values, struct sp_value *out);
/* Adds the rows that sp_report_flat() returned for models[model] to out, which has c->n_regions elements. */
void sp_compare_flat(const struct sp_compare *c, size_t model, const struct sp_flat_row *rows, size_t n,
                     struct sp_numbers *out);

/* Lists the files that have another name in models[model] than in models[0] (files.c), sorted by decreasing number of
 * functions. The caller frees *files with free(). Returns 0, or -1 with e set. */
int sp_compare_files(const struct sp_compare *c, size_t model, struct sp_compare_file **files, size_t *n,
                     struct sp_err *e);

#endif
