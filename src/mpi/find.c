/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the MPI in this process and its functions, from the tables of the loaded objects: dlsym() and dlopen() must not
 * be called while the dynamic linker binds a symbol. */
#include "mpi/library.h"

#include "base/dynamic.h"

#include <link.h>
#include <string.h>

/* Result of the last search. Written only in callbacks of dl_iterate_phdr(), which the linker calls one at a time. */
static struct {
	unsigned long long adds, subs; /* state of the linker's list of objects at that time */
	bool any;
	struct sp_dynamic_symbols mpi;
} last;

struct search {
	const char *function; /* NULL: find only the MPI */
	char *path;           /* may be NULL */
	size_t n;
	bool begun, found, has;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	(void)size;
	if (!s->begun) {
		s->begun = true;
		if (last.adds == info->dlpi_adds && last.subs == info->dlpi_subs && !s->path) {
			s->found = last.any;
			s->has = last.any && s->function && sp_dynamic_defines(&last.mpi, s->function);
			return 1;
		}
		last.adds = info->dlpi_adds;
		last.subs = info->dlpi_subs;
		last.any = false;
	}
	struct sp_dynamic_symbols o;
	if (!sp_dynamic_open(&o, info) || !sp_dynamic_defines(&o, "PMPI_Init"))
		return 0;
	last.any = s->found = true;
	last.mpi = o;
	s->has = s->function && sp_dynamic_defines(&o, s->function);
	if (s->path) {
		strncpy(s->path, info->dlpi_name ? info->dlpi_name : "", s->n - 1);
		s->path[s->n - 1] = '\0';
	}
	return 1;
}

bool sp_mpi_find(char *path, size_t n)
{
	struct search s = {.path = path, .n = n};
	dl_iterate_phdr(visit, &s);
	return s.found;
}

int sp_mpi_has(const char *function)
{
	struct search s = {.function = function};
	dl_iterate_phdr(visit, &s);
	return s.found ? s.has : -1;
}
