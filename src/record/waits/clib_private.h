/* SPDX-License-Identifier: BSD-3-Clause */
/* What clib.c and clib_names.c share. */
#ifndef SP_RECORD_WAITS_CLIB_PRIVATE_H
#define SP_RECORD_WAITS_CLIB_PRIVATE_H

#include <stdint.h>

#include "record/metrics.h"

/* Strings of the file. What the function is called whose call ends before that address, "blas_memory_alloc in
 * libopenblas.so" or "libopenblas.so+0x1234": 0 if it is in no object file. */
uint32_t sp_clib_place_name(const void *caller);
/* The same of an object: its type, and what it is called where it is a variable of an object file. */
uint32_t sp_clib_object_name(unsigned kind, const void *p);
/* The linker's lock, which both take, is free in a child. */
void sp_clib_names_fork(enum sp_fork when);

#endif
