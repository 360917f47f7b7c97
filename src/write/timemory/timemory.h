/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as timemory prints them: a row for each call path, thread and process, indented by its depth. */
#ifndef SP_WRITE_TIMEMORY_TIMEMORY_H
#define SP_WRITE_TIMEMORY_TIMEMORY_H

#include "base/arena.h"
#include "base/intern.h"
#include "model/model.h"
#include "write/common/writer.h"

struct sp_tm_unit {
	const char *name; /* NULL ends the list */
	double ns;        /* in one of it */
};
extern const struct sp_tm_unit sp_tm_units[];
const struct sp_tm_unit *sp_tm_unit_find(const char *name); /* NULL: there is none */

/* Depth 0 is called by nobody. Cells that are wider than max_width characters are cut. */
struct sp_tm_options {
	uint32_t process; /* only this one; SP_NONE: all */
	bool collapse_threads, collapse_processes;
	bool flat;          /* all at depth 0, calls of a name summed up */
	bool timeline;      /* a row for each call, from the trace */
	bool scientific;    /* numbers as 1.5e+00 */
	bool qualified;     /* functions by their qualified names, not by the last part */
	uint32_t max_depth; /* deeper rows are left out; SP_NONE: none */
	uint32_t max_width; /* 0: no limit */
	uint32_t precision; /* digits behind the point, at most SP_TM_PRECISION */
	const struct sp_tm_unit *unit;
};
enum { SP_TM_PRECISION = 18 };
void sp_tm_options_init(struct sp_tm_options *o);

enum sp_tm_metric { SP_TM_TRIP_COUNT, SP_TM_WALL_CLOCK, SP_TM_METRICS };
extern const char *const sp_tm_metric_names[SP_TM_METRICS];

/* ---- rows.c: what all tables are made of ---- */

struct sp_tm_row {
	uint32_t label;       /* in sp_tm.labels */
	uint32_t depth;       /* of a group's root, whose row is not shown: SP_NONE */
	uint32_t parent;      /* SP_NONE: the root of a group */
	uint32_t first, last; /* children; SP_NONE: there are none */
	uint32_t next;        /* sibling; SP_NONE: it is the last */
	uint64_t laps;        /* calls and resumptions; samples, where calls were not counted */
	double sum, each;     /* ns: all time, that of the laps alone */
	double min, max;      /* ns, of a lap */
	double sqr;           /* ns^2 */
	double below;         /* ns: of the children shown */
	uint64_t hash, rolling;
};

/* The threads or processes that a table keeps apart. */
struct sp_tm_group {
	uint32_t process, thread; /* the numbers shown; 0 where they are collapsed */
	uint32_t root;
};

struct sp_tm {
	const struct sp_model *m;
	const struct sp_tm_options *o;
	struct sp_arena arena;
	struct sp_intern labels;
	struct sp_tm_row *rows; /* owned */
	size_t n_rows, room;
	struct sp_tm_group *groups; /* owned; by process, then thread */
	size_t n_groups;
	bool show_process, show_thread;
	bool sampled; /* some laps are samples */
	int process_digits, thread_digits;
};

/* To be called when sp_model_rows() was. */
int sp_tm_open(struct sp_tm *t, const struct sp_model *m, const struct sp_tm_options *o, struct sp_err *e);
void sp_tm_close(struct sp_tm *t);
/* The row that follows in the order of printing, after the root of a group; SP_NONE: the group is done. */
uint32_t sp_tm_next(const struct sp_tm *t, uint32_t row);

/* ---- events.c ---- */

/* A row for each call that the trace of a location holds, below root. */
int sp_tm_add_events(struct sp_tm *t, uint32_t location, uint32_t root, struct sp_err *e);
uint32_t sp_tm_label(struct sp_tm *t, uint32_t region);               /* SP_NONE without memory */
uint32_t sp_tm_add(struct sp_tm *t, uint32_t parent, uint32_t label); /* the same */

/* ---- timemory.c ---- */

/* The table, or its JSON, for free(); *n: its bytes. NULL with e set. To be called when sp_model_rows() was. */
char *sp_tm_text(const struct sp_model *m, const struct sp_tm_options *o, enum sp_tm_metric metric, bool json,
                 size_t *n, struct sp_err *e);

#endif
