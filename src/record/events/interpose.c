/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/events/interpose.h"
#include "base/dynamic.h"
#include "record/adapter.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/events/task.h"
#include "record/hot.h"
#include "record/machine.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/waits/waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- entries of the linker's table ---- */

/* A loaded object file. Addresses are those in memory. */
struct object {
	uintptr_t at;               /* an address in it */
	uintptr_t base, relro, end; /* base address; the range that is read-only after relocation */
	uintptr_t first, last;      /* begin and end of the object in memory */
	const ElfW(Dyn) * dynamic;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = arg;
	struct object found = {.at = o->at, .base = info->dlpi_addr, .first = UINTPTR_MAX, .dynamic = sp_dynamic(info)};
	bool here = false;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t first = info->dlpi_addr + p->p_vaddr, last = first + p->p_memsz;
		if (p->p_type == PT_LOAD) {
			here |= o->at >= first && o->at < last;
			found.first = first < found.first ? first : found.first;
			found.last = last > found.last ? last : found.last;
		} else if (p->p_type == PT_GNU_RELRO) {
			found.relro = first;
			found.end = last;
		}
	}
	if (here)
		*o = found;
	return here;
}

struct relocations {
	const ElfW(Rela) * p;
	size_t n;
};

static void **find_entry(const struct object *o, const char *name)
{
	const ElfW(Dyn) *d = o->dynamic;
	const struct relocations r[2] = {
	    {sp_dynamic_address(d, o->base, DT_JMPREL), sp_dynamic_value(d, DT_PLTRELSZ) / sizeof(ElfW(Rela))},
	    {sp_dynamic_address(d, o->base, DT_RELA), sp_dynamic_value(d, DT_RELASZ) / sizeof(ElfW(Rela))}};
	const ElfW(Sym) *symbols = sp_dynamic_address(d, o->base, DT_SYMTAB);
	const char *strings = sp_dynamic_address(d, o->base, DT_STRTAB);
	const bool rela = sp_dynamic_value(d, DT_PLTREL) == DT_RELA;
	for (int k = rela ? 0 : 1; symbols && strings && k < 2; k++)
		for (size_t i = 0; r[k].p && i < r[k].n; i++) {
			const ElfW(Rela) *one = &r[k].p[i];
			uint32_t type = ELF64_R_TYPE(one->r_info);
			if ((type == (uint32_t)SP_MACHINE_JUMP_SLOT || type == (uint32_t)SP_MACHINE_GLOB_DAT) &&
			    !strcmp(strings + symbols[ELF64_R_SYM(one->r_info)].st_name, name))
				return (void **)(o->base + one->r_offset);
		}
	return NULL;
}

/* Stores `ours` in the entry of a function. *before is the entry's value, or, if the entry was not resolved yet, the
 * function that it would be resolved to. */
static int replace(const struct object *o, const char *name, void *ours, void **before)
{
	void **entry = find_entry(o, name);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)entry;
	if (!entry)
		return -ENOENT;
	if (*entry == ours)
		return 0;
	uintptr_t now = (uintptr_t)*entry;
	*before = now >= o->first && now < o->last ? dlsym(RTLD_DEFAULT, name) : (void *)now;
	/* if an executable takes the function's address, dlsym() may return the code that jumps through this very
	 * entry */
	if (!*before || ((uintptr_t)*before >= o->first && (uintptr_t)*before < o->last))
		return -ENOENT;
	/* as in the dynamic linker: the last page stays writable if the range ends in its middle */
	bool protected = at >= (o->relro & ~(page - 1)) && at < (o->end & ~(page - 1));
	void *start = (void *)(at & ~(page - 1));
	if (protected && mprotect(start, page, PROT_READ | PROT_WRITE))
		return -errno;
	__atomic_store_n(entry, ours, __ATOMIC_RELEASE);
	if (protected)
		mprotect(start, page, PROT_READ);
	return 0;
}

/* ---- creation of threads ---- */

/* The start of a thread that the interpreter creates. */
struct start {
	void *(*function)(void *);
	void *argument;
	uint32_t location, number, process;
};

