/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile as TAU has it, which both of its formats are written from.
 *
 * TAU knows functions by their name alone, and has two rows for what we have as one: a flat one for the function, and
 * one for the call path, whose name is that of all functions in it: ".TAU application => main => step". A function that
 * got values of parameters has a flat row for each of them as well. All these rows are slots here: functions first,
 * then call paths. */
#ifndef SP_WRITE_TAU_TAU_H
#define SP_WRITE_TAU_TAU_H

#include "base/arena.h"
#include "model/model.h"
#include "model/str.h"
#include "write/common/out.h"

/* Bytes of a name in modified UTF-8; .ppk has two bytes for its length. */
enum { SP_TAU_NAME = 64000 };
#define SP_TAU_ARROW " => "

enum sp_tau_group {
	SP_TAU_DEFAULT,
	SP_TAU_PYTHON,
	SP_TAU_USER,
	SP_TAU_IO,
	SP_TAU_MPI,
	SP_TAU_PARAM,
	SP_TAU_CALLPATH,
	SP_TAU_GROUPS
};
extern const char *const sp_tau_groups[SP_TAU_GROUPS];

struct sp_tau_function {
	struct sp_str name; /* UTF-8 of one line, without quotes and arrows */
	uint32_t bytes;     /* in modified UTF-8 */
	uint8_t group;      /* enum sp_tau_group */
	bool parameter;     /* the calls of a function with one value of a parameter */
};

struct sp_tau_callpath {
	uint32_t above;    /* number of the call path; 0: the program */
	uint32_t function; /* the last one */
};

struct sp_tau {
	const struct sp_model *m;
	struct sp_pick k;
	struct sp_arena arena;
	struct sp_tau_function *functions; /* 0: the program; SP_TAU_DEEPER: what is too deep to be named */
	uint32_t n_functions;
	struct sp_tau_callpath *callpaths; /* 0: the program, which has no row */
	uint32_t n_callpaths;
	uint32_t *function, *labelled, *callpath; /* of each path of the model; labelled: with its parameters */
	uint8_t *outermost; /* of each path: SP_TAU_FUNCTION, SP_TAU_LABELLED: no caller is the same */
	uint32_t *node;     /* of each process: its rank, or a number behind all ranks */
	uint32_t n_nodes;
	uint32_t *metrics;  /* of each column but TIME: the model's metric; one that nothing was counted of has none */
	uint32_t n_columns; /* TIME and the metrics */
	char *name;         /* room of sp_tau_slot_name() */
};
enum { SP_TAU_FUNCTION = 1, SP_TAU_LABELLED = 2 };
enum { SP_TAU_DEEPER = 1 }; /* a function */

/* 0, or -1 with e set; sp_tau_close() either way. */
int sp_tau_open(struct sp_tau *t, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e);
void sp_tau_close(struct sp_tau *t);

/* A text that others than us made, fit for both formats: one line of UTF-8 of at most SP_TAU_NAME bytes, without
 * quotes. p NULL: no memory. */
struct sp_str sp_tau_text(struct sp_arena *arena, struct sp_str s);
size_t sp_tau_bytes(struct sp_str s); /* in modified UTF-8; s is UTF-8 */

static inline uint32_t sp_tau_slots(const struct sp_tau *t)
{
	return t->n_functions + t->n_callpaths;
}
/* The function that a slot is about: a call path's last one. */
uint32_t sp_tau_slot_function(const struct sp_tau *t, uint32_t slot);
struct sp_str sp_tau_slot_name(struct sp_tau *t, uint32_t slot); /* until the next call */

/* Column 0 is TIME. */
struct sp_str sp_tau_column(const struct sp_tau *t, uint32_t column);

/* ---- the numbers of one thread ---- */

struct sp_tau_pair {
	double excl, incl; /* microseconds; metrics as they were counted */
};

struct sp_tau_values {
	double *calls, *subrs;     /* owned; of each slot */
	struct sp_tau_pair *pairs; /* owned; n_columns for each slot */
	uint32_t *slots;           /* owned; those that have a row, ascending */
	size_t n;
	/* while a column is added up */
	bool *used;
	uint32_t *row_of; /* of each path: row + 1 */
	double *below;    /* of each row: what its callees have */
	struct sp_tau_pair *of_row;
};
int sp_tau_values_open(struct sp_tau_values *v, const struct sp_tau *t, struct sp_err *e);
void sp_tau_values_close(struct sp_tau_values *v);
void sp_tau_values_read(struct sp_tau_values *v, const struct sp_tau *t, uint32_t location);

/* ---- its user events ---- */

struct sp_tau_event {
	uint64_t n;
	double min, max, sum, sumsq;
};

struct sp_tau_events {
	struct sp_str *names; /* in the arena of sp_tau */
	uint32_t n_names;
	uint32_t *number;            /* owned; of each counter, then of what we count: its name */
	struct sp_tau_event *events; /* owned; of each name */
	uint32_t *seen;              /* owned; those that happened in this thread */
	uint32_t n;
	uint32_t io_handle, io_mode; /* the operation on files that began last */
};
int sp_tau_events_open(struct sp_tau_events *v, struct sp_tau *t, struct sp_err *e);
void sp_tau_events_close(struct sp_tau_events *v);
/* Reads the thread's trace; without one there are no events. */
int sp_tau_events_read(struct sp_tau_events *v, const struct sp_tau *t, uint32_t location, struct sp_err *e);

/* ---- what TAU says about a thread ---- */

enum { SP_TAU_METADATA = 24, SP_TAU_NUMBER = 40 };
struct sp_tau_metadata {
	struct {
		const char *name;
		struct sp_str value;
	} rows[SP_TAU_METADATA];
	size_t n;
	char numbers[8][SP_TAU_NUMBER];
	size_t n_numbers;
};
void sp_tau_metadata(struct sp_tau_metadata *d, const struct sp_tau *t, uint32_t location);

#endif
