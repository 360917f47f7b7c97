/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes one sample of the threads of a process: the stack of each thread, as regions of the file, and its state. */
#ifndef SP_SAMPLE_CONTROL_SAMPLE_READER_H
#define SP_SAMPLE_CONTROL_SAMPLE_READER_H

#include "sample/control/cells.h"
#include "sample/control/marks.h"
#include "sample/native/native.h"
#include "sample/control/samples.h"

struct sp_sample_reader {
	const struct sp_target *target;
	struct sp_python *python;
	struct sp_native *native;        /* NULL: no compiled frames */
	struct sp_marks marks;           /* owned; file -1: marks are not read */
	struct sp_cells cells;           /* owned; file -1: no cells */
	struct sp_python_thread *states; /* owned; the threads of the current sample, and their number or an error */
	size_t state_capacity;
	int n_states;
	struct sp_python_frame *python_frames; /* owned */
	size_t python_capacity;
	struct sp_native_frame *native_frames; /* owned; NULL: no compiled frames */
	struct sp_mixed_frame *mixed;          /* owned */
	size_t mixed_capacity;
	/* stand-ins for stacks and files that are missing */
	struct sp_sampled_region *no_python, *no_stack, *no_outer, *no_file;
	/* the result of the last sp_sample_thread(), innermost first */
	struct sp_sampled_frame *frames; /* owned */
	size_t n;
	enum sp_thread_state state;
	bool starting; /* no code of the program runs yet: the interpreter is starting */
	bool more;     /* the stack has more Python frames than are read */
	bool unread;   /* the stack could not be read */
	bool helper;   /* the thread runs no Python code and waits: a thread of a library */
};

/* Opens *l after the file was begun. The caller keeps ownership of python and native. recorded: path of the raw file of
 * a process that records regions other than functions; NULL: no such file. Returns 0 or -ENOMEM. */
int sp_sample_reader_open(struct sp_sample_reader *l, const struct sp_target *target, struct sp_python *python,
                          struct sp_native *native, const char *recorded);
void sp_sample_reader_close(struct sp_sample_reader *l);
/* Begins a sample: reads the list of Python's threads. Returns 0 or a negative errno, which is also stored in
 * n_states. */
int sp_sample_begin(struct sp_sample_reader *l);
/* Samples one thread. state: from sp_marks_thread(), or 0. */
void sp_sample_thread(struct sp_sample_reader *l, pid_t tid, uint64_t state);

#endif
