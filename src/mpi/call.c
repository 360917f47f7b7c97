/* SPDX-License-Identifier: BSD-3-Clause */
/* One MPI call: enters and leaves its region. */
#include "mpi/wrap.h"

#include <dlfcn.h>

#define NAME(name, region, groups, role, may)   "MPI_" #region,
#define PLAIN(name, region, groups, role, may)  "PMPI_" #name,
#define REGION(name, region, groups, role, may) SP_MPI_F_##region,
#define GROUPS(name, region, groups, role, may) groups,
#define ROLE(name, region, groups, role, may)   role,

static const char *const region_names[] = {SP_MPI_TABLE(NAME)};
static const char *const real_names[] = {SP_MPI_TABLE(PLAIN)};
static const uint16_t region_of[] = {SP_MPI_TABLE(REGION)};
static const uint32_t groups_of[] = {SP_MPI_TABLE(GROUPS)};
static const uint8_t roles[] = {SP_MPI_TABLE(ROLE)};

const struct sp_adapter *sp_mpi_adapter;
void *sp_mpi_real[SP_MPI_FUNCTIONS];
static void *library;

/* generation << 32 | region id, or OFF if the function's groups are not recorded; variants for large counts have the
 * value of their plain variant as well */
static uint64_t regions[SP_MPI_FUNCTIONS];

/* Address of the struct of this thread's outermost MPI call: inner calls have lower addresses on the stack. A call that
 * was left by longjmp or an exception has a lower address than the next call from the frame to which that led. */
static __thread uintptr_t inside __attribute__((tls_model("initial-exec")));

bool sp_mpi_group_on(uint32_t groups)
{
	return (sp_adapter_read(sp_mpi_adapter->mpi_groups) & groups) == groups;
}

SP_COLD static uint64_t region_new(unsigned function, uint32_t generation)
{
	const unsigned first = region_of[function];
	uint64_t known = __atomic_load_n(&regions[first], __ATOMIC_RELAXED);
	if (known >> 32 != generation) {
		uint32_t id =
		    sp_mpi_group_on(groups_of[function])
		        ? sp_mpi_adapter->region(SP_RAW_REGION_MPI, NULL, region_names[first], NULL, roles[first])
		        : 0;
		known = (uint64_t)generation << 32 | id;
		__atomic_store_n(&regions[first], known, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&regions[function], known, __ATOMIC_RELAXED);
	return known;
}

bool sp_mpi_begin(struct sp_mpi_call *c, unsigned function)
{
	const struct sp_adapter *a = sp_mpi_adapter;
	if (SP_UNLIKELY(inside != 0 && (uintptr_t)c < inside))
		return false;
	inside = (uintptr_t)c;
	c->region = 0;
	c->traced = false;
	c->generation = sp_adapter_read(a->generation);
	c->t = a->thread();
	if (SP_UNLIKELY(!c->t))
		return true;
	uint64_t known = __atomic_load_n(&regions[function], __ATOMIC_RELAXED);
	if (SP_UNLIKELY(known >> 32 != c->generation))
		known = region_new(function, c->generation);
	c->region = (uint32_t)known;
	c->traced = a->traced(c->t);
	c->now = c->region ? a->enter(c->t, c->region) : a->now();
	return true;
}

/* Meanwhile the measurement may have been paused or ended, or another one begun: then the frame is already closed. */
void sp_mpi_returned(struct sp_mpi_call *c, int result)
{
	const struct sp_adapter *a = sp_mpi_adapter;
	c->result = result;
	if (SP_LIKELY(!c->t || (a->thread() == c->t && sp_adapter_read(a->generation) == c->generation)))
		return;
	c->t = NULL;
	c->region = 0;
	c->traced = false;
}

int sp_mpi_end(struct sp_mpi_call *c)
{
	if (c->region)
		sp_mpi_adapter->leave(c->t, c->region);
	inside = 0;
	return c->result;
}

void *sp_mpi_symbol(const char *name)
{
	return dlsym(library, name);
}

void sp_mpi_attach_real(void *mpi)
{
	library = mpi;
	for (int i = 0; i < SP_MPI_FUNCTIONS; i++)
		sp_mpi_real[i] = dlsym(mpi, real_names[i]);
}

static void attach(const struct sp_adapter *a, void *mpi, void **targets)
{
	sp_mpi_adapter = a;
	sp_mpi_attach_real(mpi);
	for (int i = 0; i < SP_MPI_FUNCTIONS; i++)
		if (sp_mpi_real[i] && sp_mpi_wrappers[i])
			targets[i] = sp_mpi_wrappers[i];
}

extern const struct sp_mpi_library sp_mpi_library_v1;
SP_EXPORT const struct sp_mpi_library sp_mpi_library_v1 = {SP_MPI_FUNCTIONS, SP_MPI_CHECK, attach};
