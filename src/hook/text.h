/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of functions of the extension module that are text (control/module.c). */
#ifndef SP_HOOK_TEXT_H
#define SP_HOOK_TEXT_H

#include "hook/frames.h"

/* module.c: UTF-8 of a str argument, with its length; NULL with TypeError, which calls it `what`. */
const char *sp_text_argument(PyObject *o, Py_ssize_t *n, const char *what);

#endif
