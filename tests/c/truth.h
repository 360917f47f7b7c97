/* SPDX-License-Identifier: BSD-3-Clause */
/* The index's answers, compared with all events read one by one. */
#ifndef TRUTH_H
#define TRUTH_H

#include "check.h"
#include "model/lod/lod.h"
#include "model/model.h"
#include "scratch.h"

/* A number below n; reproducible. */
uint64_t truth_pick(uint64_t n);
/* Checks this number of ranges of each location, of all widths. */
void truth_check(const struct sp_model *m, const struct sp_lod_options *o, unsigned times);
/* Makes a new experiment. */
const char *truth_made_by(const struct rg_options *o);
/* Whether opening the index makes it. */
bool truth_makes(const struct sp_model *m, const struct sp_lod_options *o);

#endif
