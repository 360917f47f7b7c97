/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"
#include "record/clock.h"
#include "sample/native/private.h"

enum {
	MAX_IMAGE = 256 << 20, /* maximum bytes of an object that is read from memory */
	MAX_PLACES = 1 << 18,  /* limit; then all are dropped */
	/* the mappings are read again after this multiple of the time that reading them took, */
	EVERY = 500,
	EVERY_AT_ONCE = 20, /* or, if an address did not fit, after this multiple */
	LEAST_NS = 2000000
};

#define JIT       "[jit]"
#define EVALUATOR "_PyEval_EvalFrameDefault"

uint64_t sp_native_now(void)
{
	return sp_clock_nanoseconds(CLOCK_MONOTONIC);
}

/* ---- object files ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_interpreter(const char *path)
{
	const char *name = last_part(path);
	/* Spartito's hook runs Python frames as the interpreter does */
	return starts(name, "libpython") || starts(name, "python") ||
	       (strstr(path, "/spartito/_measure.") && strstr(name, ".so"));
}

static bool is_library(const char *path)
{
	const char *name = last_part(path);
	return starts(name, "libc.") || starts(name, "libc-") || starts(name, "libpthread") || starts(name, "ld-");
}

/* Shared memory has a path, although it is not a file: some run-time compilers use it to make their code writable at
 * another address. */
static bool is_memory(const char *path)
{
	return starts(path, "/dev/zero") || starts(path, "/memfd:") || starts(path, "/SYSV");
}

static struct sp_object *object_of(struct sp_objects *o, const char *path)
{
	struct sp_object *found;
	for (found = o->all; found; found = found->next)
		if (!strcmp(found->path, path))
			return found;
	found = calloc(1, sizeof *found);
	if (!found || !(found->path = strdup(path)) || !(found->build = strdup(""))) {
		if (found)
			free(found->path);
		free(found);
		return NULL;
	}
	found->jit = !strcmp(path, JIT);
	found->interpreter = is_interpreter(path);
	found->library = is_library(path);
	found->next = o->all;
	o->all = found;
	return found;
}

/* Writes the loaded part of the file at `begin` to a temporary file. Returns a descriptor, or -1. Used for the vDSO and
 * for deleted files. */
static int image(struct sp_objects *o, uint64_t begin)
{
	ElfW(Ehdr) h;
	ElfW(Phdr) p[64];
	int fd = -1;
	uint64_t bytes = 0, first = UINT64_MAX;
	if (!sp_target_read(o->t, begin, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_phentsize != sizeof *p || h.e_phnum > sizeof p / sizeof *p ||
	    !sp_target_read(o->t, begin + h.e_phoff, p, h.e_phnum * sizeof *p))
		return -1;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD || p[i].p_offset > MAX_IMAGE || p[i].p_filesz > MAX_IMAGE)
			continue;
		bytes = p[i].p_offset + p[i].p_filesz > bytes ? p[i].p_offset + p[i].p_filesz : bytes;
		first = p[i].p_offset == 0 ? p[i].p_vaddr : first;
	}
	char *all = bytes && first != UINT64_MAX ? calloc(1, bytes) : NULL;
	for (unsigned i = 0; all && i < h.e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset <= bytes && p[i].p_filesz <= bytes - p[i].p_offset &&
		    !(p[i].p_flags & PF_W))
			sp_target_read(o->t, begin + p[i].p_vaddr - first, all + p[i].p_offset, p[i].p_filesz);
	/* the section headers are usually not loaded */
	if (all && (h.e_shoff > bytes || (uint64_t)h.e_shnum * h.e_shentsize > bytes - h.e_shoff)) {
		h.e_shoff = 0;
		h.e_shnum = h.e_shstrndx = 0;
		memcpy(all, &h, sizeof h < bytes ? sizeof h : bytes);
	}
	if (all && (fd = memfd_create("object", MFD_CLOEXEC)) >= 0 && write(fd, all, bytes) != (ssize_t)bytes) {
		close(fd);
		fd = -1;
	}
	free(all);
	return fd;
}

