/* SPDX-License-Identifier: BSD-3-Clause */
/* One look at the threads of a process: the stack of each, as regions of the file, and what it does. */
#ifndef SP_SAMPLE_CONTROL_LOOK_H
#define SP_SAMPLE_CONTROL_LOOK_H

#include "sample/control/cells.h"
#include "sample/control/marks.h"
#include "sample/native/native.h"
#include "sample/control/samples.h"

struct sp_look {
	const struct sp_target *target;
	struct sp_python *python;
	struct sp_native *native;        /* NULL: no compiled frames */
	struct sp_marks marks;           /* owned; file -1: none are looked for */
	struct sp_cells cells;           /* owned; file -1: it has none */
	struct sp_python_thread *states; /* owned; of the look that was begun last, and how many, or an error */
	size_t state_room;
	int n_states;
	struct sp_python_frame *python_frames; /* owned */
	size_t python_room;
	struct sp_native_frame *native_frames; /* owned; NULL: no compiled frames */
	struct sp_mixed_frame *mixed;          /* owned */
	size_t mixed_room;
	struct sp_sampled_region *no_python, *no_stack, *no_outer, *no_file; /* in the place of what is not there */
	/* of the last sp_look_at(), innermost first */
	struct sp_sampled_frame *frames; /* owned */
	size_t n;
	enum sp_thread_state state;
	bool starting; /* no code of the program runs (yet): the interpreter is starting up */
	bool more;     /* it has more frames of Python than are read */
	bool unread;   /* its stack could not be read */
	bool helper;   /* it runs no Python code and waits: a thread of a library */
};

/* When the file has been begun. python and native stay the caller's; recorded: path of the raw file of a process that
 * records no functions, but other regions; NULL: none. -ENOMEM */
int sp_look_open(struct sp_look *l, const struct sp_target *target, struct sp_python *python, struct sp_native *native,
                 const char *recorded);
void sp_look_close(struct sp_look *l);
/* The threads that Python knows; a negative errno, which stays in n_states. */
int sp_look_begin(struct sp_look *l);
/* state: of sp_marks_thread(), or 0. */
void sp_look_at(struct sp_look *l, pid_t tid, uint64_t state);

#endif
