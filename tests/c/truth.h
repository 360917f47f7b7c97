/* SPDX-License-Identifier: BSD-3-Clause */
/* The index's answers, held against all events read one by one. */
#ifndef TRUTH_H
#define TRUTH_H

#include "check.h"
#include "model/lod/lod.h"
#include "model/model.h"
#include "scratch.h"

/* A number below n; the same ones in each run. */
uint64_t truth_pick(uint64_t n);
/* Asks of each location so many parts, of all widths. */
void truth_check(const struct sp_model *m, const struct sp_lod_options *o, unsigned times);
/* A new experiment. */
const char *truth_made_by(const struct rg_options *o);
/* Whether opening the index makes it. */
bool truth_makes(const struct sp_model *m, const struct sp_lod_options *o);

#endif
