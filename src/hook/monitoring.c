/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.monitoring (PEP 669), Python 3.12 and later. The callbacks are objects of a type of ours whose vectorcall is the
 * C function itself; a filtered function returns DISABLE and then costs nothing. */
#include "hook/hook.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <structmember.h>

enum { START, RESUMED, THROWN, RETURNED, YIELDED, UNWOUND, CALL, C_RETURNED, C_RAISED, KINDS };

static const struct {
	const char *event;
	bool c_calls;
} kinds[KINDS] = {
    [START] = {"PY_START", false},     [RESUMED] = {"PY_RESUME", false},  [THROWN] = {"PY_THROW", false},
    [RETURNED] = {"PY_RETURN", false}, [YIELDED] = {"PY_YIELD", false},   [UNWOUND] = {"PY_UNWIND", false},
    [CALL] = {"CALL", true},           [C_RETURNED] = {"C_RETURN", true}, [C_RAISED] = {"C_RAISE", true},
};

struct callback {
	PyObject_HEAD vectorcallfunc call;
	PyObject *disable; /* owned: sys.monitoring.DISABLE of this interpreter */
};

static inline PyObject *filtered(PyObject *self, struct sp_thread *t, uint64_t slot)
{
	/* decided, and not merely "not recording now" */
	if (!t && sp_recording && slot & SP_SLOT_FILTERED && !(slot & SP_SLOT_WATCH))
		return Py_NewRef(((struct callback *)self)->disable);
	Py_RETURN_NONE;
}

SP_HOT PyObject *enter(PyObject *self, PyObject *const *args, unsigned kind, bool can_disable)
{
	PyCodeObject *code = (PyCodeObject *)args[0];
	struct sp_thread *t = sp_self;
	uint64_t slot = sp_slot_of(code);
	if (SP_UNLIKELY(!t || (slot & SP_SLOT_MASK) != sp_slot_ok)) {
		t = sp_hook_enter_slow(code, sp_frame_current(PyThreadState_Get()), &slot);
		if (!t && can_disable)
			return filtered(self, t, slot);
		if (!t)
			Py_RETURN_NONE;
	}
	if (kind == SP_RAW_RESUME || SP_UNLIKELY(slot & SP_SLOT_GENERATOR))
		sp_hook_enter_generator(t, slot, (uint64_t)code, NULL, kind);
	else
		sp_enter(t, (uint32_t)(slot >> SP_SLOT_ID), (uint64_t)code, sp_ticks(), kind);
	Py_RETURN_NONE;
}

/* A leave that matched nothing: of a filtered function, or of a frame that began unseen. */
SP_COLD static PyObject *unmatched(PyObject *self, struct sp_thread *t, PyCodeObject *code, bool can_disable)
{
	uint64_t slot = sp_slot_of(code);
	if (sp_slot_is_filtered(slot)) {
		if (can_disable)
			return filtered(self, NULL, slot);
	} else {
		sp_unmatched(t);
	}
	Py_RETURN_NONE;
}

SP_HOT PyObject *leave(PyObject *self, PyObject *const *args, unsigned kind, bool can_disable)
{
	uint64_t now = sp_ticks();
	struct sp_thread *t = sp_hook_leaver(&now);
	if (kind == SP_RAW_SUSPEND && SP_LIKELY(t != NULL))
		sp_hook_suspends(t, (uint64_t)args[0], NULL, args[2], now);
	if (SP_LIKELY(t != NULL) && SP_UNLIKELY(!sp_leave(t, (uint64_t)args[0], now, kind)))
		return unmatched(self, t, (PyCodeObject *)args[0], can_disable);
	Py_RETURN_NONE;
}

#define CALLBACK(name) static PyObject *name(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
#define UNUSED         (void)self, (void)nargs, (void)names

CALLBACK(on_start)
{
	UNUSED;
	return enter(self, args, SP_RAW_ENTER, true);
}

CALLBACK(on_resume)
{
	UNUSED;
	return enter(self, args, SP_RAW_RESUME, true);
}

CALLBACK(on_throw)
{
	UNUSED;
	return enter(self, args, SP_RAW_RESUME, false);
}

CALLBACK(on_return)
{
	UNUSED;
	return leave(self, args, SP_RAW_LEAVE, true);
}

CALLBACK(on_yield)
{
	UNUSED;
	return leave(self, args, SP_RAW_SUSPEND, true);
}

CALLBACK(on_unwind)
{
	UNUSED;
	if (SP_UNLIKELY(sp_self && sp_self->task))
		sp_hook_task_raises(sp_self, (uint64_t)args[0], Py_TYPE(args[2]));
	return leave(self, args, SP_RAW_LEAVE, false);
}

CALLBACK(on_call)
{
	UNUSED;
	uint64_t key;
	struct sp_thread *t = sp_self;
	/* Python functions come as PY_START */
	if (!t || PyFunction_Check(args[2]))
		Py_RETURN_NONE;
	uint64_t caller = sp_slot_of((PyCodeObject *)args[0]);
	if (sp_slot_is_filtered(caller))
		return filtered(self, NULL, caller);
	uint32_t region = sp_names_c_function(t, args[2], &key);
	/* the caller's own frame comes first if it is not known yet */
	if (region && SP_LIKELY(t->epoch == sp_epoch))
		sp_enter(t, region, key, sp_ticks(), SP_RAW_ENTER);
	Py_RETURN_NONE;
}

