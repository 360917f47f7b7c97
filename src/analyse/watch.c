/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress reports of operations without the GIL, which Ctrl-C can end. */
#include "analyse/analyse.h"

#define OFTEN INT64_C(50000000) /* ns; minimum time between two calls of the callback */

void sp_watch_begin(struct sp_watch *w)
{
	if (w->progress == Py_None)
		w->progress = NULL;
	w->thread = PyEval_SaveThread();
}

void sp_watch_end(struct sp_watch *w)
{
	PyEval_RestoreThread(w->thread);
}

int sp_watch(void *arg, uint64_t done, uint64_t total)
{
	struct sp_watch *w = arg;
	struct timespec now;
	PyObject *result;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (done != total &&
	    (now.tv_sec - w->last.tv_sec) * INT64_C(1000000000) + now.tv_nsec - w->last.tv_nsec < OFTEN)
		return 0;
	w->last = now;
	PyEval_RestoreThread(w->thread);
	rc = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
	if (rc == 0 && w->progress) {
		result = PyObject_CallFunction(w->progress, "KK", (unsigned long long)(done < total ? done : total),
		                               (unsigned long long)total);
		rc = result ? 0 : -1;
		Py_XDECREF(result);
	}
	w->thread = PyEval_SaveThread();
	return rc;
}
