/* SPDX-License-Identifier: BSD-3-Clause */
/* What an experiment keeps of object files, so that its compiled functions have their names, files and lines also where
 * these objects are not: the file `symbols` (FORMAT.md). */
#ifndef SP_MODEL_SYMBOLS_SYMBOLS_H
#define SP_MODEL_SYMBOLS_SYMBOLS_H

#include <stdint.h>

#include "base/err.h"

#define SP_SYMBOLS_NAME "symbols"

struct sp_symbols_kept {
	uint64_t functions; /* compiled functions that the raw files name, each build of an object apart */
	uint64_t added;     /* of these now, */
	uint64_t unknown;   /* and those whose object is not there any more, or is another build */
};

/* Looks up the compiled functions of all raw files that the file does not have yet, and writes it anew if there are
 * any. Raw files that cannot be read are left to who loads the model. e: no memory, no such experiment, or it cannot be
 * written. */
int sp_symbols_keep(const char *dir, struct sp_symbols_kept *kept, struct sp_err *e);

#endif
