/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/symbols/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/regular.h"

enum { DEEPEST = 16 }; /* nested scopes */

struct function {
	uint64_t address;
	Dwarf_Off die, scope; /* scope 0: no scope */
};

/* A compilation unit; its functions are read when one of them is looked up for the first time. */
struct unit {
	Dwarf_Off die;
	bool read;
	struct function *functions; /* owned; sorted by address */
	size_t n, capacity;
};

struct range {
	uint64_t from, to;
	size_t unit;
};

struct sp_dwarf {
	int fd;
	Dwarf *dw;
	struct unit *units; /* owned */
	size_t n_units, unit_capacity;
	struct range *ranges; /* owned; sorted by address */
	size_t n_ranges, range_capacity;
};

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void add_unit(struct sp_dwarf *d, Dwarf_Die *cu)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;

	if (!sp_grow(&d->units, d->n_units, &d->unit_capacity, sizeof(*d->units)))
		return;
	d->units[d->n_units++] = (struct unit){.die = dwarf_dieoffset(cu)};
	while ((at = dwarf_ranges(cu, at, &base, &from, &to)) > 0)
		if (from < to && sp_grow(&d->ranges, d->n_ranges, &d->range_capacity, sizeof(*d->ranges)))
			d->ranges[d->n_ranges++] = (struct range){from, to, d->n_units - 1};
}

static void add_units(struct sp_dwarf *d)
{
	Dwarf_Off at = 0, next;
	size_t head;
	Dwarf_Die cu;

	while (dwarf_nextcu(d->dw, at, &next, &head, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(d->dw, at + head, &cu))
			add_unit(d, &cu);
		at = next;
	}
	if (d->n_ranges)
		qsort(d->ranges, d->n_ranges, sizeof(*d->ranges), by_start);
}

/* Opens an object file and its debugging information; false: not a regular file, or without debugging information. */
static bool open_file(struct sp_dwarf *d, const char *path)
{
	d->fd = sp_open_regular(AT_FDCWD, path);
	if (d->fd < 0)
		return false;
	d->dw = dwarf_begin(d->fd, DWARF_C_READ);
	if (d->dw)
		add_units(d);
	if (d->n_ranges)
		return true;
	dwarf_end(d->dw);
	d->dw = NULL;
	d->n_units = 0;
	close(d->fd);
	return false;
}

struct sp_dwarf *sp_dwarf_open(const char *path, const char *build)
{
	static const char prefix[] = "build id ";
	struct sp_dwarf *d = calloc(1, sizeof(*d));
	char separate[256];

	if (!d || open_file(d, path))
		return d;
	if (strncmp(build, prefix, sizeof(prefix) - 1) == 0 && strlen(build) > sizeof(prefix) + 2) {
		build += sizeof(prefix) - 1;
		snprintf(separate, sizeof(separate), "/usr/lib/debug/.build-id/%.2s/%s.debug", build, build + 2);
		if (open_file(d, separate))
			return d;
	}
	free(d->units);
	free(d->ranges);
	free(d);
	return NULL;
}

void sp_dwarf_close(struct sp_dwarf *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->n_units; i++)
		free(d->units[i].functions);
	free(d->units);
	free(d->ranges);
	dwarf_end(d->dw);
	close(d->fd);
	free(d);
}

/* Adds a function. A function that was split into a hot and a cold part has no entry address, but begins at one of its
 * ranges. */
static void add_function(struct unit *u, Dwarf_Die *die, Dwarf_Off named)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &from, &to)) > 0)
		if (sp_grow(&u->functions, u->n, &u->capacity, sizeof(*u->functions)))
			u->functions[u->n++] = (struct function){from, dwarf_dieoffset(die), named};
}

/* Reads the functions below a scope. Other entries are skipped with everything in them. */
static void read_scope(struct unit *u, Dwarf_Die *scope, Dwarf_Off named, int depth)
{
	Dwarf_Die die;
	int tag;

	if (depth > DEEPEST || dwarf_child(scope, &die))
		return;
	do {
		tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram)
			add_function(u, &die, named);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_module)
			read_scope(u, &die, dwarf_dieoffset(&die), depth + 1);
		else if (tag == DW_TAG_namespace)
			read_scope(u, &die, named, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void read_unit(struct sp_dwarf *d, struct unit *u)
{
	Dwarf_Die cu;

	u->read = true;
	if (dwarf_offdie(d->dw, u->die, &cu))
		read_scope(u, &cu, 0, 0);
	if (u->n)
		qsort(u->functions, u->n, sizeof(*u->functions), by_address);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	const char *text;

	/* also follows a definition's reference to its declaration */
	if (!dwarf_attr_integrate(die, name, &attribute))
		return NULL;
	text = dwarf_formstring(&attribute);
	return text && *text ? text : NULL;
}

static void describe(struct sp_dwarf *d, const struct function *f, struct sp_dwarf_function *out)
{
	Dwarf_Die die, scope, cu;

	memset(out, 0, sizeof(*out));
	if (!dwarf_offdie(d->dw, f->die, &die))
		return;
	out->linkage = text_of(&die, DW_AT_linkage_name);
	out->name = text_of(&die, DW_AT_name);
	if (f->scope && dwarf_offdie(d->dw, f->scope, &scope))
		out->scope = text_of(&scope, DW_AT_name);
	out->file = dwarf_decl_file(&die);
	if (dwarf_diecu(&die, &cu, NULL, NULL))
		out->dir = text_of(&cu, DW_AT_comp_dir);
	if (dwarf_decl_line(&die, &out->line) || out->line < 0)
		out->line = 0;
}

/* The last range that begins at the address or before it; NULL: no such range. */
static const struct range *range_at(const struct sp_dwarf *d, uint64_t address)
{
	size_t low = 0, high = d->n_ranges, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (d->ranges[mid].from <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && address < d->ranges[low - 1].to ? &d->ranges[low - 1] : NULL;
}

int sp_dwarf_find(struct sp_dwarf *d, uint64_t address, struct sp_dwarf_function *out)
{
	const struct range *r = range_at(d, address);
	const struct function key = {.address = address}, *f;
	struct unit *u;

	if (!r)
		return -1;
	u = &d->units[r->unit];
	if (!u->read)
		read_unit(d, u);
	f = u->n ? bsearch(&key, u->functions, u->n, sizeof(key), by_address) : NULL;
	if (!f)
		return -1;
	describe(d, f, out);
	return 0;
}
