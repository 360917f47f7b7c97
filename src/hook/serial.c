/* SPDX-License-Identifier: BSD-3-Clause */
#include "hook/frames.h"

#include "hook/serial.h"

#ifdef Py_GIL_DISABLED

#define Py_BUILD_CORE 1
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#undef Py_BUILD_CORE

#include <limits.h>

struct sp_serial sp_serial_control, sp_serial_waits, sp_serial_names;

static bool again(struct sp_serial *s)
{
	if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) != PyThread_get_thread_ident())
		return false;
	s->depth++;
	return true;
}

static void taken(struct sp_serial *s)
{
	__atomic_store_n(&s->owner, PyThread_get_thread_ident(), __ATOMIC_RELAXED);
	s->depth = 1;
}

void sp_serial_begin(struct sp_serial *s)
{
	if (again(s))
		return;
	/* the interpreter's end stops all other threads for good: a lock that one of them holds is taken over */
	if (!Py_IsFinalizing() || !PyMutex_IsLocked(&s->mutex))
		PyMutex_Lock(&s->mutex);
	taken(s);
}

bool sp_serial_try(struct sp_serial *s)
{
	uint8_t is_free = 0; /* in a PyMutex bit 0 is "locked", bit 1 "a thread is parked" */
	if (again(s))
		return true;
	if (!__atomic_compare_exchange_n(&s->mutex._bits, &is_free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	taken(s);
	return true;
}

void sp_serial_end(struct sp_serial *s)
{
	if (--s->depth)
		return;
	__atomic_store_n(&s->owner, 0, __ATOMIC_RELAXED);
	PyMutex_Unlock(&s->mutex);
}

bool sp_gil_is_on(void)
{
	const struct _gil_runtime_state *gil = PyThreadState_Get()->interp->ceval.gil;
	return __atomic_load_n(&gil->enabled, __ATOMIC_RELAXED) == INT_MAX; /* less: only while a module is imported */
}

void sp_world_stop(void)
{
	_PyEval_StopTheWorld(PyInterpreterState_Get());
}

void sp_world_start(void)
{
	_PyEval_StartTheWorld(PyInterpreterState_Get());
}

void sp_serial_forked(void)
{
	sp_serial_control = sp_serial_waits = sp_serial_names = (struct sp_serial){0};
}

#endif
