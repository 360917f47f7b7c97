/* SPDX-License-Identifier: BSD-3-Clause */
/* How evenly work is spread over the ranks (or processes, or threads), for each call path and region.
 *
 * For a quantity x over n units: mean, standard deviation sqrt(sum((x - mean)^2) / n), extremes and where they are. A
 * unit that never came there counts as 0. From these
 *   imbalance time = max - mean: what could be won at most if the work were spread evenly (DeRose, Homer, Johnson:
 *     "Detecting Application Load Imbalance on High End Massively Parallel Systems", Euro-Par 2007; CrayPat's "Imb.
 * Time"); imbalance percentage = (max / mean - 1) * 100 (lambda in Pearce et al.: "Quantifying the Effectiveness of
 * Load Balance Algorithms", ICS 2012): 0 is even, (n - 1) * 100 is all work on one of n.
 *
 * The sums are made one location after the other, and sums of neighbouring ranges of units can be made apart and put
 * together: this needs rows and nothing else of a model, memory for the paths, and time for the rows. */
#ifndef SP_MODEL_REPORT_BALANCE_H
#define SP_MODEL_REPORT_BALANCE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/model.h"
#include "model/path.h"

/* Over the units that came there; sp_spread_finish() takes the others in. */
struct sp_spread {
	double mean, m2; /* m2: the sum of the squares of the distances to the mean */
	double min, max;
	uint32_t min_unit, max_unit; /* of equals the first; SP_NONE: no unit */
	uint32_t n;
};

void sp_spread_add(struct sp_spread *s, uint32_t unit, double x);
/* `with` is of units that come after all those of s. */
void sp_spread_merge(struct sp_spread *s, const struct sp_spread *with);
double sp_spread_std(const struct sp_spread *s);
double sp_spread_imbalance(const struct sp_spread *s);         /* max - mean */
double sp_spread_imbalance_percent(const struct sp_spread *s); /* 0 where the mean is 0 */

/* Of one path or region. Times in ns. */
struct sp_balance_entry {
	struct sp_spread incl, excl;
	uint32_t absent; /* the first unit that never came there, as long as not all did; else SP_NONE */
	uint32_t came;   /* after sp_balance_finish(): how many came there */
	uint32_t unit;   /* whose sums are `now_…`; SP_NONE: nobody's */
	double now_incl, now_excl;
};

/* For a range of units. */
struct sp_balance {
	struct sp_balance_entry *entries; /* owned; one for each path or region */
	size_t n;
	uint32_t first, end; /* units */
};

/* n entries, no unit yet; the first one to come is `first`. 0, or -1: no memory. */
int sp_balance_init(struct sp_balance *b, size_t n, uint32_t first);
void sp_balance_free(struct sp_balance *b);
/* Opens the next unit; all units come in order, also those with nothing. Returns its number. */
uint32_t sp_balance_unit(struct sp_balance *b);
/* Adds to the open unit; several times for one entry add up. */
void sp_balance_add(struct sp_balance *b, size_t entry, double incl, double excl);
/* The rows of a location of the open unit: entries are paths. */
void sp_balance_add_rows(struct sp_balance *b, const struct sp_row *rows, size_t n);
/* Puts the units of `with` behind those of b; both have the same entries, and with->first is b->end. */
void sp_balance_merge(struct sp_balance *b, struct sp_balance *with);
/* No more units: those that never came to an entry count as 0 there. */
void sp_balance_finish(struct sp_balance *b);
/* ---- of a model ---- */

enum sp_balance_over {
	SP_OVER_AUTO,  /* ranks if there are two or more, else processes, of one process its threads */
	SP_OVER_RANKS, /* processes that have a rank */
	SP_OVER_PROCESSES,
	SP_OVER_THREADS
};

struct sp_balance_report {
	enum sp_balance_over over;
	uint32_t *units; /* owned; process of each unit, or location: over THREADS */
	uint32_t n_units;
	struct sp_balance paths, regions; /* of regions incl counts recursion once */
};

/* The units alone. 0, or -1 with e set; sp_balance_report_free() either way. */
int sp_balance_units(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over,
                     struct sp_err *e);
/* 0, or -1 with e set; sp_balance_report_free() either way. */
int sp_balance_report(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over,
                      struct sp_err *e);
void sp_balance_report_free(struct sp_balance_report *r);
/* Which units never came to a path: n_units flags, for free(); NULL: no memory. */
bool *sp_balance_report_idle(const struct sp_balance_report *r, const struct sp_model *m, uint32_t path);

#endif
