/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile in TAU's structure, from which both of its formats are written.
 *
 * TAU identifies functions by their names, and has two rows for each: a flat row for the function, and one for each
 * call path, whose name contains all its functions: ".TAU application => main => step". A function with values of
 * parameters also has a flat row for each value. All these rows are slots here: functions first, then call paths. */
#ifndef SP_WRITE_TAU_TAU_H
#define SP_WRITE_TAU_TAU_H

#include "base/arena.h"
#include "model/model.h"
#include "model/str.h"
#include "write/common/out.h"

/* Maximum bytes of a name in modified UTF-8; .ppk stores the length in two bytes. */
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
	struct sp_str name; /* one line of UTF-8, without quotes and arrows */
	uint32_t bytes;     /* length in modified UTF-8 */
	uint8_t group;      /* enum sp_tau_group */
	bool parameter;     /* calls of a function with one value of a parameter */
};

struct sp_tau_callpath {
	uint32_t above;    /* number of the caller's call path; 0: the program */
	uint32_t function; /* index of the last function */
};

struct sp_tau {
	const struct sp_model *m;
	struct sp_pick k;
	struct sp_arena arena;
	struct sp_tau_function *functions; /* 0: the program; SP_TAU_DEEPER: calls that are too deep for a name */
	uint32_t n_functions;
	struct sp_tau_callpath *callpaths; /* 0: the program, which has no row */
	uint32_t n_callpaths;
	uint32_t *function, *labelled, *callpath; /* for each path of the model; labelled: with its parameters */
	/* bits for each path, SP_TAU_FUNCTION, SP_TAU_LABELLED: no caller has the same function */
	uint8_t *outermost;
	uint32_t *node; /* for each process: its rank, or a number after all ranks */
	uint32_t n_nodes;
	/* for each column except TIME: the model's metric; metrics without counts have no column */
	uint32_t *metrics;
	uint32_t n_columns; /* TIME and the metrics */
	char *name;         /* buffer of sp_tau_slot_name() */
};
enum { SP_TAU_FUNCTION = 1, SP_TAU_LABELLED = 2 };
enum { SP_TAU_DEEPER = 1 }; /* index of a function */

/* Returns 0, or -1 with e set; call sp_tau_close() in both cases. */
int sp_tau_open(struct sp_tau *t, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e);
void sp_tau_close(struct sp_tau *t);

/* Converts a text to one that both formats accept: one line of UTF-8 of at most SP_TAU_NAME bytes, without quotes. p
 * NULL: no memory. */
struct sp_str sp_tau_text(struct sp_arena *arena, struct sp_str s);
size_t sp_tau_bytes(struct sp_str s); /* length in modified UTF-8; s must be UTF-8 */

static inline uint32_t sp_tau_slots(const struct sp_tau *t)
{
	return t->n_functions + t->n_callpaths;
}
/* The function of a slot; for a call path, its last one. */
uint32_t sp_tau_slot_function(const struct sp_tau *t, uint32_t slot);
struct sp_str sp_tau_slot_name(struct sp_tau *t, uint32_t slot); /* valid until the next call */

/* The name of a column; column 0 is TIME. */
struct sp_str sp_tau_column(const struct sp_tau *t, uint32_t column);

/* ---- the numbers of one thread ---- */

struct sp_tau_pair {
	double excl, incl; /* microseconds; metrics in their own unit */
};

struct sp_tau_values {
	double *calls, *subrs;     /* owned; for each slot */
	struct sp_tau_pair *pairs; /* owned; n_columns for each slot */
	uint32_t *slots;           /* owned; slots that have a row, ascending */
	size_t n;
	/* while a column is summed up */
	bool *used;
	uint32_t *row_of; /* for each path: row + 1 */
	double *below;    /* for each row: sum of its callees */
	struct sp_tau_pair *of_row;
};
int sp_tau_values_open(struct sp_tau_values *v, const struct sp_tau *t, struct sp_err *e);
void sp_tau_values_close(struct sp_tau_values *v);
void sp_tau_values_read(struct sp_tau_values *v, const struct sp_tau *t, uint32_t location);

/* ---- user events of one thread ---- */

struct sp_tau_event {
	uint64_t n;
	double min, max, sum, sumsq;
};

struct sp_tau_events {
	struct sp_str *names; /* in the arena of sp_tau */
	uint32_t n_names;
	uint32_t *number;            /* owned; for each counter, then for each built-in event: index of its name */
	struct sp_tau_event *events; /* owned; for each name */
	uint32_t *seen;              /* owned; events that occurred in this thread */
	uint32_t n;
	uint32_t io_handle, io_mode; /* the last I/O operation that began */
};
int sp_tau_events_open(struct sp_tau_events *v, struct sp_tau *t, struct sp_err *e);
void sp_tau_events_close(struct sp_tau_events *v);
/* Reads the thread's trace; without a trace there are no events. Returns 0, or -1 with e set. */
int sp_tau_events_read(struct sp_tau_events *v, const struct sp_tau *t, uint32_t location, struct sp_err *e);

/* ---- TAU's metadata of a thread ---- */

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
