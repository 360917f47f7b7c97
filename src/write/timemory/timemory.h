/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables in timemory's format: a row for each call path, thread and process, indented by its depth. */
#ifndef SP_WRITE_TIMEMORY_TIMEMORY_H
#define SP_WRITE_TIMEMORY_TIMEMORY_H

#include "base/arena.h"
#include "base/intern.h"
#include "model/model.h"
#include "write/common/writer.h"

struct sp_tm_unit {
	const char *name; /* NULL ends the list */
	double ns;        /* ns per unit */
};
extern const struct sp_tm_unit sp_tm_units[];
const struct sp_tm_unit *sp_tm_unit_find(const char *name); /* NULL: no such unit */

/* Options of a table. Rows at depth 0 have no caller. Cells wider than max_width characters are truncated. */
struct sp_tm_options {
	uint32_t process; /* only this process; SP_NONE: all processes */
	bool collapse_threads, collapse_processes;
	bool flat;          /* all rows at depth 0, and calls of one name summed up */
	bool timeline;      /* a row for each call in the trace */
	bool scientific;    /* numbers in the form 1.5e+00 */
	bool qualified;     /* functions by their qualified names instead of the last part */
	uint32_t max_depth; /* deeper rows are left out; SP_NONE: no limit */
	uint32_t max_width; /* 0: no limit */
	uint32_t precision; /* decimal places, at most SP_TM_PRECISION */
	const struct sp_tm_unit *unit;
};
enum { SP_TM_PRECISION = 18 };
void sp_tm_options_init(struct sp_tm_options *o);

enum sp_tm_metric { SP_TM_TRIP_COUNT, SP_TM_WALL_CLOCK, SP_TM_METRICS };
extern const char *const sp_tm_metric_names[SP_TM_METRICS];

/* ---- rows.c: the contents of all tables ---- */

struct sp_tm_row {
	uint32_t label;       /* index in sp_tm.labels */
	uint32_t depth;       /* SP_NONE for a group's root, which is not shown */
	uint32_t parent;      /* SP_NONE: the root of a group */
	uint32_t first, last; /* children; SP_NONE: no children */
	uint32_t next;        /* next sibling; SP_NONE: it is the last one */
	uint64_t laps;        /* calls and resumptions; samples if calls were not counted */
	double sum, each;     /* ns; sum: all time; each: time of the laps only */
	double min, max;      /* ns, of one lap */
	double sqr;           /* ns^2 */
	double below;         /* ns; of the shown children */
	uint64_t hash, rolling;
};

/* The threads or processes that a table distinguishes. */
struct sp_tm_group {
	uint32_t process, thread; /* numbers that are shown; 0 if combined */
	uint32_t root;
};

struct sp_tm {
	const struct sp_model *m;
	const struct sp_tm_options *o;
	struct sp_arena arena;
	struct sp_intern labels;
	struct sp_tm_row *rows; /* owned */
	size_t n_rows, capacity;
	struct sp_tm_group *groups; /* owned; sorted by process, then thread */
	size_t n_groups;
	bool show_process, show_thread;
	bool sampled; /* some laps are samples */
	int process_digits, thread_digits;
};

/* Call after sp_model_rows(). Returns 0, or -1 with e set. */
int sp_tm_open(struct sp_tm *t, const struct sp_model *m, const struct sp_tm_options *o, struct sp_err *e);
void sp_tm_close(struct sp_tm *t);
/* The next row in printing order, starting after the root of a group; SP_NONE: end of the group. */
uint32_t sp_tm_next(const struct sp_tm *t, uint32_t row);

/* ---- events.c ---- */

/* Adds a row below root for each call in the trace of a location. Returns 0, or -1 with e set. */
int sp_tm_add_events(struct sp_tm *t, uint32_t location, uint32_t root, struct sp_err *e);
uint32_t sp_tm_label(struct sp_tm *t, uint32_t region);               /* SP_NONE: no memory */
uint32_t sp_tm_add(struct sp_tm *t, uint32_t parent, uint32_t label); /* SP_NONE: no memory */

/* ---- timemory.c ---- */

/* Makes the table or its JSON, to be freed with free(); *n: number of bytes. Returns NULL with e set on an error. Call
 * after sp_model_rows(). */
char *sp_tm_text(const struct sp_model *m, const struct sp_tm_options *o, enum sp_tm_metric metric, bool json,
                 size_t *n, struct sp_err *e);

#endif
