/* SPDX-License-Identifier: BSD-3-Clause */
/* The names under which other modules would import a script. In the interpreter it is __main__. */
#ifndef SP_BASE_SCRIPT_H
#define SP_BASE_SCRIPT_H

#include <stdbool.h>

/* Calls is() with each name of the script `file` until it returns true: for pkg/mod.py pkg.mod, if pkg is a package;
 * for pkg/__main__.py pkg and pkg.__main__; and __main__, because multiprocessing uses __mp_main__. Returns false if no
 * call returned true, or if module is not the module of a script. */
typedef bool sp_script_fn(void *arg, const char *module);
bool sp_script_any(const char *module, const char *file, sp_script_fn *is, void *arg);

#endif