static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static __thread struct start begun SP_TLS_MODEL;

static void *thread_main(void *arg)
{
	begun = *(struct start *)arg;
	free(arg);
	return begun.function(begun.argument);
}

static struct sp_thread *recorded_self(void)
{
	struct sp_thread *t = sp_self;
	return sp_recording && !sp_adapter_forks && t && t->epoch == sp_epoch ? t : NULL;
}

static int on_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	struct sp_thread *t = recorded_self();
	struct start *s = t ? malloc(sizeof *s) : NULL;
	if (!s)
		return real_create(thread, attributes, function, argument);
	uint64_t now = sp_ticks();
	*s = (struct start){function, argument, t->loc.id, sp_thread_number(), sp_adapter_read(&sp_adapter_process)};
	uint32_t number = s->number;
	int r = real_create(thread, attributes, thread_main, s);
	if (r)
		free(s);
	else if (recorded_self() == t)
		sp_thread_created(t, number, now);
	return r;
}

bool sp_interpose_threads(void)
{
	return real_create;
}

bool sp_interpose_creator(uint32_t *location, uint32_t *number)
{
	if (!begun.number || begun.process != sp_adapter_read(&sp_adapter_process))
		return false;
	*location = begun.location;
	*number = begun.number;
	return true;
}

/* ---- waiting for the GIL: each call lasts until the GIL may be free, at most the switch interval ---- */

static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static _Atomic int column = -1;

static int on_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	struct sp_thread *t = column >= 0 ? recorded_self() : NULL;
	if (!t)
		return real_wait(condition, mutex, until);
	struct sp_wait wait;
	const bool waits = sp_waits_wanted && sp_wait_begin_gil(&wait, t);
	const uint64_t begin = waits ? wait.begin : sp_ticks();
	if (!waits) /* what the thread waited for before, such as a lock, is not a part of this wait */
		sp_off_cpu_gap(t, begin, SP_RAW_EXTRA, 0);
	const int r = real_wait(condition, mutex, until), error = errno;
	/* the metric gil_wait and the row of waits count the same time */
	const uint64_t waited = waits && sp_wait_end(&wait, r == 0) ? wait.took : sp_ticks_between(begin, sp_ticks());
	if (recorded_self() == t) { /* not paused or ended meanwhile */
		if (!waits)         /* sp_wait_end() did that */
			sp_off_cpu_waited(t, waited);
		sp_extra_at(t, SP_RAW_X_GIL_WAIT, &waited, 1, begin + waited);
		struct sp_raw_node *n = (struct sp_raw_node *)((const struct sp_raw_frame *)t->loc.top)->node;
		sp_node_add(t, n, (unsigned)column, sp_waits_ns(waited, begin + waited));
	}
	errno = error;
	return r;
}

void sp_interpose_columns(void)
{
	column = sp_process.settings.gil
	             ? sp_define_metric("gil_wait", "s", -9, "time waited for the global interpreter lock",
	                                SP_RAW_METRIC_WAIT | SP_RAW_METRIC_EXCLUSIVE)
	             : -1;
}

void sp_interpose_start(const void *at)
{
	struct object o = {.at = (uintptr_t)at};
	if (!dl_iterate_phdr(find_object, &o))
		o.dynamic = NULL;
	/* store the original addresses before the entries */
	void *create = NULL, *wait = NULL;
	if (!real_create) {
		real_create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
		    RTLD_DEFAULT, "pthread_create");
		if (!real_create || replace(&o, "pthread_create", (void *)on_create, &create))
			real_create = NULL;
		else if (create)
			real_create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))create;
	}
	if (!sp_process.settings.gil)
		return;
	if (!real_wait) {
		real_wait = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
		    RTLD_DEFAULT, "pthread_cond_timedwait");
		if (!real_wait || replace(&o, "pthread_cond_timedwait", (void *)on_wait, &wait))
			real_wait = NULL;
		else if (wait)
			real_wait = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))wait;
	}
	static const char why[] = "time waited for the GIL, because this interpreter waits for it in a way not known";
	if (!real_wait)
		sp_define_meta("missing_gil", why, sizeof why - 1);
}
