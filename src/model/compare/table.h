/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between experiments by function or by call path, with the spread over repeated runs.
 *
 * Experiments come in groups of repeated runs; the other groups are compared with the first one. For each group: the
 * mean over its runs, where a missing entry counts as 0, and the sample variance (n - 1).
 *
 * Other programs decide how long a thread is preempted. So this time is left out of all times, and stated, if all
 * experiments know it.
 *
 * Welch's t-test decides whether a difference is larger than the noise (B. L. Welch: "The generalization of 'Student's'
 * problem when several different population variances are involved", Biometrika 34, 1947). It is two-sided, needs
 * groups of two runs or more, and allows different variances in both groups. As many functions are tested at once, the
 * p-values are corrected by Holm's method (S. Holm: "A simple sequentially rejective multiple test procedure",
 * Scandinavian Journal of Statistics 6, 1979). Only entries that take a given share of the time in one of both groups
 * are tested. */
#ifndef SP_MODEL_COMPARE_TABLE_H
#define SP_MODEL_COMPARE_TABLE_H

#include "model/compare/compare.h"

/* The numbers of one group, for one entry or for all. */
struct sp_compare_side {
	uint32_t n;                /* number of runs */
	double visits, visits_var; /* mean, variance */
	double excl, incl;         /* mean, ns */
	double excl_var, incl_var; /* ns^2; 0 for a single run */
};

/* The difference between one group and the first. */
struct sp_compare_change {
	/* p-value for exclusive time, uncorrected; negative: not tested, because a group has only one run */
	double p;
	double holm; /* p-value corrected by Holm's method; negative: not tested */
	/* ns; half the width of the 95 % interval around the difference of the means; negative: not tested */
	double margin;
	/* the entry takes the share in one of both groups; other entries are not tested and have no margin */
	bool large;
};

struct sp_compare_row {
	uint32_t entry;                    /* index in sp_compare.regions or sp_compare.paths */
	struct sp_compare_side *sides;     /* one for each group */
	struct sp_compare_change *changes; /* one for each group; the first is unused */
};

enum sp_compare_sort {
	SP_COMPARE_CHANGE,   /* absolute difference of exclusive time */
	SP_COMPARE_TOTAL,    /* absolute difference of inclusive time */
	SP_COMPARE_RELATIVE, /* ratio of exclusive times; new and missing entries come first */
	SP_COMPARE_EXCL,     /* exclusive time of the group with more */
	SP_COMPARE_INCL,
	SP_COMPARE_VISITS,
	SP_COMPARE_NAME,
	SP_COMPARE_SORTS
};

struct sp_compare_query {
	bool paths;                /* true: compare call paths; false: regions */
	const uint32_t *runs;      /* number of models in each group; the sum is the number of all models */
	size_t groups;             /* at least 2 */
	const char *match;         /* pattern of functions' names, as in sp_report_flat() */
	enum sp_compare_sort sort; /* by the changes of the last group */
	double share;              /* share of the time that makes an entry large; 0.01: one percent */
};

struct sp_compare_table {
	struct sp_arena arena;
	struct sp_compare_row *rows; /* all entries that any run has and that match, sorted */
	size_t n;
	struct sp_compare_row all; /* the time of all functions; entry is 0 */
	/* for each group: time in which threads were preempted, ns, which is in no other number; NULL: some experiment
	 * does not know it, and the times of all contain it */
	double *preempted;
};

/* Whether all models know preemption, so that no time of the comparison contains it. */
bool sp_compare_without_preempted(const struct sp_compare *c);

/* Fills *t. Returns 0, or -1 with e set; call sp_compare_table_free() in both cases. */
int sp_compare_table(struct sp_compare_table *t, const struct sp_compare *c, const struct sp_compare_query *q,
                     struct sp_err *e);
void sp_compare_table_free(struct sp_compare_table *t);

/* The probability of a difference at least as large if both means were equal; negative: cannot be computed. n: number
 * of runs; var: sample variance. */
double sp_welch(double mean_a, double var_a, uint32_t n_a, double mean_b, double var_b, uint32_t n_b);
/* Half the width of the 95 % confidence interval around a difference of two means (p = 0.05); negative: cannot be
 * computed. */
double sp_welch_margin(double var_a, uint32_t n_a, double var_b, uint32_t n_b);
/* Corrects n p-values in place. Returns 0, or -1: no memory. */
int sp_holm(double *p, size_t n);

#endif
