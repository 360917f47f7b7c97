/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of Python's objects. waits.c: locks; known.c: who holds what; calls.c: functions that wait;
 * place.c: where, and for which object of the program. All under the GIL, in the interpreter in which the
 * measurement began. */
#ifndef SP_HOOK_WAITS_WAITS_H
#define SP_HOOK_WAITS_WAITS_H

#include "hook/chain.h"
#include "hook/frames.h"
#include "hook/task.h"
#include "record/thread.h"
#include "record/waits/waits.h"

/* After the start of a measurement, and at its end. */
void sp_waits_start(void);
void sp_waits_stop(void);

extern const PyInterpreterState *sp_waits_home; /* in which waits are recorded; NULL: nothing is installed */
static inline bool sp_waits_at_home(void)
{
	const PyThreadState *ts = sp_thread_state();
	return ts && ts->interp == sp_waits_home;
}
bool sp_waits_is_lock(PyObject *o);
/* The type of the semaphores of multiprocessing: where they are made, and their end. */
void sp_waits_take_semaphores(PyTypeObject *type);

/* known.c. An object was got by t, or given back. */
void sp_known_acquired(struct sp_thread *t, const void *o);
void sp_known_released(const void *o);
/* It was made here and now; it is no more. */
void sp_known_made(const void *o);
void sp_known_forget(const void *o);
/* Its record, NULL: nobody waited for it yet; the location that holds it, SP_RAW_NONE: none, or not known; and where
 * that got it. */
struct sp_raw_object *sp_known_holder(const void *o, uint32_t *holder, uint64_t *node);
bool sp_known_begin(void); /* false: no memory */
void sp_known_end(void);

/* The function of a PyMethodDef in place of its own, which is real. */
struct sp_method {
	PyMethodDef *def; /* NULL: it was given back, or never taken */
	PyCFunction ours, real;
};
/* The definition of a method of type or, for type NULL, of a function of a module; NULL: there is none of C. */
PyMethodDef *sp_method_of(PyObject *module_or_type, const char *name);
void sp_method_take(struct sp_method *m, PyMethodDef *def, PyCFunction ours);
void sp_method_give_back(struct sp_method *m);

/* calls.c: takes the functions of the modules that are loaded, and of those that will be. */
void sp_waits_calls_start(void);
void sp_waits_calls_stop(void);

/* clib.c. Whether the library with the wrappers of the C library is loaded; its part in a measurement. */
bool sp_waits_clib_find(void);
void sp_waits_clib_start(void);
void sp_waits_clib_stop(void);

/* Where the calling thread waits; t NULL: where it makes an object, without the node. */
struct sp_waits_place {
	uint64_t node;
	PyCodeObject *code; /* borrowed; of the program's function; NULL: none, or none of it makes the object */
	int at;             /* offset of the instruction, in bytes */
	PyObject *user;     /* borrowed; the outermost object of threading, queue, … whose method waits; NULL: none */
	unsigned kind;      /* enum sp_raw_wait_kind of that */
	bool notified;      /* within Condition.wait() itself */
};
void sp_waits_find_place(struct sp_thread *t, struct sp_waits_place *p);
/* String and line of a place in code; 0: not known. */
uint32_t sp_waits_line(PyCodeObject *code, int at, uint32_t *line);
/* String of an object's type and, for a process of multiprocessing, its name and pid; with those, *own says that it
 * needs no address. */
uint32_t sp_waits_object_name(PyObject *o, unsigned kind, bool *own);

/* The calling thread's location, if waits are recorded in it now. */
struct sp_thread *sp_waits_thread(void);

/* A wait at the place for an object of the program, with or without (NULL) record; holder: SP_RAW_NONE none. */
void sp_waits_begin(struct sp_wait *w, struct sp_thread *t, const struct sp_waits_place *p,
                    struct sp_raw_object *object, unsigned kind, uint32_t holder, uint64_t holder_node, unsigned flags);
/* The record of an object by its address, made with the first wait for it; it is forgotten when the object is freed:
 * the program's objects tell that by a weak reference. kind, type: NULL, or what to say in the place of its own. NULL:
 * no room. */
struct sp_raw_object *sp_waits_object(PyObject *o, unsigned kind, const char *type);

#endif
