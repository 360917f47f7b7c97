/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distribution of work over the ranks (or processes, or threads), for each call path and region.
 *
 * For a quantity x over n units: mean, standard deviation sqrt(sum((x - mean)^2) / n), and the extremes with their
 * units. A unit that never reached the path counts as 0. From these imbalance time = max - mean: the maximum gain if
 * the work were distributed evenly (DeRose, Homer, Johnson: "Detecting Application Load Imbalance on High End Massively
 * Parallel Systems", Euro-Par 2007; CrayPat's "Imb. Time"); imbalance percentage = (max / mean - 1) * 100 (lambda in
 * Pearce et al.: "Quantifying the Effectiveness of Load Balance Algorithms", ICS 2012): 0 is even, (n - 1) * 100 is all
 * work on one of n.
 *
 * Locations are added one after the other. Sums of adjacent ranges of units can be computed separately and merged: this
 * needs only the rows of a model, memory for the paths, and time for the rows.
 */
#ifndef SP_MODEL_REPORT_BALANCE_H
#define SP_MODEL_REPORT_BALANCE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"

/* Statistics over the units that reached an entry; sp_spread_finish() adds the others as 0. */
struct sp_spread {
	double mean, m2; /* m2: the sum of the squares of the distances to the mean */
	double min, max;
	uint32_t min_unit, max_unit; /* the first unit with the extreme; SP_NONE: no unit */
	uint32_t n;
};

void sp_spread_add(struct sp_spread *s, uint32_t unit, double x);
/* Adds the statistics of `with`, whose units all come after those of s. */
void sp_spread_merge(struct sp_spread *s, const struct sp_spread *with);
double sp_spread_std(const struct sp_spread *s);
double sp_spread_imbalance(const struct sp_spread *s);         /* max - mean */
double sp_spread_imbalance_percent(const struct sp_spread *s); /* 0 if the mean is 0 */

/* One path or region. Times in ns. */
struct sp_balance_entry {
	struct sp_spread incl, excl;
	uint32_t absent; /* the first unit that did not reach it; SP_NONE: all units did */
	uint32_t came;   /* after sp_balance_finish(): the number of units that reached it */
	uint32_t unit;   /* the unit of the sums `now_…`; SP_NONE: no unit */
	double now_incl, now_excl;
};

/* The entries for a range of units. */
struct sp_balance {
	struct sp_balance_entry *entries; /* owned; one for each path or region */
	size_t n;
	uint32_t first, end; /* units */
};

/* n entries, without units; `first` is the number of the first unit. Returns 0, or -1: no memory. */
int sp_balance_init(struct sp_balance *b, size_t n, uint32_t first);
void sp_balance_free(struct sp_balance *b);
/* Starts the next unit; all units come in order, also empty ones. Returns its number. */
uint32_t sp_balance_unit(struct sp_balance *b);
/* Adds to the current unit; several calls for one entry add up. */
void sp_balance_add(struct sp_balance *b, size_t entry, double incl, double excl);
/* Appends the units of `with` to b; both have the same entries, and with->first is b->end. */
void sp_balance_merge(struct sp_balance *b, struct sp_balance *with);
/* Call after the last unit: units that did not reach an entry count as 0 there. */
void sp_balance_finish(struct sp_balance *b);
/* ---- of a model ---- */

enum sp_balance_over {
	SP_OVER_AUTO,  /* ranks if there are at least two, otherwise processes; threads if there is one process */
	SP_OVER_RANKS, /* processes that have a rank */
	SP_OVER_PROCESSES,
	SP_OVER_THREADS
};

/* What is compared: `over`, or, for AUTO, the choice for this model. */
enum sp_balance_over sp_balance_over_of(const struct sp_model *m, enum sp_balance_over over);

struct sp_balance_report {
	enum sp_balance_over over;
	uint32_t *units; /* owned; index of each unit's process, or location if over is THREADS */
	uint32_t n_units;
	bool running; /* excl is only the time in which the threads ran; in MPI it is the whole exclusive time */
	struct sp_balance paths, regions; /* in regions, incl counts recursion once */
};

/* The part of a path's exclusive time in which the threads ran, ns. In MPI it is the whole exclusive time: how long
 * ranks wait there is what a comparison of ranks is for. */
double sp_balance_running(const struct sp_model *m, uint32_t path, double excl, struct sp_off_cpu off);
/* That of a row of m->values. */
double sp_balance_running_in(const struct sp_model *m, const struct sp_off_cpu_columns *columns, size_t row);

/* Determines only the units. Returns 0, or -1 with e set; call sp_balance_report_free() in both cases. */
int sp_balance_units(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over,
                     struct sp_err *e);
/* Computes the report. running: see above. chosen: for each process, or for each location if over is THREADS, whether
 * it is compared; NULL: all are. Returns 0, or -1 with e set; call sp_balance_report_free() in both cases. */
int sp_balance_report(struct sp_balance_report *r, const struct sp_model *m, enum sp_balance_over over, bool running,
                      const bool *chosen, struct sp_err *e);
void sp_balance_report_free(struct sp_balance_report *r);
/* The units that did not reach each of n paths: n_units flags for the first path, then for the next one, to be freed
 * with free(); NULL: no memory. One call for all paths, because it reads the rows of each location once. */
bool *sp_balance_report_idle(const struct sp_balance_report *r, const struct sp_model *m, const uint32_t *paths,
                             size_t n);

#endif
