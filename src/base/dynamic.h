/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic section of a loaded object. Inline, and calls no function except strcmp(): its users may run while the
 * dynamic linker binds a symbol, and one of them is not linked to any of Spartito's libraries. */
#ifndef SP_BASE_DYNAMIC_H
#define SP_BASE_DYNAMIC_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The dynamic section; NULL: the object does not have one. */
static inline const ElfW(Dyn) * sp_dynamic(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); /* NOLINT */
	return NULL;
}

/* The value of the entry with this tag; 0: no such entry. */
static inline uintptr_t sp_dynamic_value(const ElfW(Dyn) * d, ElfW(Sxword) tag)
{
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

/* The same for an address: glibc has relocated it; elsewhere (musl, the vDSO) it is an offset. */
static inline const void *sp_dynamic_address(const ElfW(Dyn) * d, uintptr_t base, ElfW(Sxword) tag)
{
	uintptr_t p = sp_dynamic_value(d, tag);
	return p ? (const void *)(p < base ? base + p : p) : NULL; /* NOLINT(performance-no-int-to-ptr) */
}

/* The tables of the symbols that an object exports. */
struct sp_dynamic_symbols {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash, *gnu_hash;
};

static inline bool sp_dynamic_open(struct sp_dynamic_symbols *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = sp_dynamic(info);
	const uintptr_t base = info->dlpi_addr;
	*o = (struct sp_dynamic_symbols){.symbols = sp_dynamic_address(d, base, DT_SYMTAB),
	                                 .strings = sp_dynamic_address(d, base, DT_STRTAB),
	                                 .hash = sp_dynamic_address(d, base, DT_HASH),
	                                 .gnu_hash = sp_dynamic_address(d, base, DT_GNU_HASH)};
	return o->symbols && o->strings && (o->hash || o->gnu_hash);
}

static inline bool sp_dynamic_is(const struct sp_dynamic_symbols *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned type = s->st_info & 0xf;
	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       !strcmp(o->strings + s->st_name, name);
}

static inline bool sp_dynamic_in_gnu_hash(const struct sp_dynamic_symbols *o, const char *name)
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
		if ((chain[i - first] | 1) == (hash | 1) && sp_dynamic_is(o, i, name))
			return true;
		if (chain[i - first] & 1)
			return false;
	}
}

static inline bool sp_dynamic_in_hash(const struct sp_dynamic_symbols *o, const char *name)
{
	const uint32_t buckets = o->hash[0], *bucket = o->hash + 2, *chain = bucket + buckets;
	uint32_t hash = 0;
	for (const char *p = name; *p; p++) {
		hash = (hash << 4) + (unsigned char)*p;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i; i = chain[i])
		if (sp_dynamic_is(o, i, name))
			return true;
	return false;
}

/* Whether the object defines a function of this name. It is not enough that dlsym() finds one: in an executable that is
 * not position-independent, dlsym() returns the entry of a function whose address the executable takes. */
static inline bool sp_dynamic_defines(const struct sp_dynamic_symbols *o, const char *name)
{
	return o->gnu_hash ? sp_dynamic_in_gnu_hash(o, name) : sp_dynamic_in_hash(o, name);
}

#endif