CALLBACK(on_c_end)
{
	UNUSED;
	uint64_t now = sp_ticks(), key;
	struct sp_thread *t = sp_hook_leaver(&now);
	if (t && !sp_slot_is_filtered(sp_slot_of((PyCodeObject *)args[0])) && (key = sp_names_c_key(args[2])))
		sp_leave(t, key, now, SP_RAW_LEAVE);
	Py_RETURN_NONE;
}

static const vectorcallfunc functions[KINDS] = {
    [START] = on_start,    [RESUMED] = on_resume, [THROWN] = on_throw,     [RETURNED] = on_return, [YIELDED] = on_yield,
    [UNWOUND] = on_unwind, [CALL] = on_call,      [C_RETURNED] = on_c_end, [C_RAISED] = on_c_end,
};

static void callback_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((struct callback *)self)->disable);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_members, callback_members},
    {Py_tp_call, PyVectorcall_Call},
    {0, NULL},
};
static PyType_Spec callback_spec = {
    .name = "spartito._measure.callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

/* Ids that no document gives to a kind of tool first: debuggers, coverage and profilers stay possible beside us. */
static const int candidates[] = {4, 3, 5, 0, 1, 2};
static int tool = -1;

static PyObject *monitoring(void)
{
	return PySys_GetObject("monitoring"); /* borrowed */
}

static int tool_take(PyObject *m)
{
	/* the same in every interpreter, and again after a pause, unless somebody else has it now */
	if (tool >= 0) {
		PyObject *r = PyObject_CallMethod(m, "use_tool_id", "is", tool, "spartito");
		if (!r) {
			PyErr_Clear();
			r = PyObject_CallMethod(m, "get_tool", "i", tool);
			if (r && !(PyUnicode_CheckExact(r) && !PyUnicode_CompareWithASCIIString(r, "spartito")))
				Py_CLEAR(r);
		}
		if (r) {
			Py_DECREF(r);
			return 0;
		}
		PyErr_Clear();
		tool = -1;
	}
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		PyObject *r = PyObject_CallMethod(m, "use_tool_id", "is", candidates[i], "spartito");
		if (r) {
			Py_DECREF(r);
			tool = candidates[i];
			return 0;
		}
		PyErr_Clear();
	}
	PyErr_SetString(PyExc_RuntimeError, "all tool ids of sys.monitoring are in use");
	return -1;
}

static int event_register(PyObject *m, PyObject *type, int kind, unsigned long *set)
{
	int r = -1;
	PyObject *events = PyObject_GetAttrString(m, "events");
	PyObject *event = events ? PyObject_GetAttrString(events, kinds[kind].event) : NULL;
	PyObject *disable = PyObject_GetAttrString(m, "DISABLE");
	struct callback *c = NULL;
	if (event && disable)
		c = PyObject_New(struct callback, (PyTypeObject *)type);
	if (c) {
		c->call = functions[kind];
		c->disable = Py_NewRef(disable);
		PyObject *old = PyObject_CallMethod(m, "register_callback", "iOO", tool, event, c);
		if (old) {
			*set |= PyLong_AsUnsignedLong(event);
			r = PyErr_Occurred() ? -1 : 0;
		}
		Py_XDECREF(old);
	}
	Py_XDECREF(c);
	Py_XDECREF(disable);
	Py_XDECREF(event);
	Py_XDECREF(events);
	return r;
}

static unsigned long events_wanted;

static int set_events(unsigned long set)
{
	PyObject *m = monitoring();
	PyObject *r = m && tool >= 0 ? PyObject_CallMethod(m, "set_events", "ik", tool, set) : NULL;
	if (!r && !PyErr_Occurred())
		PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
	Py_XDECREF(r);
	return r ? 0 : -1;
}

static void suspend(void)
{
	if (set_events(0))
		PyErr_Clear();
}

static int resume(void)
{
	return set_events(events_wanted);
}

static int install(void)
{
	PyObject *m = monitoring(), *type = NULL, *r = NULL;
	unsigned long set = 0;
	int result = -1;
	if (!m) {
		PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
		return -1;
	}
	Py_INCREF(m);
	type = PyType_FromSpec(&callback_spec);
	if (!type || tool_take(m))
		goto end;
	for (int k = 0; k < KINDS; k++)
		if ((!kinds[k].c_calls || sp_process.settings.c_calls) && event_register(m, type, k, &set))
			goto end;
	events_wanted = set;
	if (set_events(set))
		goto end;
	/* what an earlier measurement's filter disabled counts again */
	r = PyObject_CallMethod(m, "restart_events", NULL);
	result = r ? 0 : -1;
end:
	Py_XDECREF(r);
	Py_XDECREF(type);
	Py_DECREF(m);
	return result;
}

static void hook_remove(void)
{
	PyObject *m = monitoring();
	if (!m || tool < 0)
		return;
	suspend();
	PyObject *r = PyObject_CallMethod(m, "free_tool_id", "i", tool);
	Py_XDECREF(r);
	PyErr_Clear();
}

static const char *missing(void)
{
	return NULL;
}

#else

static const char *missing(void)
{
	return "it needs Python 3.12";
}

static int install(void)
{
	PyErr_SetString(PyExc_RuntimeError, missing());
	return -1;
}

static void hook_remove(void)
{
}

#endif

const struct sp_hook sp_hook_monitoring = {
    .name = "monitoring",
    .what = "sys.monitoring (PEP 669), the best from Python 3.12 on",
    .missing = missing,
    .c_calls = true,
    .entered_is_current = true,
    .install = install,
    .remove = hook_remove,
#if PY_VERSION_HEX >= 0x030C0000
    .suspend = suspend,
    .resume = resume,
#endif
};
