/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: Python's allocators and the library in front of the C library's; where the program is when it allocates. */
#include "hook/process/heap.h"

#include "base/dynamic.h"
#include "hook/naming.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/heap/recorder.h"
#include "record/process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where ---- */

enum { MOST_CALLERS = 64 }; /* of a library's function that are looked at for one of the program's own */

/* Decided in this measurement. */
static inline bool is_decided(uint64_t slot)
{
	return (slot & (SP_SLOT_MASK & ~UINT64_C(0xe))) == sp_slot_ok;
}

/* 0: none. */
static inline uint32_t region_in(uint64_t slot)
{
	const uint32_t region = is_decided(slot) ? (uint32_t)(slot >> SP_SLOT_ID) : 0;
	return region < SP_REGION_HIDES ? region : 0;
}

static inline bool is_own(uint64_t slot)
{
	return !(slot & SP_SLOT_LIBRARY) && region_in(slot);
}

/* Who of the program called a library's function; NULL: nobody near, or whose that is has not been decided. */
static sp_frame *own_caller(sp_frame *f)
{
	for (int i = 0; i < MOST_CALLERS && (f = sp_frame_back(f)); i++)
		if (is_own(sp_slot_of(sp_frame_code(f))))
			return f;
	return NULL;
}

/* What is filtered is where its caller calls it. */
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
	/* another thread may change the slots of code while this one has no GIL */
	if (is_decided(slot) && slot & SP_SLOT_LIBRARY && gil && (f = own_caller(f))) {
		w->own_frame = f;
		w->own_at = sp_frame_instruction(f, &w->own_offset);
	}
}

/* ---- what the library has ---- */

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

/* Of the allocator in use: pymalloc, which does not look at its context, mimalloc, and others with a debugger around
 * them. */
static bool is_named(const char *name, size_t length)
{
	const char *(*current)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName");
	const char *is = current ? current() : NULL;
	return is && !strncmp(is, name, length);
}

/* left: what is taken from malloc() in any case is left to its wrapper, which samples. */
static void domains_put(const struct sp_heap_domain_functions *f, bool left)
{
	PyMemAllocatorEx raw;
	const bool pymalloc = is_named("pymalloc", sizeof "pymalloc"), mimalloc = is_named("mimalloc", 8);
	PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
	for (int i = 0; i < DOMAINS; i++) {
		PyMemAllocatorEx a;
		PyMem_GetAllocator(domains[i], &a);
		if (in_place[i] || (left && a.malloc == raw.malloc))
			continue;
		const struct sp_heap_domain_functions *put = left && pymalloc && !a.ctx ? sampled_pymalloc : f;
		/* what is larger goes to malloc(), or, where that is not ours, to the first domain, or stays in this
		 * one */
		const bool whole = (i && mimalloc) || (!left && (!i || a.malloc == raw.malloc));
		behind[i] = (struct sp_heap_domain){
		    kinds[i], whole ? SIZE_MAX : SP_HEAP_PYMALLOC_MOST, a.ctx, a.malloc, a.calloc, a.realloc, a.free};
		ours[i] = (PyMemAllocatorEx){&behind[i], put->malloc, put->calloc, put->realloc,
		                             put->free ? put->free : a.free};
		PyMem_SetAllocator(domains[i], &ours[i]);
		in_place[i] = true;
	}
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

/* Who came on top of us calls us: then we stay, and pass on. Arenas stay as they are. */
static void domains_take(void)
{
	PyMemAllocatorEx a;
	for (int i = 0; i < DOMAINS; i++) {
		const struct sp_heap_domain *d = &behind[i];
		PyMem_GetAllocator(domains[i], &a);
		if (!in_place[i] || a.ctx != ours[i].ctx || a.malloc != ours[i].malloc)
			continue;
		a = (PyMemAllocatorEx){d->ctx, d->malloc, d->calloc, d->realloc, d->free};
		PyMem_SetAllocator(domains[i], &a);
		in_place[i] = false;
	}
}

/* ---- lines ---- */

static bool traced; /* behind us, when we came */

/* Whether another hook, as that of tracemalloc, is in front of the allocators or behind us. */
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

/* tracemalloc asks the allocator behind it for memory with a lock held that it takes at each allocation of Python's
 * (3.14, and later releases of 3.13), so that none may be made then. That is one of the two that need no GIL. */
static bool may_hold_lock(unsigned kind)
{
	return (kind == SP_RAW_HEAP_MALLOC || kind == SP_RAW_HEAP_PYTHON_RAW) && is_traced();
}

/* Started by the program, or with the interpreter, which does not import its module then. */
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

/* Of code that is named now, if it was not: with the GIL. */
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

/* The same as own_caller(), with names for those that have none. */
static sp_frame *own_caller_named(sp_frame *f)
{
	for (int i = 0; i < MOST_CALLERS && (f = sp_frame_back(f)); i++)
		if (is_own(slot_named(f)))
			return f;
	return NULL;
}

static void line_of(const struct sp_heap_where *w, unsigned kind, struct sp_heap_line *line)
{
	sp_frame *f = (sp_frame *)(uintptr_t)w->frame, *own = (sp_frame *)(uintptr_t)w->own_frame;
	bool gil;
	sp_hook_own_state(&gil);
	const bool may_name = gil && !may_hold_lock(kind);
	const uint64_t slot = may_name ? slot_named(f) : sp_slot_of(sp_frame_code(f));
	line->region = slot & SP_SLOT_FILTERED ? 0 : region_in(slot);
	if (!line->region)
		return;
	line->line = line_in(f);
	if (!own && may_name && slot & SP_SLOT_LIBRARY)
		own = own_caller_named(f);
	if (own) {
		line->own_region = region_in(sp_slot_of(sp_frame_code(own)));
		line->own_line = line_in(own);
	}
}

/* ---- beginning and end ---- */

/* Nothing, if it is the C library's. */
static void other_allocator(uintptr_t code[2])
{
	const void *(*real)(void) = (const void *(*)(void))dlsym(RTLD_DEFAULT, SP_HEAP_REAL_SYMBOL);
	const void *library = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
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

/* What is left is told before the interpreter clears its modules: the first that was registered is called last. */
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

/* The first object that has a malloc. */
struct first {
	bool found, ours;
	char name[200];
};

/* The objects that were there at the start come in the order in which the linker looks for symbols. */
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
