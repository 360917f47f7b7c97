/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions in a thread's trace to which it may be taken back. */
#ifndef SP_RECORD_REWIND_H
#define SP_RECORD_REWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* A point in the thread's trace, shown as the enter of a region; and its end, which may take out of the trace all that
 * came since. Whether it had begun. In the profile nothing of it is to be seen. */
void sp_rewind_begin(struct sp_thread *t, uint32_t region);
bool sp_rewind_end(struct sp_thread *t, uint32_t region, bool take_out);
void sp_rewind_chunk(struct sp_thread *t, const struct sp_raw_chunk *c); /* c is begun */
void sp_rewind_free(struct sp_thread *t);

#endif
