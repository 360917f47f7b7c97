/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that waits.c and objects.c share. */
#ifndef SP_RECORD_WAITS_PRIVATE_H
#define SP_RECORD_WAITS_PRIVATE_H

#include "record/thread.h"
#include "record/waits/waits.h"

/* Returns the place of a row of `bytes` bytes behind the last one of *newest, the thread's newest chunk of this type;
 * NULL for none yet. If it is full, *newest becomes another one; `reserved` links it to the one before. The caller
 * fills the row, then increases `used`. Returns NULL if there is no space, or if the calling process is a child of a
 * raw clone(), whose file is its parent's. Takes the process lock. */
void *sp_waits_row(struct sp_thread *t, enum sp_raw_chunk_type type, size_t bytes, struct sp_raw_chunk **newest);

/* Returns the object of the GIL, made at first use. Returns NULL in a thread that asks while another thread makes
 * it. */
struct sp_raw_object *sp_object_gil(void);
/* A new file begins: forgets all objects. */
void sp_objects_forget(void);

#endif
