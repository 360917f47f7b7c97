/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share. */
#ifndef SP_MODEL_COMPARE_PRIVATE_H
#define SP_MODEL_COMPARE_PRIVATE_H

#include "model/compare/compare.h"
#include "model/region.h"
#include "model/str.h"

/* A region of a model that needs a counterpart in the union. */
struct sp_candidate {
	const struct sp_region *r;
	uint32_t id;
};

/* The state of adding one more model to the union. */
struct sp_joining {
	struct sp_compare *c;
	uint32_t model;
	struct sp_candidate *there; /* owned; regions of the union that have no counterpart in the model yet */
	size_t n_there;
	struct sp_candidate *here; /* owned; regions of the model that have no counterpart yet */
	size_t n_here;
};

/* Pairs regions in modules with different names. */
int sp_compare_renamed(struct sp_joining *j);
/* Compares two texts byte by byte, for sorting. */
int sp_compare_text(struct sp_str a, struct sp_str b);
/* Records that two regions are the same. */
void sp_compare_pair(struct sp_joining *j, uint32_t there, uint32_t here);

#endif
