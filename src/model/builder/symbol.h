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

/* Source location of a compiled function. */
struct sp_symbol {
	struct sp_str name; /* may be empty */
	struct sp_str file; /* file of its declaration, or the object file */
	uint32_t line;      /* 0: unknown */
};

/* A compiled function as a raw file records it: path and build id of the object file, and the function's start address
 * in it. The symbol may be empty. */
struct sp_symbol_key {
	const char *path, *build, *symbol;
	uint32_t address;
};

/* symbols_file.c: the functions in the experiment's file `symbols`. */
struct sp_known_symbols {
	bool read;
	struct sp_intern keys; /* in the builder's scratch */
	struct sp_known_symbol {
		struct sp_symbol is; /* texts in the builder's scratch arena or the model's arena */
		bool reported, counted;
	} * p; /* owned; one for each key */
	size_t n, capacity;
};

/* symbols.c. Finds the source location of a compiled function, in the file `symbols` or the object file. Texts of keys
 * are not NULL; path and build may be empty: not recorded. Returns 0, or -1: no memory. */
int sp_symbols_find(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out);
/* The same in the object file alone. *found: the object file exists and is the measured build. */
int sp_symbols_look_up(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out, bool *found);
void sp_symbols_free(struct sp_builder *b);
/* Finds the function in the experiment's file `symbols`; NULL: not in it. */
const struct sp_symbol *sp_symbols_known(struct sp_builder *b, const struct sp_symbol_key *key);
void sp_known_symbols_free(struct sp_known_symbols *k);

#endif
