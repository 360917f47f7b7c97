/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI is in this process, and what it has, read from the tables of the loaded objects: dlsym and dlopen must not
 * be called while the dynamic linker binds a symbol. */
#include "mpi/library.h"

#include "base/dynamic.h"

#include <link.h>
#include <string.h>

struct object {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash, *gnu_hash;
};

/* What the last search found. Written in callbacks of dl_iterate_phdr only, which the linker does one at a time. */
static struct {
	unsigned long long adds, subs; /* the list of objects it was found in */
	bool any;
	struct object mpi;
} last;

struct search {
	const char *function; /* NULL: only which MPI */
	char *path;           /* may be NULL */
	size_t n;
	bool begun, found, has;
};

static bool open_object(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = sp_dynamic(info);
	const uintptr_t base = info->dlpi_addr;
	*o = (struct object){.symbols = sp_dynamic_address(d, base, DT_SYMTAB),
	                     .strings = sp_dynamic_address(d, base, DT_STRTAB),
	                     .hash = sp_dynamic_address(d, base, DT_HASH),
	                     .gnu_hash = sp_dynamic_address(d, base, DT_GNU_HASH)};
	return o->symbols && o->strings && (o->hash || o->gnu_hash);
}

static bool is_defined(const struct object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned type = s->st_info & 0xf;
	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       !strcmp(o->strings + s->st_name, name);
}

static bool gnu_lookup(const struct object *o, const char *name)
{
	const uint32_t *h = o->gnu_hash, buckets = h[0], first = h[1], words = h[2], shift = h[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(h + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	const unsigned bits = 8 * sizeof *bloom;
	uint32_t hash = 5381;
	for (const char *p = name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	if (!buckets || !words)
		return false;
	ElfW(Addr) word = bloom[hash / bits % words];
	if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1))
		return false;
	uint32_t i = bucket[hash % buckets];
	if (i < first)
		return false;
	for (;; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is_defined(o, i, name))
			return true;
		if (chain[i - first] & 1)
			return false;
	}
}

static bool old_lookup(const struct object *o, const char *name)
{
	const uint32_t buckets = o->hash[0], *bucket = o->hash + 2, *chain = bucket + buckets;
	uint32_t hash = 0;
	for (const char *p = name; *p; p++) {
		hash = (hash << 4) + (unsigned char)*p;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i; i = chain[i])
		if (is_defined(o, i, name))
			return true;
	return false;
}

static bool lookup(const struct object *o, const char *name)
{
	return o->gnu_hash ? gnu_lookup(o, name) : old_lookup(o, name);
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	(void)size;
	if (!s->begun) {
		s->begun = true;
		if (last.adds == info->dlpi_adds && last.subs == info->dlpi_subs && !s->path) {
			s->found = last.any;
			s->has = last.any && s->function && lookup(&last.mpi, s->function);
			return 1;
		}
		last.adds = info->dlpi_adds;
		last.subs = info->dlpi_subs;
		last.any = false;
	}
	struct object o;
	if (!open_object(&o, info) || !lookup(&o, "PMPI_Init"))
		return 0;
	last.any = s->found = true;
	last.mpi = o;
	s->has = s->function && lookup(&o, s->function);
	if (s->path) {
		strncpy(s->path, info->dlpi_name ? info->dlpi_name : "", s->n - 1);
		s->path[s->n - 1] = '\0';
	}
	return 1;
}

bool sp_mpi_find(char *path, size_t n)
{
	struct search s = {.path = path, .n = n};
	dl_iterate_phdr(visit, &s);
	return s.found;
}

int sp_mpi_has(const char *function)
{
	struct search s = {.function = function};
	dl_iterate_phdr(visit, &s);
	return s.found ? s.has : -1;
}
