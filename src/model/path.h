/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths and their values. */
#ifndef SP_MODEL_PATH_H
#define SP_MODEL_PATH_H

#include <stdint.h>

#include "model/str.h"

/* One node of the merged call tree. Path 0 is the root; a parent's index is smaller than its children's. Calls with
 * different values of a parameter are different paths below one parent. If every call of a path has the same values,
 * only that path exists; otherwise the time before the first value is in the path without it. */
struct sp_path {
	uint32_t parent; /* the root's is SP_NONE */
	uint32_t region;
	/* index in sp_model.parameter_values of the value set last; SP_NONE: no value */
	uint32_t parameter;
	uint32_t first_child, next_sibling; /* SP_NONE: no such path */
};

/* The numbers of one path. Times include calls, resumptions, and frames that were open before recording began; the
 * latter do not count as visits. */
struct sp_value {
	uint64_t visits;
	uint64_t resumed;
	double incl, excl; /* ns */
	double min, max;   /* ns, of single durations; both 0 if visits + resumed is 0 */
	double sumsq;      /* ns^2 */
};

/* The sum of the durations of a row, which min, max and sumsq describe. */
double sp_value_each(const struct sp_value *v);

struct sp_row {
	uint32_t path;
	struct sp_value v;
};

/* A value that a parameter had in a call. */
struct sp_parameter_value {
	uint32_t parameter; /* index in sp_model.parameters */
	uint32_t kind;      /* SP_EVENT_PARAMETER_INT, _UINT or _STRING */
	struct sp_str text; /* numbers in decimal */
	uint32_t before;    /* the value that was set before it in the same call, or SP_NONE */
};

#endif
