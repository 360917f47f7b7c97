/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of the program's own functions, each with the library functions that it led to. */
#ifndef SP_MODEL_REPORT_OWN_H
#define SP_MODEL_REPORT_OWN_H

#include "base/err.h"
#include "base/owner/owner.h"
#include "model/report/report.h"

#include <stddef.h>
#include <stdint.h>

/* An own function, with the functions of others that it called directly or through each other. */
struct sp_own_row {
	uint32_t region; /* 0, the first row: what no own function called */
	uint64_t visits, resumed;
	double
	    time[SP_OWNERS]; /* ns in which the threads ran: own is its own, the others those of the called functions */
	double waiting;      /* ns in which the threads waited, in it and in the called functions */
	bool calls_own;      /* it led to calls of own functions, too; their time is in their rows */
};

/* A top-level package of libraries. */
struct sp_own_package {
	struct sp_str name;
	double time; /* ns in which the threads ran */
};

/* The times in which the threads ran in all paths are the sum of all rows and `start_end`. */
struct sp_own_report {
	struct sp_own_row *rows; /* owned; sorted by the sum of their times, except for the first one */
	size_t n;
	struct sp_own_package *packages; /* owned; sorted by time */
	size_t n_packages;
	/* ns in which main threads ran the interpreter's start and end: paths that neither contain the body of the
	 * module __main__ nor an own function; 0 for threads in which that body was not recorded */
	double start_end;
};

/* process, location: as for sp_view_open(), which opened v; SP_NONE: all. Call sp_own_free() after success. Returns 0,
 * or -1 with e set. */
int sp_report_own(const struct sp_view *v, uint32_t process, uint32_t location, struct sp_own_report *out,
                  struct sp_err *e);
void sp_own_free(struct sp_own_report *r);

#endif
