/* SPDX-License-Identifier: BSD-3-Clause */
/* The builder of a model: tables from keys to indices, and the processes that are being loaded. */
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

/* role.c: for each region the rule for it, plus 1; 0: no rule. */
struct sp_role_index {
	uint8_t *rule; /* owned */
	size_t n, capacity;
};

struct sp_builder {
	struct sp_model *m;
	struct sp_model_private *priv;
	unsigned flags;
	struct sp_arena scratch; /* owned */
	struct sp_intern regions, counters, parameters, strings,
	    metrics;                       /* keys of regions and metrics contain all their fields */
	struct sp_intern parameter_values; /* key: (region of kind PARAMETER, previous parameter value) */
	size_t region_capacity;
	char *key; /* owned; buffer for one key */
	size_t key_capacity;
	uint32_t *path_slots; /* owned; hash table (parent, region, parameter) -> path; 0: empty slot */
	size_t hashed;        /* path_slots contains the paths below this index */
	size_t path_mask;     /* number of slots - 1; the number is a power of two */
	unsigned path_shift;  /* 64 - number of bits of path_mask */
	uint32_t *row_of;     /* owned; path -> row + 1 of the location being read; 0: no row */
	size_t row_of_capacity;
	struct sp_loading *loading; /* owned */
	size_t n_loading;
	size_t files;        /* capacity of loading and of the sources */
	struct sp_err first; /* first error of a file that could not be read at all */
	uint64_t *visits;    /* owned; while merging: visits + resumptions of each path */
	size_t visit_capacity;
	/* owned; while merging: path -> its index after sp_build_fold(); NULL: unchanged */
	uint32_t *folded;
	struct sp_role_index process_roles, thread_roles;
	bool merging;              /* rows are moved out after each file, and raw files are closed */
	struct sp_object *objects; /* owned; object files with compiled functions */
	struct sp_known_symbols known;
	/* owned; path -> its index after sp_build_fold(), for path_moved paths; NULL: unchanged */
	uint32_t *path_moves;
	size_t path_moved;
};

/* Opens a builder with an empty model for the experiment in dir. flags: SP_MODEL_…; files: maximum number of raw files.
 * Returns 0, or -1 with e set (no memory). */
int sp_builder_open(struct sp_builder *b, const char *dir, unsigned flags, size_t files, struct sp_err *e);
void sp_builder_close(struct sp_builder *b); /* frees everything except the model */
/* Adds the process of one raw file. Returns 0, 1 if the file cannot be read (e has the reason), or -1 if loading cannot
 * continue. */
int sp_builder_add(struct sp_builder *b, const struct sp_listed *file, struct sp_err *e);
/* Moves the tables of strings into the model. Returns 0, or -1 with e set. */
int sp_builder_strings(struct sp_builder *b, struct sp_err *e);
/* Extends `visits` to the number of paths. Returns 0, or -1: no memory. */
int sp_builder_visits(struct sp_builder *b);
/* Finishes the model after all files were added: reads the errors that unmeasured processes left, and derives
 * everything that needs all processes, except values. Returns 0, or -1 with e set. */
int sp_builder_finish(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e);

#endif
