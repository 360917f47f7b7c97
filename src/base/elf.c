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

#include "base/regular.h"
#include "base/search.h"

/* <link.h> has ElfW() for the types of this machine's class, but not for the macros of symbols */
#define TYPE_OF(symbol) ((symbol)->st_info & 0xf)

enum { MAX_HEADERS = 1 << 16, MAX_NOTES = 1 << 16 };

struct function {
	uint64_t address, bytes;
	uint32_t name; /* offset in strings */
};

struct sp_elf {
	char *strings; /* owned; a NUL is added at the end */
	size_t n_strings;
	struct function *functions; /* owned; sorted by address */
	size_t n;
	char build[SP_ELF_BUILD];
};

/* Reads a part of the file, to be freed with free(); NULL: it is beyond the file's end, or no memory. */
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

/* ---- build id ---- */

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
		if (p[i].p_type != PT_NOTE || p[i].p_filesz > MAX_NOTES)
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

/* Sorts by address; of several names for one address, the one that a user would write comes first: read before
 * __read. */
static int by_address(const void *a, const void *b, void *strings)
{
	const struct function *x = a, *y = b;
	const char *p = (const char *)strings + x->name, *q = (const char *)strings + y->name;
	size_t low = strspn(p, "_"), other = strspn(q, "_");
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return low != other ? (low < other ? -1 : 1) : strcmp(p, q);
}

/* The first function after an address. */
static size_t behind(const struct sp_elf *e, uint64_t address)
{
	return sp_first_behind(e->functions, e->n, sizeof *e->functions, offsetof(struct function, address), address);
}

static void take_functions(struct sp_elf *e, const ElfW(Sym) * symbols, size_t n)
{
	e->functions = malloc((n + 1) * sizeof *e->functions);
	for (size_t i = 0; e->functions && i < n; i++)
		if (TYPE_OF(&symbols[i]) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
		    symbols[i].st_name < e->n_strings && e->strings[symbols[i].st_name])
			e->functions[e->n++] =
			    (struct function){symbols[i].st_value, symbols[i].st_size, symbols[i].st_name};
	if (e->functions)
		qsort_r(e->functions, e->n, sizeof *e->functions, by_address, e->strings);
}

