/* SPDX-License-Identifier: BSD-3-Clause */
/* What the viewer asks for, as columns (view/columns.h): one function for each kind of question. contract.json says for
 * every kind what may be asked and what the answer holds.
 *
 * Kinds that are numbers of many rows are answered here. Those that are a page of words and small tables are made in
 * python/spartito/view/kinds.py, which is the one place to ask for all of them: it knows what only Python's side knows,
 * and the viewer sees no difference.
 *
 * Several threads may ask of one model at once, if sp_model_rows() was called before those ask who need rows, and if
 * those who are to be ALONE are: nothing else changes in a model that is loaded. */
#ifndef SP_VIEW_VIEW_H
#define SP_VIEW_VIEW_H

#include "base/err.h"
#include "view/columns.h"

/* What is looked at. */
struct sp_viewed {
	const struct sp_model *m;
	const struct sp_against *against; /* what it is compared with; NULL: nothing */
	struct sp_view_kept *kept;        /* view/kept.h */
};
/* The regions and paths that rows speak of: those of m, and behind them those that only the base has. */
const struct sp_model *sp_viewed_all(const struct sp_viewed *v);

/* The parameters of a question. Each kind takes some of them, see sp_view_kind.takes. */
struct sp_view_query {
	uint32_t process, location; /* indices; SP_NONE: all */
	double begin, end;          /* s since the experiment's begin; NaN: not given */
	uint32_t limit;             /* rows; 0: as many as the kind gives without */
	uint32_t pixels;            /* columns of the picture; 0: not given */
	uint32_t levels;            /* depths of calls; 0: not given */
	const char *rows;           /* "first-last" of the locations selected; NULL: all */
	uint32_t region;            /* index; SP_NONE: all */
	uint32_t regions;           /* told apart; 0: as many as the kind does without */
	const char *over;           /* of balance (NULL: auto), of metrics (NULL: each location) */
	const char *name;           /* of a counter or metric; NULL: all */
	const char *metric;         /* the name of one; NULL: none */
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
	SP_VIEW_NEEDS_ROWS = 1,     /* of the model */
	SP_VIEW_NEEDS_SELECTED = 2, /* the same where a process or location is selected */
	SP_VIEW_NEEDS_ALONE = 4     /* reads traces as a writer does, which may add problems to the model */
};

/* Fills out; 0, or -1 with e set. */
typedef int sp_view_answerer(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                             struct sp_err *e);

struct sp_view_kind {
	const char *name;
	unsigned takes; /* of enum sp_view_parameter */
	unsigned needs; /* of enum sp_view_need */
	sp_view_answerer *answer;
};

void sp_view_query_init(struct sp_view_query *q);
const struct sp_view_kind *sp_view_kind_find(const char *name); /* NULL: no such kind */
/* The kind after k, the first after NULL; NULL: no more. */
const struct sp_view_kind *sp_view_kind_next(const struct sp_view_kind *k);
/* Whether sp_model_rows() has to be called first. */
bool sp_view_needs_rows(const struct sp_view_kind *k, const struct sp_view_query *q);
/* Checks the indices and the range of the query, and answers; *out is for sp_columns_free(). */
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
