/* SPDX-License-Identifier: BSD-3-Clause */
/* The struct of tallies: how often something rare happened at a call path; a part of format.h. */
#ifndef SP_FORMAT_TALLIES_H
#define SP_FORMAT_TALLIES_H

#include <stdint.h>

enum sp_raw_tally_kind {
	SP_RAW_TALLY_COLLECTION = 0, /* a garbage collection */
	SP_RAW_TALLY_EXCEPTION = 1,  /* a call that an exception ended */
	SP_RAW_TALLY_KINDS
};

/* What happened in a thread at one call path. A count of 0: not written completely yet. */
struct sp_raw_tally {
	uint64_t node;       /* writer's pointer */
	uint32_t kind;       /* enum sp_raw_tally_kind */
	uint32_t generation; /* COLLECTION: the oldest generation that was collected; otherwise 0 */
	uint64_t count;
	uint64_t ticks;   /* COLLECTION: the time that all took; otherwise 0 */
	uint64_t objects; /* COLLECTION: how many were found unreachable; otherwise 0 */
};
_Static_assert(sizeof(struct sp_raw_tally) == 40, "raw tally");

#endif
