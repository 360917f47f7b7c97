/* SPDX-License-Identifier: BSD-3-Clause */
/* What names.c (code objects) and c_functions.c share, and facts of code objects (code.c). */
#ifndef SP_HOOK_NAMING_NAMES_H
#define SP_HOOK_NAMING_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/chain.h"
#include "hook/frames.h"

/* Text of a Python string. */
struct sp_python_text {
	const char *p;
	size_t n;
	PyObject *owner; /* owned, or NULL */
};
/* UTF-8; what cannot be encoded (lone surrogates) is escaped. What is no str is `otherwise`. */
struct sp_python_text sp_python_text(PyObject *o, const char *otherwise);

/* c_functions.c; in the child of a fork: whoever held its lock is not there */
void sp_names_c_forked(void);

/* cells.c: of a notebook. As the notebook shows it, In[7]; owned, NULL: the code is of no cell. */
char *sp_cells_of(PyCodeObject *code);
/* Its number, negative where the code only calls a magic; 0: it is of no cell. */
long sp_cells_number(PyCodeObject *code);
bool sp_cells_made_by_magic(const PyCodeObject *code);

/* code.c: what the setting `annotate` tells of a region's code, where it is wanted. */
struct sp_raw_code sp_code_facts(const PyCodeObject *code);
void sp_code_define(uint32_t region, const struct sp_raw_code *facts);

#endif
