/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that waits.c and objects.c share. */
#ifndef SP_RECORD_WAITS_PRIVATE_H
#define SP_RECORD_WAITS_PRIVATE_H

#include "record/thread.h"
#include "record/waits/waits.h"

/* Returns the object of the GIL, made at first use. Returns NULL in a thread that asks while another thread makes
 * it. */
struct sp_raw_object *sp_object_gil(void);
/* A new file begins: forgets all objects. */
void sp_objects_forget(void);

#endif
