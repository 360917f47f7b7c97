/* SPDX-License-Identifier: BSD-3-Clause */
/* Python's stacks in another process, CPython 3.9 to 3.14, by the offsets of its structs: one row of a table for each
 * version, from 3.13 on what the interpreter says of itself (_Py_DebugOffsets). The interpreter may change everything
 * while it is read: what does not fit together is refused as a whole (-EAGAIN), never guessed. */
#ifndef SP_SAMPLE_PYTHON_PYTHON_H
#define SP_SAMPLE_PYTHON_PYTHON_H

#include "sample/target.h"

/* What is known of a code object; one for each that was seen, kept until sp_python_close(). Texts are UTF-8,
 * NUL-terminated, owned by the struct; never NULL. */
struct sp_python_code {
	uint64_t address;
	const char *module, *qualname, *file; /* as hook/naming/names.c has them, so that both name a function alike */
	uint32_t first_line;
	bool generator, coroutine;
	void *user; /* the caller's: the region, for example */
};

struct sp_python_frame {
	struct sp_python_code *code;
	uint32_t line;  /* that runs; 0: not known */
	uint64_t frame; /* address of the interpreter's frame: tells one activation from another */
	bool entry;     /* the outermost frame of one call of the evaluator on the C stack: native.h folds by it */
};

struct sp_python_thread {
	uint64_t state; /* address of the PyThreadState */
	pid_t tid;      /* 0: not known */
	bool holds_gil;
};

struct sp_python; /* the interpreters of one process */

/* Finds Python in t. -ENOENT: there is none (yet: it may be in its start-up), -ENOTSUP: a version not known, other
 * negative errno; with a sentence in why[n]. t stays the caller's and must outlive the result. */
int sp_python_open(struct sp_python **out, const struct sp_target *t, char *why, size_t n);
void sp_python_close(struct sp_python *p);
unsigned sp_python_version(const struct sp_python *p); /* 0x030b for 3.11 */
/* Is the address in the state of the main interpreter, which has its lock, or in the lock of another interpreter? Who
 * waits there for a futex waits for such a lock. */
bool sp_python_in_lock(const struct sp_python *p, uint64_t address);

/* The threads of all its interpreters: fills out[room], returns how many there are, or a negative errno (-EAGAIN: torn;
 * -ESRCH: the interpreter has ended). */
int sp_python_threads(struct sp_python *p, struct sp_python_thread *out, size_t room);
/* The stack of a thread, innermost first: fills out[room] and returns how many frames there are (may be more than
 * room: the outer ones are missing), 0: it runs no Python code; -EAGAIN: torn, -ESRCH. */
int sp_python_stack(struct sp_python *p, const struct sp_python_thread *thread, struct sp_python_frame *out,
                    size_t room);
/* The same of a thread of the system, of all states that it has among threads[n], as sp_python_threads() fills them:
 * where it is in a sub-interpreter, that one's frames come first, and then those that run it. 0 for a thread that
 * Python does not know, too. */
int sp_python_stack_of(struct sp_python *p, const struct sp_python_thread *threads, size_t n, pid_t tid,
                       struct sp_python_frame *out, size_t room);

#endif
