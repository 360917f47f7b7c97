/* SPDX-License-Identifier: BSD-3-Clause */
/* What changed between experiments, function by function or call path by call path, with the spread over repeated runs.
 *
 * Experiments come in groups of repeated runs; the first group is what the others are compared with. For each group:
 * the mean over its runs, in which what a run has not got counts as 0, and the sample variance (n - 1).
 *
 * Whether a difference is larger than the noise is asked of Welch's t-test (B. L. Welch: "The generalization of
 * 'Student's' problem when several different population variances are involved", Biometrika 34, 1947), two-sided, for
 * groups of two runs or more: the variances of both groups may differ. One asks it of many functions at once, so the
 * p-values are corrected by Holm's method (S. Holm: "A simple sequentially rejective multiple test procedure",
 * Scandinavian Journal of Statistics 6, 1979) over those entries that take a given share of the time in one of both
 * groups; what takes less is not judged. */
#ifndef SP_MODEL_COMPARE_TABLE_H
#define SP_MODEL_COMPARE_TABLE_H

#include "model/compare/compare.h"

/* A group's numbers of one entry, or of all. */
struct sp_compare_side {
	uint32_t n;                /* runs */
	double visits, visits_var; /* mean, variance */
	double excl, incl;         /* mean, ns */
	double excl_var, incl_var; /* ns^2; 0 for a single run */
};

/* Of one group against the first. */
struct sp_compare_change {
	double p;      /* for exclusive time, as it is; negative: not asked, as a group has one run only */
	double holm;   /* corrected; negative: not judged */
	double margin; /* ns: so far from the difference of the means may the true one be, with 95 %; negative: not
	                  asked */
	bool large;    /* takes the share in one of both; others are not judged, and have no margin */
};

struct sp_compare_row {
	uint32_t entry;                    /* of sp_compare.regions or paths */
	struct sp_compare_side *sides;     /* one for each group */
	struct sp_compare_change *changes; /* one for each group; the first says nothing */
};

enum sp_compare_sort {
	SP_COMPARE_CHANGE,   /* of exclusive time, whichever way */
	SP_COMPARE_TOTAL,    /* of inclusive time */
	SP_COMPARE_RELATIVE, /* of exclusive time, as a factor; what is new or gone comes first */
	SP_COMPARE_EXCL,     /* of the group that has more */
	SP_COMPARE_INCL,
	SP_COMPARE_VISITS,
	SP_COMPARE_NAME,
	SP_COMPARE_SORTS
};

struct sp_compare_query {
	bool paths;                /* else regions */
	const uint32_t *runs;      /* of each group: how many models; together all of them */
	size_t groups;             /* 2 or more */
	const char *match;         /* of functions' names, as in sp_report_flat() */
	enum sp_compare_sort sort; /* changes are those of the last group */
	double share;              /* see above; 0.01: one percent */
};

struct sp_compare_table {
	struct sp_arena arena;
	struct sp_compare_row *rows; /* all that have been anywhere and match, sorted */
	size_t n;
	struct sp_compare_row all; /* the time of all functions; entry is 0 */
};

/* 0, or -1 with e set; sp_compare_table_free() either way. */
int sp_compare_table(struct sp_compare_table *t, const struct sp_compare *c, const struct sp_compare_query *q,
                     struct sp_err *e);
void sp_compare_table_free(struct sp_compare_table *t);

/* The probability of a difference at least as large if both had the same mean; negative: cannot be asked. n: runs,
 * var: sample variance. */
double sp_welch(double mean_a, double var_a, uint32_t n_a, double mean_b, double var_b, uint32_t n_b);
/* Half the width of the interval around a difference of two means in which the true one is with 95 %: what has p =
 * 0.05; negative: cannot be asked. */
double sp_welch_margin(double var_a, uint32_t n_a, double var_b, uint32_t n_b);
/* Corrects n p-values in place. 0, or -1: no memory. */
int sp_holm(double *p, size_t n);

#endif
