/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions in a thread's trace to which it may be rewound. */
#ifndef SP_RECORD_REWIND_H
#define SP_RECORD_REWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* sp_rewind_begin() remembers a position in the thread's trace, which is shown as the enter of a region.
 * sp_rewind_end() ends it and, with take_out, removes all events since the position from the trace. It returns whether
 * such a position existed (always true without a trace). The profile is not affected. */
void sp_rewind_begin(struct sp_thread *t, uint32_t region);
bool sp_rewind_end(struct sp_thread *t, uint32_t region, bool take_out);
void sp_rewind_chunk(struct sp_thread *t, const struct sp_raw_chunk *c); /* t began the chunk c */
/* Frees all positions of t. */
void sp_rewind_free(struct sp_thread *t);

#endif
