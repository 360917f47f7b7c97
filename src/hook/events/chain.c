/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter has one profile function per thread, and the setprofile hook uses it. A program that calls
 * sys.setprofile still gets its events: sys.setprofile and sys.getprofile are replaced by functions that keep the
 * program's function, which the hook calls. */
#include "hook/chain.h"
#include "hook/hook.h"
#include "hook/keep.h"
#include "hook/slot.h"
#include "record/thread.h"

static __thread PyObject *theirs SP_TLS_MODEL;           /* the program's function, kept; NULL: none */
static __thread PyThreadState *their_state SP_TLS_MODEL; /* the thread state in which it was set */
static bool used;                                        /* whether any thread has ever set one */
static PyObject *original_set, *original_get;            /* owned */

static PyObject **their_slot(void)
{
	return &theirs;
}

static int keep(PyObject *function)
{
	if (sp_keep("spartito.setprofile", their_slot, function))
		return -1;
	their_state = PyThreadState_Get();
	used = used || theirs;
	return 0;
}

static PyObject *set(PyObject *self, PyObject *function)
{
	(void)self;
	if (keep(function == Py_None ? NULL : function))
		return NULL;
	if (sp_hook_used != &sp_hook_setprofile || !sp_recording)
		return PyObject_CallFunctionObjArgs(original_set, function, NULL);
	Py_RETURN_NONE;
}

/* The hook is removed from this thread: installs the program's function instead. */
void sp_chain_restore(void)
{
	bool here = theirs && their_state == PyThreadState_Get();
	PyObject *r = here && original_set ? PyObject_CallFunctionObjArgs(original_set, theirs, NULL) : NULL;
	Py_XDECREF(r);
	PyErr_Clear();
}

static PyObject *get(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	const PyThreadState *ts = PyThreadState_Get();
	/* the hook's function has no object */
	if (!theirs || !ts->c_profilefunc || ts->c_profileobj)
		return PyObject_CallNoArgs(original_get);
	Py_INCREF(theirs);
	return theirs;
}

static PyMethodDef set_def = {"setprofile", set, METH_O, "Set the profiling function."};
static PyMethodDef get_def = {"getprofile", get, METH_NOARGS, "Return the profiling function set with sys.setprofile."};

static int replace(PyMethodDef *def, PyObject **original)
{
	if (*original)
		return 0;
	PyObject *found = PySys_GetObject(def->ml_name); /* borrowed */
	PyObject *module = PyUnicode_FromString("sys"), *mine = module ? PyCFunction_NewEx(def, NULL, module) : NULL;
	int r = found && mine ? PySys_SetObject(def->ml_name, mine) : -1;
	if (!r) {
		Py_INCREF(found);
		*original = found;
	}
	Py_XDECREF(mine);
	Py_XDECREF(module);
	return r;
}

/* Keeps the calling thread's existing profile function, which the hook calls from now on. A profiler in C is not
 * called and stays installed. */
static int take_over(void)
{
	PyObject *now = PyThreadState_Get()->c_profileobj; /* borrowed */
	if (!now || !PyCallable_Check(now))
		return 0;
	if (keep(now))
		return -1;
	PyEval_SetProfile(NULL, NULL);
	return 0;
}

int sp_chain_install(void)
{
	return replace(&set_def, &original_set) || replace(&get_def, &original_get) || take_over() ? -1 : 0;
}

bool sp_chain_used(void)
{
	return used;
}

/* As in the interpreter's own trampoline, an exception in the program's function ends its profiling. */
int sp_chain_call(PyFrameObject *f, int what, PyObject *arg)
{
	static const char *const names[] = {
	    [PyTrace_CALL] = "call",         [PyTrace_RETURN] = "return",
	    [PyTrace_C_CALL] = "c_call",     [PyTrace_C_EXCEPTION] = "c_exception",
	    [PyTrace_C_RETURN] = "c_return",
	};
	static __thread bool inside SP_TLS_MODEL; /* excludes events of the function itself */
	PyObject *function = theirs;
	/* a thread may switch between interpreters */
	if (SP_LIKELY(!function) || their_state != PyThreadState_Get() || inside ||
	    what >= (int)(sizeof names / sizeof *names) || !names[what])
		return 0;
	inside = true;
	Py_INCREF(function);
	PyObject *r = PyObject_CallFunction(function, "OsO", f, names[what], arg ? arg : Py_None);
	inside = false;
	Py_DECREF(function);
	if (!r) {
		theirs = NULL;
		return -1;
	}
	Py_DECREF(r);
	return 0;
}
