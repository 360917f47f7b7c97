/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the C library: the library with the wrappers, and Python's current position during a wait. */
#include "hook/naming.h"
#include "hook/naming/names.h"
#include "hook/serial.h"
#include "hook/stacks.h"
#include "hook/waits/waits.h"
#include "record/definitions.h"
#include "record/waits/clib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int (*attach)(const struct sp_clib_recorder *);

static void where(struct sp_clib_where *w)
{
	PyThreadState *ts = sp_hook_own_state(&w->gil);
	const sp_frame *f = ts ? sp_frame_current(ts) : NULL;
	w->code = f ? sp_frame_code(f) : NULL;
	w->at = f ? sp_frame_at(f) : 0;
}

/* Without the GIL this supports only file names that need no call of Python: ASCII, as almost all are, and no cells. */
static uint32_t line_of(const struct sp_clib_where *w, uint32_t *line)
{
	PyCodeObject *code = (PyCodeObject *)(uintptr_t)w->code;
	if (w->gil && SP_SERIAL_TRY(sp_serial_names)) {
		const uint32_t named = sp_waits_line(code, w->at, line);
		SP_SERIAL_END(sp_serial_names);
		return named;
	}
	const int number = PyUnicode_IS_COMPACT_ASCII(code->co_filename) ? sp_code_line(code, w->at) : 0;
	char *file = number > 0 ? sp_names_file_of(PyUnicode_DATA(code->co_filename)) : NULL;
	const uint32_t id = file ? sp_define_name(SP_RAW_DEF_STRING, file, strlen(file)) : 0;
	free(file);
	*line = id ? (uint32_t)number : 0;
	return id;
}

bool sp_waits_clib_find(void)
{
	attach = (int (*)(const struct sp_clib_recorder *))dlsym(RTLD_DEFAULT, SP_CLIB_ATTACH_SYMBOL);
	return attach;
}

void sp_waits_clib_start(void)
{
	uintptr_t own[2], python[2], allocator[2] = {0, 0};
	if (!attach)
		return;
	const void *(*allocates)(void) = (const void *(*)(void))dlsym(RTLD_DEFAULT, SP_CLIB_ALLOCATOR_SYMBOL);
	if (allocates)
		sp_hook_code_of(allocates(), allocator);
	sp_hook_code_of(&attach, own);
	sp_hook_code_of((const void *)PyEval_SaveThread, python);
	sp_clib_where = where;
	sp_clib_line = line_of;
	attach(sp_clib_start(own, python, allocator));
}

void sp_waits_clib_stop(void)
{
	if (attach)
		attach(NULL);
}
