/* SPDX-License-Identifier: BSD-3-Clause */
/* Debugging information of object files, through libdw: where a function was declared. */
#ifndef SP_MODEL_SYMBOLS_DEBUGINFO_H
#define SP_MODEL_SYMBOLS_DEBUGINFO_H

#include <stdint.h>

struct sp_dwarf;

struct sp_dwarf_function {
	const char *linkage; /* what it is called in the object file, where that is told; NULL: not told */
	const char *scope;   /* name of the Fortran module or of the procedure that it is in, or NULL */
	const char *name;    /* as in the source, or NULL */
	const char *dir;     /* of file, where that is relative, or NULL */
	const char *file;    /* or NULL */
	int line;            /* 0: not known */
};

/* NULL: the file has no such information, and neither has the file that Debian and others keep for its build id. */
struct sp_dwarf *sp_dwarf_open(const char *path, const char *build);
void sp_dwarf_close(struct sp_dwarf *d);
/* The function that begins at an address of the file; the strings live as long as d. Returns 0, or -1: none. */
int sp_dwarf_find(struct sp_dwarf *d, uint64_t address, struct sp_dwarf_function *out);

#endif