/* The mapping of the object's header: the last one before `piece` that maps the file's begin. */
static const struct sp_mapping *head_of(const struct sp_mappings *m, const struct sp_mapping *piece)
{
	for (const struct sp_mapping *p = piece;; p--) {
		if (strcmp(p->path, piece->path))
			return NULL;
		if (!p->offset)
			return p;
		if (p == m->all)
			return NULL;
	}
}

static void open_path(struct sp_object *x, const char *path, const char *build_path)
{
	char debug[PATH_MAX];
	const char *id;
	x->unwind = sp_unwind_open(path);
	if (x->interpreter)
		sp_parts_find(path, x->unwind, EVALUATOR, &x->evaluator);
	x->elf = sp_elf_open(build_path);
	if (!x->elf)
		return;
	char *build = strdup(sp_elf_build(x->elf));
	if (!build)
		return;
	free(x->build);
	x->build = build;
	/* where distributions install separate symbol files */
	id = starts(build, "build id ") ? build + strlen("build id ") : "";
	if (strlen(id) < 4)
		return;
	snprintf(debug, sizeof debug, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	struct sp_elf *more = sp_elf_open(debug);
	if (more && !strcmp(sp_elf_build(more), build)) {
		sp_elf_free(x->elf);
		x->elf = more;
	} else {
		sp_elf_free(more);
	}
}

/* Opens the object of a range of code, and finds its load address. */
static void open_object(struct sp_objects *o, struct sp_code *c)
{
	struct sp_object *x = c->object;
	struct sp_mappings m;
	char path[PATH_MAX] = "";
	int fd = -1;
	c->known = true;
	c->moved = x && x->jit ? 0 : c->begin - c->offset;
	if (!x || x->jit || sp_target_mappings(o->t, &m))
		return;
	const struct sp_mapping *piece = sp_mappings_at(&m, c->begin);
	if (!piece || strcmp(piece->path, x->path)) {
		/* another object may be at its address now */
		c->unloaded = true;
		sp_mappings_free(&m);
		return;
	}
	const struct sp_mapping *head = head_of(&m, piece);
	bool file = sp_target_file(o->t, piece, path, sizeof path);
	if (!file && x->path[0] == '/') {
		/* a deleted file; only root may use this path */
		snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)o->t->pid, (unsigned long)piece->begin,
		         (unsigned long)piece->end);
		file = !access(path, R_OK);
	}
	if (!file && head && (fd = image(o, head->begin)) >= 0) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		file = true;
	}
	uint64_t address;
	if (file && !x->opened)
		open_path(x, path, path);
	if (file && sp_elf_loaded_from(path, c->offset, &address))
		c->moved = c->begin - address;
	x->opened |= file;
	if (fd >= 0)
		close(fd);
	sp_mappings_free(&m);
}

static void object_free(struct sp_object *x)
{
	sp_unwind_close(x->unwind);
	sp_elf_free(x->elf);
	free(x->path);
	free(x->build);
	free(x);
}

/* ---- mappings ---- */

static void forget_places(struct sp_objects *o)
{
	for (size_t i = 0; o->places && i <= o->place_mask; i++)
		free(o->places[i].row.expressions);
	free(o->places);
	o->places = NULL;
	o->n_places = o->place_mask = 0;
}

static bool same(const struct sp_objects *o, const struct sp_code *code, size_t n)
{
	bool equal = n == o->n_code;
	for (size_t i = 0; equal && i < n; i++)
		equal = code[i].begin == o->code[i].begin && code[i].end == o->code[i].end &&
		        code[i].offset == o->code[i].offset && code[i].object == o->code[i].object &&
		        !o->code[i].unloaded;
	return equal;
}

