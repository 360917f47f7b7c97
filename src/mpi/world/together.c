/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/world/together.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "mpi/world/clock.h"
#include "mpi/world/merge.h"
#include "mpi/world/census.h"
#include "mpi/world/wait.h"

static struct {
	struct sp_census census;
	MPI_Comm comm; /* owned, if `open` */
	bool open;
	bool all; /* all ranks are measured, and there are several */
} world;

void sp_mpi_before_init(const struct sp_adapter *a)
{
	int error = errno;
#ifdef OPEN_MPI
	const bool openmpi = true;
#else
	const bool openmpi = SP_MPI_ABI && sp_mpi_symbol("ompi_mpi_comm_world");
#endif
	sp_census_take(&world.census, a->path(), openmpi ? SP_CENSUS_OPENMPI : SP_CENSUS_HYDRA, sp_mpi_clock_host());
	sp_mpi_clock_read(a);
	errno = error;
}

static void say_which(const struct sp_adapter *a)
{
	char text[32];
	snprintf(text, sizeof text, "%016llx", (unsigned long long)world.census.world);
	a->meta("mpi_world", text);
	snprintf(text, sizeof text, "%d", world.census.rank);
	a->meta("mpi_rank", text);
	snprintf(text, sizeof text, "%d", world.census.size);
	a->meta("mpi_size", text);
}

static void close_world(void)
{
	if (world.open)
		PMPI_Comm_free(&world.comm);
	world.open = world.all = false;
	sp_mpi_clock_free();
}

/* An error in this communicator must not end the program. It is not a duplicate of MPI_COMM_WORLD, because duplicating
 * would call the program's callbacks for attributes. */
static void open_world(void)
{
	MPI_Group all;
	if (world.open || PMPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS)
		return;
	world.open = PMPI_Comm_create(MPI_COMM_WORLD, all, &world.comm) == MPI_SUCCESS;
	PMPI_Group_free(&all);
	if (world.open)
		PMPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
}

static void missing(const struct sp_adapter *a)
{
	char text[160];
	snprintf(text, sizeof text,
	         "the offsets between the clocks of different nodes, because not all of the %d ranks are measured",
	         world.census.size);
	a->meta("missing_mpi_together", text);
}

/* On a single host nothing is sent, so that a program's first message is not delayed. */
void sp_mpi_after_init(const struct sp_adapter *a)
{
	int error = errno, rank, size;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	const enum sp_census_answer answer = sp_census_answer(&world.census, rank, size);
	say_which(a);
	world.all = answer != SP_CENSUS_SOME && size > 1;
	if (answer == SP_CENSUS_SOME)
		missing(a);
	if (world.all && answer == SP_CENSUS_ONE_HOST)
		sp_mpi_clock_is_one_host();
	else if (world.all)
		open_world();
	if (world.all && (answer == SP_CENSUS_ONE_HOST || world.open) && sp_mpi_clock_measure(a, world.comm))
		close_world();
	/* otherwise the processes have already compared their clocks, so all have read the file */
	else if (world.open && rank == 0)
		sp_census_remove(&world.census);
	errno = error;
}

/* Flushes the raw file, which processes on other hosts read. */
static void flush(const char *raw)
{
	int fd = raw ? open(raw, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

static void finalize_merge(const struct sp_adapter *a, void (*last)(void *), void *arg)
{
	uint64_t all = (sp_adapter_read(a->wanted) & SP_ADAPTER_MERGE) && a->over() && sp_mpi_merge_ready();
	if (sp_mpi_wait_least(&all, 1, world.comm) != MPI_SUCCESS)
		return;
	if (world.census.rank == 0)
		sp_census_remove(&world.census);
	if (!all)
		return;
	last(arg);
	a->finish();
	if (!sp_mpi_clock_one_host())
		flush(a->path());
	if (sp_mpi_wait_barrier(world.comm) == MPI_SUCCESS)
		sp_mpi_merge(a->path(), world.comm);
}

void sp_mpi_before_finalize(const struct sp_adapter *a, void (*last)(void *), void *arg)
{
	int error = errno;
	/* several hosts have opened it since MPI began, unless that failed */
	if (world.all && sp_mpi_clock_one_host())
		open_world();
	if (world.open) {
		sp_mpi_clock_measure(a, world.comm);
		finalize_merge(a, last, arg);
	}
	close_world();
	errno = error;
}

uint64_t sp_mpi_together_world(void)
{
	return world.census.world;
}
