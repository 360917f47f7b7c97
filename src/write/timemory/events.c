/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of timemory's timelines: one for each call, in the order of their begins. */
#include <errno.h>
#include <stdlib.h>

#include "model/event.h"
#include "model/str.h"
#include "write/timemory/timemory.h"

struct open_call {
	uint32_t row; /* SP_NONE: too deep to be shown */
	uint64_t begin;
};

struct calls {
	struct open_call *open; /* owned */
	size_t n, capacity;
};

static int begin(struct sp_tm *t, struct calls *c, uint32_t root, const struct sp_event *ev)
{
	if (c->n == c->capacity) {
		size_t capacity = c->capacity ? c->capacity * 2 : 256;
		struct open_call *more = realloc(c->open, capacity * sizeof *more);
		if (!more)
			return -1;
		c->open = more;
		c->capacity = capacity;
	}
	uint32_t row = SP_NONE, label;
	if (t->o->flat || c->n <= t->o->max_depth) {
		if ((label = sp_tm_label(t, ev->id)) == SP_NONE)
			return -1;
		row = sp_tm_add(t, t->o->flat || c->n == 0 ? root : c->open[c->n - 1].row, label);
		if (row == SP_NONE)
			return -1;
	}
	c->open[c->n++] = (struct open_call){row, ev->time};
	return 0;
}

static void end(struct sp_tm *t, struct calls *c, const struct sp_event *ev)
{
	if (!c->n)
		return;
	const struct open_call *o = &c->open[--c->n];
	if (o->row == SP_NONE)
		return;
	const double ns = (double)(ev->time - o->begin);
	struct sp_tm_row *r = &t->rows[o->row];
	r->laps = 1;
	r->sum = r->each = r->min = r->max = ns;
	r->sqr = ns * ns;
}

int sp_tm_add_events(struct sp_tm *t, uint32_t location, uint32_t root, struct sp_err *e)
{
	struct sp_event events[1024];
	struct sp_events *s;
	struct calls c = {0};
	long n;
	int rc = 0;

	if (sp_events_open(&s, t->m, location, e))
		return -1;
	while (rc == 0 && (n = sp_events_read(s, events, sizeof events / sizeof *events, e)) != 0) {
		if (n < 0)
			rc = -1;
		for (long i = 0; i < n && rc == 0; i++) {
			const uint32_t kind = events[i].kind;
			if (kind == SP_EVENT_ENTER || kind == SP_EVENT_RESUME || kind == SP_EVENT_INHERIT)
				rc = begin(t, &c, root, &events[i]) ? sp_fail(e, ENOMEM, "out of memory") : 0;
			else if (kind == SP_EVENT_LEAVE || kind == SP_EVENT_SUSPEND)
				end(t, &c, &events[i]);
		}
	}
	free(c.open);
	sp_events_close(s);
	return rc;
}
