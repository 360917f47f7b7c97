/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges by ranks that are threads of the test, and comparison of the merged file with the raw files. */
#ifndef SP_TESTS_MERGING_H
#define SP_TESTS_MERGING_H

#include "base/err.h"

enum { MERGING_MAX_RANKS = 9 };

/* Merges with this number of ranks. silent: this rank exits without sending anything; -1: no rank. Returns the result
 * of rank 0, 0 or -1 with e set; checks that all ranks got the same result. */
int merging_ranks(const char *dir, int size, int silent, struct sp_err *e);
/* Checks that the merged file has the same model as the raw files. */
void merging_compare(const char *dir);
/* merging_compare_definitions(): checks that two models have the same regions, paths, processes …;
 * merging_compare_places(): the same for values and events of locations. */
struct sp_model;
void merging_compare_definitions(const struct sp_model *a, const struct sp_model *b);
void merging_compare_places(const struct sp_model *a, const struct sp_model *b);

#endif
