/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of locations in a range of time, from traces or else from samples. If the measurement overhead is
 * subtracted from the run, it is also subtracted from its parts. */
#ifndef SP_VIEW_RANGED_H
#define SP_VIEW_RANGED_H

#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "view/kept.h"

struct sp_ranged {
	const struct sp_viewed *v;
	const struct sp_model *m;
	struct sp_lod *p;       /* NULL: there is no trace */
	uint64_t begin, end;    /* ns */
	struct sp_value *one;   /* owned; for each path, of one location; NULL: no overhead is subtracted */
	double *each, *reduced; /* owned; for each path: as sp_model.each; inclusive time without overhead */
	struct sp_off_cpu_columns columns;
	double (*off)[SP_OFF_CPU_KINDS]; /* owned; for each path, ns off the processor; NULL: not known in the range */
};

/* Returns 0, or -1: no memory. Call sp_ranged_free() in both cases. */
int sp_ranged_init(struct sp_ranged *r, const struct sp_viewed *v, struct sp_lod *p, uint64_t begin, uint64_t end);
void sp_ranged_free(struct sp_ranged *r);
/* Adds the location's numbers in the range to the values, as sp_lod_range() does. The overhead of calls that ended in
 * the range is subtracted as for a whole run; single durations decrease in proportion to the inclusive time. For a
 * location with samples instead of a trace, only exclusive times are known. Also adds the location's time off the
 * processor to r->off. Returns 0, or -1 with e set. */
int sp_ranged_add(struct sp_ranged *r, uint32_t location, struct sp_value *values, double *each, struct sp_err *e);

/* Adds, without change, the numbers of paths that are not in the profiles of their locations: those of a damaged
 * file. */
void sp_ranged_rest(struct sp_ranged *r, struct sp_value *values, double *each);

/* The time off the processor of a path since r->off was last cleared. excl: its exclusive time in the range. */
struct sp_off_cpu sp_ranged_off_cpu(const struct sp_ranged *r, uint32_t path, double excl);

#endif