/* Reads the table of all symbols, or that of dynamic symbols if the file was stripped. */
static void read_functions(struct sp_elf *e, int fd, uint64_t size, const ElfW(Ehdr) * h)
{
	const ElfW(Shdr) *table = NULL;
	size_t n = h->e_shnum;
	ElfW(Shdr) *s =
	    h->e_shentsize == sizeof *s && n < MAX_HEADERS ? piece(fd, size, h->e_shoff, n * sizeof *s) : NULL;
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

/* Opens an object file for this machine, with its size and header; -1: not such a file. */
static int open_ours(const char *path, struct stat *s, ElfW(Ehdr) * *h)
{
	int fd = sp_open_regular(AT_FDCWD, path);
	*h = NULL;
	if (fd >= 0 && !fstat(fd, s))
		*h = piece(fd, (uint64_t)s->st_size, 0, sizeof **h);
	if (*h && ours(*h))
		return fd;
	free(*h);
	if (fd >= 0)
		close(fd);
	return -1;
}

struct sp_elf *sp_elf_open(const char *path)
{
	struct stat s;
	ElfW(Ehdr) * h;
	int fd = open_ours(path, &s, &h);
	if (fd < 0)
		return NULL;
	struct sp_elf *e = calloc(1, sizeof *e);
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
	size_t i = address ? behind(e, address - 1) : 0;
	return i < e->n && e->functions[i].address == address ? e->strings + e->functions[i].name : NULL;
}

const char *sp_elf_function_around(const struct sp_elf *e, uint64_t address, uint64_t *begin)
{
	size_t i = behind(e, address);
	const struct function *f = i ? &e->functions[i - 1] : NULL;
	if (!f || (f->bytes && address - f->address >= f->bytes))
		return NULL;
	*begin = f->address;
	return sp_elf_function(e, f->address);
}

const char *sp_elf_build(const struct sp_elf *e)
{
	return e->build;
}

/* ---- single symbols and offsets ---- */

static bool find_symbol(int fd, uint64_t size, const ElfW(Shdr) * table, const ElfW(Shdr) * names, const char *name,
                        struct sp_elf_symbol *out)
{
	ElfW(Sym) *symbols = piece(fd, size, table->sh_offset, table->sh_size);
	char *strings = piece(fd, size, names->sh_offset, names->sh_size);
	bool found = false;
	for (size_t i = 0; symbols && strings && !found && i < table->sh_size / sizeof *symbols; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < names->sh_size &&
		    !strcmp(strings + symbols[i].st_name, name)) {
			*out = (struct sp_elf_symbol){symbols[i].st_value, symbols[i].st_size};
			found = true;
		}
	free(symbols);
	free(strings);
	return found;
}

static bool find_section(int fd, uint64_t size, const ElfW(Shdr) * s, size_t n, size_t names, const char *name,
                         struct sp_elf_symbol *out)
{
	char *strings = names < n ? piece(fd, size, s[names].sh_offset, s[names].sh_size) : NULL;
	bool found = false;
	for (size_t i = 0; strings && !found && i < n; i++)
		if (s[i].sh_name < s[names].sh_size && !strcmp(strings + s[i].sh_name, name)) {
			*out = (struct sp_elf_symbol){s[i].sh_addr, s[i].sh_size};
			found = true;
		}
	free(strings);
	return found;
}

bool sp_elf_find(const char *path, const char *name, struct sp_elf_symbol *out)
{
	struct stat file;
	ElfW(Ehdr) * h;
	int fd = open_ours(path, &file, &h);
	if (fd < 0)
		return false;
	uint64_t size = (uint64_t)file.st_size;
	size_t n = h->e_shnum;
	ElfW(Shdr) *s =
	    h->e_shentsize == sizeof *s && n < MAX_HEADERS ? piece(fd, size, h->e_shoff, n * sizeof *s) : NULL;
	bool found = s && *name == '.' && find_section(fd, size, s, n, h->e_shstrndx, name, out);
	for (size_t i = 0; s && *name != '.' && !found && i < n; i++)
		if ((s[i].sh_type == SHT_SYMTAB || s[i].sh_type == SHT_DYNSYM) && s[i].sh_link < n &&
		    s[i].sh_entsize == sizeof(ElfW(Sym)))
			found = find_symbol(fd, size, &s[i], &s[s[i].sh_link], name, out);
	free(s);
	free(h);
	close(fd);
	return found;
}

/* Opens a file and reads its program headers, to be freed. Returns the descriptor, or -1. */
static int open_segments(const char *path, ElfW(Phdr) * *segments, size_t *n)
{
	struct stat file;
	ElfW(Ehdr) * h;
	const int fd = open_ours(path, &file, &h);
	if (fd < 0)
		return -1;
	*segments = h->e_phentsize == sizeof **segments
	                ? piece(fd, (uint64_t)file.st_size, h->e_phoff, h->e_phnum * sizeof **segments)
	                : NULL;
	*n = *segments ? h->e_phnum : 0;
	free(h);
	return fd;
}

bool sp_elf_loaded_from(const char *path, uint64_t offset, uint64_t *address)
{
	ElfW(Phdr) * p;
	size_t n;
	const int fd = open_segments(path, &p, &n);
	if (fd < 0)
		return false;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	bool found = false;
	for (size_t i = 0; i < n; i++) {
		/* whole pages are mapped, so two parts may share a page: prefer the part that begins at the offset */
		uint64_t begin = p[i].p_offset / page * page, bytes = p[i].p_offset % page + p[i].p_filesz;
		if (p[i].p_type != PT_LOAD || offset < begin || offset - begin >= bytes || (found && offset != begin))
			continue;
		*address = p[i].p_vaddr - p[i].p_offset + offset;
		found = true;
	}
	free(p);
	close(fd);
	return found;
}

bool sp_elf_bytes(const char *path, uint64_t address, void *bytes, size_t n)
{
	ElfW(Phdr) * p;
	size_t segments;
	const int fd = open_segments(path, &p, &segments);
	if (fd < 0)
		return false;
	bool found = false;
	for (size_t i = 0; i < segments && !found; i++) {
		const uint64_t at = address - p[i].p_vaddr;
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr && at <= p[i].p_filesz && n <= p[i].p_filesz - at)
			found = pread(fd, bytes, n, (off_t)(p[i].p_offset + at)) == (ssize_t)n;
	}
	free(p);
	close(fd);
	return found;
}

/* ---- C++ ---- */

typedef char *demangler(const char *symbol, char *buffer, size_t *n, int *status);

/* Loaded on demand: neither half of Spartito needs C++ otherwise, and where a C++ object was measured, one of these
 * libraries is available. */
static demangler *find_demangler(bool load)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	void *found = NULL;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !found; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | (load ? 0 : RTLD_NOLOAD));
		found = library ? dlsym(library, "__cxa_demangle") : NULL;
	}
	dlerror(); /* resets the error state, which the program may query */
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
