/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the launcher: starting the program and recording its end (process/spawn.c, process/witness.c). */
#ifndef SP_HOOK_LAUNCH_H
#define SP_HOOK_LAUNCH_H

#include "hook/frames.h"

/* spawn.c: the launcher starts the program; see _measure.pyi. */
PyObject *sp_spawn(PyObject *self, PyObject *args);
PyObject *sp_saw_end(PyObject *self, PyObject *args);
PyObject *sp_control_takes(PyObject *self, PyObject *args); /* whether an item of a filter includes one of these */
/* witness.c: distinguish a signal to the launcher alone from one to its whole process group */
PyObject *sp_witness_begin(PyObject *self, PyObject *none);
PyObject *sp_witness_has(PyObject *self, PyObject *number);
PyObject *sp_witness_end(PyObject *self, PyObject *none);

#endif
