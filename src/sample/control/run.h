/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_SAMPLE_CONTROL_RUN_H
#define SP_SAMPLE_CONTROL_RUN_H

#include <Python.h>

PyObject *sp_run_check(PyObject *self, PyObject *none);
PyObject *sp_run_manage(PyObject *self, PyObject *args);
PyObject *sp_run_sample(PyObject *self, PyObject *args);

#endif
