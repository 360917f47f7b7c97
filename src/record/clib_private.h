/* SPDX-License-Identifier: BSD-3-Clause */
/* What clib.c and clib_names.c share. */
#ifndef SP_RECORD_CLIB_PRIVATE_H
#define SP_RECORD_CLIB_PRIVATE_H

#include <stdint.h>

/* Strings of the file. What an address in an object file is called there, "blas_memory_alloc in libopenblas.so" or
 * "libopenblas.so+0x1234": 0 if it is in none. function: it is the instruction behind a call. */
uint32_t sp_clib_place_name(const void *p, int function);
/* The same of an object: its type, and what it is called where it is a variable. */
uint32_t sp_clib_object_name(unsigned kind, const void *p);

#endif
