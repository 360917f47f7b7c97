/* SPDX-License-Identifier: BSD-3-Clause */
/* What otf2.c and otf2_events.c share. References: a location is its index in the model, a region as well; a counter's
 * metric member and class have its index; parameters and strings are numbered as they are met. */
#ifndef SP_WRITE_OTF2_ARCHIVE_H
#define SP_WRITE_OTF2_ARCHIVE_H

#include <otf2/otf2.h>

#include "base/intern.h"
#include "write/out.h"

enum parameter_type { PARAMETER_INT, PARAMETER_UINT, PARAMETER_STRING, PARAMETER_TYPES };

struct sp_otf2 {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_err *e;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *defs;
	OTF2_MarkerWriter *markers; /* NULL until the first marker */
	struct sp_arena arena;
	struct sp_intern strings; /* number in the table = OTF2 reference */
	uint32_t *string_refs;    /* of each string of the model, SP_NONE: not yet used */
	uint32_t *created;        /* locations whose creator is known, by creator and time */
	size_t n_created;
	/* a slot is PARAMETER_TYPES * index in the model + type */
	uint32_t *parameter_refs; /* of each slot, SP_NONE: not yet used */
	uint32_t *parameters;     /* the slot of each reference */
	uint32_t n_parameter_refs;
	uint32_t n_groups;
	uint64_t *events;           /* written for each location */
	uint64_t done, total, last; /* last: the greatest time written */
	bool failed;                /* e is set */
};

/* Both set the archive's error unless it has one; they return -1. */
int sp_otf2_fail(struct sp_otf2 *a, const char *what);
int sp_otf2_fail_memory(struct sp_otf2 *a);
/* OTF2 strings end at NUL: one inside becomes \x00. NULL: no memory. */
const char *sp_otf2_text(struct sp_otf2 *a, struct sp_str s);
/* The reference of a string, which is defined when it is met for the first time. */
OTF2_StringRef sp_otf2_string(struct sp_otf2 *a, struct sp_str s);

/* Writes the events of a location. */
int sp_otf2_events(struct sp_otf2 *a, uint32_t location);

#endif
