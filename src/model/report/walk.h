/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the reports share. */
#ifndef SP_MODEL_REPORT_WALK_H
#define SP_MODEL_REPORT_WALK_H

#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/report.h"

/* Visits all paths below the root: each before its children, and again after them. */
typedef void sp_visit_fn(void *arg, uint32_t path);
void sp_paths_walk(const struct sp_model *m, sp_visit_fn *enter, sp_visit_fn *leave, void *arg);

/* For each path: whether no other path of its region is above it. Inclusive times of a region are the sum over these
 * paths. To be freed with free(); NULL: no memory. */
bool *sp_paths_outermost(const struct sp_model *m);

/* Whether a function's name, module or file matches the pattern of --match or --callers. */
bool sp_name_matches(const char *name, const char *module, const char *file, const char *match);
bool sp_region_matches(const struct sp_region *r, const char *match);

/* Adds all fields except incl, which each caller sums in a different way. */
void sp_numbers_add(struct sp_numbers *to, const struct sp_value *v, double each);
/* report.c: gives a view its own copy of the values and of each. Returns 0, or -1: no memory. */
int sp_view_own_values(struct sp_view *v);
/* off_cpu.c */
void sp_off_cpu_add(struct sp_off_cpu *to, struct sp_off_cpu more);

/* Adds the values and `each` of the paths (as sp_model.totals and .each) to `regions`, which the caller has set to 0.
 * All users sum regions here, in one order: sums in different orders differ in the last bit, and then rows of equal
 * times have different orders. each may be NULL. Returns 0, or -1: no memory. */
int sp_numbers_regions(const struct sp_model *m, const struct sp_value *values, const double *each,
                       struct sp_numbers *regions);

#endif
