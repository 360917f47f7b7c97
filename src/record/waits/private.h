/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits.c and objects.c have in common. */
#ifndef SP_RECORD_WAITS_PRIVATE_H
#define SP_RECORD_WAITS_PRIVATE_H

#include "record/thread.h"
#include "record/waits/waits.h"

/* A chunk behind `old`, twice as large; NULL: no room (counted). With the process lock held. */
struct sp_raw_chunk *sp_waits_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t,
                                    const struct sp_raw_chunk *old);

/* That of the GIL. There is one; a thread that comes while it is made goes on without: NULL. */
struct sp_raw_object *sp_object_gil(void);
/* A new file: no object is known any more. */
void sp_objects_forget(void);

#endif
