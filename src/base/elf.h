/* SPDX-License-Identifier: BSD-3-Clause */
/* Object files: what their functions are called, and which build of a file this is. Nothing in a file is trusted. */
#ifndef SP_BASE_ELF_H
#define SP_BASE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_elf;

enum { SP_ELF_BUILD = 96 }; /* bytes that a build's text takes at most, with its NUL */

/* Reads the functions' names and the build of an object file of this machine's own kind. NULL: it is not one, it cannot
 * be read, or there is no memory. Only regular files are opened. */
struct sp_elf *sp_elf_open(const char *path);
void sp_elf_free(struct sp_elf *e);
/* The symbol of the function that begins at an address of the file, as the linker knows it; NULL: none. It lives as
 * long as e. */
const char *sp_elf_function(const struct sp_elf *e, uint64_t address);
/* The same of the function that an address lies in, and where it begins; symbols without a size reach to the next. */
const char *sp_elf_function_around(const struct sp_elf *e, uint64_t address, uint64_t *begin);
/* What tells one build of the file from another: its build id, or else its size and when it was changed. */
const char *sp_elf_build(const struct sp_elf *e);
/* The same of an object that is loaded here: its ELF header in memory, what its addresses are moved by, its file. */
void sp_elf_build_loaded(const void *header, uint64_t moved, const char *path, char text[SP_ELF_BUILD]);

/* A symbol of any kind, or a section where the name begins with a dot: its address in the file, as the linker knows it,
 * and its bytes. One look into the file, which nothing is kept of. false: it has none, or cannot be read. */
struct sp_elf_place {
	uint64_t address, bytes;
};
bool sp_elf_find(const char *path, const char *name, struct sp_elf_place *out);
/* The address, as the linker knows it, of what stands at that offset of the file and is loaded; false: none. */
bool sp_elf_loaded_from(const char *path, uint64_t offset, uint64_t *address);

/* The C++ name of a symbol, to be freed; NULL: it is not one, or no C++ library is there. load: one that is not yet in
 * the process may be loaded. */
char *sp_elf_demangle(const char *symbol, bool load);

#endif
