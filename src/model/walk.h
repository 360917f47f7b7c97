/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reports share. */
#ifndef SP_MODEL_WALK_H
#define SP_MODEL_WALK_H

#include "model/report.h"

/* Visits all paths below the root, each before its children and again after them. */
typedef void sp_visit_fn(void *arg, uint32_t path);
void sp_paths_walk(const struct sp_model *m, sp_visit_fn *enter, sp_visit_fn *leave, void *arg);

bool sp_region_matches(const struct sp_region *r, const char *match);

/* Adds everything but incl, which each sum counts in its own way. */
void sp_numbers_add(struct sp_numbers *to, const struct sp_value *v, double each);

#endif
