/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, files and lines of compiled functions (symbols/). */
#ifndef SP_MODEL_BUILDER_SYMBOL_H
#define SP_MODEL_BUILDER_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "model/str.h"

struct sp_builder;

/* A compiled function. */
struct sp_symbol {
	struct sp_str name; /* may be empty */
	struct sp_str file; /* where it was declared, or the object file */
	uint32_t line;      /* 0: not known */
};

/* What a raw file says of it: the object's path, which build that was, and where it begins there; the symbol may be
 * empty. */
struct sp_symbol_key {
	const char *path, *build, *symbol;
	uint32_t address;
};

/* symbols_file.c: those that the experiment's file `symbols` tells. */
struct sp_known_symbols {
	bool read;
	struct sp_intern keys; /* in the builder's scratch */
	struct sp_known_symbol {
		struct sp_symbol is; /* in the builder's scratch, or the model's arena */
		bool told, counted;
	} * p; /* owned; one for each key */
	size_t n, room;
};

/* symbols.c. Texts of keys are not NULL; path and build may be empty: not told. Returns 0, or -1: no memory. */
int sp_symbols_find(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out);
/* The same in the object file alone; *found: it is there, and the build that was measured. */
int sp_symbols_look_up(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out, bool *found);
void sp_symbols_free(struct sp_builder *b);
/* What the experiment's file tells; NULL: nothing. */
const struct sp_symbol *sp_symbols_known(struct sp_builder *b, const struct sp_symbol_key *key);
void sp_known_symbols_free(struct sp_known_symbols *k);

#endif
