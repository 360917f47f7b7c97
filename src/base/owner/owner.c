/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/owner/owner.h"
#include "base/notebook.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const sp_owner_names[SP_OWNERS] = {
    [SP_OWNER_OWN] = "own",
    [SP_OWNER_LIBRARIES] = "libraries",
    [SP_OWNER_STANDARD] = "standard",
    [SP_OWNER_OTHER] = "other",
};

struct sp_owner_dir {
	struct sp_owner_dir *next;
	enum sp_owner_directory kind;
	size_t n;
	char path[]; /* without a slash at the end; n bytes and a 0 */
};

enum { LONGEST = 4096 }; /* PATH_MAX; longer paths are not normalized, and no directories */

/* Writes the first n bytes of an absolute path without "." and "..", as in files of modules whose directory a program
 * adds to sys.path as "DIR/..". Links are not resolved. n: less than LONGEST. Returns its length. */
static size_t normalize(char out[LONGEST], const char *path, size_t n)
{
	size_t length = 0;

	for (size_t i = 0, end; i < n; i = end + 1) { /* i: the begin of a name */
		const char *slash = memchr(path + i, '/', n - i);
		end = slash ? (size_t)(slash - path) : n;

		if (end - i == 2 && path[i] == '.' && path[i + 1] == '.') {
			while (length > 0 && out[--length] != '/')
				;
		} else if (end > i && !(end - i == 1 && path[i] == '.')) {
			out[length++] = '/';
			memcpy(out + length, path + i, end - i);
			length += end - i;
		}
	}
	out[length] = 0;
	return length;
}

int sp_owners_add(struct sp_owners *o, enum sp_owner_directory kind, const char *path, size_t n)
{
	char normal[LONGEST];

	if (n == 0 || path[0] != '/' || n >= LONGEST)
		return 0;
	/* a damaged file may have zeros in a path */
	n = strnlen(path, n);
	n = normalize(normal, path, n); /* 0: "/", every absolute path is below it */
	path = normal;
	for (const struct sp_owner_dir *d = o->dirs; d; d = d->next)
		if (d->kind == kind && d->n == n && memcmp(d->path, path, n) == 0)
			return 0;

	struct sp_owner_dir *d = calloc(1, sizeof *d + n + 1);
	if (!d)
		return -1;
	d->kind = kind;
	d->n = n;
	memcpy(d->path, path, n);
	d->next = o->dirs;
	while (!atomic_compare_exchange_weak(&o->dirs, &d->next, d))
		;
	return 0;
}

int sp_owners_add_lines(struct sp_owners *o, const char *text, size_t n)
{
	for (const char *end = text + n, *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;

		const bool refused = *line == '!';

		line += refused;
		if (sp_owners_add(o, refused ? SP_OWNER_REFUSED : SP_OWNER_CHOSEN, line, (size_t)(stop - line)))
			return -1;
		line = stop + 1;
	}
	return 0;
}

int sp_owners_see(struct sp_owners *o, const char *module, const char *file)
{
	const bool child = strcmp(module, "__mp_main__") == 0; /* of multiprocessing */

	if (*file != '/' || !(child || strcmp(module, "__main__") == 0))
		return 0;
	if (!child)
		o->script = true;
	return sp_owners_add(o, SP_OWNER_PROGRAM, file, (size_t)(strrchr(file, '/') - file + 1));
}

void sp_owners_take(struct sp_owners *o, const struct sp_owners *from)
{
	if (from->script)
		o->script = true;
	for (const struct sp_owner_dir *d = from->dirs; d; d = d->next)
		sp_owners_add(o, d->kind, d->n ? d->path : "/", d->n ? d->n : 1);
}

void sp_owners_clear(struct sp_owners *o)
{
	for (struct sp_owner_dir *d = o->dirs, *next; d; d = next) {
		next = d->next;
		free(d);
	}
	o->dirs = NULL;
	o->script = false;
}

static bool is_below(const char *file, const struct sp_owner_dir *d)
{
	return strncmp(file, d->path, d->n) == 0 && (file[d->n] == '/' || file[d->n] == 0);
}

/* The length of the path up to the innermost directory whose name marks installed packages; 0: no such directory. */
static size_t packages_end(const char *file)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/", "/node_modules/", "/__pypackages__/",
	                                    "/_vendor/"};
	size_t deepest = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (const char *p = file; (p = strstr(p, names[i])); p++) {
			const size_t end = (size_t)(p - file) + strlen(names[i]) - 1;

			deepest = end > deepest ? end : deepest;
		}
	return deepest;
}

static enum sp_owner owner_of_path(const struct sp_owners *o, const char *file)
{
	size_t deepest = packages_end(file);
	enum sp_owner owner = SP_OWNER_LIBRARIES;
	bool decided = deepest > 0, program = false, known[SP_OWNER_PREFIX + 1] = {false};

	for (const struct sp_owner_dir *d = o->dirs; d; d = d->next) {
		static const char bin[] = "/bin/";
		size_t n = d->n;

		known[d->kind] = true;
		if (!is_below(file, d))
			continue;
		if (d->kind == SP_OWNER_PROGRAM) {
			program = true;
			continue;
		}
		if (d->kind == SP_OWNER_PREFIX) {
			if (strncmp(file + n, bin, sizeof bin - 1) != 0)
				continue;
			n += sizeof bin - 2;
		}
		const bool said = d->kind == SP_OWNER_CHOSEN || d->kind == SP_OWNER_REFUSED;

		/* what the user says wins over the same directory */
		if (decided && (n < deepest || (n == deepest && !said)))
			continue;
		decided = true;
		deepest = n;
		owner = d->kind == SP_OWNER_CHOSEN    ? SP_OWNER_OWN
		        : d->kind == SP_OWNER_LIBRARY ? SP_OWNER_STANDARD
		                                      : SP_OWNER_LIBRARIES;
	}
	if (decided)
		return owner;
	if (program)
		return SP_OWNER_OWN;
	return known[SP_OWNER_LIBRARY] && known[SP_OWNER_PROGRAM] ? SP_OWNER_LIBRARIES : SP_OWNER_OTHER;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Code without a file is generated (namedtuple, dataclass, attrs), or the program's: -c, standard input, a session. */
static enum sp_owner owner_without_file(const struct sp_owners *o, const char *module, const char *qualname,
                                        const char *file)
{
	const bool given = strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0;

	if (starts(file, "<frozen "))
		return SP_OWNER_STANDARD;
	if (starts(file, "<ipython-input-") || starts(file, "<doctest "))
		return SP_OWNER_OWN;
	return given && !o->script && strcmp(module, "__main__") == 0 && !starts(qualname, "__create_fn__")
	           ? SP_OWNER_OWN
	           : SP_OWNER_LIBRARIES;
}

enum sp_owner sp_owner_of(const struct sp_owners *o, const char *module, const char *qualname, const char *file)
{
	if (sp_notebook_may_have(file))
		return SP_OWNER_OWN;
	if (*file == '/') {
		char normal[LONGEST];
		const size_t n = strlen(file);

		if (n >= LONGEST || !strstr(file, "/."))
			return owner_of_path(o, file);
		normalize(normal, file, n);
		return owner_of_path(o, normal);
	}
	if (*file == '<')
		return owner_without_file(o, module, qualname, file);
	return starts(file, "In[") ? SP_OWNER_OWN : SP_OWNER_OTHER;
}
