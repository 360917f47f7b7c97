/* SPDX-License-Identifier: BSD-3-Clause */
/* What the GIL keeps apart otherwise: in a build of Python without it (Py_GIL_DISABLED) a lock for each kind of work.
 * In other builds nothing remains of the functions here. No path of an event takes such a lock. */
#ifndef SP_HOOK_SERIAL_H
#define SP_HOOK_SERIAL_H

#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED

/* A lock that its owner may take again. All 0: free. */
struct sp_serial {
	PyMutex mutex;
	unsigned long owner; /* the thread that holds it; 0: none */
	unsigned depth;      /* how often the owner has taken it */
};
extern struct sp_serial sp_serial_control; /* start, pause, stop and changes of a measurement */
extern struct sp_serial sp_serial_waits;   /* what is known of locks and other objects */
extern struct sp_serial sp_serial_names;   /* decisions about functions, and what they depend on; taken last */

/* Takes the lock. The interpreter may stop all threads while this one waits, and take away its critical sections: call
 * this only where Python code could run. */
void sp_serial_begin(struct sp_serial *s);
/* The same without waiting, so that it works in allocators, too. Returns whether the lock was taken. */
bool sp_serial_try(struct sp_serial *s);
void sp_serial_end(struct sp_serial *s);
/* In a child of fork, which has no other threads: all locks are free. */
void sp_serial_forked(void);

/* Whether the GIL is on nevertheless: an extension module that needs it was imported, or PYTHON_GIL says so. */
bool sp_gil_is_on(void);
/* All other threads of the interpreter stop where Python code could run, and continue. Between both calls no object of
 * Python may be made or released. */
void sp_world_stop(void);
void sp_world_start(void);

static inline void sp_serial_scope_end(struct sp_serial *const *s)
{
	sp_serial_end(*s);
}
/* Takes a lock until the end of the block. */
#define SP_SERIAL(name)                                                                                                \
	__attribute__((cleanup(sp_serial_scope_end))) struct sp_serial *const sp_serial_scope = &(name);               \
	sp_serial_begin(sp_serial_scope)
#define SP_SERIAL_TRY(name) sp_serial_try(&(name))
#define SP_SERIAL_END(name) sp_serial_end(&(name))

#else

static inline void sp_serial_forked(void)
{
}
static inline void sp_world_stop(void)
{
}
static inline void sp_world_start(void)
{
}
#define SP_SERIAL(name)     _Static_assert(true, "")
#define SP_SERIAL_TRY(name) true
#define SP_SERIAL_END(name) (void)0

#endif

#endif
