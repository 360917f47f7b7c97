/* SPDX-License-Identifier: BSD-3-Clause */
/* What the viewer asks for, as columns (view/columns.h): one function for each kind of question.
 *
 * Kinds that are numbers of many rows are answered here. Those that are a page of words and small tables (facts, waits,
 * critical, tasks, lines, source, io, locks, memory, compare) are made in python/spartito/view/kinds.py, which is the
 * one place to ask for all of them: it knows what only Python's side knows, and the viewer sees no difference.
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

struct sp_view_kind {
	const char *name;
	unsigned takes; /* of enum sp_view_parameter */
	unsigned needs; /* of enum sp_view_need */
	/* Fills out; 0, or -1 with e set. */
	int (*answer)(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
	              struct sp_err *e);
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

/* ---- the kinds ---- */

/* meta.names[], qualnames[], modules[], files[], kinds[]; compared: renamed[], renamed_modules[] of {before, after,
 * regions (how many)}, before being the base's, and a column of_base u32: of each region of the base, which one it is
 * here. Columns module, file u32 (indices in these), line u32 (0: not known), kind u8. Row i is region i of all other
 * kinds; row 0 is the root. */
int sp_view_regions(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The call paths, a caller before its callees, those of one caller by inclusive time. Columns parent u32 (row), region
 * u32, visits, incl, excl f64, hidden u32, path u32 (of the model). No more than limit paths (default 200,000), those
 * with the most inclusive time: what is left out below a caller is one row behind its callees, region and path none,
 * hidden: how many paths that is, visits: calls from the caller itself, incl = excl: their time. With them the excl of
 * all rows is the total. resumed f64 where functions were resumed; label u32 where calls have values of parameters:
 * index in meta.labels. metric: "metric:NAME:incl" and "metric:NAME:excl" f64, as of flat, and its inclusive
 * numbers decide on order and limit instead of the time. meta: total (s), paths (all
 * there are), shown, clipped (begin or end was given: times are those within the range, visits, min, max and std those
 * of the calls that ended in it, at their full length).
 *
 * Compared with a base: also base_visits, base_incl, base_excl f64, 0 where it has no such path; paths that only the
 * base has are rows, too; the larger of both inclusive times decides on order and limit. meta: base_total, or
 * base_none, a sentence why there are no such columns. */
int sp_view_tree(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* One row for each region that ran (with a limit: the first ones), by exclusive time: region u32, visits, incl
 * (recursion counts once), excl, mean, min, max, std f64; resumed f64 where functions were resumed; for each metric
 * "metric:NAME:incl" and "metric:NAME:excl" f64, in the unit that facts tells. meta: total (s), functions (how many
 * ran), within a range of time unranged[]: metrics that have no columns there, as their values are not in the trace.
 * What others grew between two readings of which one is outside has the part that the time inside has in theirs.
 * Compared with a base: as above; the larger of both exclusive times decides. */
int sp_view_flat(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The calls of one location that touch [begin, end] (default: the whole run), by depth and begin: begin, end f64 (s),
 * depth u32 (0: called by nobody), region, calls u32, busy f32. A call that is at least a pixel wide (default 1000
 * pixels, at most 16384) is a row of its own, with its own begin and end. Those that are narrower share one of at most
 * a pixel: calls is how many begin or end there, region the one with most time among them, busy the share of the row's
 * time that they fill. Depths from `levels` on (default 256) are not told. meta: depth (that of the deepest call, plus
 * 1; 0: there is none), exact (each row is one call, and none is left out), begin, end (s). */
int sp_view_timeline(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                     struct sp_err *e);

/* All locations that are selected, of these the rows first to last ("rows"), each divided into `pixels` (default 1000)
 * equal parts of [begin, end]: location, bucket, region u32, share f32, events u32. For each part in which something
 * ran or happened, by location and bucket: the region that was the innermost one for the longest time (none: no call
 * was open), the share of the part's time in which it was, and the events recorded in the part. Of parts with many
 * events, both as the summaries know them: the share is at least that. limit: of more locations several stand together,
 * in so many groups of neighbours: location is the first one of it, region the one that ran longest in all of them, of
 * those that did in each, and share is of the time of all. The k-th of n locations is in group k * groups / n. meta:
 * rows (locations selected), groups, pixels, begin, end (s). */
int sp_view_overview(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                     struct sp_err *e);

/* What samples have found in the locations that are selected (of these the rows first to last), each divided into
 * `pixels` (default 1000) equal parts of [begin, end]: location, bucket u32, running, gil, syscall, idle f32 (share of
 * the part's time in each state), path u32 (of the model: the one found longest, of many samples as their summaries
 * know it; none: no function), looks u32 (samples that began there). By location and bucket; parts without samples have
 * no row. A sample lasts until the next one. meta: rows (locations selected), pixels, begin, end (s). */
int sp_view_states(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* When tasks ran: rows task u32 (index, the id of kind tasks), begin, end f64 (s), steps u32, busy f32, by task (of the
 * tasks selected those of "rows", at first 1000), thread and begin. A step that is at least a pixel wide is a row of
 * its own, others share one, as of timeline. meta: tasks (selected), begin, end (s). */
int sp_view_steps(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The markers in [begin, end], by time: location u32, time f64 (s); meta: texts[] (one for each row), hidden (markers
 * beyond the first limit ones, default 10,000). */
int sp_view_markers(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The values that the program gave to counters, by location and counter: location, counter u32 (index in meta.names),
 * at f64 (s), min, max, mean f64, values u32. The values within each of `pixels` equal parts of [begin, end] are one
 * row, whose `at` is the first one's moment; the first row of each is the last value before begin. name: of one
 * counter. */
int sp_view_counters(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                     struct sp_err *e);

/* The metrics that are read at each enter and leave, in [begin, end], by location (those of the rows first to last that
 * are selected) and metric: location, metric u32 (index in the metrics of facts), at f64 (s), value f64 (since the
 * first reading in the location; of a level its height), low, high, mean f64 (growth per second since the row before;
 * NaN in a first row). Of the readings within each of `pixels` equal parts the last one is a row; the first row is the
 * last reading before begin, or the first of all, the last row the first one behind end. low and high are those of the
 * single steps between readings where a pixel is smaller than 512 events, else of the steps of that many events. name:
 * of one metric. over "sum": one row for each of the edges of the parts, location none, with the sum over all
 * locations, between readings in proportion to the time; of a level the largest of all. meta: rows (locations
 * selected), pixels, begin, end (s). */
int sp_view_metrics(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The messages of MPI that are under way within [begin, end], by the moment of sending: from, to u32 (locations), sent,
 * received f64 (s; received NaN: no receive was found, and `to` is the first location of its process), bytes f64, tag
 * i32, comm u32 (index in meta.comms). Of more than limit (default 20,000) the longest. meta: hidden (those left out),
 * comms[]. Messages to processes that were not measured are in the matrix only. */
int sp_view_messages(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out,
                     struct sp_err *e);

/* How the time of regions is spread: sparse rows unit u32 (index in meta.units), region u32, visits, incl, excl f64, by
 * unit, for each unit and region that ran there. over: "ranks", "processes", "threads" or "auto", as Model.balance().
 * Told apart are the `regions` with the most exclusive time in all (default 500, fewer where units are many); the rest
 * of a unit is one row, region none, incl = excl. region: that one alone. process, location: units are its threads, or
 * that one. begin, end: what was done in that range, as of tree and flat. meta: over, units[] (indices of processes, or
 * over threads of locations), regions (told apart), total (s). */
int sp_view_balance(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

/* The communication matrix, of messages that a process or location selected sent or received, and that were begun to
 * be sent in the range: from, to u32 (processes; none: not measured), messages, bytes, received, time f64 (s, of
 * the received). meta: messages, bytes, unmatched_sends, unmatched_receives, unmeasured, cancelled, early, early_worst.
 */
int sp_view_matrix(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e);

#endif
