/* SPDX-License-Identifier: BSD-3-Clause */
/* What the table of functions for other libraries (record/adapter.h) needs of Python, and the library of file I/O. */
#include "hook/hook.h"
#include "record/adapter.h"

#include <dlfcn.h>

/* Without Python's events nothing will ever tell of its frames. */
static int runs_python(void)
{
	return sp_hook_used && PyGILState_GetThisThreadState();
}

/* The wrappers are in a library that the dynamic linker loaded before Python. */
static bool io_attach(void)
{
	int (*attach)(const struct sp_adapter *) =
	    (int (*)(const struct sp_adapter *))dlsym(RTLD_DEFAULT, "sp_preload_attach");
	return attach && attach(&sp_adapter_v1) == 0;
}

int sp_attach(struct sp_settings *s, enum sp_raw_start how, bool *without_io)
{
	*without_io = s->io && !io_attach();
	if (*without_io && how == SP_RAW_STARTED_API) {
		PyErr_SetString(PyExc_ValueError,
		                "io: file I/O can only be recorded in a program that was started with "
		                "`spartito run --io`");
		return -1;
	}
	s->io = s->io && !*without_io;
	sp_adapter_runs_python = runs_python;
	return 0;
}

void sp_attach_missing(bool without_io)
{
	static const char why[] =
	    "file I/O, because the library with its wrappers was not loaded into this process (LD_PRELOAD)";
	if (without_io)
		sp_define_meta("missing_io", why, sizeof why - 1);
}
