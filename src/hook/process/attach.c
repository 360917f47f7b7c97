/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the adapter for other libraries (record/adapter.h) that need Python, and the library of file I/O. */
#include "hook/attach.h"
#include "hook/hook.h"
#include "hook/process/heap.h"
#include "hook/stacks.h"
#include "hook/waits/waits.h"
#include "record/adapter.h"
#include "record/definitions.h"
#include "record/heap/recorder.h"
#include "record/process.h"
#include "record/settings.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct range {
	uintptr_t inside, code[2];
};

static int find_code(struct dl_phdr_info *library, size_t size, void *arg)
{
	struct range *r = arg, found = {r->inside, {UINTPTR_MAX, 0}};
	bool here = false;
	(void)size;
	for (int i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &library->dlpi_phdr[i];
		const uintptr_t from = library->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
		if (p->p_type != PT_LOAD)
			continue;
		here |= r->inside >= from && r->inside < to;
		if (p->p_flags & PF_X) {
			found.code[0] = from < found.code[0] ? from : found.code[0];
			found.code[1] = to > found.code[1] ? to : found.code[1];
		}
	}
	if (here)
		*r = found;
	return here;
}

void sp_hook_code_of(const void *inside, uintptr_t code[2])
{
	struct range r = {(uintptr_t)inside, {0, 0}};
	dl_iterate_phdr(find_code, &r);
	memcpy(code, r.code, sizeof r.code);
}

/* Without the hook's events the thread's Python frames will never be known. */
static int runs_python(void)
{
	return sp_hook_used && sp_process.instrumented && PyGILState_GetThisThreadState();
}

/* Called after os.fork(), but not in the children that subprocess makes: those end or become another program. */
static PyObject *forked(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	sp_adapter_forked_python = 1;
	Py_RETURN_NONE;
}

static int watch_forks(void)
{
	static PyMethodDef definition = {"forked", forked, METH_NOARGS, NULL};
	static bool done;
	if (done)
		return 0;
	PyObject *module = PyImport_ImportModule("posix"), *arguments = PyTuple_New(0), *keywords = NULL, *r = NULL;
	PyObject *function = PyCFunction_New(&definition, NULL);
	PyObject *registers = module ? PyObject_GetAttrString(module, "register_at_fork") : NULL;
	if (registers && arguments && function)
		keywords = Py_BuildValue("{sO}", "after_in_child", function);
	if (keywords)
		r = PyObject_Call(registers, arguments, keywords);
	done = r != NULL;
	Py_XDECREF(r);
	Py_XDECREF(keywords);
	Py_XDECREF(registers);
	Py_XDECREF(function);
	Py_XDECREF(arguments);
	Py_XDECREF(module);
	return done ? 0 : -1;
}

/* Attaches the wrappers, which are in a library that the dynamic linker loaded before Python. */
static bool io_attach(void)
{
	int (*attach)(const struct sp_adapter *) =
	    (int (*)(const struct sp_adapter *))dlsym(RTLD_DEFAULT, "sp_preload_attach");
	return attach && attach(&sp_adapter_v1) == 0;
}

/* Loads the library in front of MPI with global symbols. This must happen before an extension that is linked to MPI is
 * loaded, because objects that are already loaded are bound to MPI's own functions. Returns NULL on success or without
 * an MPI launcher, otherwise the reason. */
static const char *mpi_attach(void)
{
	char path[PATH_MAX];
	Dl_info own;
	const char *slash;
	if (!dladdr(&sp_adapter_v1, &own) || !own.dli_fname || !(slash = strrchr(own.dli_fname, '/')) ||
	    snprintf(path, sizeof path, "%.*s/spartito_mpi.so", (int)(slash - own.dli_fname), own.dli_fname) >=
	        (int)sizeof path)
		return sp_adapter_mpi_launched() ? "the library with its wrappers was not found" : NULL;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*attach)(const struct sp_adapter *) =
	    handle ? (int (*)(const struct sp_adapter *))dlsym(handle, "sp_mpi_attach") : NULL;
	if (!attach)
		return sp_adapter_mpi_launched() ? "the library with its wrappers cannot be loaded" : NULL;
	int r = attach(&sp_adapter_v1);
	if (r == 0 && dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
		return NULL;
	dlclose(handle);
	return r > 0 ? "MPI was loaded before the measurement began"
	             : "the library with its wrappers is of another version";
}

