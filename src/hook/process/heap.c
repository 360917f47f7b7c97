/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: Python's allocators and the library in front of the C library's; the current position of an allocation. */
#include "hook/process/heap.h"

#include "base/dynamic.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/heap/recorder.h"
#include "record/libc.h"
#include "record/process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- position of an allocation ---- */

enum { MAX_CALLERS = 64 }; /* callers of a library function that are searched for one of the program's own functions */

/* Returns the region in a slot; 0 if it has no recorded region. */
static inline uint32_t region_in(uint64_t slot)
{
	const uint32_t region = sp_slot_is_decided(slot) ? (uint32_t)(slot >> SP_SLOT_ID) : 0;
	return region < SP_REGION_HIDES ? region : 0;
}

static inline bool is_own(uint64_t slot)
{
	return !(slot & SP_SLOT_LIBRARY) && region_in(slot);
}

/* Returns the program's function that called a library function; NULL if none is among the nearest callers, or if
 * their slots are not decided yet. */
static sp_frame *own_caller(sp_frame *f)
{
	for (int i = 0; i < MAX_CALLERS && (f = sp_frame_back(f)); i++)
		if (is_own(sp_slot_of(sp_frame_code(f))))
			return f;
	return NULL;
}

/* Gives the current position. Allocations of a filtered function belong to its caller. */
static void where(struct sp_heap_where *w)
{
	bool gil;
	PyThreadState *ts = sp_hook_own_state(&gil);
	sp_frame *f = ts ? sp_frame_current(ts) : NULL;
	uint64_t slot = 0;
	for (; f; f = sp_frame_back(f)) {
		slot = sp_slot_of(sp_frame_code(f));
		if (SP_LIKELY((slot & SP_SLOT_MASK) == sp_slot_ok) || !sp_slot_is_filtered(slot))
			break;
	}
	if (!f)
		return;
	w->frame = f;
	w->region = region_in(slot);
	w->at = sp_frame_instruction(f, &w->offset);
	/* without the GIL another thread may be changing the slots of code objects */
	if (sp_slot_is_decided(slot) && slot & SP_SLOT_LIBRARY && gil && (f = own_caller(f))) {
		w->own_frame = f;
		w->own_at = sp_frame_instruction(f, &w->own_offset);
	}
}

/* ---- symbols of the library ---- */

static int (*attach)(const struct sp_heap_recorder *);
static const struct sp_heap_domain_functions *functions, *sampled, *sampled_pymalloc;
static const struct sp_heap_arenas *arenas;
static uint64_t *filter;

/* ---- Python's allocators ---- */

static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static const unsigned kinds[] = {SP_RAW_HEAP_PYTHON_RAW, SP_RAW_HEAP_PYTHON_MEM, SP_RAW_HEAP_PYTHON_OBJECT};
enum { DOMAINS = 3 };
static struct sp_heap_domain behind[DOMAINS];
static PyMemAllocatorEx ours[DOMAINS];
static struct sp_heap_arenas behind_arenas;
static bool in_place[DOMAINS];

/* Whether the current allocator has this name: pymalloc, which ignores its context, mimalloc, or one of these inside a
 * debugging allocator. */
static bool is_named(const char *name, size_t length)
{
	const char *(*current)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName");
	const char *is = current ? current() : NULL;
	return is && !strncmp(is, name, length);
}

/* Installs the library's functions. left: domains that always use malloc() are left to the wrapper of malloc(), which
 * samples them. */
static void domains_put(const struct sp_heap_domain_functions *f, bool left)
{
	PyMemAllocatorEx raw;
	const bool pymalloc = is_named("pymalloc", sizeof "pymalloc"), mimalloc = is_named("mimalloc", 8);
	PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
	/* the interpreter reads an allocator's function and context one after the other, without a lock */
	sp_world_stop();
	for (int i = 0; i < DOMAINS; i++) {
		PyMemAllocatorEx a;
		PyMem_GetAllocator(domains[i], &a);
		if (in_place[i] || (left && a.malloc == raw.malloc))
			continue;
		const struct sp_heap_domain_functions *put = left && pymalloc && !a.ctx ? sampled_pymalloc : f;
		/* larger blocks go to malloc() or, if the wrapper of malloc() is not in use, to the first domain, or
		 * stay in this domain */
		const bool whole = (i && mimalloc) || (!left && (!i || a.malloc == raw.malloc));
		behind[i] = (struct sp_heap_domain){
		    kinds[i], whole ? SIZE_MAX : SP_HEAP_PYMALLOC_MAX, a.ctx, a.malloc, a.calloc, a.realloc, a.free};
		ours[i] = (PyMemAllocatorEx){&behind[i], put->malloc, put->calloc, put->realloc,
		                             put->free ? put->free : a.free};
		PyMem_SetAllocator(domains[i], &ours[i]);
		in_place[i] = true;
	}
	sp_world_start();
}

