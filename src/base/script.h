/* SPDX-License-Identifier: BSD-3-Clause */
/* The names by which others would import a script. To the interpreter it is __main__. */
#ifndef SP_BASE_SCRIPT_H
#define SP_BASE_SCRIPT_H

#include <stdbool.h>

/* Calls is() with each name of the script `file` until one is the one: of pkg/mod.py pkg.mod, where pkg is a package,
 * of pkg/__main__.py pkg and pkg.__main__; and __main__, for what multiprocessing calls __mp_main__. False: none is, or
 * module is that of no script. */
typedef bool sp_script_fn(void *arg, const char *module);
bool sp_script_any(const char *module, const char *file, sp_script_fn *is, void *arg);

#endif
