/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces debuginfo.c in a build without libdw. */
#include "model/symbols/debuginfo.h"

#include <stddef.h>

struct sp_dwarf *sp_dwarf_open(const char *path, const char *build)
{
	(void)path, (void)build;
	return NULL;
}

void sp_dwarf_close(struct sp_dwarf *d)
{
	(void)d;
}

int sp_dwarf_find(struct sp_dwarf *d, uint64_t address, struct sp_dwarf_function *out)
{
	(void)d, (void)address, (void)out;
	return -1;
}
