/* SPDX-License-Identifier: BSD-3-Clause */
/* What builds a model: tables from keys to indices, and the processes that are loaded. */
#ifndef SP_MODEL_BUILDER_BUILDER_H
#define SP_MODEL_BUILDER_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/intern.h"
#include "model/builder/symbol.h"

struct sp_listed;
struct sp_listing;
struct sp_loading;
struct sp_model_private;

struct sp_builder {
	struct sp_model *m;
	struct sp_model_private *priv;
	unsigned flags;
	struct sp_arena scratch; /* owned */
	struct sp_intern regions, counters, parameters, strings,
	    metrics;                       /* a region's or metric's key says all of it */
	struct sp_intern parameter_values; /* (region of kind PARAMETER, the one before) */
	size_t region_room;
	char *key; /* owned; scratch */
	size_t key_room;
	uint32_t *path_slots; /* owned; (parent, region, parameter) to path, 0: empty */
	size_t hashed;        /* paths below this one are in path_slots */
	size_t path_mask;     /* their number - 1, a power of two - 1 */
	unsigned path_shift;  /* 64 - its bits */
	uint32_t *row_of;     /* owned; path to row + 1 of the location being read, 0: none */
	size_t row_of_room;
	struct sp_loading *loading; /* owned */
	size_t n_loading;
	size_t files;        /* room of loading and the sources */
	struct sp_err first; /* of the files that could not be read at all */
	uint64_t *visits;    /* owned; while merging: of each path, and resumptions */
	size_t visit_room;
	uint32_t *folded;          /* owned; while merging: path to its index after sp_build_fold(); NULL: the same */
	bool merging;              /* rows are taken away after each file, and raw files are closed */
	struct sp_object *objects; /* owned; object files with compiled functions */
	struct sp_known_symbols known;
	uint32_t *path_moves; /* owned; path to its index after sp_build_fold(), of path_moved ones; NULL: the same */
	size_t path_moved;
};

/* A model with nothing in it and what builds it; e: no memory. */
int sp_builder_open(struct sp_builder *b, const char *dir, unsigned flags, size_t files, struct sp_err *e);
void sp_builder_close(struct sp_builder *b); /* all but the model */
/* Returns 1 when the file cannot be read (e says why), -1 when loading cannot go on. */
int sp_builder_add(struct sp_builder *b, const struct sp_listed *file, struct sp_err *e);
/* The tables of strings become the model's. */
int sp_builder_strings(struct sp_builder *b, struct sp_err *e);
/* Makes `visits` as long as there are paths; -1 without memory. */
int sp_builder_visits(struct sp_builder *b);
/* When all files have been added: what processes left that could not be measured, and all that follows from the whole
 * but the values. */
int sp_builder_finish(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e);

#endif
