/* SPDX-License-Identifier: BSD-3-Clause */
/* The file `symbols` of an experiment (FORMAT.md): names, files and lines of compiled functions, for machines without
 * the object files. */
#ifndef SP_MODEL_SYMBOLS_SYMBOLS_H
#define SP_MODEL_SYMBOLS_SYMBOLS_H

#include <stdint.h>

#include "base/err.h"

#define SP_SYMBOLS_NAME "symbols"

struct sp_symbols_kept {
	uint64_t functions; /* compiled functions in the raw files; builds of an object count separately */
	uint64_t added;     /* of these, added now */
	uint64_t unknown;   /* of these, unknown: the object does not exist any more, or is another build */
};

/* Looks up the compiled functions of all raw files that the file does not contain yet, and rewrites it if there are
 * any. Unreadable raw files are ignored here: loading the model reports them. Returns 0, or -1 with e set: no memory,
 * no such experiment, or the file cannot be written. */
int sp_symbols_keep(const char *dir, struct sp_symbols_kept *kept, struct sp_err *e);

#endif
