/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled functions that report their calls (-finstrument-functions): finds the region of a function's address. */
#include "base/elf.h"
#include "record/adapter.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/hot.h"
#include "record/libc.h"
#include "record/process.h"
#include "record/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table: read without a lock, written under the process lock ---- */

/* One function and its region. */
struct entry {
	uint64_t function; /* 0: free; constant once it is set */
	uint64_t value;    /* generation << 32 | region; region 0: not recorded */
};

struct table {
	struct entry *entries;
	struct table *before; /* owned; smaller tables are kept, because a thread may be reading them */
	unsigned shift;       /* 64 - the number of bits of an index */
	uint32_t used;
};

enum { FIRST_BITS = 10 };
static struct entry first_entries[1 << FIRST_BITS];
static struct table first = {.entries = first_entries, .shift = 64 - FIRST_BITS};
static struct table *table = &first;

/* Entries of an earlier generation are invalid. */
static uint32_t generation = 1;

static inline uint64_t key_of(const void *function)
{
	/* only bit 2: no other key of the recorder or of a hook has that */
	return (uint64_t)function << 8 | 4;
}

static inline struct entry *find(struct table *in, const void *function)
{
	uint64_t i = ((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15)) >> in->shift, mask = UINT64_MAX >> in->shift;
	for (;; i = (i + 1) & mask) {
		uint64_t there = __atomic_load_n(&in->entries[i].function, __ATOMIC_ACQUIRE);
		if (SP_LIKELY(there == (uint64_t)function) || !there)
			return &in->entries[i];
	}
}

