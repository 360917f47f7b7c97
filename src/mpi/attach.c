/* SPDX-License-Identifier: BSD-3-Clause */
/* spartito_mpi.so: every MPI function as an indirect jump. _measure loads it globally before the program can load an
 * MPI, so that the program's calls arrive here first. It is not linked to any MPI. */
#include "mpi/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME(name, region, groups, role, may)    "MPI_" #name,
#define MISSING(name, region, groups, role, may) may,
static const char *const names[] = {SP_MPI_TABLE(NAME)};
static const bool may_be_missing[] = {SP_MPI_TABLE(MISSING)};

/* in trampolines.S */
extern void *const sp_mpi_trampolines[SP_MPI_FUNCTIONS] __attribute__((visibility("hidden")));
extern void *sp_mpi_targets[SP_MPI_FUNCTIONS] __attribute__((visibility("hidden")));
void *sp_mpi_indirect(unsigned function);
void *sp_mpi_first(unsigned function);

static const struct sp_adapter *adapter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool resolved;

SP_EXPORT int sp_mpi_attach(const struct sp_adapter *a);
int sp_mpi_attach(const struct sp_adapter *a)
{
	char path[2];
	if (a->version != 1 || a->size < sizeof *a)
		return -1;
	if (!adapter && sp_mpi_find(path, sizeof path))
		return 1;
	__atomic_store_n(&adapter, a, __ATOMIC_RELEASE);
	return 0;
}

/* The address of one of the symbols here, for the dynamic linker. NULL if the MPI does not have the function, so that a
 * program that checks for a function gets the right answer. While no MPI is loaded, functions that every MPI has are
 * defined. */
void *sp_mpi_indirect(unsigned function)
{
	int has = sp_mpi_has(names[function]);
	if (has > 0 || (has < 0 && !may_be_missing[function]))
		return sp_mpi_trampolines[function];
	return NULL;
}

/* ---- a call without an MPI: the program found a function by its name ---- */

static int absent(void)
{
	return 16; /* not MPI_SUCCESS */
}

static int absent_flag(int *flag)
{
	*flag = 0;
	return 0;
}

/* ---- the first call ---- */

static void missing(const char *format, const char *what)
{
	char text[PATH_MAX + 300];
	snprintf(text, sizeof text, format, what);
	adapter->meta("missing_mpi", text);
}

/* Whether this library has the binary interface that MPI 5 standardises. An MPI may have several libraries for several
 * interfaces, which share its internal symbols. MPI allows the call at any time. */
static bool is_standard(void *mpi)
{
	int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(mpi, "PMPI_Abi_get_version");
	int major = -1, minor = -1;
	return version && version(&major, &minor) == 0 && major > 0;
}

/* Loads the library for this MPI from this library's directory; NULL: not available, and a META record of the program
 * has the reason. */
static const struct sp_mpi_library *library(void *mpi, const char *path)
{
	char file[PATH_MAX];
	Dl_info own;
	const char *name = strrchr(path, '/'), *kind = NULL, *slash;
	name = name ? name + 1 : path;
	if (is_standard(mpi))
		kind = "abi";
	else if (!strncmp(name, "libmpi_abi", 10))
		kind = NULL; /* of a draft of the standard interface, with other numbers */
	else if (dlsym(mpi, "ompi_mpi_comm_world"))
		kind = "openmpi";
	else if (strstr(name, ".so.12") || strstr(name, "mpich") || dlsym(mpi, "MPIR_Err_return_comm"))
		kind = "mpich";
	if (!kind) {
		missing(
		    "MPI calls, because %s is neither Open MPI nor of MPICH's binary interface, nor of that of MPI 5",
		    path);
		return NULL;
	}
	if (!dladdr((const void *)&sp_mpi_attach, &own) || !own.dli_fname || !(slash = strrchr(own.dli_fname, '/')))
		return NULL;
	if (snprintf(file, sizeof file, "%.*s/spartito_mpi_%s.so", (int)(slash - own.dli_fname), own.dli_fname, kind) >=
	    (int)sizeof file)
		return NULL;
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const struct sp_mpi_library *l = handle ? dlsym(handle, SP_MPI_LIBRARY) : NULL;
	if (l && l->functions == SP_MPI_FUNCTIONS && l->check == SP_MPI_CHECK)
		return l;
	if (l)
		missing("MPI calls, because %s is not of this version of Spartito", file);
	else if (!access(file, F_OK))
		missing("MPI calls, because %s cannot be loaded", file);
	else
		missing("MPI calls, because Spartito was built without wrappers for %s",
		        kind[0] == 'o'   ? "Open MPI"
		        : kind[0] == 'm' ? "MPICH"
		                         : "the binary interface of MPI 5");
	return NULL;
}

static void resolve(void)
{
	char path[PATH_MAX];
	void *targets[SP_MPI_FUNCTIONS], *mpi;
	if (!sp_mpi_find(path, sizeof path) || !(mpi = dlopen(*path ? path : NULL, RTLD_LAZY | RTLD_NOLOAD)))
		return;
	for (int i = 0; i < SP_MPI_FUNCTIONS; i++)
		targets[i] = dlsym(mpi, names[i]);
	const struct sp_mpi_library *l = library(mpi, path);
	if (l)
		l->attach(adapter, mpi, targets);
	/* the trampolines read the targets in acquire order: a wrapper sees what its library has set up */
	for (int i = 0; i < SP_MPI_FUNCTIONS; i++)
		__atomic_store_n(&sp_mpi_targets[i], targets[i] ? targets[i] : (void *)absent, __ATOMIC_RELEASE);
	__atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

SP_COLD void *sp_mpi_first(unsigned function)
{
	int error = errno;
	pthread_mutex_lock(&lock);
	if (!resolved)
		resolve();
	bool ready = resolved;
	pthread_mutex_unlock(&lock);
	errno = error;
	if (ready)
		return __atomic_load_n(&sp_mpi_targets[function], __ATOMIC_RELAXED);
	if (function == SP_MPI_F_Initialized || function == SP_MPI_F_Finalized)
		return (void *)absent_flag;
	return (void *)absent;
}
