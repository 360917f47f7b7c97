/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool of sys.monitoring (PEP 669), Python 3.12 and later. Its callbacks are objects of a dedicated type whose
 * vectorcall is the C function itself. */
#ifndef SP_HOOK_TOOL_H
#define SP_HOOK_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "hook/frames.h"

#if PY_VERSION_HEX >= 0x030C0000

/* One callback. */
struct sp_callback {
	PyObject_HEAD vectorcallfunc call;
	PyObject *disable; /* owned; this interpreter's sys.monitoring.DISABLE */
};

#define SP_CALLBACK(name) static PyObject *name(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
#define SP_UNUSED         (void)self, (void)nargs, (void)names

/* One tool. */
struct sp_tool {
	int id; /* -1: none yet; later the same in every interpreter */
	const char *name;
};

PyObject *sp_monitoring(void);    /* returns sys.monitoring, borrowed; NULL with an exception */
PyObject *sp_callback_type(void); /* of the current interpreter; returns a new reference */
/* Whether the tool has its id in the current interpreter; after a stop another tool may have it. */
bool sp_tool_is_ours(PyObject *m, const struct sp_tool *tool);
/* Takes an id. These return 0, or -1 with an exception. m: sys.monitoring. */
int sp_tool_take(PyObject *m, struct sp_tool *tool);
/* Registers a function for an event and adds the event to the set. */
int sp_tool_register(PyObject *m, const struct sp_tool *tool, PyObject *type, const char *event,
                     vectorcallfunc function, unsigned long *set);
/* Sets the tool's events for all code, or for one code object. */
int sp_tool_events(const struct sp_tool *tool, unsigned long set);
int sp_tool_local_events(const struct sp_tool *tool, PyCodeObject *code, unsigned long set);
/* Releases the tool's id in the current interpreter. */
void sp_tool_free(const struct sp_tool *tool);

#endif
#endif
