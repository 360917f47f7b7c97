/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that functions.list calls for MPI files, after the function has returned unless stated otherwise. */
#ifndef SP_MPI_CALLS_FILE_H
#define SP_MPI_CALLS_FILE_H

#include "mpi/wrap.h"

/* Kinds of operations, as in the second word of IO_BEGIN. */
enum {
	SP_MPI_READ = SP_RAW_IO_READ,
	SP_MPI_WRITE = SP_RAW_IO_WRITE,
	SP_MPI_READ_ALL = SP_RAW_IO_READ | SP_RAW_IO_COLLECTIVE,
	SP_MPI_WRITE_ALL = SP_RAW_IO_WRITE | SP_RAW_IO_COLLECTIVE
};
/* Instead of an offset: the position of the file pointer, individual or shared. */
#define SP_MPI_HERE ((MPI_Offset)-1)

void sp_mpi_file_opened(struct sp_mpi_call *c, MPI_Comm comm, const char *path, int amode, const MPI_File *file);
int sp_mpi_wrap_File_close(MPI_File *file);
void sp_mpi_file_deleted(struct sp_mpi_call *c, const char *path);
void sp_mpi_file_sought(struct sp_mpi_call *c, MPI_File file, MPI_Offset offset, int whence, bool shared);
void sp_mpi_file_syncs(struct sp_mpi_call *c, MPI_File file); /* call before the function */
void sp_mpi_file_synced(struct sp_mpi_call *c, MPI_File file);

/* sp_mpi_file_moves(): call before the function. sp_mpi_file_moved(): call after it, with its status. */
void sp_mpi_file_moves(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset);
void sp_mpi_file_moved(struct sp_mpi_call *c, MPI_File file, uint32_t what, const MPI_Status *status);
/* The same for an operation that ends with a request. */
void sp_mpi_file_begun(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset, const MPI_Request *request);
/* The two halves of a split collective. */
void sp_mpi_file_split(struct sp_mpi_call *c, MPI_File file, uint32_t what, MPI_Count count, MPI_Datatype type,
                       MPI_Offset offset);
void sp_mpi_file_joined(struct sp_mpi_call *c, MPI_File file, const MPI_Status *status);

#endif