/* Whether the function is in the table; then *region is its region. */
static inline bool known(const void *function, uint32_t *region)
{
	const struct entry *e = find(__atomic_load_n(&table, __ATOMIC_ACQUIRE), function);
	uint64_t value = __atomic_load_n(&e->value, __ATOMIC_RELAXED);
	*region = (uint32_t)value;
	return value >> 32 == __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

/* with the process lock held */
static bool grow(void)
{
	struct table *old = table;
	uint64_t size = UINT64_C(1) << (64 - old->shift);
	if (old->used * UINT64_C(2) < size)
		return true;
	struct table *bigger = calloc(1, sizeof *bigger + 2 * size * sizeof(struct entry));
	if (!bigger)
		return old->used + 1 < size;
	bigger->entries = (struct entry *)(bigger + 1);
	bigger->before = old;
	bigger->shift = old->shift - 1;
	bigger->used = old->used;
	for (uint64_t i = 0; i < size; i++)
		if (old->entries[i].function)
			*find(bigger, (const void *)old->entries[i].function) = old->entries[i];
	__atomic_store_n(&table, bigger, __ATOMIC_RELEASE);
	return true;
}

static void remember(const void *function, uint32_t region, uint32_t of)
{
	pthread_mutex_lock(&sp_process.lock);
	if (grow()) {
		struct entry *e = find(table, function);
		__atomic_store_n(&e->value, (uint64_t)of << 32 | region, __ATOMIC_RELAXED);
		if (!e->function) {
			table->used++;
			__atomic_store_n(&e->function, (uint64_t)function, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&sp_process.lock);
}

void sp_native_forget(void)
{
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
}

/* ---- the object file of a function ---- */

/* A loaded object file with instrumented functions. */
struct object {
	struct object *next;
	uint64_t moved; /* difference between its addresses in memory and in the file */
	uint32_t generation;
	char *path, *module; /* owned */
	struct sp_elf *elf;  /* shared between generations; NULL: it cannot be read, or is another build by now */
	char build[SP_ELF_BUILD];
};
static struct object *objects; /* newest first; under the process lock. Never freed: a thread may be using one. */

/* Returns the path of the file mapped at an address, independent of the current working directory; the caller frees
 * it. */
static char *mapped_file(uint64_t address)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char *line = NULL, *path = NULL;
	size_t capacity = 0;
	uint64_t from, to;
	int at;
	while (f && !path && getline(&line, &capacity, f) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &from, &to, &at) == 2 &&
		    address >= from && address < to && line[at] == '/')
			path = strndup(line + at, strcspn(line + at, "\n"));
	free(line);
	if (f)
		fclose(f);
	return path;
}

char *sp_native_module(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *end = strstr(name, ".so");
	const char *tag = strstr(name, ".cpython-");
	if (!tag)
		tag = strstr(name, ".abi3.");
	if (end && end[3] && end[3] != '.')
		end = NULL;
	if (end && tag && tag < end)
		end = tag;
	return end && end > name ? strndup(name, (size_t)(end - name)) : strdup(name);
}

static struct object *object_new(const Dl_info *info, uintptr_t bias, uint32_t of)
{
	struct object *o = calloc(1, sizeof *o);
	char *path = mapped_file((uint64_t)info->dli_saddr);
	if (!path)
		path = strdup(info->dli_fname ? info->dli_fname : "");
	char *module = path ? sp_native_module(path) : NULL;
	if (!o || !module) {
		free(o);
		free(path);
		free(module);
		return NULL;
	}
	*o = (struct object){.moved = bias, .generation = of, .path = path, .module = module};
	sp_elf_build_loaded(info->dli_fbase, o->moved, path, o->build);
	return o;
}

/* Reads the symbols of a new object and records its build; no other thread knows the object yet. */
static void object_read(struct object *o, const struct object *earlier)
{
	char *key = NULL;
	if (*o->build && asprintf(&key, "object %s", o->path) >= 0)
		sp_define_meta(key, o->build, strlen(o->build));
	free(key);
	for (; earlier; earlier = earlier->next)
		if (!strcmp(earlier->path, o->path) && !strcmp(earlier->build, o->build)) {
			o->elf = earlier->elf;
			return;
		}
	o->elf = sp_elf_open(o->path);
	if (o->elf && strcmp(o->build, sp_elf_build(o->elf))) {
		sp_elf_free(o->elf);
		o->elf = NULL;
	}
}

/* Two threads may make the same object at the same time: one of the two is not found later and is never freed. */
static const struct object *object_of(const Dl_info *info, uintptr_t bias, uint32_t of)
{
	pthread_mutex_lock(&sp_process.lock);
	struct object *all = objects, *o = all;
	pthread_mutex_unlock(&sp_process.lock);
	while (o && !(o->moved == bias && o->generation == of))
		o = o->next;
	if (o)
		return o;
	o = object_new(info, bias, of);
	if (!o)
		return NULL;
	object_read(o, all);
	pthread_mutex_lock(&sp_process.lock);
	o->next = objects;
	objects = o;
	pthread_mutex_unlock(&sp_process.lock);
	return o;
}

/* ---- a function that is called for the first time ---- */

static struct sp_text text_of(const char *p)
{
	return (struct sp_text){p, strlen(p)};
}

/* Returns 0 if the filter excludes the function or there is no space. */
static uint32_t define_in(const struct object *o, const char *symbol, uint64_t address)
{
	char *plain = sp_elf_demangle(symbol, false);
	bool wanted = sp_filter_wants(sp_process.filter, o->module, plain ? plain : symbol, o->path);
	free(plain);
	if (!wanted)
		return 0;
	return sp_define_region(text_of(o->module), text_of(symbol), text_of(o->path),
	                        address <= UINT32_MAX ? (uint32_t)address : 0, SP_RAW_REGION_NATIVE);
}

static uint32_t define(const void *function, uint32_t of)
{
	Dl_info info;
	uintptr_t bias = 0;
	/* before taking the process lock: a thread that loads a library holds the loader's lock and may wait for the
	 * process lock */
	if (!sp_libc_dladdr(function, &info, &bias) || !info.dli_fbase) {
		/* code generated at run time */
		const struct object nowhere = {.path = "", .module = ""};
		char name[32];
		snprintf(name, sizeof name, "<compiled at %p>", function);
		return define_in(&nowhere, name, 0);
	}
	bool begins_here = info.dli_sname && info.dli_saddr == function;
	info.dli_saddr = (void *)function;
	const struct object *o = object_of(&info, bias, of);
	if (!o)
		return 0;
	uint64_t address = (uint64_t)function - o->moved;
	const char *symbol = o->elf ? sp_elf_function(o->elf, address) : NULL;
	if (!symbol)
		symbol = begins_here ? info.dli_sname : "";
	return define_in(o, symbol, address);
}

/* ---- events ---- */

/* Handles a new function, a new thread, a thread whose stack is out of date, and the interpreter's start-up. Functions
 * called from here (an allocator, a signal handler) may be instrumented themselves. */
SP_COLD static void enter_slow(const void *function)
{
	static __thread bool inside SP_TLS_MODEL;
	if (inside)
		return;
	inside = true;
	int error = errno;
	struct sp_thread *t = sp_adapter_thread();
	uint32_t region = 0, of = __atomic_load_n(&generation, __ATOMIC_RELAXED);
	if (t && !known(function, &region)) {
		region = define(function, of);
		remember(function, region, of);
	}
	if (region)
		sp_enter(t, region, key_of(function), sp_ticks(), SP_RAW_ENTER);
	errno = error;
	inside = false;
}

static inline const struct sp_raw_frame *top_of(const struct sp_thread *t)
{
	return (const struct sp_raw_frame *)t->loc.top;
}

void sp_native_enter(const void *function)
{
	struct sp_thread *t = sp_self;
	uint32_t region;
	if (SP_UNLIKELY(!sp_recording))
		return;
	if (SP_UNLIKELY(!known(function, &region) || !t || t->epoch != sp_epoch || top_of(t)->flags))
		enter_slow(function);
	else if (region)
		sp_enter(t, region, key_of(function), sp_ticks(), SP_RAW_ENTER);
}

/* Not the innermost frame: the filter excludes it, or the frames above it ended unseen, or its enter was not seen. */
SP_COLD static void leave_slow(const void *function)
{
	uint32_t region = 0;
	struct sp_thread *t = sp_adapter_thread();
	if (t && known(function, &region) && region && !sp_leave(t, key_of(function), sp_ticks(), SP_RAW_LEAVE))
		t->loc.unmatched++;
}

void sp_native_leave(const void *function)
{
	struct sp_thread *t = sp_self;
	if (SP_UNLIKELY(!sp_recording))
		return;
	if (SP_LIKELY(t && t->epoch == sp_epoch && top_of(t)->key == key_of(function)))
		sp_leave(t, key_of(function), sp_ticks(), SP_RAW_LEAVE);
	else
		leave_slow(function);
}

/* ---- objects loaded before _measure ---- */

struct names {
	char **p; /* owned, and so is each string */
	size_t n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct names *all = arg;
	char **more = realloc(all->p, (all->n + 1) * sizeof *more), *copy = strdup(info->dlpi_name);
	(void)size;
	if (more) {
		all->p = more;
		all->p[all->n++] = copy;
	} else {
		free(copy);
	}
	return 0;
}

void sp_native_attach(void)
{
	struct names all = {NULL, 0};
	/* no object may be opened during the iteration */
	dl_iterate_phdr(collect, &all);
	for (size_t i = 0; i < all.n; i++) {
		const char *name = all.p[i];
		void *object = name ? dlopen(*name ? name : NULL, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		const struct sp_adapter **place = object ? dlsym(object, SP_NATIVE_SYMBOL) : NULL;
		if (place)
			__atomic_store_n(place, &sp_adapter_v1, __ATOMIC_RELEASE);
		if (object)
			dlclose(object);
		free(all.p[i]);
	}
	dlerror(); /* clears it: the program may check for its own errors */
	free(all.p);
}
