/* SPDX-License-Identifier: BSD-3-Clause */
/* User regions that Python code begins and ends (naming/region.c). */
#ifndef SP_HOOK_REGION_H
#define SP_HOOK_REGION_H

#include <stdbool.h>

#include "hook/frames.h"

/* Begin or end a user region by its name, a str. place: NULL, or the tuple (group, file, line, function) with the
 * members of struct sp_user_location; group and file may be None. Return 0, or -1 with an exception; sp_region_end()
 * returns 1 if the region was open or is not recorded. */
int sp_region_begin(PyObject *name, PyObject *place);
int sp_region_end(PyObject *name, PyObject *place);
/* The same for a rewind region; returns 1 if it had begun or nothing is recorded. */
int sp_region_rewind(PyObject *name, PyObject *place, int end, bool take_out);
/* Reads name and place from the arguments of a call, (name, group, file, line, function) or (region,). *place is a new
 * reference, or NULL. Returns 0, or -1 with an exception. */
int sp_region_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **name, PyObject **place);
PyObject *sp_region_type(void); /* returns a new reference */

#endif
