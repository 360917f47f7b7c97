/* SPDX-License-Identifier: BSD-3-Clause */
/* Debugging information of object files, through libdw: the source locations of functions. */
#ifndef SP_MODEL_SYMBOLS_DEBUGINFO_H
#define SP_MODEL_SYMBOLS_DEBUGINFO_H

#include <stdint.h>

struct sp_dwarf;

struct sp_dwarf_function {
	const char *linkage; /* linkage name, if the debugging information has it; NULL: unknown */
	const char *scope;   /* name of the Fortran module or procedure that contains it, or NULL */
	const char *name;    /* as in the source, or NULL */
	const char *dir;     /* directory of a relative `file`, or NULL */
	const char *file;    /* or NULL */
	int line;            /* 0: unknown */
};

/* Opens the debugging information of an object file. NULL: neither the file nor the system's separate debug file for
 * its build id (Debian and others) has any. */
struct sp_dwarf *sp_dwarf_open(const char *path, const char *build);
void sp_dwarf_close(struct sp_dwarf *d);
/* Finds the function that begins at an address of the file. The strings live as long as d. Returns 0, or -1 if there is
 * no such function. */
int sp_dwarf_find(struct sp_dwarf *d, uint64_t address, struct sp_dwarf_function *out);

#endif
