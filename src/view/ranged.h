/* SPDX-License-Identifier: BSD-3-Clause */
/* What locations did in a range of time, by their traces, or without them by samples. Where the cost of measuring is
 * taken out of the run, it is also out of its parts. */
#ifndef SP_VIEW_RANGED_H
#define SP_VIEW_RANGED_H

#include "model/model.h"
#include "model/path.h"
#include "view/kept.h"

struct sp_ranged {
	const struct sp_viewed *v;
	const struct sp_model *m;
	struct sp_lod *p;       /* NULL: there is no trace */
	uint64_t begin, end;    /* ns */
	struct sp_value *one;   /* owned; of each path, of a location; NULL: nothing is taken out */
	double *each, *reduced; /* owned; of each path: as sp_model.each; inclusive time without the cost */
};

/* 0, or -1: no memory. sp_ranged_free() either way. */
int sp_ranged_init(struct sp_ranged *r, const struct sp_viewed *v, struct sp_lod *p, uint64_t begin, uint64_t end);
void sp_ranged_free(struct sp_ranged *r);
/* Adds what the location did to the values, as sp_lod_range() does. Of the calls that ended in the range the cost
 * is taken out as of a whole run, and single durations fall by as much as the inclusive time does. */
/* Samples tell exclusive times alone. */
int sp_ranged_add(struct sp_ranged *r, uint32_t location, struct sp_value *values, double *each, struct sp_err *e);

/* Adds, as it is, what was done in paths that the profiles of their locations do not have: a damaged file's. */
void sp_ranged_rest(struct sp_ranged *r, struct sp_value *values, double *each);

#endif
