/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that waits.c and objects.c share. */
#ifndef SP_RECORD_WAITS_PRIVATE_H
#define SP_RECORD_WAITS_PRIVATE_H

#include "record/thread.h"
#include "record/waits/waits.h"

/* Returns a chunk to use after `old`, twice as large; NULL if there is no space (counted). Needs the process lock. */
struct sp_raw_chunk *sp_waits_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t,
                                    const struct sp_raw_chunk *old);

/* Returns the object of the GIL, made at first use. Returns NULL in a thread that asks while another thread makes
 * it. */
struct sp_raw_object *sp_object_gil(void);
/* A new file begins: forgets all objects. */
void sp_objects_forget(void);

#endif
