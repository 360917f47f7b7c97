/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* <link.h> has ElfW() for the types of this machine's own class, but not for symbols' macros */
#define TYPE_OF(symbol) ((symbol)->st_info & 0xf)

enum { MOST_HEADERS = 1 << 16, MOST_NOTES = 1 << 16 };

struct function {
	uint64_t address;
	uint32_t name; /* in strings */
};

struct sp_elf {
	char *strings; /* owned; ends with a NUL of ours */
	size_t n_strings;
	struct function *functions; /* owned; by address */
	size_t n;
	char build[SP_ELF_BUILD];
};

/* A piece of the file, to be freed; NULL: it is not there whole, or no memory. */
static void *piece(int fd, uint64_t size, uint64_t offset, uint64_t bytes)
{
	if (!bytes || offset > size || bytes > size - offset)
		return NULL;
	char *p = malloc(bytes + 1);
	uint64_t at = 0;
	while (p && at < bytes) {
		ssize_t n = pread(fd, p + at, bytes - at, (off_t)(offset + at));
		if (n <= 0) {
			free(p);
			return NULL;
		}
		at += (uint64_t)n;
	}
	if (p)
		p[bytes] = 0;
	return p;
}

static bool ours(const ElfW(Ehdr) * h)
{
	const uint16_t order = 1;
	unsigned char data = *(const unsigned char *)&order ? ELFDATA2LSB : ELFDATA2MSB;
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) && h->e_ident[EI_DATA] == data;
}

/* ---- which build ---- */

static bool build_id(const char *notes, size_t n, char *text)
{
	ElfW(Nhdr) h;
	for (size_t at = 0; at + sizeof h <= n;) {
		memcpy(&h, notes + at, sizeof h);
		at += sizeof h;
		uint64_t name = ((uint64_t)h.n_namesz + 3) & ~UINT64_C(3),
		         bytes = ((uint64_t)h.n_descsz + 3) & ~UINT64_C(3);
		if (name > n - at || bytes > n - at - name)
			return false;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) && h.n_descsz &&
		    h.n_descsz <= 32) {
			text = stpcpy(text, "build id ");
			for (uint32_t i = 0; i < h.n_descsz; i++)
				text += sprintf(text, "%02x", (unsigned char)notes[at + name + i]);
			return true;
		}
		at += name + bytes;
	}
	return false;
}

static void changed_at(const struct stat *s, char *text)
{
	snprintf(text, SP_ELF_BUILD, "%" PRId64 " bytes of %" PRId64 ".%09ld", (int64_t)s->st_size,
	         (int64_t)s->st_mtim.tv_sec, s->st_mtim.tv_nsec);
}

void sp_elf_build_loaded(const void *header, uint64_t moved, const char *path, char text[SP_ELF_BUILD])
{
	const ElfW(Ehdr) *h = header;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)((const char *)header + h->e_phoff);
	struct stat s;
	text[0] = 0;
	if (ours(h) && h->e_phentsize == sizeof *p)
		for (unsigned i = 0; i < h->e_phnum; i++)
			if (p[i].p_type == PT_NOTE &&
			    build_id((const char *)(moved + p[i].p_vaddr), p[i].p_memsz, text))
				return;
	if (!stat(path, &s))
		changed_at(&s, text);
}

static void read_build(struct sp_elf *e, int fd, const struct stat *s, const ElfW(Ehdr) * h)
{
	uint64_t size = (uint64_t)s->st_size;
	ElfW(Phdr) *p = h->e_phentsize == sizeof *p ? piece(fd, size, h->e_phoff, h->e_phnum * sizeof *p) : NULL;
	bool found = false;
	for (unsigned i = 0; p && i < h->e_phnum && !found; i++) {
		if (p[i].p_type != PT_NOTE || p[i].p_filesz > MOST_NOTES)
			continue;
		char *notes = piece(fd, size, p[i].p_offset, p[i].p_filesz);
		found = notes && build_id(notes, p[i].p_filesz, e->build);
		free(notes);
	}
	free(p);
	if (!found)
		changed_at(s, e->build);
}