void sp_attach_mpi(void)
{
	mpi_attach();
}

static const char *without_mpi;
static bool without_heap, without_clib;
static const char *before_malloc; /* result of sp_hook_heap_before() */

int sp_attach(struct sp_settings *s, enum sp_raw_start how, bool *without_io)
{
	*without_io = s->io && !io_attach();
	if (*without_io && how == SP_RAW_STARTED_API) {
		PyErr_SetString(PyExc_ValueError,
		                "io: file I/O can only be recorded in a program that was started with "
		                "`spartito run --io`");
		return -1;
	}
	without_heap = sp_heap_wanted(s) && !sp_hook_heap_find();
	if (without_heap && how == SP_RAW_STARTED_API) {
		PyErr_SetString(PyExc_ValueError,
		                "memory_profile, memory_sample, limit_rss: memory can only be recorded in a program "
		                "that was started with one of `spartito run`'s options for it");
		return -1;
	}
	before_malloc = sp_heap_wanted(s) && !without_heap ? sp_hook_heap_before() : NULL;
	if (without_heap) {
		s->memory_profile = false;
		s->memory_sample = s->limit_rss = 0;
	}
	without_clib = s->waits && !sp_waits_clib_find();
	uint32_t groups;
	char wrong[300];
	if (sp_mpi_groups(s->mpi, &groups, wrong, sizeof wrong)) {
		PyErr_Format(PyExc_ValueError, "mpi: %s", wrong);
		return -1;
	}
	without_mpi = groups ? mpi_attach() : NULL;
	s->io = s->io && !*without_io;
	sp_adapter_runs_python = runs_python;
	return s->io || s->waits || sp_heap_wanted(s) ? watch_forks() : 0;
}

static void missing_malloc(void)
{
	const char *slash = strrchr(before_malloc, '/'), *name = slash ? slash + 1 : before_malloc;
	char why[200] = "the library with the wrappers was not loaded when this process started (LD_PRELOAD)",
	     text[400];
	if (*name && strncmp(name, "libc.so", 7))
		snprintf(why, sizeof why,
		         "the malloc of %.80s comes before the library with the wrappers (LD_PRELOAD, or linked in)",
		         name);
	snprintf(text, sizeof text,
	         "memory that is not allocated by Python's own allocators (malloc, mmap), because %s", why);
	sp_define_meta("missing_malloc", text, strlen(text));
}

void sp_attach_missing(bool without_io)
{
	static const char why[] =
	    "file I/O, because the library with its wrappers was not loaded into this process (LD_PRELOAD)";
	if (without_io)
		sp_define_meta("missing_io", why, sizeof why - 1);
	static const char why_heap[] =
	    "memory, because the library with its wrappers was not loaded into this process (LD_PRELOAD)";
	if (without_heap)
		sp_define_meta("missing_memory", why_heap, sizeof why_heap - 1);
	if (before_malloc)
		missing_malloc();
	static const char why_clib[] =
	    "waits of the C library (mutexes, condition variables, sleeps of compiled code), "
	    "because the library with its wrappers was not loaded into this process (LD_PRELOAD)";
	if (without_clib)
		sp_define_meta("missing_clib", why_clib, sizeof why_clib - 1);
	if (without_mpi) {
		char text[200];
		snprintf(text, sizeof text, "MPI calls, because %s", without_mpi);
		sp_define_meta("missing_mpi", text, strlen(text));
	}
}
