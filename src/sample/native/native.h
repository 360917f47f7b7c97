/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled frames of a thread of another process. A thread that is in a system call is not touched: the kernel tells
 * its stack and instruction pointer, and what else its callers need stands on its stack. One that runs is stopped for
 * the moment in which its registers and the top of its stack are copied (PTRACE_SEIZE, PTRACE_INTERRUPT), where that is
 * allowed; its callers are found afterwards, in the copy. The stop changes nothing for the program but the time: what
 * the kernel would make of the system call that it is in (EINTR, less written than asked) is set right. x86-64 only. */
#ifndef SP_SAMPLE_NATIVE_NATIVE_H
#define SP_SAMPLE_NATIVE_NATIVE_H

#include "sample/python/python.h"

/* A function of an object file; one for each that was seen, kept until sp_native_close(). */
struct sp_native_function {
	const char *object; /* path of the object file as the process sees it; "[vdso]" and the like */
	const char *build;  /* as META object of format/FORMAT.md */
	const char *name;   /* symbol; NULL: none known, see address */
	uint64_t address;   /* of its begin in the object file */
	bool evaluator;     /* it runs Python frames: is folded into them */
	bool interpreter;   /* belongs to the interpreter itself */
	bool gil;           /* waits for the interpreter's lock, or is what asks for it */
	bool begin; /* runs below everything: of the C library's start of a program or thread, or `main` of Python */
	void *user; /* the caller's */
};

struct sp_native_frame {
	struct sp_native_function *function; /* NULL: code that is in no object file */
	uint64_t pc;                         /* in the object file, within the call that it waits for */
};

struct sp_native; /* the object files and unwind tables of one process */

/* 0, or -ENOTSUP with a sentence in why[n]. stop: whether running threads may be stopped for their registers. t stays
 * the caller's and must outlive the result. All functions are called by one thread: ptrace(2) knows tracers, not
 * processes. They block SIGCHLD in it, by which the kernel tells that a thread has stopped, until sp_native_close(),
 * before that thread ends. */
int sp_native_open(struct sp_native **out, const struct sp_target *t, bool stop, char *why, size_t n);
void sp_native_close(struct sp_native *s);

/* A look at one thread: what is read of it between begin and end (sp_python_stack()) is of the same moment as the
 * native frames, which sp_native_stack() finds after the end.
 *
 * begin: 0; -EBUSY: it runs and may not be stopped; -EPERM, -ESRCH, … There is no end without a begin that returned 0.
 * end: 0; -EAGAIN: it has gone on meanwhile, nothing that was read need fit together. */
int sp_native_begin(struct sp_native *s, pid_t thread, const struct sp_thread_times *times);
int sp_native_end(struct sp_native *s);
/* A thread that did not stop in time, or is in a call that goes on, stops later, and stands until it is asked for here:
 * to be called every millisecond while it says true. false: no thread is in our hands. */
bool sp_native_settle(struct sp_native *s);
/* The native stack of the last look, innermost first: fills out[room], returns how many frames that are, at most room.
 * complete: false where the outermost of them is not the thread's begin. */
size_t sp_native_stack(struct sp_native *s, struct sp_native_frame *out, size_t room, bool *complete);

/* What was seen and done so far. */
struct sp_native_counts {
	uint64_t stops;      /* threads stopped */
	uint64_t stopped;    /* ns that they stood, together */
	uint64_t repeated;   /* system calls begun anew, which the stop would have made fail */
	uint64_t continued;  /* and such that went on, of which the stop would have made less */
	uint64_t incomplete; /* stacks whose begin was not reached */
	uint64_t late;       /* stops that came, or ends of threads, when nobody waited for them any more */
	uint64_t changed;    /* looks in which the thread went on meanwhile */
};
const struct sp_native_counts *sp_native_counts(const struct sp_native *s);

/* One stack of both, innermost first: what C code Python's functions run stands above them, and the interpreter's own
 * functions are folded into the Python function that they run; what is below the thread's first Python function, down
 * to its begin, is left out as far as it is the interpreter's or the C library's. So nothing is left of a thread in
 * which the interpreter starts or ends. */
struct sp_mixed_frame {
	const struct sp_python_frame *python; /* NULL: a compiled one */
	const struct sp_native_frame *native; /* NULL: a Python one */
};
/* interpreter: its own functions stay visible. Returns how many of out[room] were used. */
size_t sp_native_mix(const struct sp_python_frame *python, size_t n_python, const struct sp_native_frame *native,
                     size_t n_native, bool complete, bool interpreter, struct sp_mixed_frame *out, size_t room);

#endif
