/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of a share of the raw files, as bytes: the definitions, the call tree with its visits, and for each
 * process everything that a model keeps of it except its rows. Adding the parts in the order of files makes the same
 * builder as reading the files does: every table is filled in the order of first appearance. */
#ifndef SP_MODEL_MERGE_PART_H
#define SP_MODEL_MERGE_PART_H

#include "model/builder/builder.h"
#include "model/merge/pack.h"

/* Tables from the indices of a part to those of the builder it was added to. */
struct sp_part_ids {
	uint32_t *paths, *metrics; /* owned */
	size_t n_paths, n_metrics;
};

/* Writes all contents of the builder b; locations: their number. */
void sp_part_write(struct sp_pack *k, struct sp_builder *b, uint32_t locations);
/* Adds a part to b. *locations: number of locations in b, increased by the part's. b must have room for the processes
 * of all files. Returns 0, or -1 with e set. */
int sp_part_add(struct sp_builder *b, const void *bytes, size_t n, uint32_t *locations, struct sp_part_ids *ids,
                struct sp_err *e);
void sp_part_ids_free(struct sp_part_ids *ids);

#endif
