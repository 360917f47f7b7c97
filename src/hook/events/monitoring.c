/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.monitoring (PEP 669), Python 3.12 and later. The callback of a filtered function returns DISABLE; from then on
 * the function costs nothing. */
#include "hook/hook.h"
#include "hook/naming.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/tool.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"

#if PY_VERSION_HEX >= 0x030C0000

enum { START, RESUMED, THROWN, RETURNED, YIELDED, UNWOUND, CALL, C_RETURNED, C_RAISED, KINDS };

static const struct {
	const char *event;
	bool c_calls;
} kinds[KINDS] = {
    [START] = {"PY_START", false},     [RESUMED] = {"PY_RESUME", false},  [THROWN] = {"PY_THROW", false},
    [RETURNED] = {"PY_RETURN", false}, [YIELDED] = {"PY_YIELD", false},   [UNWOUND] = {"PY_UNWIND", false},
    [CALL] = {"CALL", true},           [C_RETURNED] = {"C_RETURN", true}, [C_RAISED] = {"C_RAISE", true},
};

static inline PyObject *filtered(PyObject *self, struct sp_thread *t, uint64_t slot)
{
	/* only if the function is decided: not merely because nothing is recorded now */
	if (!t && sp_recording && slot & SP_SLOT_FILTERED && !(slot & SP_SLOT_WATCH))
		return Py_NewRef(((struct sp_callback *)self)->disable);
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

/* Handles a leave that matched nothing: of a filtered function, or of a frame that began unseen. */
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

SP_CALLBACK(on_start)
{
	SP_UNUSED;
	return enter(self, args, SP_RAW_ENTER, true);
}

SP_CALLBACK(on_resume)
{
	SP_UNUSED;
	return enter(self, args, SP_RAW_RESUME, true);
}

SP_CALLBACK(on_throw)
{
	SP_UNUSED;
	return enter(self, args, SP_RAW_RESUME, false);
}

SP_CALLBACK(on_return)
{
	SP_UNUSED;
	return leave(self, args, SP_RAW_LEAVE, true);
}

SP_CALLBACK(on_yield)
{
	SP_UNUSED;
	return leave(self, args, SP_RAW_SUSPEND, true);
}

SP_CALLBACK(on_unwind)
{
	SP_UNUSED;
	if (SP_UNLIKELY(sp_self && sp_self->task))
		sp_hook_task_raises(sp_self, (uint64_t)args[0], Py_TYPE(args[2]));
	sp_hook_unwinds((uint64_t)args[0], Py_TYPE(args[2]));
	return leave(self, args, SP_RAW_LEAVE, false);
}

SP_CALLBACK(on_call)
{
	SP_UNUSED;
	uint64_t key;
	struct sp_thread *t = sp_self;
	/* Python functions are reported as PY_START */
	if (!t || PyFunction_Check(args[2]))
		Py_RETURN_NONE;
	uint64_t caller = sp_slot_of((PyCodeObject *)args[0]);
	if (sp_slot_is_filtered(caller))
		return filtered(self, NULL, caller);
	uint32_t region = sp_names_c_function(t, args[2], &key);
	/* if the caller's frame is not on the stack yet, it must come first */
	if (region && SP_LIKELY(t->epoch == sp_epoch))
		sp_enter(t, region, key, sp_ticks(), SP_RAW_ENTER);
	Py_RETURN_NONE;
}

SP_CALLBACK(on_c_end)
{
	SP_UNUSED;
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

static struct sp_tool tool = {-1, "spartito"};
static unsigned long events_wanted;

static void suspend(void)
{
	if (sp_tool_events(&tool, 0))
		PyErr_Clear();
}

static int resume(void)
{
	return sp_tool_events(&tool, events_wanted);
}

static int install(void)
{
	PyObject *m = sp_monitoring(), *type = NULL, *r = NULL;
	unsigned long set = 0;
	int result = -1;
	if (!m)
		return -1;
	Py_INCREF(m);
	type = sp_callback_type();
	if (!type || sp_tool_take(m, &tool))
		goto end;
	for (int k = 0; k < KINDS; k++)
		if ((!kinds[k].c_calls || sp_process.settings.c_calls) &&
		    sp_tool_register(m, &tool, type, kinds[k].event, functions[k], &set))
			goto end;
	events_wanted = set;
	if (sp_tool_events(&tool, set))
		goto end;
	/* enables events again that the filter of an earlier measurement disabled */
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
	if (!PySys_GetObject("monitoring") || tool.id < 0)
		return;
	suspend();
	sp_tool_free(&tool);
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
