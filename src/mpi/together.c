/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/together.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "mpi/clock.h"
#include "mpi/merge.h"
#include "mpi/roll.h"

static struct {
	struct sp_roll roll;
	MPI_Comm comm; /* owned, where open */
	bool open;
} world;

void sp_mpi_before_init(const struct sp_adapter *a)
{
#ifdef OPEN_MPI
	sp_roll_call(&world.roll, a->path(), SP_ROLL_OPENMPI);
#else
	sp_roll_call(&world.roll, a->path(), SP_ROLL_HYDRA);
#endif
	sp_mpi_clock_look(a);
}

static void say_which(const struct sp_adapter *a)
{
	char text[32];
	snprintf(text, sizeof text, "%016llx", (unsigned long long)world.roll.world);
	a->meta("mpi_world", text);
	snprintf(text, sizeof text, "%d", world.roll.rank);
	a->meta("mpi_rank", text);
	snprintf(text, sizeof text, "%d", world.roll.size);
	a->meta("mpi_size", text);
}

static void close_world(void)
{
	if (world.open)
		PMPI_Comm_free(&world.comm);
	world.open = false;
	sp_mpi_clock_free();
}

/* An error in it must not end the program. */
static void open_world(void)
{
	world.open = PMPI_Comm_dup(MPI_COMM_WORLD, &world.comm) == MPI_SUCCESS;
	if (world.open)
		PMPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
}

void sp_mpi_after_init(const struct sp_adapter *a)
{
	int error = errno, rank, size;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	const bool all = sp_roll_answer(&world.roll, rank, size);
	say_which(a);
	if (!all) {
		char text[160];
		snprintf(
		    text, sizeof text,
		    "how the clocks of different nodes are to each other, because not all of the %d ranks are measured",
		    size);
		a->meta("missing_mpi_together", text);
	} else if (size > 1) {
		open_world();
		if (world.open && sp_mpi_clock_measure(a, world.comm))
			close_world();
		else if (world.open && rank == 0)
			sp_roll_done(&world.roll);
	}
	errno = error;
}

/* Processes of other hosts read the file. */
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
	int all = a->over() && sp_mpi_merge_ready();
	if (PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, world.comm) != MPI_SUCCESS || !all)
		return;
	last(arg);
	a->finish();
	if (!sp_mpi_clock_one_host())
		flush(a->path());
	if (PMPI_Barrier(world.comm) == MPI_SUCCESS)
		sp_mpi_merge(a->path(), world.comm);
}

void sp_mpi_before_finalize(const struct sp_adapter *a, void (*last)(void *), void *arg)
{
	int error = errno;
	if (world.open) {
		sp_mpi_clock_measure(a, world.comm);
		finalize_merge(a, last, arg);
	}
	close_world();
	errno = error;
}

uint64_t sp_mpi_together_world(void)
{
	return world.roll.world;
}
