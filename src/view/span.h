/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a run that a viewport shows. */
#ifndef SP_VIEW_SPAN_H
#define SP_VIEW_SPAN_H

#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "view/view.h"

enum { SP_SPAN_PIXELS = 1000, SP_SPAN_MAX_PIXELS = 16384, SP_SPAN_LEVELS = 256 };

struct sp_span {
	uint64_t begin, end; /* ns; begin < end */
	uint32_t pixels;
};

/* The range of the query; without one, the whole run. Returns 0, or -1 with e set. */
int sp_span_of(struct sp_span *s, const struct sp_model *m, const struct sp_view_query *q, struct sp_err *e);

/* Whether the query selects the location. */
static inline bool sp_span_asks(const struct sp_model *m, const struct sp_view_query *q, uint32_t location)
{
	return (q->location == SP_NONE || q->location == location) &&
	       (q->process == SP_NONE || q->process == m->locations[location].process);
}

/* The locations [*first, *end) that the parameter "rows" selects, of kinds that take one part alone; by default all.
 * Returns 0, or -1 with e set. */
int sp_span_rows(const struct sp_view_query *q, uint32_t *first, uint32_t *end, struct sp_err *e);

/* Sets wanted[i] to 1 for each of the n selected locations that the parameter "rows" selects, a list of parts in
 * ascending order such as "0-99,200-299"; by default all. *found: their number. Returns 0, or -1 with e set. */
int sp_span_wanted(const struct sp_view_query *q, uint8_t *wanted, uint32_t n, uint32_t *found, struct sp_err *e);

#endif