/* ---- functions ---- */

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void take_functions(struct sp_elf *e, const ElfW(Sym) * symbols, size_t n)
{
	e->functions = malloc((n + 1) * sizeof *e->functions);
	for (size_t i = 0; e->functions && i < n; i++)
		if (TYPE_OF(&symbols[i]) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
		    symbols[i].st_name < e->n_strings && e->strings[symbols[i].st_name])
			e->functions[e->n++] = (struct function){symbols[i].st_value, symbols[i].st_name};
	if (e->functions)
		qsort(e->functions, e->n, sizeof *e->functions, by_address);
}

/* The table of all symbols, or that of the dynamic ones where the file was stripped. */
static void read_functions(struct sp_elf *e, int fd, uint64_t size, const ElfW(Ehdr) * h)
{
	const ElfW(Shdr) *table = NULL;
	size_t n = h->e_shnum;
	ElfW(Shdr) *s =
	    h->e_shentsize == sizeof *s && n < MOST_HEADERS ? piece(fd, size, h->e_shoff, n * sizeof *s) : NULL;
	for (size_t i = 0; s && i < n; i++)
		if (s[i].sh_type == SHT_SYMTAB || (s[i].sh_type == SHT_DYNSYM && !table))
			table = &s[i];
	if (table && table->sh_link < n && table->sh_entsize == sizeof(ElfW(Sym))) {
		const ElfW(Shdr) *names = &s[table->sh_link];
		ElfW(Sym) *symbols = piece(fd, size, table->sh_offset, table->sh_size);
		e->strings = piece(fd, size, names->sh_offset, names->sh_size);
		e->n_strings = e->strings ? names->sh_size : 0;
		if (symbols && e->strings)
			take_functions(e, symbols, table->sh_size / sizeof *symbols);
		free(symbols);
	}
	free(s);
}

struct sp_elf *sp_elf_open(const char *path)
{
	struct stat s;
	/* a FIFO would be waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	struct sp_elf *e = NULL;
	ElfW(Ehdr) *h = NULL;
	if (!fstat(fd, &s) && S_ISREG(s.st_mode))
		h = piece(fd, (uint64_t)s.st_size, 0, sizeof *h);
	if (h && ours(h))
		e = calloc(1, sizeof *e);
	if (e) {
		read_build(e, fd, &s, h);
		read_functions(e, fd, (uint64_t)s.st_size, h);
	}
	free(h);
	close(fd);
	return e;
}

void sp_elf_free(struct sp_elf *e)
{
	if (!e)
		return;
	free(e->strings);
	free(e->functions);
	free(e);
}

const char *sp_elf_function(const struct sp_elf *e, uint64_t address)
{
	struct function key = {address, 0};
	const struct function *f = e->n ? bsearch(&key, e->functions, e->n, sizeof key, by_address) : NULL;
	return f ? e->strings + f->name : NULL;
}

const char *sp_elf_build(const struct sp_elf *e)
{
	return e->build;
}

/* ---- C++ ---- */

typedef char *demangler(const char *symbol, char *room, size_t *n, int *status);

/* Not linked: neither half of Spartito needs C++ otherwise, and where a C++ object was measured, one of these is there.
 */
static demangler *find_demangler(bool load)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	void *found = NULL;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !found; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | (load ? 0 : RTLD_NOLOAD));
		found = library ? dlsym(library, "__cxa_demangle") : NULL;
	}
	dlerror(); /* the program may ask for its own errors */
	return (demangler *)found;
}

char *sp_elf_demangle(const char *symbol, bool load)
{
	static demangler *found;
	demangler *f = __atomic_load_n(&found, __ATOMIC_RELAXED);
	if (strncmp(symbol, "_Z", 2))
		return NULL;
	if (!f)
		__atomic_store_n(&found, f = find_demangler(load), __ATOMIC_RELAXED);
	int status = -1;
	char *text = f ? f(symbol, NULL, NULL, &status) : NULL;
	return status == 0 ? text : NULL;
}
