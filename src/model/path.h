/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths and their values. */
#ifndef SP_MODEL_PATH_H
#define SP_MODEL_PATH_H

#include <stdint.h>

#include "model/str.h"

/* The merged call tree. Path 0 is the root; a parent's index is smaller than its children's. Calls with different
 * values of a parameter are different paths below one parent. Where every call of a path got the same values there is
 * that path alone; else their time before the first value is in the path without it. */
struct sp_path {
	uint32_t parent; /* the root's is SP_NONE */
	uint32_t region;
	uint32_t parameter;                 /* index in sp_model.parameter_values: the one set last; SP_NONE: none */
	uint32_t first_child, next_sibling; /* SP_NONE: none */
};

/* Time covers calls and resumptions, and frames that were open before recording began, which are no calls. */
struct sp_value {
	uint64_t visits;
	uint64_t resumed;
	double incl, excl; /* ns */
	double min, max;   /* ns, of single durations; both 0 when visits + resumed is 0 */
	double sumsq;      /* ns^2 */
};

/* Of a row: the sum of its single durations, which min, max and sumsq speak of. */
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
	uint32_t before;    /* the parameter that was set before it in the same call, or SP_NONE */
};

#endif
