/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts ticks of a process to nanoseconds, and aligns the clocks of several hosts (load/clock.c,
 * mpi/clock_sync.c). */
#ifndef SP_MODEL_BUILDER_CLOCK_H
#define SP_MODEL_BUILDER_CLOCK_H

#include <stdint.h>

#include "model/str.h"
#include "reader/reader.h"

struct sp_builder;
struct sp_clock;
struct sp_loading;

/* clock_sync.c. sp_build_clock_record() reads a CLOCK record. sp_build_clocks() aligns the clocks of all hosts, after
 * all files are read. -1: no memory. */
void sp_build_clock_record(struct sp_loading *l, uint64_t at, const struct sp_str *text);
int sp_build_clocks(struct sp_builder *b);

/* ns; a larger difference between two times is damage */
#define SP_CLOCK_MONTH (UINT64_C(31) * 86400 * UINT64_C(1000000000))
uint64_t sp_clock_ns(const struct sp_clock *c, uint64_t ticks);
uint64_t sp_clock_length(const struct sp_clock *c, uint64_t ticks); /* ns in this number of ticks */
int sp_clock_init(struct sp_clock *c, const struct sp_raw_header *h);

#endif
