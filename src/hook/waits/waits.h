/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for Python's objects. waits.c: locks; known.c: lock holders; calls.c: functions that wait; site.c: call
 * sites, and the program's object that is waited for. Everything needs the GIL and runs in the interpreter in which
 * the measurement began. */
#ifndef SP_HOOK_WAITS_WAITS_H
#define SP_HOOK_WAITS_WAITS_H

#include "hook/chain.h"
#include "hook/frames.h"
#include "hook/task.h"
#include "record/thread.h"
#include "record/waits/waits.h"

/* Called after the start of a measurement, and at its end. */
void sp_waits_start(void);
void sp_waits_stop(void);

extern const PyInterpreterState
    *sp_waits_home; /* the interpreter in which waits are recorded; NULL: nothing is installed */
/* Whether the calling thread runs in that interpreter. */
static inline bool sp_waits_at_home(void)
{
	const PyThreadState *ts = sp_thread_state();
	return ts && ts->interp == sp_waits_home;
}
/* Whether o is a Lock or an RLock. */
bool sp_waits_is_lock(PyObject *o);
/* Watches the semaphores of multiprocessing, a type: where they are made, and their end. */
void sp_waits_take_semaphores(PyTypeObject *type);

/* known.c. t acquired an object; an object was released. */
void sp_known_acquired(struct sp_thread *t, const void *o);
void sp_known_released(const void *o);
/* An object was made by the calling thread; it was freed. */
void sp_known_made(const void *o);
void sp_known_forget(const void *o);
/* Returns the object's record, NULL if no thread has waited for it yet. *holder: the location of its holder,
 * SP_RAW_NONE if it is free or unknown; *node: the call path at which the holder acquired it. */
struct sp_raw_object *sp_known_holder(const void *o, uint32_t *holder, uint64_t *node);
/* A wait begins for a lock whose holder is unknown: another thread acquired it, but waits for the GIL and has not been
 * noted yet. Returns a pointer for the wait's end; NULL: no memory, or nothing is known of the lock. */
struct sp_asker *sp_known_ask(const void *o);
/* Whether a thread was noted as the holder since then; gives its location and call path. Frees a. */
bool sp_known_answered(const void *o, struct sp_asker *a, uint32_t *holder, uint64_t *node);
bool sp_known_begin(void); /* false: no memory */
void sp_known_end(void);

/* A PyMethodDef whose C function, `real`, is replaced. */
struct sp_method {
	PyMethodDef *def; /* NULL: it was given back, or never replaced */
	PyCFunction ours, real;
};
/* The function that was replaced, for the one that replaces it. Without the GIL another thread may have replaced it
 * just now: the fence orders the interpreter's load of the definition before that of `real`. ThreadSanitizer knows no
 * fences. */
static inline PyCFunction sp_method_real(const struct sp_method *m)
{
#if defined Py_GIL_DISABLED && !defined __SANITIZE_THREAD__
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
	return __atomic_load_n(&m->real, __ATOMIC_RELAXED);
}
/* Returns the definition of a type's method or a module's function; NULL if there is no C function of this name. */
PyMethodDef *sp_method_of(PyObject *module_or_type, const char *name);
/* Replace the function of a definition, and put the original back. */
void sp_method_take(struct sp_method *m, PyMethodDef *def, PyCFunction ours);
void sp_method_give_back(struct sp_method *m);

/* calls.c: replaces the functions of modules that are loaded now or later. */
void sp_waits_calls_start(void);
void sp_waits_calls_stop(void);

/* clib.c. Whether the library with the C library's wrappers is loaded; its start and stop in a measurement. */
bool sp_waits_clib_find(void);
void sp_waits_clib_start(void);
void sp_waits_clib_stop(void);

/* The call site of a wait or, without a thread, of the making of an object (then without the node). */
struct sp_waits_site {
	uint64_t node;
	PyCodeObject *code; /* borrowed; the program's function; NULL: no such function */
	int at;             /* offset of the instruction, in bytes */
	PyObject
	    *user; /* borrowed; the outermost object of threading, queue, … whose method waits; NULL: no such object */
	PyObject *held; /* owned; what keeps `user` alive, NULL: others do; for Py_CLEAR() before the wait */
	unsigned kind;  /* enum sp_raw_wait_kind of `user` */
	bool notified;  /* inside Condition.wait() itself */
};
/* Finds the call site of the calling thread; t NULL: of the making of an object. */
void sp_waits_find_site(struct sp_thread *t, struct sp_waits_site *p);
/* Returns a string of the file and the line of an instruction in code; 0 if unknown. */
uint32_t sp_waits_line(PyCodeObject *code, int at, uint32_t *line);
/* Returns a string of an object's type and, for a process of multiprocessing, its name and pid. *own: with name and
 * pid it needs no address. */
uint32_t sp_waits_object_name(PyObject *o, unsigned kind, bool *own);

/* Returns the calling thread's location if waits are recorded in it now. */
struct sp_thread *sp_waits_thread(void);

/* Begins a wait at a call site for an object of the program; object: its record, or NULL. holder: SP_RAW_NONE if
 * unknown. */
void sp_waits_begin(struct sp_wait *w, struct sp_thread *t, const struct sp_waits_site *p, struct sp_raw_object *o,
                    unsigned kind, uint32_t holder, uint64_t holder_node, unsigned flags);
/* Returns the record of an object, made at the first wait for it; it is forgotten when the object is freed, which a
 * weak reference reports for the program's objects. type: NULL, or the text to use instead of the type's name. Returns
 * NULL if there is no space. */
struct sp_raw_object *sp_waits_object(PyObject *o, unsigned kind, const char *type);

#endif