static void arenas_put(const struct sp_heap_arenas *f)
{
	static bool done;
	PyObjectArenaAllocator a;
	if (done)
		return;
	PyObject_GetArenaAllocator(&a);
	behind_arenas = (struct sp_heap_arenas){a.ctx, a.alloc, a.free};
	a = (PyObjectArenaAllocator){&behind_arenas, f->alloc, f->free};
	PyObject_SetArenaAllocator(&a);
	done = true;
}

/* Removes the library's functions. If another tool installed functions on top of them, they stay and pass calls on.
 * The functions for arenas always stay. */
static void domains_take(void)
{
	PyMemAllocatorEx a;
	sp_world_stop();
	for (int i = 0; i < DOMAINS; i++) {
		const struct sp_heap_domain *d = &behind[i];
		PyMem_GetAllocator(domains[i], &a);
		if (!in_place[i] || a.ctx != ours[i].ctx || a.malloc != ours[i].malloc)
			continue;
		a = (PyMemAllocatorEx){d->ctx, d->malloc, d->calloc, d->realloc, d->free};
		PyMem_SetAllocator(domains[i], &a);
		in_place[i] = false;
	}
	sp_world_start();
}

/* ---- lines ---- */

static bool traced; /* tracemalloc was running, below these functions, when they were installed */

/* Whether another hook, such as tracemalloc's, is above or below these functions. */
static bool is_traced(void)
{
	PyMemAllocatorEx a;
	for (int i = 0; i < DOMAINS; i++) {
		PyMem_GetAllocator(domains[i], &a);
		if (in_place[i] && a.malloc != ours[i].malloc)
			return true;
	}
	return traced;
}

/* tracemalloc (3.14, and later releases of 3.13) calls the allocator below it while holding a lock that it takes at
 * each allocation of Python. Nothing may be allocated then. It does so for the two kinds that need no GIL. */
static bool may_hold_lock(unsigned kind)
{
	return (kind == SP_RAW_HEAP_MALLOC || kind == SP_RAW_HEAP_PYTHON_RAW) && is_traced();
}

/* Whether tracemalloc runs. If it started with the interpreter, its module is not imported. */
static bool is_tracing(void)
{
	const char *variable = getenv("PYTHONTRACEMALLOC");
	PyObject *options = PySys_GetObject("_xoptions");                                  /* borrowed */
	PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "_tracemalloc"); /* borrowed */
	PyObject *r = module ? PyObject_CallMethod(module, "is_tracing", NULL) : NULL;
	const bool is = (r && PyObject_IsTrue(r) == 1) || (variable && *variable) ||
	                (options && PyDict_Check(options) && PyDict_GetItemString(options, "tracemalloc"));
	Py_XDECREF(r);
	PyErr_Clear();
	return is;
}

/* Returns the slot of the frame's code, which it decides if necessary; needs the GIL. */
static uint64_t slot_named(sp_frame *f)
{
	SP_SAVE_EXCEPTION;
	const uint64_t slot = sp_names_slot(sp_frame_code(f), f);
	SP_RESTORE_EXCEPTION;
	return slot;
}

static uint32_t line_in(sp_frame *f)
{
	const int line = sp_frame_line(f);
	return line > 0 ? (uint32_t)line : 0;
}

/* Like own_caller(), but decides slots if necessary. */
static sp_frame *own_caller_named(sp_frame *f)
{
	for (int i = 0; i < MAX_CALLERS && (f = sp_frame_back(f)); i++)
		if (is_own(slot_named(f)))
			return f;
	return NULL;
}

static void line_of(const struct sp_heap_where *w, unsigned kind, struct sp_heap_line *line)
{
	sp_frame *f = (sp_frame *)(uintptr_t)w->frame, *own = (sp_frame *)(uintptr_t)w->own_frame;
	bool gil;
	sp_hook_own_state(&gil);
	const bool may_name = gil && !may_hold_lock(kind) && SP_SERIAL_TRY(sp_serial_names);
	const uint64_t slot = may_name ? slot_named(f) : sp_slot_of(sp_frame_code(f));
	line->region = slot & SP_SLOT_FILTERED ? 0 : region_in(slot);
	if (line->region && !own && may_name && slot & SP_SLOT_LIBRARY)
		own = own_caller_named(f);
	if (may_name)
		SP_SERIAL_END(sp_serial_names);
	if (!line->region)
		return;
	line->line = line_in(f);
	if (own) {
		line->own_region = region_in(sp_slot_of(sp_frame_code(own)));
		line->own_line = line_in(own);
	}
}

