/* SPDX-License-Identifier: BSD-3-Clause */
/* User regions that Python code begins and ends (naming/region.c). */
#ifndef SP_HOOK_REGION_H
#define SP_HOOK_REGION_H

#include <stdbool.h>

#include "hook/frames.h"

/* region.c: a user region begins or ends, by its name, a str. place: NULL, or (group, file, line, function) of
 * struct sp_place, each of the first two may be None. 0, or -1 with an exception; ending 1: it was open, or is not
 * recorded. */
int sp_region_begin(PyObject *name, PyObject *place);
int sp_region_end(PyObject *name, PyObject *place);
/* The same for a rewind region; 1: it had begun, or nothing is recorded. */
int sp_region_rewind(PyObject *name, PyObject *place, int end, bool take_out);
/* Name and place from the arguments (name, group, file, line, function) of a call, or (region,); the place is a new
 * reference, or NULL. */
int sp_region_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **name, PyObject **place);
PyObject *sp_region_type(void); /* a new reference */

#endif
