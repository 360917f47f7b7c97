/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges of a test by ranks that are threads, and the merged file against the raw files. */
#ifndef SP_TESTS_MERGING_H
#define SP_TESTS_MERGING_H

#include "base/err.h"

enum { MERGING_MOST_RANKS = 9 };

/* Merges with so many ranks. silent: this one goes away before it has said anything; -1: none. What rank 0 got, as 0 or
 * -1 with e set; checks that all ranks got the same. */
int merging_ranks(const char *dir, int size, int silent, struct sp_err *e);
/* Checks that the model of the merged file is that of the raw files. */
void merging_compare(const char *dir);
/* Checks that two models have the same regions, paths, processes …; the same of what belongs to places, as values and
 * events do. */
struct sp_model;
void merging_compare_definitions(const struct sp_model *a, const struct sp_model *b);
void merging_compare_places(const struct sp_model *a, const struct sp_model *b);

#endif
