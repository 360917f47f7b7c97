/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that clib.c and clib_names.c share. */
#ifndef SP_RECORD_WAITS_CLIB_PRIVATE_H
#define SP_RECORD_WAITS_CLIB_PRIVATE_H

#include <stdint.h>

#include "record/metrics.h"

/* Returns a string with the name of the function whose call ends before the address, such as "blas_memory_alloc in
 * libopenblas.so" or "libopenblas.so+0x1234"; 0 if the address is in no object file. */
uint32_t sp_clib_place_name(const void *caller);
/* The same for an object: its type and, if it is a variable of an object file, its name. */
uint32_t sp_clib_object_name(unsigned kind, const void *p);
/* Makes sure that the linker's lock, which both functions take, is free in a child of fork. */
void sp_clib_names_fork(enum sp_fork when);

#endif
