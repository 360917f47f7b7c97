/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the launcher: starting the program, and seeing its end (process/spawn.c, process/witness.c). */
#ifndef SP_HOOK_LAUNCH_H
#define SP_HOOK_LAUNCH_H

#include "hook/frames.h"

/* spawn.c: the launcher's start of the program; see _measure.pyi. */
PyObject *sp_spawn(PyObject *self, PyObject *args);
PyObject *sp_saw_end(PyObject *self, PyObject *args);
PyObject *sp_control_takes(PyObject *self, PyObject *args); /* whether an item of a filter takes one of these */
/* witness.c: for the launcher, whether a signal was for its whole process group */
PyObject *sp_witness_begin(PyObject *self, PyObject *none);
PyObject *sp_witness_has(PyObject *self, PyObject *number);
PyObject *sp_witness_end(PyObject *self, PyObject *none);

#endif