/* ---- start and stop ---- */

/* Gives the range of the allocator's code; 0, 0 if it is the C library's. */
static void other_allocator(uintptr_t code[2])
{
	const void *(*real)(void) = (const void *(*)(void))dlsym(RTLD_DEFAULT, SP_HEAP_REAL_SYMBOL);
	const void *library = dlsym(RTLD_DEFAULT, SP_LIBC_SYMBOL);
	uintptr_t of_library[2];
	sp_hook_code_of(real ? real() : NULL, code);
	sp_hook_code_of(library, of_library);
	if (!library || code[0] == of_library[0])
		code[0] = code[1] = 0;
}

static PyObject *over(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	sp_heap_over();
	Py_RETURN_NONE;
}

/* Counts the blocks that are left before the interpreter clears its modules: atexit calls its first function last. */
static int watch_end(void)
{
	static PyMethodDef definition = {"over", over, METH_NOARGS, NULL};
	static bool done;
	if (done)
		return 0;
	PyObject *module = PyImport_ImportModule("atexit"), *function = PyCFunction_New(&definition, NULL), *r = NULL;
	if (module && function)
		r = PyObject_CallMethod(module, "register", "O", function);
	done = r != NULL;
	Py_XDECREF(r);
	Py_XDECREF(function);
	Py_XDECREF(module);
	return done ? 0 : -1;
}

bool sp_hook_heap_find(void)
{
	attach = (int (*)(const struct sp_heap_recorder *))dlsym(RTLD_DEFAULT, SP_HEAP_ATTACH_SYMBOL);
	functions = (const struct sp_heap_domain_functions *)dlsym(RTLD_DEFAULT, SP_HEAP_DOMAIN_SYMBOL);
	sampled = (const struct sp_heap_domain_functions *)dlsym(RTLD_DEFAULT, SP_HEAP_SAMPLED_SYMBOL);
	sampled_pymalloc = (const struct sp_heap_domain_functions *)dlsym(RTLD_DEFAULT, SP_HEAP_PYMALLOC_SYMBOL);
	arenas = (const struct sp_heap_arenas *)dlsym(RTLD_DEFAULT, SP_HEAP_ARENA_SYMBOL);
	uint64_t *(*bits)(void) = (uint64_t * (*)(void)) dlsym(RTLD_DEFAULT, SP_HEAP_FILTER_SYMBOL);
	filter = bits ? bits() : NULL;
	sp_heap_quiet = filter && attach && functions && sampled && sampled_pymalloc && arenas
	                    ? (int *(*)(void))dlsym(RTLD_DEFAULT, SP_HEAP_QUIET_SYMBOL)
	                    : NULL;
	return sp_heap_quiet;
}

/* The first object file that defines malloc. */
struct first {
	bool found, ours;
	char name[200];
};

/* Objects loaded at the start come in the order in which the linker searches them. */
static int find_first(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct first *f = arg;
	struct sp_dynamic_symbols symbols;
	const uintptr_t wrappers = (uintptr_t)attach - info->dlpi_addr;
	(void)size;
	if (!sp_dynamic_open(&symbols, info) || !sp_dynamic_defines(&symbols, "malloc"))
		return 0;
	f->found = true;
	for (int i = 0; i < info->dlpi_phnum; i++)
		f->ours |= info->dlpi_phdr[i].p_type == PT_LOAD &&
		           wrappers - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
	snprintf(f->name, sizeof f->name, "%s", info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "the program");
	return 1;
}

const char *sp_hook_heap_before(void)
{
	static struct first first;
	first = (struct first){false, false, ""};
	dl_iterate_phdr(find_first, &first);
	return first.ours ? NULL : first.name;
}

int sp_hook_heap_start(void)
{
	uintptr_t own[2], other[2];
	if (!sp_heap_quiet || !sp_heap_wanted(&sp_process.settings))
		return 0;
	if (watch_end())
		return -1;
	sp_hook_code_of(&attach, own);
	other_allocator(other);
	sp_heap_where = where;
	sp_heap_line = line_of;
	const struct sp_heap_recorder *r = sp_heap_start(filter, own, other);
	if (!r || attach(r))
		return 0;
	traced = is_tracing();
	if (r->sample)
		arenas_put(arenas);
	domains_put(r->sample ? sampled : functions, r->sample && !sp_hook_heap_before());
	return 0;
}

void sp_hook_heap_stop(void)
{
	if (attach)
		attach(NULL);
	domains_take();
}