bool sp_objects_read(struct sp_objects *o, bool again)
{
	struct sp_mappings m;
	struct sp_code *code = NULL;
	size_t n = 0, capacity = 0;
	bool jit = false;
	const uint64_t now = sp_native_now(), pause = o->cost * (again ? EVERY_AT_ONCE : EVERY);
	if (o->read_at && now - o->read_at < (pause > LEAST_NS ? pause : LEAST_NS))
		return false;
	/* processor time, not elapsed time: on a busy machine it would seem too expensive to be repeated soon */
	const uint64_t ran = sp_clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	if (sp_target_mappings(o->t, &m))
		return false;
	bool good = true;
	for (size_t i = 0; i < m.n && good; i++) {
		const struct sp_mapping *p = &m.all[i];
		if (!p->executable || !strcmp(p->path, "[vsyscall]"))
			continue;
		if (!(good = sp_grow(&code, n, &capacity, sizeof *code)))
			break;
		const bool file = (p->path[0] == '/' || !strcmp(p->path, "[vdso]")) && !is_memory(p->path);
		code[n++] = (struct sp_code){.begin = p->begin,
		                             .end = p->end,
		                             .offset = p->offset,
		                             .object = object_of(o, file ? p->path : JIT)};
		jit |= !file;
	}
	sp_mappings_free(&m);
	const bool named = jit && sp_jit_read(&o->jit, o->t);
	if (named)
		forget_places(o);
	o->read_at = sp_native_now();
	o->cost = sp_clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - ran;
	if (!good || same(o, code, n)) {
		free(code);
		return named;
	}
	free(o->code);
	o->code = code;
	o->n_code = n;
	forget_places(o);
	return true;
}

static struct sp_code *code_at(const struct sp_objects *o, uint64_t pc)
{
	const size_t i = sp_first_behind(o->code, o->n_code, sizeof *o->code, offsetof(struct sp_code, end), pc);
	return i < o->n_code && o->code[i].begin <= pc ? &o->code[i] : NULL;
}

bool sp_objects_code(const struct sp_objects *o, uint64_t pc)
{
	return code_at(o, pc);
}

/* ---- functions ---- */

static size_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b << 17 ^ b >> 23) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h ^ h >> 29);
}

static bool more_functions(struct sp_objects *o)
{
	size_t mask = o->function_mask ? 2 * o->function_mask + 1 : 1023;
	if (o->functions && o->n_functions < o->function_mask / 2)
		return true;
	struct sp_native_function **all = calloc(mask + 1, sizeof *all);
	if (!all)
		return false;
	for (size_t i = 0; o->functions && i <= o->function_mask; i++) {
		struct sp_native_function *f = o->functions[i];
		size_t at = f ? hash((uintptr_t)f->object, f->address) & mask : 0;
		while (f && all[at])
			at = (at + 1) & mask;
		if (f)
			all[at] = f;
	}
	free(o->functions);
	o->functions = all;
	o->function_mask = mask;
	return true;
}

/* Sets what follows from the function's name. */
static void judge(const struct sp_object *x, struct sp_native_function *f)
{
	static const char *const asks[] = {"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread",
	                                   "PyEval_AcquireLock"};
	static const char *const begins[] = {"_start",  "__libc_start",   "start_thread", "clone",
	                                     "__clone", "_dl_start_user", "__GI___clone"};
	f->interpreter = x->interpreter;
	f->begin = x->interpreter;
	if (!f->name) {
		f->begin |= x->library;
		return;
	}
	/* `python -X perf` adds such a trampoline around each Python function, which is found anyway */
	if (x->jit && starts(f->name, "py::"))
		f->interpreter = f->begin = true;
	/* its rarely used part is a separate symbol: _PyEval_EvalFrameDefault.cold */
	f->evaluator = x->interpreter && starts(f->name, EVALUATOR);
	for (size_t i = 0; x->interpreter && i < sizeof asks / sizeof *asks; i++)
		f->gil |= starts(f->name, asks[i]);
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		f->begin |= starts(f->name, begins[i]);
}

