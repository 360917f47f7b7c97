/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of comparison share. */
#ifndef SP_MODEL_COMPARE_PRIVATE_H
#define SP_MODEL_COMPARE_PRIVATE_H

#include "model/compare/compare.h"
#include "model/region.h"
#include "model/str.h"

/* A region of a model that is looked for among those of the union. */
struct sp_candidate {
	const struct sp_region *r;
	uint32_t id;
};

/* What one more model is put together with. */
struct sp_joining {
	struct sp_compare *c;
	uint32_t model;
	struct sp_candidate *there; /* owned; regions of the union that the model has not got yet */
	size_t n_there;
	struct sp_candidate *here; /* owned; regions of the model that have no counterpart yet */
	size_t n_here;
};

/* Counterparts of regions in modules that have another name. */
int sp_compare_renamed(struct sp_joining *j);
/* In the order of their bytes. */
int sp_compare_text(struct sp_str a, struct sp_str b);
/* Two regions are the same. */
void sp_compare_pair(struct sp_joining *j, uint32_t there, uint32_t here);

#endif
