/* SPDX-License-Identifier: BSD-3-Clause */
/* Python's stacks in another process, CPython 3.9 to 3.15. Each version has a row of struct offsets; since 3.13 the
 * interpreter provides them (_Py_DebugOffsets). The interpreter may change everything while it is read: an inconsistent
 * result is rejected as a whole (-EAGAIN), never guessed. */
#ifndef SP_SAMPLE_PYTHON_PYTHON_H
#define SP_SAMPLE_PYTHON_PYTHON_H

#include "sample/target.h"

/* A code object that was found; one entry for each, valid until sp_python_close(). Texts are UTF-8, NUL-terminated,
 * owned by the struct; never NULL. */
struct sp_python_code {
	uint64_t address;
	/* as in hook/naming/names.c, so that both give a function the same name */
	const char *module, *qualname, *file;
	uint32_t first_line;
	bool generator, coroutine;
	void *user; /* for the caller: the region, for example */
};

struct sp_python_frame {
	struct sp_python_code *code;
	uint32_t line;  /* line that is running; 0: unknown */
	uint64_t frame; /* address of the interpreter's frame: distinguishes activations of one function */
	/* the outermost frame of one call of the evaluator on the C stack; native.h folds at these frames */
	bool entry;
};

struct sp_python_thread {
	uint64_t state; /* address of the PyThreadState */
	pid_t tid;      /* 0: unknown */
	bool holds_gil;
};

struct sp_python; /* the interpreters of one process */

/* What a thread waits for in a build without the GIL. */
enum sp_python_park {
	SP_PARK_ELSE,    /* nothing of these */
	SP_PARK_OBJECT,  /* the lock of an object, such as a list that another thread changes */
	SP_PARK_STOPPED, /* another thread, which stopped all: to collect garbage, for example */
};

/* Finds Python in t. Returns 0; -ENOENT: no Python found (yet: it may be starting); -ENOTSUP: an unknown version; or
 * another negative errno; with a sentence in why[n]. The caller keeps ownership of t, which must outlive the result. */
int sp_python_open(struct sp_python **out, const struct sp_target *t, char *why, size_t n);
void sp_python_close(struct sp_python *p);
unsigned sp_python_version(const struct sp_python *p); /* 0x030b for 3.11 */
/* Whether the address is in the state of the main interpreter, which contains its lock, or in the lock of another
 * interpreter. A futex there is a wait for such a lock. */
bool sp_python_in_lock(const struct sp_python *p, uint64_t address);
/* Whether it is a build without the GIL, and whether threads wait for a GIL: in such a build only if an import or a
 * variable switched it on. */
bool sp_python_without_gil(const struct sp_python *p);
bool sp_python_has_gil(const struct sp_python *p);
/* What a thread with this PyThreadState that sleeps in a futex waits for in a build without the GIL. */
enum sp_python_park sp_python_parked(const struct sp_python *p, uint64_t state, uint64_t futex);

/* The threads of all interpreters. Fills out[room] and returns the number of threads, or a negative errno (-EAGAIN:
 * inconsistent; -ESRCH: the interpreter has ended). */
int sp_python_threads(struct sp_python *p, struct sp_python_thread *out, size_t capacity);
/* The `state` of a thread of the system in threads[n], of the newest interpreter that it is in; 0: not found. */
uint64_t sp_python_state_of(const struct sp_python_thread *threads, size_t n, pid_t tid);
/* The stack of a thread, innermost first. Fills out[room] and returns the number of frames (if it is more than room,
 * the outer ones are missing); 0: it runs no Python code; -EAGAIN: inconsistent; -ESRCH. */
int sp_python_stack(struct sp_python *p, const struct sp_python_thread *thread, struct sp_python_frame *out,
                    size_t capacity);
/* The same for a thread of the system, combining all its states in threads[n], as filled by sp_python_threads(). If it
 * is in a sub-interpreter, that one's frames come first, then those that run it. Also returns 0 for a thread that
 * Python does not know. */
int sp_python_stack_of(struct sp_python *p, const struct sp_python_thread *threads, size_t n, pid_t tid,
                       struct sp_python_frame *out, size_t capacity);

#endif
