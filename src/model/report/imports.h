/* SPDX-License-Identifier: BSD-3-Clause */
/* What importing modules cost: the time between the begin and end of import statements, by module. */
#ifndef SP_MODEL_REPORT_IMPORTS_H
#define SP_MODEL_REPORT_IMPORTS_H

#include "base/err.h"
#include "model/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_import_time {
	double time;           /* ns */
	struct sp_split split; /* of it; if times are not split, all of it is running */
};

/* One module, as imported by one importer. The module whose import statement ran first has the time. */
struct sp_import {
	uint32_t region;             /* the module's body, MODULE:<module>; of the first element 0: the program */
	uint32_t importer;           /* index of the module that imports it; 0: the program */
	uint64_t visits;             /* number of times that the body ran: once in each process */
	struct sp_import_time total; /* its body, with the modules that it imports; of the first element: all imports */
	struct sp_import_time self;  /* the body without imports */
	/* the import system for the modules that this one imports: it finds files, reads code and loads compiled
	 * modules */
	struct sp_import_time loading;
};

/* The imports in the view's values; an importer has a smaller index than what it imports. Elements of modules with
 * compiled code only do not exist: their time is in `loading`. The caller frees *imports with free(). Returns 0, or -1
 * with e set. */
int sp_report_imports(const struct sp_view *v, struct sp_import **imports, size_t *n, struct sp_err *e);

/* For each path whether it is part of an import: from a function of the import system down. Modules of the program
 * itself (sp_region_is_own()) are not, because their bodies may be its work; what these import is. The caller frees the
 * array with free(). NULL: no memory. */
bool *sp_paths_imported(const struct sp_model *m);

/* Removes imports (sp_paths_imported()) from the view's values: their paths have no time and no visits, and the
 * inclusive times of callers are without them. min, max, sumsq and each of callers keep the imports. Returns 0, or -1
 * with e set. */
int sp_view_without_imports(struct sp_view *v, struct sp_err *e);

#endif
