/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reports share. */
#ifndef SP_MODEL_REPORT_WALK_H
#define SP_MODEL_REPORT_WALK_H

#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/report.h"

/* Visits all paths below the root, each before its children and again after them. */
typedef void sp_visit_fn(void *arg, uint32_t path);
void sp_paths_walk(const struct sp_model *m, sp_visit_fn *enter, sp_visit_fn *leave, void *arg);

/* Which paths have no other of their region above them: where inclusive times of a region are summed up. For free();
 * NULL: no memory. */
bool *sp_paths_outermost(const struct sp_model *m);

/* Whether a name, of a function of that module and file, is one that --match or --callers asks for. */
bool sp_name_matches(const char *name, const char *module, const char *file, const char *match);
bool sp_region_matches(const struct sp_region *r, const char *match);

/* Adds everything but incl, which each sum counts in its own way. */
void sp_numbers_add(struct sp_numbers *to, const struct sp_value *v, double each);

/* Adds up the values and each of the paths (as sp_model.totals and .each) in `regions`, which begin as zeros. Whoever
 * shows regions sums here, in one order: two sums of equal times differ in their last bit where they are summed in two,
 * and so does the order of rows then. each may be NULL. 0, or -1: no memory. */
int sp_numbers_regions(const struct sp_model *m, const struct sp_value *values, const double *each,
                       struct sp_numbers *regions);

#endif
