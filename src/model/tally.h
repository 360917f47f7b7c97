/* SPDX-License-Identifier: BSD-3-Clause */
/* Tallies: how often something rare happened at a call path; a part of the model. Indices and times are as in
 * model.h. */
#ifndef SP_MODEL_TALLY_H
#define SP_MODEL_TALLY_H

#include <stdint.h>

enum sp_tally_kind { /* as SP_RAW_TALLY_… */
	             SP_TALLY_COLLECTION,
	             SP_TALLY_EXCEPTION,
	             SP_TALLY_KINDS
};
enum { SP_TALLY_OLDEST = 255 };                               /* the largest number of a generation */
extern const char *const sp_tally_kind_names[SP_TALLY_KINDS]; /* "collection", "exception" */

/* What happened in a location at one call path. */
struct sp_tally {
	uint32_t location;
	/* COLLECTION: of the function that was innermost; 0, the root: outside of all recorded functions. EXCEPTION: of
	 * the function whose calls ended. */
	uint32_t path;
	uint32_t generation; /* COLLECTION: the oldest generation that was collected; otherwise 0 */
	uint8_t kind;        /* enum sp_tally_kind */
	uint64_t count;
	uint64_t ns;      /* COLLECTION: duration of all; otherwise 0 */
	uint64_t objects; /* COLLECTION: how many were found unreachable; otherwise 0 */
};

#endif
