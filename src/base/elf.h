/* SPDX-License-Identifier: BSD-3-Clause */
/* Object files: names of their functions, and their build ids. The contents of a file are not trusted. */
#ifndef SP_BASE_ELF_H
#define SP_BASE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_elf;

enum { SP_ELF_BUILD = 96 }; /* maximum bytes of a build id's text, with its NUL */

/* Reads the function names and the build id of an object file for this machine's architecture. Opens only regular
 * files. NULL: not such a file, unreadable, or no memory. */
struct sp_elf *sp_elf_open(const char *path);
void sp_elf_free(struct sp_elf *e);
/* The symbol of the function that begins at an address of the file (as the linker assigned it); NULL: no such function.
 * Valid as long as e. */
const char *sp_elf_function(const struct sp_elf *e, uint64_t address);
/* The same for the function that contains the address, and its begin; symbols without a size extend to the next one. */
const char *sp_elf_function_around(const struct sp_elf *e, uint64_t address, uint64_t *begin);
/* Text that identifies the build of the file: its build id, or without one its size and time of modification. */
const char *sp_elf_build(const struct sp_elf *e);
/* The same for an object that is loaded in this process. header: its ELF header in memory; moved: memory address - file
 * address; path: its file. */
void sp_elf_build_loaded(const void *header, uint64_t moved, const char *path, char text[SP_ELF_BUILD]);

/* Finds a symbol of any kind, or a section if the name begins with a dot: its address in the file (as the linker
 * assigned it) and its size. Opens the file for each call. Returns false if there is no such symbol, or the file is
 * unreadable. */
struct sp_elf_symbol {
	uint64_t address, bytes;
};
bool sp_elf_find(const char *path, const char *name, struct sp_elf_symbol *out);
/* Converts an offset in the file to the address at which the linker placed it. Returns false if that part is not
 * loaded. */
bool sp_elf_loaded_from(const char *path, uint64_t offset, uint64_t *address);
/* Reads n bytes at an address of the file (as the linker assigned it). Returns false if the file does not have all of
 * them. */
bool sp_elf_bytes(const char *path, uint64_t address, void *bytes, size_t n);

/* The demangled C++ name of a symbol, to be freed with free(); NULL: not a C++ name, or no C++ library is available.
 * load: a library may be loaded for this. */
char *sp_elf_demangle(const char *symbol, bool load);

#endif
