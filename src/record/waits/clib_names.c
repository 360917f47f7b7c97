/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds names of addresses in the loaded object files. dladdr() would wait while another thread loads an object file,
 * and that thread may wait for a lock that the caller holds. Therefore this file reads the symbol tables itself. */
#include "base/dynamic.h"
#include "record/adapter.h"
#include "record/metrics.h"
#include "record/waits/clib_private.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* An address to find, and the result. */
struct search {
	uintptr_t address;
	bool function;
	char text[512];
	int n; /* 0: the address is in no object file */
};

/* Returns the number of symbols in a table, which only the hash tables contain. */
static size_t symbols_of(const ElfW(Dyn) * d, uintptr_t base)
{
	const uint32_t *old = sp_dynamic_address(d, base, DT_HASH);
	const uint32_t *h = sp_dynamic_address(d, base, DT_GNU_HASH);
	if (old)
		return old[1];
	if (!h)
		return 0;
	/* each bucket contains the first symbol of a chain; the last member of a chain has bit 0 set */
	const uint32_t n = h[0], first = h[1];
	const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(h + 4) + h[2]), *chains = buckets + n;
	uint32_t last = 0;
	for (uint32_t i = 0; i < n; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < first)
		return first;
	while (!(chains[last - first] & 1))
		last++;
	return last + 1;
}

/* Returns the exported symbol that contains the address; NULL if no symbol does. */
static const char *symbol_at(const ElfW(Dyn) * d, uintptr_t base, uintptr_t address)
{
	const ElfW(Sym) *symbols = sp_dynamic_address(d, base, DT_SYMTAB);
	const char *strings = sp_dynamic_address(d, base, DT_STRTAB);
	const size_t n = symbols && strings ? symbols_of(d, base) : 0;
	for (size_t i = 0; i < n; i++) {
		const ElfW(Sym) *s = &symbols[i];
		const unsigned type = ELF64_ST_TYPE(s->st_info);
		if (s->st_shndx != SHN_UNDEF && (type == STT_OBJECT || type == STT_FUNC) &&
		    address - base - s->st_value < (s->st_size ? s->st_size : 1))
			return strings + s->st_name;
	}
	return NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	bool here = false;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		here |= p->p_type == PT_LOAD && s->address - info->dlpi_addr - p->p_vaddr < p->p_memsz;
	}
	if (!here)
		return 0;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *file = slash ? slash + 1 : info->dlpi_name;
	file = file && *file ? file : "the executable";
	const char *symbol = symbol_at(sp_dynamic(info), info->dlpi_addr, s->address);
	s->n = symbol ? snprintf(s->text, sizeof s->text, "%s in %s", symbol, file)
	              : snprintf(s->text, sizeof s->text, "%s+%#lx", file,
	                         (unsigned long)(s->address + s->function - info->dlpi_addr));
	if (s->n >= (int)sizeof s->text)
		s->n = (int)sizeof s->text - 1;
	return 1;
}

/* Held while the linker's lock is held: otherwise a fork could copy a held linker's lock, and dlopen() in the child
 * would wait for a thread that does not exist there. */
static pthread_mutex_t in_linker = PTHREAD_MUTEX_INITIALIZER;

static void look_for(struct search *s)
{
	pthread_mutex_lock(&in_linker);
	dl_iterate_phdr(visit, s);
	pthread_mutex_unlock(&in_linker);
}

void sp_clib_names_fork(enum sp_fork when)
{
	if (when == SP_FORK_BEFORE)
		pthread_mutex_lock(&in_linker);
	else if (when == SP_FORK_PARENT)
		pthread_mutex_unlock(&in_linker);
	else
		pthread_mutex_init(&in_linker, NULL);
}

/* The latest results: a symbol table may be long, and one place may make many objects. */
static struct {
	uintptr_t address;
	unsigned long long
	    unloaded; /* number of object files unloaded until then: others may be at their addresses since */
	uint32_t generation, string;
} places[256];

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_subs;
	return 1;
}

static uint32_t known_place(size_t i, uintptr_t address, unsigned long long *unloaded)
{
	pthread_mutex_lock(&in_linker);
	dl_iterate_phdr(count_unloaded, unloaded);
	const uint32_t string = places[i].address == address && places[i].unloaded == *unloaded &&
	                                places[i].generation == *sp_adapter_v1.generation
	                            ? places[i].string
	                            : 0;
	pthread_mutex_unlock(&in_linker);
	return string;
}

uint32_t sp_clib_place_name(const void *caller)
{
	/* after a call that is a function's last instruction another function may begin */
	struct search s = {.address = (uintptr_t)caller - 1, .function = true};
	const size_t i = s.address * UINT64_C(0x9e3779b97f4a7c15) >> 56;
	unsigned long long unloaded = 0;
	const uint32_t generation = *sp_adapter_v1.generation; /* read first: another measurement may begin meanwhile */
	uint32_t string = known_place(i, s.address, &unloaded);
	if (string)
		return string;
	look_for(&s);
	string = s.n > 0 ? sp_adapter_v1.string(s.text, (size_t)s.n) : 0;
	pthread_mutex_lock(&in_linker);
	places[i].address = s.address;
	places[i].unloaded = unloaded;
	places[i].generation = generation;
	places[i].string = string;
	pthread_mutex_unlock(&in_linker);
	return string;
}

uint32_t sp_clib_object_name(unsigned kind, const void *p)
{
	static const char *const types[SP_RAW_WAIT_KINDS] = {
	    [SP_RAW_WAIT_MUTEX] = "pthread_mutex_t",
	    [SP_RAW_WAIT_COND] = "pthread_cond_t",
	    [SP_RAW_WAIT_SEM] = "sem_t",
	    [SP_RAW_WAIT_RWLOCK] = "pthread_rwlock_t",
	    [SP_RAW_WAIT_THREAD] = "pthread_t",
	    [SP_RAW_WAIT_PTHREAD_BARRIER] = "pthread_barrier_t",
	};
	struct search s = {.address = (uintptr_t)p};
	char text[600];
	if (kind != SP_RAW_WAIT_THREAD)
		look_for(&s);
	const int n = snprintf(text, sizeof text, "%s%s%s", types[kind] ? types[kind] : "object", s.n > 0 ? " " : "",
	                       s.n > 0 ? s.text : "");
	return sp_adapter_v1.string(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
