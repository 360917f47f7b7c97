/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that names.c (code objects) and c_functions.c share, and facts of code objects (code.c). */
#ifndef SP_HOOK_NAMING_NAMES_H
#define SP_HOOK_NAMING_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/chain.h"
#include "hook/frames.h"

/* The text of a Python string, valid as long as its owner. */
struct sp_python_text {
	const char *p;
	size_t n;
	PyObject *owner; /* owned, or NULL */
};
/* Returns the text in UTF-8, with escapes for what cannot be encoded (lone surrogates); `otherwise` if o is no str. */
struct sp_python_text sp_python_text(PyObject *o, const char *otherwise);

/* c_functions.c; in a child of fork: the lock's holder does not exist there */
void sp_names_c_forked(void);

/* cells.c: Returns the notebook's name for the code's cell, such as In[7]; owned, NULL if the code belongs to no
 * cell. */
char *sp_cells_of(PyCodeObject *code);
/* Returns the cell's number, negative if the code only calls a magic; 0 if it belongs to no cell. */
long sp_cells_number(PyCodeObject *code);
/* Whether a magic compiled the code. */
bool sp_cells_made_by_magic(const PyCodeObject *code);

/* code.c: facts of a region's code, which the setting `annotate` requests. */
struct sp_raw_code sp_code_facts(const PyCodeObject *code);
void sp_code_define(uint32_t region, const struct sp_raw_code *facts);

#endif