static struct sp_native_function *function_at(struct sp_objects *o, struct sp_object *x, uint64_t address)
{
	uint64_t begin = 0;
	const char *symbol = x->jit   ? sp_jit_name(&o->jit, address, &begin)
	                     : x->elf ? sp_elf_function_around(x->elf, address, &begin)
	                              : NULL;
	if (!symbol && !(x->unwind && sp_unwind_begin(x->unwind, address, &begin)))
		begin = 0;
	if (x->jit && !symbol)
		symbol = "<made at run time>";
	if (!symbol && begin && sp_parts_have(&x->evaluator, begin))
		symbol = EVALUATOR;
	if (!more_functions(o))
		return NULL;
	size_t at = hash((uintptr_t)x->path, begin) & o->function_mask;
	for (; o->functions[at]; at = (at + 1) & o->function_mask)
		if (o->functions[at]->object == x->path && o->functions[at]->address == begin &&
		    (!x->jit || !strcmp(o->functions[at]->name, symbol)))
			return o->functions[at];
	struct sp_native_function *f = calloc(1, sizeof *f);
	/* without the version in the dynamic symbol table: clock_nanosleep@@GLIBC_2.17 */
	char *name = symbol ? strndup(symbol, x->jit ? strlen(symbol) : strcspn(symbol, "@")) : NULL;
	if (!f || (symbol && !name)) {
		free(f);
		free(name);
		return NULL;
	}
	*f = (struct sp_native_function){.object = x->path, .build = x->build, .name = name, .address = begin};
	judge(x, f);
	o->functions[at] = f;
	o->n_functions++;
	return f;
}

/* ---- results by address ---- */

static bool more_places(struct sp_objects *o)
{
	if (o->n_places >= MAX_PLACES)
		forget_places(o);
	if (o->places && o->n_places < o->place_mask / 2)
		return true;
	size_t mask = o->places ? 2 * o->place_mask + 1 : 1023;
	struct sp_code_symbol *all = calloc(mask + 1, sizeof *all);
	if (!all)
		return false;
	for (size_t i = 0; o->places && i <= o->place_mask; i++) {
		size_t at = hash(o->places[i].pc, 0) & mask;
		if (!o->places[i].pc)
			continue;
		while (all[at].pc)
			at = (at + 1) & mask;
		all[at] = o->places[i];
	}
	free(o->places);
	o->places = all;
	o->place_mask = mask;
	return true;
}

const struct sp_code_symbol *sp_objects_at(struct sp_objects *o, uint64_t pc)
{
	struct sp_code *c;
	size_t at = 0;
	if (o->places)
		for (at = hash(pc, 0) & o->place_mask; o->places[at].pc; at = (at + 1) & o->place_mask)
			if (o->places[at].pc == pc)
				return &o->places[at];
	if (!pc || !(c = code_at(o, pc)) || !more_places(o))
		return NULL;
	if (!c->known)
		open_object(o, c);
	if (c->unloaded)
		return NULL;
	for (at = hash(pc, 0) & o->place_mask; o->places[at].pc;)
		at = (at + 1) & o->place_mask;
	struct sp_code_symbol *p = &o->places[at];
	*p = (struct sp_code_symbol){.pc = pc, .moved = c->moved, .jit = c->object && c->object->jit};
	o->n_places++;
	if (c->object && c->object->unwind)
		sp_unwind_row(c->object->unwind, pc - c->moved, &p->row);
	if (c->object)
		p->function = function_at(o, c->object, pc - c->moved);
	return p;
}

void sp_objects_close(struct sp_objects *o)
{
	struct sp_object *next;
	forget_places(o);
	sp_jit_close(&o->jit);
	for (size_t i = 0; o->functions && i <= o->function_mask; i++) {
		free(o->functions[i] ? (char *)o->functions[i]->name : NULL);
		free(o->functions[i]);
	}
	free(o->functions);
	free(o->code);
	for (; o->all; o->all = next) {
		next = o->all->next;
		object_free(o->all);
	}
}
