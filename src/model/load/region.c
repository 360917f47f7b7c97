/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions and other regions, unified over all processes. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/builder/symbol.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

_Static_assert((int)SP_REGION_MPI == (int)SP_RAW_REGION_MPI, "kinds of regions");

const char *const sp_region_kind_names[SP_REGION_KINDS] = {[SP_REGION_PYTHON] = "python",
                                                           [SP_REGION_C] = "c",
                                                           [SP_REGION_USER] = "user",
                                                           [SP_REGION_COLLAPSED] = "collapsed",
                                                           [SP_REGION_PARAMETER] = "parameter",
                                                           [SP_REGION_NATIVE] = "native",
                                                           [SP_REGION_IO] = "io",
                                                           [SP_REGION_OFF] = "off",
                                                           [SP_REGION_MPI] = "mpi",
                                                           [SP_REGION_ROOT] = "root"};

const char *const sp_mpi_role_names[SP_MPI_ROLES] = {
    [SP_MPI_OTHER] = "other",           [SP_MPI_POINT2POINT] = "point2point",
    [SP_MPI_BARRIER] = "barrier",       [SP_MPI_ONE2ALL] = "one2all",
    [SP_MPI_ALL2ONE] = "all2one",       [SP_MPI_ALL2ALL] = "all2all",
    [SP_MPI_COLL_OTHER] = "collective", [SP_MPI_RMA] = "rma",
    [SP_MPI_FILE_IO] = "file_io",       [SP_MPI_ATOMIC] = "atomic",
    [SP_MPI_ALLOCATE] = "allocate"};

static void put(char **at, const void *p, size_t n)
{
	if (n)
		memcpy(*at, p, n);
	*at += n;
}

/* Makes "module:name"; without a module only the name; without a name the address in the object file. */
static int name_region(struct sp_builder *b, struct sp_region *r)
{
	struct sp_arena *arena = &b->priv->arena;
	char address[16] = "", *name;
	struct sp_str last = r->qualname;
	size_t n;

	if (r->kind == SP_REGION_NATIVE && last.n == 0)
		last = (struct sp_str){address, (size_t)snprintf(address, sizeof(address), "0x%" PRIx32, r->address)};
	if (r->module.n == 0 && last.p == r->qualname.p) {
		r->name = r->qualname;
		return 0;
	}
	n = r->module.n + 1 + last.n;
	r->name = (struct sp_str){name = sp_arena_alloc(arena, n + 1), n};
	if (!name)
		return -1;
	put(&name, r->module.p, r->module.n);
	put(&name, last.p == address ? "+" : ":", 1);
	put(&name, last.p, last.n + 1);
	return 0;
}

static void place_region(struct sp_builder *b, struct sp_region *r, struct sp_str file, uint32_t line)
{
	r->file = sp_model_str(b->m, file.p, file.n);
	r->line = line;
}

static int new_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, uint32_t address,
                      unsigned flags)
{
	struct sp_model *m = b->m;
	struct sp_region *r;

	if (m->n_regions == b->region_capacity) {
		b->region_capacity = b->region_capacity ? b->region_capacity * 2 : 256;
		r = realloc(m->regions, b->region_capacity * sizeof(*r));
		if (!r)
			return -1;
		m->regions = b->priv->regions = r;
	}
	r = &m->regions[m->n_regions++];
	*r = (struct sp_region){.module = sp_model_str(m, part[0].p, part[0].n),
	                        .qualname = sp_model_str(m, part[1].p, part[1].n),
	                        .address = address,
	                        .kind = (uint8_t)(flags & SP_RAW_REGION_KIND_MASK),
	                        .generator = flags & (SP_RAW_REGION_GENERATOR | SP_RAW_REGION_COROUTINE)};
	place_region(b, r, part[2], line);
	if (r->kind == SP_REGION_MPI) {
		r->role = line < SP_MPI_ROLES ? (uint8_t)line : SP_MPI_OTHER;
		r->line = 0;
	}
	return r->module.p && r->qualname.p && r->file.p ? name_region(b, r) : -1;
}

/* Finds or makes a region. A compiled function without a name is identified by its address; copies of a named one are
 * one region. */
static uint32_t build_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, uint32_t address,
                             unsigned flags)
{
	const unsigned kind = flags & SP_RAW_REGION_KIND_MASK;
	/* a user region's source location may be that of its first call, which differs between processes */
	const bool placed = kind != SP_RAW_REGION_USER;
	const uint32_t number = kind == SP_RAW_REGION_NATIVE && part[1].n == 0 ? address : line;
	uint64_t head[4] = {(uint64_t)(placed ? number : 0) << 32 | kind, part[0].n, part[1].n, placed ? part[2].n : 0};
	size_t n = sizeof(head) + head[1] + head[2] + head[3], i;
	struct sp_region *r;
	char *at;
	uint32_t id;

	if (n > b->key_capacity) {
		at = realloc(b->key, n * 2);
		if (!at)
			return SP_NONE;
		b->key = at;
		b->key_capacity = n * 2;
	}
	at = b->key;
	put(&at, head, sizeof(head));
	for (i = 0; i < 3; i++)
		put(&at, part[i].p, head[i + 1]);
	id = sp_intern(&b->regions, b->key, n);
	if (id == SP_INTERN_FAILED || (id == b->m->n_regions && new_region(b, part, line, address, flags)))
		return SP_NONE;
	r = &b->m->regions[id];
	if (flags & (SP_RAW_REGION_GENERATOR | SP_RAW_REGION_COROUTINE))
		r->generator = true;
	if (r->file.n == 0 && part[2].n) {
		place_region(b, r, part[2], line);
		if (!r->file.p)
			return SP_NONE;
	}
	return id;
}

uint32_t sp_build_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, unsigned flags)
{
	return build_region(b, part, line, 0, flags);
}

uint32_t sp_build_native(struct sp_builder *b, const struct sp_str part[3], uint32_t address,
                         const struct sp_str *build)
{
	const struct sp_str path = sp_model_str(b->m, part[2].p, part[2].n);
	const struct sp_str symbol = sp_model_str(b->m, part[1].p, part[1].n);
	const struct sp_symbol_key key = {path.p, build->p, symbol.p, address};
	struct sp_symbol found;

	if (!path.p || !symbol.p || sp_symbols_find(b, &key, &found))
		return SP_NONE;
	return build_region(b, (struct sp_str[3]){part[0], found.name, found.file}, found.line, address,
	                    SP_RAW_REGION_NATIVE);
}

uint32_t sp_build_known_region(struct sp_builder *b, const struct sp_region *r)
{
	const struct sp_str part[3] = {r->module, r->qualname, r->file};
	const uint32_t id = build_region(b, part, r->kind == SP_REGION_MPI ? r->role : r->line, r->address,
	                                 r->kind | (r->generator ? (unsigned)SP_RAW_REGION_GENERATOR : 0));

	if (id != SP_NONE)
		sp_build_code(b, id, &r->code);
	return id;
}

/* If copies differ, such as functions of one name in one line, the first one counts. */
void sp_build_code(struct sp_builder *b, uint32_t region, const struct sp_code *code)
{
	if (!b->m->regions[region].code.recorded)
		b->m->regions[region].code = *code;
}

uint32_t sp_build_unknown_region(struct sp_builder *b)
{
	static const struct sp_str part[3] = {{"", 0}, {"<not defined>", 13}, {"", 0}};

	return sp_build_region(b, part, 0, SP_RAW_REGION_COLLAPSED);
}
