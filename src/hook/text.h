/* SPDX-License-Identifier: BSD-3-Clause */
/* Text arguments of the extension module's functions (control/module.c). */
#ifndef SP_HOOK_TEXT_H
#define SP_HOOK_TEXT_H

#include "hook/frames.h"

/* Returns the UTF-8 text of a str argument and its length in bytes; NULL with a TypeError that names it `what`. */
const char *sp_text_argument(PyObject *o, Py_ssize_t *n, const char *what);

#endif
