/* SPDX-License-Identifier: BSD-3-Clause */
/* The dynamic section of a loaded object. Inline, and without a call of any function: its users may run while the
 * dynamic linker binds a symbol, and one of them is linked to nothing of ours. */
#ifndef SP_BASE_DYNAMIC_H
#define SP_BASE_DYNAMIC_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: the object has none. */
static inline const ElfW(Dyn) * sp_dynamic(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); /* NOLINT */
	return NULL;
}

/* The value of the entry with that tag; 0: there is none. */
static inline uintptr_t sp_dynamic_value(const ElfW(Dyn) * d, ElfW(Sxword) tag)
{
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

/* The same of one that is an address: glibc has relocated it, elsewhere (musl, the vDSO) it is an offset. */
static inline const void *sp_dynamic_address(const ElfW(Dyn) * d, uintptr_t base, ElfW(Sxword) tag)
{
	uintptr_t p = sp_dynamic_value(d, tag);
	return p ? (const void *)(p < base ? base + p : p) : NULL; /* NOLINT(performance-no-int-to-ptr) */
}

#endif
