/* SPDX-License-Identifier: BSD-3-Clause */
/* What functions.list calls for files of MPI, when the function has returned, unless it says so. */
#ifndef SP_MPI_CALLS_FILE_H
#define SP_MPI_CALLS_FILE_H

#include "mpi/wrap.h"

/* What an operation is: as in the second word of IO_BEGIN. */
enum {
	SP_MPI_READ = SP_RAW_IO_READ,
	SP_MPI_WRITE = SP_RAW_IO_WRITE,
	SP_MPI_READ_ALL = SP_RAW_IO_READ | SP_RAW_IO_COLLECTIVE,
	SP_MPI_WRITE_ALL = SP_RAW_IO_WRITE | SP_RAW_IO_COLLECTIVE
};
/* Instead of an offset: where the pointer of the file, or the one that processes share, is. */
#define SP_MPI_HERE ((MPI_Offset)-1)

void sp_mpi_file_opened(struct sp_mpi_call *c, MPI_Comm comm, const char *path, int amode, const MPI_File *file);
int sp_mpi_wrap_File_close(MPI_File *file);
void sp_mpi_file_deleted(struct sp_mpi_call *c, const char *path);
void sp_mpi_file_sought(struct sp_mpi_call *c, MPI_File file, MPI_Offset offset, int whence, bool shared);
void sp_mpi_file_syncs(struct sp_mpi_call *c, MPI_File file); /* before the function */
void sp_mpi_file_synced(struct sp_mpi_call *c, MPI_File file);

/* Before the function, and when it is done: what the status says. */
void sp_mpi_file_moves(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset);
void sp_mpi_file_moved(struct sp_mpi_call *c, MPI_File file, uint32_t what, const MPI_Status *status);
/* The same, of which a request says when it has ended. */
void sp_mpi_file_begun(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset, const MPI_Request *request);
/* The two halves of a split collective. */
void sp_mpi_file_split(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset);
void sp_mpi_file_joined(struct sp_mpi_call *c, MPI_File file, const MPI_Status *status);

#endif
