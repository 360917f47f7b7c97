/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and source locations of compiled functions. Each object file is opened once for a model, and used only if it is
 * the measured build. */
#include "base/elf.h"
#include "model/builder/builder.h"
#include "model/builder/problem.h"
#include "model/builder/symbol.h"
#include "model/str.h"
#include "model/symbols/debuginfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sp_object {
	struct sp_object *next; /* owned */
	char *path, *build;     /* owned */
	struct sp_elf *elf;     /* owned; NULL: missing, or not the measured build */
	struct sp_dwarf *dwarf; /* owned, or NULL */
};

static void object_free(struct sp_object *o)
{
	sp_dwarf_close(o->dwarf);
	sp_elf_free(o->elf);
	free(o->path);
	free(o->build);
	free(o);
}

void sp_symbols_free(struct sp_builder *b)
{
	struct sp_object *next;

	for (; b->objects; b->objects = next) {
		next = b->objects->next;
		object_free(b->objects);
	}
	sp_known_symbols_free(&b->known);
}

static void object_open(struct sp_builder *b, struct sp_object *o)
{
	o->elf = sp_elf_open(o->path);
	if (o->elf && strcmp(sp_elf_build(o->elf), o->build) == 0) {
		o->dwarf = sp_dwarf_open(o->path, o->build);
		return;
	}
	sp_model_problem(b->m, "%s: no lines of its functions: the file %s", o->path,
	                 o->elf ? "is another build than the one that was measured" : "cannot be read any more");
	sp_elf_free(o->elf);
	o->elf = NULL;
}

/* Finds or adds an object file. NULL: no memory. */
static struct sp_object *object_of(struct sp_builder *b, const char *path, const char *build)
{
	struct sp_object *o;

	for (o = b->objects; o; o = o->next)
		if (strcmp(o->path, path) == 0 && strcmp(o->build, build) == 0)
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->path = strdup(path);
	o->build = strdup(build);
	if (!o->path || !o->build) {
		object_free(o);
		return NULL;
	}
	o->next = b->objects;
	b->objects = o;
	object_open(b, o);
	return o;
}

/* Joins the pieces to a string of the model. */
static struct sp_str joined(struct sp_builder *b, const char *first, const char *between, const char *last)
{
	char *text = NULL;
	int n = asprintf(&text, "%s%s%s", first, between, last);
	struct sp_str s = n < 0 ? (struct sp_str){NULL, 0} : sp_model_str(b->m, text, (size_t)n);

	free(n < 0 ? NULL : text);
	return s;
}

/* The C++ name with its arguments, otherwise the name in the source, otherwise the symbol. */
static struct sp_str name_of(struct sp_builder *b, const struct sp_dwarf_function *f, const char *symbol)
{
	char *plain = sp_elf_demangle(f->linkage ? f->linkage : symbol, true);
	struct sp_str s;

	if (plain)
		s = joined(b, plain, "", "");
	else if (f->name)
		s = joined(b, f->scope ? f->scope : "", f->scope ? "::" : "", f->name);
	else
		s = joined(b, symbol, "", "");
	free(plain);
	return s;
}

int sp_symbols_look_up(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out, bool *found)
{
	struct sp_dwarf_function f = {.name = NULL};
	const char *known = key->symbol;
	const bool identified = *key->path && *key->build;
	struct sp_object *o = identified ? object_of(b, key->path, key->build) : NULL;

	*out = (struct sp_symbol){.file = {key->path, strlen(key->path)}};
	if (identified && !o)
		return -1;
	*found = o && o->elf;
	if (o && o->dwarf && sp_dwarf_find(o->dwarf, key->address, &f))
		memset(&f, 0, sizeof(f));
	if (!*known && *found && sp_elf_function(o->elf, key->address))
		known = sp_elf_function(o->elf, key->address);
	out->name = name_of(b, &f, known);
	if (f.file) {
		const char *file = strncmp(f.file, "./", 2) ? f.file : f.file + 2;
		out->file = *file == '/' || !f.dir ? joined(b, file, "", "") : joined(b, f.dir, "/", file);
		out->line = (uint32_t)f.line;
	}
	return out->name.p && out->file.p ? 0 : -1;
}

int sp_symbols_find(struct sp_builder *b, const struct sp_symbol_key *key, struct sp_symbol *out)
{
	const struct sp_symbol *known = sp_symbols_known(b, key);
	bool found;

	if (!known)
		return sp_symbols_look_up(b, key, out, &found);
	*out = *known;
	return 0;
}
