/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled frames of a thread of another process. A thread in a system call is not touched: the kernel reports its
 * stack pointer and instruction pointer, and everything else that its callers need is on its stack. A running thread is
 * stopped while its registers and the top of its stack are copied (PTRACE_SEIZE, PTRACE_INTERRUPT), if that is allowed;
 * its callers are found afterwards in the copy. The stop costs the program time but changes nothing else: its effects
 * on the current system call (EINTR, a short write) are undone. x86-64 only. */
#ifndef SP_SAMPLE_NATIVE_NATIVE_H
#define SP_SAMPLE_NATIVE_NATIVE_H

#include "sample/python/python.h"

/* A function of an object file; one for each function that was found, valid until sp_native_close(). */
struct sp_native_function {
	const char *object; /* path of the object file in the process's root; "[vdso]" and the like */
	const char *build;  /* build id, as in META object of format/FORMAT.md */
	const char *name;   /* symbol; NULL: unknown, see address */
	uint64_t address;   /* start address in the object file */
	bool evaluator;     /* it runs Python frames: it is folded into them */
	bool interpreter;   /* it belongs to the interpreter */
	bool gil;           /* it waits for the interpreter's lock, or calls a function that does */
	bool begin;         /* outermost function: the C library's start of a program or thread, or `main` of Python */
	void *user;         /* for use by the caller */
};

struct sp_native_frame {
	struct sp_native_function *function; /* NULL: code without an object file */
	uint64_t pc;                         /* address in the object file, within the call that it waits for */
};

struct sp_native; /* the object files and unwind tables of one process */

/* Opens *out. Returns 0, or -ENOTSUP with a sentence in why[n]. stop: running threads may be stopped to read their
 * registers. The caller keeps ownership of t, which must outlive the result. One thread must call all functions,
 * because ptrace(2) identifies tracers by thread. They block SIGCHLD in it, by which the kernel reports that a thread
 * has stopped, until sp_native_close(), which must be called before that thread ends. */
int sp_native_open(struct sp_native **out, const struct sp_target *t, bool stop, char *why, size_t n);
void sp_native_close(struct sp_native *s);

/* Sampling one thread: everything that is read of it between begin and end (sp_python_stack()) is one consistent
 * snapshot together with the native frames, which sp_native_stack() finds after the end.
 *
 * begin: returns 0; -EBUSY: it runs and may not be stopped; -EPERM, -ESRCH, … Call end only if begin returned 0. end:
 * returns 0; -EAGAIN: the thread has continued meanwhile, and the data may be inconsistent. */
int sp_native_begin(struct sp_native *s, pid_t thread, const struct sp_thread_times *times);
int sp_native_end(struct sp_native *s);
/* A thread that did not stop in time, or whose system call has to be continued, stops later and stays stopped until
 * this function releases it. Call it every millisecond as long as it returns true. Returns false if no thread is
 * held. */
bool sp_native_settle(struct sp_native *s);
/* The native stack of the last sample, innermost first. Fills out[room] and returns the number of frames, at most room.
 * complete: false if the outermost frame is not the begin of the thread. */
size_t sp_native_stack(struct sp_native *s, struct sp_native_frame *out, size_t capacity, bool *complete);

/* Counts since the opening. */
struct sp_native_counts {
	uint64_t stops;      /* threads stopped */
	uint64_t stopped;    /* total ns during which they were stopped */
	uint64_t repeated;   /* system calls that were restarted, because the stop would have made them fail */
	uint64_t continued;  /* system calls that were continued, because the stop would have shortened them */
	uint64_t incomplete; /* stacks whose begin was not reached */
	uint64_t late;       /* threads that stopped or ended after the sampler had stopped waiting for them */
	uint64_t changed;    /* samples during which the thread continued */
};
const struct sp_native_counts *sp_native_counts(const struct sp_native *s);

/* One frame of the combined stack, innermost first. C code that Python functions run is above them. The interpreter's
 * own functions are folded into the Python function that they run. Below the thread's first Python function, functions
 * of the interpreter and the C library are left out; so nothing is left of a thread in which the interpreter starts or
 * ends. */
struct sp_mixed_frame {
	const struct sp_python_frame *python; /* NULL: a compiled frame */
	const struct sp_native_frame *native; /* NULL: a Python frame */
};
/* Combines both stacks in out[room]. interpreter: keep the interpreter's own functions. Returns the number of
 * frames. */
size_t sp_native_mix(const struct sp_python_frame *python, size_t n_python, const struct sp_native_frame *native,
                     size_t n_native, bool complete, bool interpreter, struct sp_mixed_frame *out, size_t capacity);

#endif
