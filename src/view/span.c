/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/span.h"
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Converts seconds, which may be any number, to the nearest valid time. A whole number of ns is kept: as seconds it may
 * be slightly less. */
static uint64_t time_or(double s, uint64_t otherwise)
{
	if (isnan(s))
		return otherwise;
	s *= 1e9;
	return s <= 0 ? 0 : s < 0x1p62 ? (uint64_t)(s + 0.5) : UINT64_C(1) << 62;
}

int sp_span_of(struct sp_span *s, const struct sp_model *m, const struct sp_view_query *q, struct sp_err *e)
{
	s->begin = time_or(q->begin, 0);
	s->end = time_or(q->end, m->end_ns - m->begin_ns);
	s->pixels = q->pixels ? q->pixels : SP_SPAN_PIXELS;
	if (!sp_model_has_events(m))
		return sp_fail(e, EINVAL,
		               "a time line needs a trace or samples, and this experiment has none: measure with "
		               "--trace or --sample");
	if (s->pixels > SP_SPAN_MAX_PIXELS)
		return sp_fail(e, EINVAL, "pixels cannot be more than %d", SP_SPAN_MAX_PIXELS);
	if (s->end <= s->begin)
		s->end = s->begin + 1;
	return 0;
}

/* Reads the next part of a list such as "0-99,200-299", whose parts are in ascending order. *list is where it begins,
 * and then where the next one does; NULL: it was the last one. */
static int next_rows(const char **list, uint32_t *first, uint32_t *end, struct sp_err *e)
{
	const char *text = *list;
	const uint32_t least = *end == SP_NONE ? 0 : *end;
	uint32_t last;
	int n = 0;

	if (sscanf(text, "%9u-%9u%n", first, &last, &n) != 2 || (text[n] && (text[n] != ',' || !text[n + 1])) ||
	    last < *first || *first < least || text[0] < '0' || text[0] > '9')
		return sp_fail(e, EINVAL, "rows cannot be %.40s: the first and the last one are needed, as in 0-99",
		               text);
	*end = last + 1;
	*list = text[n] ? text + n + 1 : NULL;
	return 0;
}

int sp_span_rows(const struct sp_view_query *q, uint32_t *first, uint32_t *end, struct sp_err *e)
{
	const char *list = q->rows;

	*first = 0;
	*end = SP_NONE;
	if (!list)
		return 0;
	if (next_rows(&list, first, end, e))
		return -1;
	return list ? sp_fail(e, EINVAL, "rows cannot be a list here: %.40s", q->rows) : 0;
}

int sp_span_wanted(const struct sp_view_query *q, uint8_t *wanted, uint32_t n, uint32_t *found, struct sp_err *e)
{
	const char *list = q->rows;
	uint32_t first = 0, end = SP_NONE;

	*found = 0;
	do {
		if (list && next_rows(&list, &first, &end, e))
			return -1;
		for (; first < n && first < end; first++, ++*found)
			wanted[first] = 1;
	} while (list);
	return 0;
}
