/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of messages in bytes. */
#include "mpi/wrap.h"

/* MPI_Type_size_x is deprecated since MPI 4.1, but older MPIs have no MPI_Type_size_c */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

uint64_t sp_mpi_bytes(MPI_Count count, MPI_Datatype type)
{
	int size;
	MPI_Count large;
	if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS)
		return 0;
	if (SP_LIKELY(size >= 0))
		return (uint64_t)count * (uint64_t)size;
	return PMPI_Type_size_x(type, &large) == MPI_SUCCESS && large > 0 ? (uint64_t)count * (uint64_t)large : 0;
}

/* Both MPIs have the count in the public part of the struct, which their binary interfaces fix. The standard interface
 * hides it. */
uint64_t sp_mpi_received_bytes(const MPI_Status *status)
{
#if SP_MPI_ABI
	MPI_Count bytes;
	return PMPI_Get_count_c(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
#elif defined(OPEN_MPI)
	return status->_ucount;
#else
	return (uint64_t)((unsigned)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
#endif
}

bool sp_mpi_was_cancelled(const MPI_Status *status)
{
#if SP_MPI_ABI
	int flag;
	return PMPI_Test_cancelled(status, &flag) == MPI_SUCCESS && flag;
#elif defined(OPEN_MPI)
	return status->_cancelled;
#else
	return status->count_hi_and_cancelled & 1;
#endif
}
