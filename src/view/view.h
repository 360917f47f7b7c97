/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers the viewer's questions as columns (view/columns.h): one function for each kind of question. contract.json
 * specifies the parameters and the answer of every kind.
 *
 * Kinds with many rows of numbers are answered here. Kinds with words and small tables are answered in
 * python/spartito/view/kinds.py, which has data that only Python has. All questions go through that module, and the
 * viewer sees no difference.
 *
 * Several threads may ask questions about one model at once, if sp_model_rows() was called before a question that needs
 * rows, and if ALONE questions are asked by one thread at a time. Nothing else changes in a loaded model. */
#ifndef SP_VIEW_VIEW_H
#define SP_VIEW_VIEW_H

#include "base/err.h"
#include "view/columns.h"

/* The subject of a question. */
struct sp_viewed {
	const struct sp_model *m;
	const struct sp_against *against; /* the comparison with a base; NULL: no base */
	struct sp_view_kept *kept;        /* view/kept.h */
};
/* The model with the regions and paths of all rows: those of m, followed by those that only the base has. */
const struct sp_model *sp_viewed_all(const struct sp_viewed *v);

/* The parameters of a question. sp_view_kind.takes has the parameters of each kind. */
struct sp_view_query {
	uint32_t process, location; /* indices; SP_NONE: all */
	double begin, end;          /* s since the experiment's begin; NaN: not given */
	uint32_t limit;             /* maximum number of rows; 0: the kind's default */
	uint32_t pixels;            /* width of the picture in columns; 0: not given */
	uint32_t levels;            /* number of depths of calls; 0: not given */
	const char *rows;           /* "first-last" among the selected locations; NULL: all */
	uint32_t region;            /* index; SP_NONE: all */
	uint32_t regions;           /* number of regions that are distinguished; 0: the kind's default */
	const char *over;           /* for balance (NULL: auto), for metrics (NULL: each location) */
	const char *name;           /* of a counter or metric; NULL: all */
	const char *metric;         /* name of a metric; NULL: no metric */
};

enum sp_view_parameter {
	SP_VIEW_PROCESS = 1,
	SP_VIEW_LOCATION = 2,
	SP_VIEW_BEGIN = 4,
	SP_VIEW_END = 8,
	SP_VIEW_LIMIT = 16,
	SP_VIEW_REGION = 32,
	SP_VIEW_REGIONS = 64,
	SP_VIEW_OVER = 128,
	SP_VIEW_METRIC = 256,
	SP_VIEW_PIXELS = 512,
	SP_VIEW_LEVELS = 1024,
	SP_VIEW_ROWS = 2048,
	SP_VIEW_NAME = 4096,
	SP_VIEW_SELECTION = SP_VIEW_PROCESS | SP_VIEW_LOCATION | SP_VIEW_BEGIN | SP_VIEW_END
};

enum sp_view_need {
	SP_VIEW_NEEDS_ROWS = 1,     /* needs the model's rows */
	SP_VIEW_NEEDS_SELECTED = 2, /* needs the model's rows if a process or location is selected */
	SP_VIEW_NEEDS_ALONE = 4     /* reads traces as a writer does, which may add problems to the model */
};

/* Fills *out. Returns 0, or -1 with e set. */
typedef int sp_view_answerer(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                             struct sp_err *e);

struct sp_view_kind {
	const char *name;
	unsigned takes; /* bits of enum sp_view_parameter */
	unsigned needs; /* bits of enum sp_view_need */
	sp_view_answerer *answer;
};

void sp_view_query_init(struct sp_view_query *q);
const struct sp_view_kind *sp_view_kind_find(const char *name); /* NULL: no such kind */
/* The kind after k; the first one for NULL; NULL after the last one. */
const struct sp_view_kind *sp_view_kind_next(const struct sp_view_kind *k);
/* Whether sp_model_rows() has to be called before the question. */
bool sp_view_needs_rows(const struct sp_view_kind *k, const struct sp_view_query *q);
/* Checks the indices and the range of the query, and answers it; the caller frees *out with sp_columns_free(). Returns
 * 0, or -1 with e set. */
int sp_view_answer(const struct sp_viewed *v, const struct sp_view_kind *k, const struct sp_view_query *q,
                   struct sp_columns **out, struct sp_err *e);

/* ---- the kinds: contract.json has the meta and the columns of each ---- */

sp_view_answerer sp_view_regions;
sp_view_answerer sp_view_tree;
sp_view_answerer sp_view_flat;
sp_view_answerer sp_view_timeline;
sp_view_answerer sp_view_overview;
sp_view_answerer sp_view_states;
sp_view_answerer sp_view_steps;
sp_view_answerer sp_view_markers;
sp_view_answerer sp_view_counters;
sp_view_answerer sp_view_metrics;
sp_view_answerer sp_view_messages;
sp_view_answerer sp_view_balance;
sp_view_answerer sp_view_matrix;

#endif
